import type { AlertType } from '../../../schemas/alert.ts'
import { DAY_MS, utcDay } from '../../pipeline/event/outcomes.ts'
import type { Clock } from '../../run/clock.ts'
import { UnavailableError } from '../../run/errors.ts'
import { TenantSlots } from '../../run/tenant-slots.ts'
import { ALERT_TRIALS } from '../../stores/clickhouse/read-limits.ts'
import { returnsOf } from './rules.ts'
import type { ClickHouseVisits } from './visits.ts'

/** An occurrence for which an alert would have fired. */
export interface TriedOccurrence {
  /** UTC day, `YYYY-MM-DD`. */
  readonly day: string
  readonly company_id: string
}

interface TrialOptions {
  readonly on: AlertType
  readonly afterDays: number
  /** Filter of its segment. */
  readonly where: string | undefined
  /** Whether to end early; default: never. */
  readonly isLate?: () => boolean
}

/** The occurrences of a trial, by day. */
interface Tried {
  readonly occurrences: readonly TriedOccurrence[]
  /** The last UTC days that it looked at: fewer than requested when it ended early. */
  readonly days: number
}

const COMPANIES_PER_PART = 500

/**
 * Finds when an alert would have fired on the last days, by the events and corrections that are stored now. Uses today's attributes of
 * companies, and evaluates a segment once a day.
 */
export async function tryAlert(
  visits: ClickHouseVisits,
  tenantId: string,
  { on, afterDays, where, isLate = () => false }: TrialOptions,
  days: number,
  nowMs: number,
): Promise<Tried> {
  const sinceMs = Date.parse(utcDay(nowMs - (days - 1) * DAY_MS))
  if (on === 'company.corrected') return { occurrences: await corrections(visits, tenantId, where, sinceMs), days }
  if (on === 'segment.entered') return await entries(visits, tenantId, { where: where ?? '', days, nowMs, isLate })
  const found: TriedOccurrence[] = []
  for (let after = ''; ; ) {
    const ids = await visits.visitedSince(tenantId, sinceMs, after, COMPANIES_PER_PART)
    const targets = [...new Set((await visits.targets(tenantId, ids)).values())]
    const inside = where === undefined ? targets : await visits.members(tenantId, where, targets, targets.length)
    if (on === 'company.first_seen') {
      for (const { company_id, first_seen } of await visits.companies(tenantId, inside)) {
        if (Date.parse(first_seen) >= sinceMs) found.push({ day: first_seen.slice(0, 10), company_id })
      }
    } else {
      const shown = (await visits.companies(tenantId, inside)).map(({ company_id: id }) => id)
      for (const [company_id, visited] of await visits.days(tenantId, shown)) {
        for (const { day } of returnsOf(visited, afterDays, sinceMs, nowMs)) found.push({ day, company_id })
      }
    }
    if (ids.length < COMPANIES_PER_PART) break
    if (isLate()) throw new UnavailableError('there are too many companies to try this here', { retryAfterSeconds: 60 })
    after = ids.at(-1)!
  }
  return { occurrences: sorted(found), days }
}

/** With a segment, those of companies that are in it now: who was in it before is not stored. */
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

/**
 * Companies that are in a segment on a day with visits, and were not on the day before. The latest day first, so that an early end has
 * the last days.
 */
async function entries(
  visits: ClickHouseVisits,
  tenantId: string,
  {
    where,
    days,
    nowMs,
    isLate,
  }: Pick<Required<TrialOptions>, 'isLate'> & { where: string; days: number; nowMs: number },
): Promise<Tried> {
  const found: TriedOccurrence[] = []
  const visited = await visits.visitedDays(tenantId, nowMs - (days - 1) * DAY_MS)
  const membersOn = (dayMs: number) => visits.membersOn(tenantId, where, dayMs)
  let known: Promise<readonly string[]> | undefined
  let tried = 0
  for (; tried < days && (tried === 0 || !isLate()); tried++) {
    const dayMs = nowMs - tried * DAY_MS
    const day = utcDay(dayMs)
    if (!visited.has(day)) {
      known = undefined
      continue
    }
    const yesterday = membersOn(dayMs - DAY_MS)
    const [members, before] = await Promise.all([known ?? membersOn(dayMs), yesterday])
    const earlier = new Set(before)
    for (const company_id of members) if (!earlier.has(company_id)) found.push({ day, company_id })
    known = yesterday
  }
  return { occurrences: sorted(found), days: tried }
}

/** By day, each once: companies of several parts may be merged into one. */
function sorted(found: readonly TriedOccurrence[]): TriedOccurrence[] {
  const unique = new Map(found.map((occurrence) => [`${occurrence.day} ${occurrence.company_id}`, occurrence]))
  return [...unique].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, occurrence]) => occurrence)
}

/** When an alert would have fired, for a person who waits for it. */
interface ShownTrial {
  /** The last UTC days that were looked at, today included. */
  readonly days: number
  readonly times: number
  readonly companies: number
  /** The last occurrences, newest first. */
  readonly latest: readonly (TriedOccurrence & { readonly name: string })[]
}

const DAYS = 90
const SHOWN_MAX = 50
/** Below the time limit of a request, with the wait for a slot. */
const TRIAL_MS = 15_000

/** Trials on the last 90 days, one at a time of a tenant. */
export class AlertTrials {
  readonly #visits: ClickHouseVisits
  readonly #clock: Clock
  readonly #slots = new TenantSlots(ALERT_TRIALS)

  constructor(visits: ClickHouseVisits, clock: Clock) {
    this.#visits = visits
    this.#clock = clock
  }

  /** @throws BackpressureError while others run, UnavailableError when it takes too long */
  run(tenantId: string, options: Omit<TrialOptions, 'isLate'>): Promise<ShownTrial> {
    return this.#slots.run(tenantId, async () => {
      const lateMs = performance.now() + TRIAL_MS
      const trial = { ...options, isLate: () => performance.now() > lateMs }
      const { occurrences, days } = await tryAlert(this.#visits, tenantId, trial, DAYS, this.#clock.now())
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
}
