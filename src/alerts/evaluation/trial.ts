import { type AlertType, JOB_TYPE } from '../../../schemas/alert.ts'
import type { Clock } from '../../run/clock.ts'
import { compareTexts } from '../../run/compare-texts.ts'
import { InputError, TooMuchError } from '../../run/errors.ts'
import { TenantSlots } from '../../run/tenant-slots.ts'
import { addDays, dayIn, momentIn } from '../../run/time-zone.ts'
import { ALERT_TRIALS } from '../../stores/clickhouse/read-limits.ts'
import type { ClickHouseVisits } from './visits.ts'

/** An occurrence for which an alert would have fired. */
export interface TriedOccurrence {
  /** `YYYY-MM-DD`. */
  readonly day: string
  readonly company_id: string
}

interface TrialOptions {
  readonly on: AlertType
  readonly afterDays: number
  /** Filter of its segment. */
  readonly where: string | undefined
  /** Limit of the query of entries. Default: that of all queries. */
  readonly seconds?: number
}

/** Companies of a segment that a trial knows. */
const MEMBERS_MAX = 1_000_000

/**
 * Finds when an alert would have fired on the last days, by the events and corrections that are stored now. Uses today's attributes of
 * companies, and evaluates a segment once a day. By day.
 * @throws InputError for an alert about jobs
 */
export async function tryAlert(
  visits: ClickHouseVisits,
  tenantId: string,
  { on, afterDays, where, seconds }: TrialOptions,
  days: number,
  nowMs: number,
): Promise<readonly TriedOccurrence[]> {
  const zone = await visits.zoneOf(tenantId)
  const sinceMs = momentIn(zone, addDays(dayIn(zone, nowMs), 1 - days))
  switch (on) {
    case JOB_TYPE:
      throw new InputError('an alert about uploads has no dry run')
    case 'company.corrected':
      return await corrections(visits, tenantId, where, sinceMs)
    case 'segment.entered':
      return sorted(await visits.entries(tenantId, where ?? '', sinceMs, seconds))
    default: {
      const inside = where ? new Set(await visits.members(tenantId, where, undefined, MEMBERS_MAX)) : undefined
      const found =
        on === 'company.returned'
          ? await visits.returns(tenantId, afterDays, sinceMs)
          : await visits.firstVisits(tenantId, sinceMs)
      return sorted(found.filter(({ company_id: id }) => inside?.has(id) !== false))
    }
  }
}

/** With a segment, those of companies that are in it now: its former members are not stored. */
async function corrections(
  visits: ClickHouseVisits,
  tenantId: string,
  where: string | undefined,
  sinceMs: number,
): Promise<readonly TriedOccurrence[]> {
  const all = await visits.corrections(tenantId, sinceMs)
  if (where === undefined) return all
  const ids = [...new Set(all.map(({ company_id: id }) => id))]
  const inside = new Set(await visits.members(tenantId, where, ids, ids.length))
  return all.filter(({ company_id: id }) => inside.has(id))
}

/** By day. */
function sorted(found: readonly TriedOccurrence[]): TriedOccurrence[] {
  const text = ({ day, company_id }: TriedOccurrence) => `${day} ${company_id}`
  return [...found].sort((a, b) => compareTexts(text(a), text(b)))
}

/** When an alert would have fired, for a person who waits for it. */
interface ShownTrial {
  /** The last days that were looked at, today included. */
  readonly days: number
  readonly times: number
  readonly companies: number
  /** The last occurrences, newest first. */
  readonly latest: readonly (TriedOccurrence & { readonly name: string })[]
}

/** Days of a trial: fewer days read fewer events. With the wait for a slot, all spans together end within the time of a request. */
const SPANS = [
  { days: 90, seconds: 14 },
  { days: 30, seconds: 8 },
  { days: 7, seconds: 8 },
] as const
const SHOWN_MAX = 50

/** Trials on the last 90 days, or fewer when there are too many events. One at a time of a tenant. */
export class AlertTrials {
  readonly #visits: ClickHouseVisits
  readonly #clock: Clock
  readonly #slots = new TenantSlots(ALERT_TRIALS)

  constructor(visits: ClickHouseVisits, clock: Clock) {
    this.#visits = visits
    this.#clock = clock
  }

  /** @throws BackpressureError while others run, UnavailableError when a query takes too long */
  run(tenantId: string, options: Omit<TrialOptions, 'seconds'>): Promise<ShownTrial> {
    return this.#slots.run(tenantId, async () => {
      const { days, occurrences } = await this.#longest(tenantId, options)
      const latest = occurrences.slice(-SHOWN_MAX).reverse()
      const ids = [...new Set(latest.map(({ company_id: id }) => id))]
      const found = await this.#visits.companies(tenantId, ids)
      const names = new Map(found.map(({ company_id: id, name }) => [id, name]))
      return {
        days,
        times: occurrences.length,
        companies: new Set(occurrences.map(({ company_id: id }) => id)).size,
        latest: latest.map((one) => ({ ...one, name: names.get(one.company_id) ?? one.company_id })),
      }
    })
  }

  /** The occurrences of the longest span that is answered in time. */
  async #longest(
    tenantId: string,
    options: Omit<TrialOptions, 'seconds'>,
  ): Promise<{ readonly days: number; readonly occurrences: readonly TriedOccurrence[] }> {
    // For other types, fewer days take hardly less time.
    const spans = options.on === 'segment.entered' ? SPANS : SPANS.slice(0, 1)
    let tooMuch: unknown
    for (const { days, seconds } of spans) {
      try {
        const limited = { ...options, seconds }
        return { days, occurrences: await tryAlert(this.#visits, tenantId, limited, days, this.#clock.now()) }
      } catch (error) {
        if (!(error instanceof TooMuchError)) throw error
        tooMuch = error
      }
    }
    throw tooMuch
  }
}
