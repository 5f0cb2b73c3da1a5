// health.mjs PORT: the health of a container. Exits with 0 if GET /readyz of this port answers 200.
const [, , port] = process.argv
try {
  const { ok } = await fetch(`http://127.0.0.1:${port}/readyz`, {
    redirect: 'error',
    signal: AbortSignal.timeout(7_000),
  })
  process.exitCode = ok ? 0 : 1
} catch (error) {
  process.stderr.write(`port ${port} does not answer: ${error.cause?.message ?? error.message}\n`)
  process.exitCode = 1
}
