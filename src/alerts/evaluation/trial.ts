import type { AlertType } from '../../../schemas/alert.ts'
import type { CompanyFilter } from '../../../schemas/companies.ts'
import { formatWhere, parseWhere } from '../../companies/where.ts'
import { DAY_MS, utcDay } from '../../pipeline/event/outcomes.ts'
import type { Clock } from '../../run/clock.ts'
import { compareTexts } from '../../run/compare-texts.ts'
import { TenantSlots } from '../../run/tenant-slots.ts'
import { ALERT_TRIALS } from '../../stores/clickhouse/read-limits.ts'
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
  /** Whether to end early, with fewer days: trials of entries may take long. Default: never. */
  readonly isLate?: () => boolean
}

/** The occurrences of a trial, by day. */
interface Tried {
  readonly occurrences: readonly TriedOccurrence[]
  /** The last UTC days that it looked at: fewer than requested when it ended early. */
  readonly days: number
}

/** Companies of a segment that a trial knows. */
const MEMBERS_MAX = 1_000_000

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
  const quick = on === 'segment.entered' ? byVisits(parseWhere(where ?? '')) : undefined
  if (on === 'segment.entered' && quick === undefined) {
    return await entries(visits, tenantId, { where: where ?? '', days, nowMs, isLate })
  }
  const kept = quick?.where ?? where
  const inside = kept ? new Set(await visits.members(tenantId, kept, undefined, MEMBERS_MAX)) : undefined
  const gap = on === 'company.returned' ? afterDays : quick?.gap
  const found = [
    ...(on === 'company.returned' ? [] : await visits.firstVisits(tenantId, sinceMs)),
    ...(gap === undefined ? [] : await visits.returns(tenantId, gap, sinceMs)),
  ]
  return { occurrences: sorted(found.filter(({ company_id: id }) => inside?.has(id) !== false)), days }
}

/** Fields of a filter that a visit does not change, by the attributes of today. */
const LASTING: ReadonlySet<string> = new Set([
  'search',
  ...['industry', 'category', 'country', 'classification', 'tag', 'owner'].flatMap((name) => [name, `${name}_not`]),
  'hidden',
])

/**
 * How companies enter a segment when its filter looks at attributes and last days only: with their first visit, or with one after `gap`
 * days or more. Undefined: by other filters too, so each day must be asked.
 */
function byVisits({ days, ...others }: CompanyFilter): { readonly where: string; readonly gap?: number } | undefined {
  if (Object.keys(others).some((name) => !LASTING.has(name))) return undefined
  return { where: formatWhere(others), ...(days !== undefined && { gap: days + 1 }) }
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
  const snapshots = new Map<number, Promise<readonly string[]>>()
  /** The members some days ago. */
  const membersAgo = (daysAgo: number): Promise<readonly string[]> => {
    const known = snapshots.get(daysAgo)
    if (known !== undefined) return known
    const members = visits.membersOn(tenantId, where, nowMs - daysAgo * DAY_MS)
    // An early end leaves the one that was asked ahead.
    members.catch(() => {})
    snapshots.set(daysAgo, members)
    return members
  }
  const dayOf = (daysAgo: number) => utcDay(nowMs - daysAgo * DAY_MS)
  let tried = 0
  for (; tried < days && (tried === 0 || !isLate()); tried++) {
    if (!visited.has(dayOf(tried))) continue
    const both = [membersAgo(tried), membersAgo(tried + 1)] as const
    // Two queries at a time.
    if (tried + 1 < days && visited.has(dayOf(tried + 1))) membersAgo(tried + 2)
    const [members, before] = await Promise.all(both)
    snapshots.delete(tried)
    const earlier = new Set(before)
    for (const company_id of members) if (!earlier.has(company_id)) found.push({ day: dayOf(tried), company_id })
  }
  return { occurrences: sorted(found), days: tried }
}

/** By day. */
function sorted(found: readonly TriedOccurrence[]): TriedOccurrence[] {
  const text = ({ day, company_id }: TriedOccurrence) => `${day} ${company_id}`
  return [...found].sort((a, b) => compareTexts(text(a), text(b)))
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

  /** @throws BackpressureError while others run, UnavailableError when a query takes too long */
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
