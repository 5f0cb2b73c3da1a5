import type { AlertType } from '../../../schemas/alert.ts'
import { DAY_MS, utcDay } from '../../pipeline/event/outcomes.ts'
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
}

const COMPANIES_PER_PART = 500

/**
 * Finds when an alert would have fired on the last days, by the events and corrections that are stored now. Uses today's attributes of
 * companies, and evaluates a segment once a day.
 */
export async function tryAlert(
  visits: ClickHouseVisits,
  tenantId: string,
  { on, afterDays, where }: TrialOptions,
  days: number,
  nowMs: number,
): Promise<readonly TriedOccurrence[]> {
  const sinceMs = Date.parse(utcDay(nowMs - (days - 1) * DAY_MS))
  if (on === 'company.corrected') return await visits.corrections(tenantId, sinceMs)
  if (on === 'segment.entered') return await entries(visits, tenantId, where ?? '', sinceMs, nowMs)
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
    after = ids.at(-1)!
  }
  return sorted(found)
}

/** Companies that are in a segment on a day, and were not on the day before. */
async function entries(
  visits: ClickHouseVisits,
  tenantId: string,
  where: string,
  sinceMs: number,
  nowMs: number,
): Promise<TriedOccurrence[]> {
  const found: TriedOccurrence[] = []
  let before: ReadonlySet<string> | undefined
  for (let ms = sinceMs - DAY_MS; ms <= nowMs; ms += DAY_MS) {
    const members = new Set(await visits.membersOn(tenantId, where, ms))
    if (before !== undefined) {
      for (const company_id of members) if (!before.has(company_id)) found.push({ day: utcDay(ms), company_id })
    }
    before = members
  }
  return sorted(found)
}

function sorted(found: TriedOccurrence[]): TriedOccurrence[] {
  const text = ({ day, company_id }: TriedOccurrence) => `${day} ${company_id}`
  return found.sort((a, b) => (text(a) < text(b) ? -1 : 1))
}
