import { Command } from 'commander'
import type { CliContext } from '../../terminal/context.ts'

/** `ipid role MODULE`: roles of a module, in a child that gets its work over IPC. A child of `ipid start` runs src/child.ts. */
export function roleCommand(_context: CliContext, setExitCode: (code: number) => void): Command {
  return new Command('role').argument('<module>').action(async (module: string) => {
    const { runRole } = await import('./run-roles.ts')
    setExitCode(await runRole(() => import(module)))
  })
}

/** `ipid compile`: builds the data of a first start, for an image with read-only files. */
export function compileCommand(): Command {
  return new Command('compile').action(async () => {
    const { built } = await import('../../bootstrap/build.mjs')
    const dir = await built()
    if (!dir.includes('node_modules')) throw new Error('cannot write the build to node_modules/.cache')
  })
}
