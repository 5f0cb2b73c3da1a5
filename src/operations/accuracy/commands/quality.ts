import type { Command } from 'commander'
import type { CliContext } from '../../../terminal/context.ts'
import { printJson, printLines, printTable } from '../../../terminal/print.ts'
import { configOf } from '../../../terminal/settings-options.ts'
import type { Accuracy } from '../quality.ts'
import { leftOutText, NO_TRUTH, percent, truthCommand, withTruth } from './shared.ts'

interface QualityFlags {
  readonly days: number
  readonly json?: boolean
}

/** `ipid quality`: how often events with a known domain were attributed to it. */
export function qualityCommand(context: CliContext): Command {
  return truthCommand('quality', 30).action(async (name: string, flags: QualityFlags, command: Command) => {
    const { stdout } = context
    const report = await withTruth(configOf(context, command), name, flags.days, async (opened) => {
      const [{ qualityOf }, { dataSetBy }, { namedByRule }, { madeData }, { TodaysData }, rules] = await Promise.all([
        import('../quality.ts'),
        import('../data-set.ts'),
        import('../named-by-rule.ts'),
        import('../../../enrichment/commands/default-data.ts'),
        import('../../../enrichment/todays-data.ts'),
        import('../../../enrichment/judge.ts'),
      ])
      const { truth, tenant, selection, config } = opened
      const data = await TodaysData.open(await madeData(config))
      const set = rules.ruleSetOf(tenant)
      const dataSetOf = dataSetBy(
        (address) =>
          rules.judgedLookup(data.lookup(address), address, set, (domain) => data.organisationOf(domain)).lookup,
      )
      const [stored, left_out] = [await truth.events(selection), await truth.leftOut(selection)]
      return {
        tenant_id: tenant.id,
        since: selection.since,
        ...{ stored, left_out },
        ...(await qualityOf(truth.groups(selection), { dataSetOf, isByRule: namedByRule(set) })),
      }
    })
    if (flags.json) return printJson(stdout, report)
    const { all, rules, data_sets, classifications, qualities, since, stored, left_out: leftOut } = report
    const events = all.events + rules.events
    if (events === 0) return printLines(stdout, `${NO_TRUTH(name)}${leftOutText(leftOut)}\n`)
    const rows = [
      ['all', all] as const,
      ...(rules.events > 0 ? [['rules "is"', rules] as const] : []),
      ...data_sets.map((each) => [`data set  ${each.name}`, each] as const),
      ...classifications.map((each) => [`class  ${each.name}`, each] as const),
      ...qualities.map((each) => [`quality  ${each.from} to ${each.to}`, each] as const),
    ]
    printTable(stdout, ['ADDRESSES OF', 'ATTRIBUTED', 'RIGHT', 'OTHER', 'NONE', 'RIGHT IF ATTRIBUTED'], rows.map(rowOf))
    printLines(
      stdout,
      `
${stored} events since ${since} are stored, ${events} of them with a known domain. Noise is not stored, so it is not counted.
Every number of the table is of addresses, however many events each has. One where people of several companies were met counts in parts. The
last column is the share of the attributed ones that is right, with its 95 % interval.${rules.events > 0 ? '\nEvents that a rule "is" named are in no other line: the rule may have been made of their addresses.' : ''}${leftOutText(leftOut)}
`,
    )
  })
}

function rowOf([name, share]: readonly [string, Accuracy]) {
  const { cases, right_cases, none_cases, precision, low, high } = share
  const right = inParts(right_cases)
  return [name, cases, right, inParts(cases - right), none_cases, percent(precision, low, high)]
}

/** With one decimal. */
const inParts = (addresses: number) => Math.round(addresses * 10) / 10
