import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { type Command, Option } from 'commander'
import { InputError } from '../../../run/errors.ts'
import type { CliContext } from '../../../terminal/context.ts'
import { printJson, printLine, printLines, printPairs, printTable } from '../../../terminal/print.ts'
import { configOf } from '../../../terminal/settings-options.ts'
import type { Comparison, Part } from '../compare.ts'
import { leftOutText, percent, truthCommand, withTruth } from './shared.ts'

interface CompareFlags {
  readonly with: string
  readonly days: number
  readonly json?: boolean
}

/** `ipid compare`: compares another data folder's answers on the stored addresses. */
export function compareCommand(context: CliContext): Command {
  const command = truthCommand('compare', 30).addOption(
    new Option('--with <dir>', 'the other data folder').makeOptionMandatory(),
  )
  return command.action(async (name: string, flags: CompareFlags) => {
    const folder = resolve(flags.with)
    if ((await stat(folder).catch(() => undefined))?.isDirectory() !== true) {
      throw new InputError(`--with ${JSON.stringify(flags.with)} is not a folder`)
    }
    const report = await withTruth(configOf(context, command), name, flags.days, async (opened) => {
      const [{ compare }, { madeData }, { TodaysData }] = await Promise.all([
        import('../compare.ts'),
        import('../../../enrichment/commands/default-data.ts'),
        import('../../../enrichment/todays-data.ts'),
      ])
      const { truth, tenant, selection, config } = opened
      const current = await TodaysData.open(await madeData(config))
      const other = await TodaysData.open(await madeData({ ...config, enrichDir: folder }))
      const sets = { this_data: current.names, other_data: other.names }
      const comparison = await compare(truth.addresses(selection), current, other)
      const left_out = await truth.leftOut(selection)
      return { tenant_id: tenant.id, since: selection.since, ...sets, left_out, ...comparison }
    })
    if (flags.json) printJson(context.stdout, report)
    else printComparison(context.stdout, report)
  })
}

function printComparison(
  out: NodeJS.WritableStream,
  report: Comparison & {
    readonly since: string
    readonly left_out: number
    readonly this_data: readonly string[]
    readonly other_data: readonly string[]
  },
): void {
  const rows: (readonly [string, Part])[] = [
    ['both name the same company', report.agree],
    ['both name one, and they differ', report.differ],
    ['only this names one', report.only_this],
    ['only the other names one', report.only_other],
    ['neither names one', report.neither],
  ]
  printPairs(out, [
    ['this', report.this_data.join(', ')],
    ['other', report.other_data.join(', ')],
  ])
  printLine(out, '')
  printTable(
    out,
    ['COMPANY', 'ADDRESSES', 'EVENTS', 'WITH A KNOWN DOMAIN', 'THIS RIGHT', 'OTHER RIGHT'],
    rows.map(([name, part]) => [name, part.addresses, part.events, part.checked, part.this_right, part.other_right]),
  )
  printLine(out, '')
  const better = { this: 'this', other: 'the other' }
  printPairs(out, [
    ['this is right in', percent(report.this.precision, report.this.low, report.this.high)],
    ['the other is right in', percent(report.other.precision, report.other.low, report.other.high)],
    ['better', report.better === null ? 'neither: a difference may be chance' : better[report.better]],
    ['events without an address', report.without_address],
  ])
  printLines(
    out,
    `
Distinct addresses of the events stored since ${report.since}. Noise is not stored, so what other data would keep of it is not seen.
Rules of the tenant are not applied. Shares are of attributed addresses with one known domain, with 95 % intervals.${leftOutText(report.left_out)}
`,
  )
}
