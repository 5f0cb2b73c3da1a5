let running = 0

/**
 * Builds with esbuild, and ends its process, which would stay as long as this one, as soon as nothing is built any more.
 * @template {import('esbuild').BuildOptions} Options
 * @param {Options} options
 * @returns {Promise<import('esbuild').BuildResult<Options>>}
 * @throws what esbuild says of the sources
 */
export async function buildOnce(options) {
  const { build, stop } = await import('esbuild')
  running++
  try {
    return await build(options)
  } finally {
    if (--running === 0) await stop()
  }
}
