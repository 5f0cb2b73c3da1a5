import type { Command } from 'commander'
import { CORRECTION_KIND_LABELS, CORRECTION_KINDS, type Corrections } from '../../../../schemas/data-corrections.ts'
import { type NamedSpans, NOT_NAMED, othersOf, pointsText } from '../../../../schemas/named.ts'
import { numbered } from '../../../run/counted.ts'
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
      const [
        { qualityOf },
        { correctionsByDataSet },
        { namedDays },
        { dataSetBy },
        { namedByRule },
        { madeData },
        { TodaysData },
        rules,
      ] = await Promise.all([
        import('../quality.ts'),
        import('../corrections.ts'),
        import('../named.ts'),
        import('../data-set.ts'),
        import('../named-by-rule.ts'),
        import('../../../enrichment/commands/default-data.ts'),
        import('../../../enrichment/todays-data.ts'),
        import('../../../enrichment/judge.ts'),
      ])
      const { ask, truth, tenant, selection, config, nowMs } = opened
      const { since } = selection
      const data = await TodaysData.open(await madeData(config))
      const set = rules.ruleSetOf(tenant)
      const dataSetOf = dataSetBy(
        (address) =>
          rules.judgedLookup(data.lookup(address), address, set, (domain) => data.organisationOf(domain)).lookup,
      )
      const [stored, left_out] = [await truth.events(selection), await truth.leftOut(selection)]
      return {
        ...{ tenant_id: tenant.id, since, stored, left_out },
        named: await namedDays(ask, tenant.id, flags.days, nowMs),
        corrections: await correctionsByDataSet({ ask, tenant, since, lookup: (address) => data.lookup(address) }),
        ...(await qualityOf(truth.groups(selection), { dataSetOf, isByRule: namedByRule(set) })),
      }
    })
    if (flags.json) return printJson(stdout, report)
    printNamed(stdout, report.named)
    printCorrections(stdout, report.corrections)
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

/** The events whose company could be named, and why the others could not. */
function printNamed(out: NodeJS.WritableStream, { now, before }: NamedSpans): void {
  if (now.events === 0) return
  const others = othersOf(now).map(([name, events]) => [NOT_NAMED[name].about, events, before.others[name]] as const)
  const shareOf = (events: number, all: number) => ({ share: all === 0 ? null : events / all })
  printTable(
    out,
    ['EVENTS', 'NUMBER', 'SHARE', 'CHANGE'],
    [['Named', now.named, before.named] as const, ...others].map(([name, events, earlier]) => {
      const shares = { now: shareOf(events, now.events), before: shareOf(earlier, before.events) }
      return [name, events, `${Math.round((100 * events) / now.events)} %`, pointsText(shares)]
    }),
  )
  printLines(
    out,
    `
Of ${now.events} events received from ${now.from} to ${now.to}, stored or filtered. Change: percentage points, from the ${before.events} events of as many days before.

`,
  )
}

function printCorrections(out: NodeJS.WritableStream, corrections: Corrections): void {
  const { data_sets, companies, companies_read, since, left_out } = corrections
  if (data_sets.length === 0) return
  const kinds = CORRECTION_KINDS.filter((kind) => data_sets.some((set) => set.kinds[kind] > 0))
  printTable(
    out,
    ['CORRECTED BY PEOPLE', ...kinds.map((kind) => CORRECTION_KIND_LABELS[kind].toUpperCase()), 'COMPANIES'],
    data_sets.map((set) => [set.name, ...kinds.map((kind) => set.kinds[kind]), set.companies]),
  )
  const read =
    companies_read < companies ? `${companies_read} of the ${companies} companies` : `the ${companies} companies`
  printLines(
    out,
    `
Corrections in effect, by the data set that had given the corrected answer. Companies: how many it names of ${read} with an event since ${since}.${left_out > 0 ? `\n${numbered(left_out, 'older correction')} of companies ${left_out === 1 ? 'is' : 'are'} not counted.` : ''}

`,
  )
}

function rowOf([name, share]: readonly [string, Accuracy]) {
  const { cases, right_cases, none_cases, precision, low, high } = share
  const right = inParts(right_cases)
  return [name, cases, right, inParts(cases - right), none_cases, percent(precision, low, high)]
}

/** With one decimal. */
const inParts = (addresses: number) => Math.round(addresses * 10) / 10
