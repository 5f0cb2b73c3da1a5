import { Command, Option } from 'commander'
import { InputError } from '../../../run/errors.ts'
import type { CliContext } from '../../../terminal/context.ts'
import { addSettings, configOf, INSTANCE_SETTINGS } from '../../../terminal/settings-options.ts'
import type { ReplayFlags } from './run.ts'

/** `ipid replay`: puts events of the archive that the tables lack back into the pipeline. */
export function replayCommand(context: CliContext, setExitCode: (code: number) => void): Command {
  const command = new Command('replay')
    .description('put events of the archive that the tables lack back into the pipeline; nothing is counted twice')
    .requiredOption('--tenant <tenant>', 'whose archive')
    .requiredOption('--from <day>', 'first UTC day of receipt, YYYY-MM-DD')
    .requiredOption('--to <day>', 'last UTC day of receipt, YYYY-MM-DD')
    .addOption(
      new Option('--source <source>', 'only live events, or only those of batch jobs').choices(['ingest', 'batch']),
    )
    .option('--run <run>', 'only those of a batch job, by its id, or of an hour of live events, such as 2026-11-22T01')
    .option('--where <name=value>', 'only events with this member; may be repeated', collect)
    .option('--reenrich', 'judge what is stored, and what was filtered, again with the data of today')
    .option('--dry-run', 'only say what would be put back, or would change')
    .option('--json', 'print JSON')
  return addSettings(command, [...INSTANCE_SETTINGS, 'archiveUrl', 'enrichDir', 'rdns', 'rdnsServers']).action(
    async (flags: ReplayFlags) => {
      assertDays(flags)
      assertFlags(flags)
      const config = configOf(context, command)
      const [{ runReplay }, { asInstance }] = await Promise.all([
        import('./run.ts'),
        import('../../../terminal/instance.ts'),
      ])
      setExitCode(await runReplay(await asInstance(config), flags, context))
    },
  )
}

function collect(value: string, values: readonly string[] = []): string[] {
  return [...values, value]
}

function assertDays({ from, to }: ReplayFlags): void {
  for (const [flag, day] of [
    ['--from', from],
    ['--to', to],
  ] as const) {
    const isDay = /^\d{4}-\d\d-\d\d$/.test(day) && new Date(`${day}T00:00:00Z`).toJSON()?.slice(0, 10) === day
    if (!isDay) throw new InputError(`${flag} ${JSON.stringify(day)}: must be a UTC day like 2026-11-22`)
  }
  if (from > to) throw new InputError(`--to ${to} is before --from ${from}`)
}

/** Stored events tell their batch job, and nothing else that a part of the archive has. */
function assertFlags({ reenrich, source, run, where }: ReplayFlags): void {
  if (!reenrich) return
  if (where !== undefined) throw new InputError('--where: --reenrich judges all events of the days, or of a batch job')
  if (source !== undefined && run === undefined) throw new InputError('--source: --reenrich needs --run with it')
  if (run !== undefined && source !== 'batch') {
    throw new InputError(`--run ${run}: --reenrich takes a batch job, and --source batch with it`)
  }
}
