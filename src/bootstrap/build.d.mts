import type { BuildOptions } from 'esbuild'

/** See build.mjs. */
export function built(options?: {
  readonly root?: string
  readonly targets?: Readonly<Record<string, BuildOptions>>
}): Promise<string>
