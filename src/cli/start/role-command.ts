import { Command } from 'commander'
import type { CliContext } from '../../terminal/context.ts'

/** `ipid role [MODULE]`: a child of `ipid start`, which sends it its work over IPC. Hidden from help. */
export function roleCommand(context: CliContext, setExitCode: (code: number) => void): Command {
  return new Command('role').argument('[module]').action(async (module?: string) => {
    const { runRole } = await import('./run-roles.ts')
    setExitCode(await runRole(module === undefined ? context.roleModule : () => import(module)))
  })
}
