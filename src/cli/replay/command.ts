import { Command } from 'commander'
import { InputError } from '../../core/run/errors.ts'
import type { CliContext } from '../context.ts'
import { printJson } from '../print.ts'
import { addSettings, configOf, INSTANCE_SETTINGS } from '../settings-options.ts'

interface ReplayFlags {
  readonly tenant: string
  readonly from: string
  readonly to: string
  readonly job?: string
  readonly reenrich?: boolean
  readonly dryRun?: boolean
  readonly json?: boolean
}

/** `ipid replay --reenrich`: judges stored events again with today's data. */
export function replayCommand(context: CliContext): Command {
  const command = new Command('replay')
    .description('judge stored events again with the data of today, and replace what is stored of the company')
    .requiredOption('--tenant <tenant>', 'whose events')
    .requiredOption('--from <day>', 'first UTC day of receipt, YYYY-MM-DD')
    .requiredOption('--to <day>', 'last UTC day of receipt')
    .requiredOption('--reenrich', 'judge again')
    .option('--job <id>', 'only events of this batch job')
    .option('--dry-run', 'only say what would change')
    .option('--json', 'print JSON')
  return addSettings(command, [...INSTANCE_SETTINGS, 'enrichDir']).action(async (flags: ReplayFlags) => {
    const config = configOf(context, command)
    const [{ dayOf, runReenrich }, { printReenrich }, { withTenants }] = await Promise.all([
      import('./reenrich.ts'),
      import('./reenrich-output.ts'),
      import('../stores.ts'),
    ])
    const from = dayOf('--from', flags.from)
    const to = dayOf('--to', flags.to)
    if (to < from) throw new InputError(`--to ${flags.to} is before --from ${flags.from}`)
    const { id: tenantId } = await withTenants(config, (admin) => admin.getTenant(flags.tenant))
    const result = await runReenrich(
      {
        config,
        tenantId,
        from,
        to,
        dryRun: flags.dryRun === true,
        ...(flags.job === undefined ? {} : { job: flags.job }),
      },
      (line) => context.stderr.write(`${line}\n`),
    )
    if (flags.json) printJson(context.stdout, result)
    else printReenrich(context.stdout, result)
  })
}
