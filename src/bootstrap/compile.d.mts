import type { BuildOptions } from 'esbuild'

/** What is compiled, and how. */
export interface Compilation {
  readonly root: string
  readonly name: string
  readonly options: Omit<BuildOptions, 'absWorkingDir' | 'outdir' | 'metafile' | 'logLevel'>
  readonly alsoInputs?: readonly string[]
}

/** See compile.mjs. */
export function compiled(compilation: Compilation): Promise<string>

/** See compile.mjs. */
export function keptFolder(home: string, make: (part: string) => Promise<string>): Promise<string>

/** See compile.mjs. */
export function digest(text: string): string

/** See compile.mjs. */
export function compiledFiles(
  compilation: Compilation,
  onUnkept: (error: Error) => void,
): Promise<ReadonlyMap<string, Buffer>>
