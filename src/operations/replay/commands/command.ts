import { Command, Option } from 'commander'
import { InputError } from '../../../run/errors.ts'
import type { CliContext } from '../../../terminal/context.ts'
import { addSettings, configOf, INSTANCE_SETTINGS } from '../../../terminal/settings-options.ts'
import type { ReplayFlags } from './run.ts'

/** `ipid replay`: sends archived events that are missing in the tables through the pipeline again. */
export function replayCommand(context: CliContext, setExitCode: (code: number) => void): Command {
  const command = new Command('replay')
    .requiredOption('--tenant <tenant>', 'tenant whose archive to read')
    .requiredOption('--from <day>', 'first UTC day of receipt, YYYY-MM-DD')
    .requiredOption('--to <day>', 'last UTC day of receipt, YYYY-MM-DD')
    .addOption(
      new Option('--source <source>', 'only live events, or only events of batch jobs').choices(['ingest', 'batch']),
    )
    .option('--run <run>', 'only one batch job, by its id, or one hour of live events, such as 2026-11-22T01')
    .option('--where <name=value>', 'only events with this field value; may be repeated', collect)
    .option('--reenrich', "enrich stored and filtered events again with today's data")
    .option('--dry-run', 'show what would change, and change nothing')
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

/** Stored events know their batch job, but none of the other properties that select archived events. */
function assertFlags({ reenrich, source, run, where }: ReplayFlags): void {
  if (!reenrich) return
  if (where !== undefined)
    throw new InputError(
      '--where: cannot be combined with --reenrich, which takes all events of the days, or of one batch job',
    )
  if (source !== undefined && run === undefined) throw new InputError('--source: with --reenrich, give --run too')
  if (run !== undefined && source !== 'batch') {
    throw new InputError(`--run ${run}: with --reenrich, must be the id of a batch job, together with --source batch`)
  }
}
