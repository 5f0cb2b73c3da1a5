/** See program.mjs. */
export function compiledProgram(options?: {
  readonly root?: string
  readonly entries?: readonly string[]
}): Promise<string | undefined>
