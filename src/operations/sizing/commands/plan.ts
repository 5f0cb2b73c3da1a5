import { Command, InvalidArgumentError, Option } from 'commander'
import { InputError } from '../../../run/errors.ts'
import type { CliContext } from '../../../terminal/context.ts'
import { integerOption } from '../../../terminal/integer-option.ts'
import { printJson } from '../../../terminal/print.ts'
import { DAYS_OF_MONTH, DEFAULTS } from '../defaults.ts'

interface Options {
  readonly eventsPerDay?: number
  readonly eventsPerMonth?: number
  readonly retentionDays: number
  readonly noise: number
  readonly eventsPerRequest: number
  readonly outageHours: number
  readonly archive?: boolean
  readonly json?: boolean
}

const EVENTS_MOST = 1e12

/** `ipid plan`: CPU, memory, disk and settings for a number of events. Needs no running instance, and reads nothing. */
export function planCommand(context: CliContext): Command {
  return new Command('plan')
    .addOption(events('day'))
    .addOption(events('month').conflicts('eventsPerDay'))
    .addOption(
      integerOption('retention-days', 'n', 'days that events are kept', {
        least: 1,
        most: 36_500,
        otherwise: DEFAULTS.retentionDays,
      }),
    )
    .addOption(
      integerOption('noise', 'percent', 'share of events that is noise', {
        least: 0,
        most: 99,
        otherwise: DEFAULTS.noise,
      }),
    )
    .addOption(
      integerOption('events-per-request', 'n', 'events of a request', {
        least: 1,
        most: 100,
        otherwise: DEFAULTS.eventsPerRequest,
      }),
    )
    .addOption(
      integerOption('outage-hours', 'n', 'hours that ClickHouse may be down', {
        least: 0,
        most: 720,
        otherwise: DEFAULTS.outageHours,
      }),
    )
    .option('--archive', 'payloads are archived on this disk')
    .option('--json', 'print JSON')
    .action(async (options: Options) => {
      const { eventsPerDay = (options.eventsPerMonth ?? 0) / DAYS_OF_MONTH, json } = options
      if (eventsPerDay === 0) throw new InputError('give --events-per-day or --events-per-month, for example 10M')
      const [{ planFor }, { limitsOfProduct }, { printPlan }] = await Promise.all([
        import('../plan.ts'),
        import('../limits.ts'),
        import('../print-plan.ts'),
      ])
      const plan = planFor(
        {
          ...{ eventsPerDay, noise: options.noise / 100, eventsPerRequest: options.eventsPerRequest },
          ...{ retentionDays: options.retentionDays, outageHours: options.outageHours },
          isArchived: options.archive === true,
        },
        limitsOfProduct(),
      )
      if (json) printJson(context.stdout, plan)
      else printPlan(context.stdout, plan)
    })
}

function events(period: 'day' | 'month'): Option {
  return new Option(`--events-per-${period} <n>`, `events sent in a ${period}, noise too: 500000, 10M, 1.5B`).argParser(
    countOf,
  )
}

const FACTORS: Readonly<Record<string, number>> = { '': 1, k: 1e3, m: 1e6, b: 1e9 }

/** `10M` → 10,000,000. A fraction needs a unit: in some countries 100.000 is a hundred thousand. */
function countOf(text: string): number {
  const [, digits, unit] = /^(\d{1,15}(?:\.\d{1,6}(?=[kmb]))?)([kmb]?)$/i.exec(text) ?? []
  const count = digits === undefined ? 0 : Number(digits) * FACTORS[unit!.toLowerCase()]!
  if (count >= 1 && count <= EVENTS_MOST) return count
  throw new InvalidArgumentError('It must be a number of events from 1 to 1000B, such as 500000, 10M or 1.5B.')
}
