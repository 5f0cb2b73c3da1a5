import { addDays, dayIn, daysFrom } from '../../run/time-zone.ts'
import type { CompanyReport, Correction, ReportedCompany } from '../messages.ts'
import { type MessageContext, messageOf } from '../messages.ts'
import type { Alert } from '../redis/alert-store.ts'
import type { Occurrence, ReportedFacts } from '../redis/occurrence-store.ts'

/** A company with visits, as its tenant sees it now. */
export interface VisitedCompany extends ReportedCompany {
  /** Name that a person gave it; empty when none did. */
  readonly given_name: string
  /** When it was first seen by visits that a rule hid; 1970 when there are none. */
  readonly hidden_since: string
}

/** A day with visits of a company. */
export interface VisitedDay {
  /** `YYYY-MM-DD`. */
  readonly day: string
  /** When its first event was received. */
  readonly receivedMs: number
}

/** The state of touched companies in ClickHouse. */
export interface TouchedState {
  readonly companies: readonly VisitedCompany[]
  /** When the first event of each company was received, milliseconds. */
  readonly received: ReadonlyMap<string, number>
  /** Days with visits by company, ascending. */
  readonly days: ReadonlyMap<string, readonly VisitedDay[]>
  /** Companies that are in a segment now, by segment id. */
  readonly members: ReadonlyMap<string, ReadonlySet<string>>
  /** Distinguishes repeated entries of a company into a segment, by company. */
  readonly stamps: ReadonlyMap<string, string>
  /** Ids of the segments whose companies are noted for corrections. */
  readonly noted: ReadonlySet<string>
  /** IANA name of the zone of the days. */
  readonly zone: string
  /** When the zone was changed, milliseconds; 0: never. Days that had begun before were evaluated as days of the zone before. */
  readonly zoneSinceMs: number
}

/** Occurrences for which an alert fires on touched companies, including those that are already recorded. */
export function occurrencesOf(
  alert: Alert,
  touched: TouchedState,
  context: MessageContext,
  nowMs: number,
  freshMs: number,
): Occurrence[] {
  const { segment_id: segmentId } = alert
  const members = segmentId === undefined ? undefined : touched.members.get(segmentId)
  const wanted = touched.companies.filter(({ company_id: id }) => members === undefined || members.has(id))
  const noted = new Map([...touched.members].filter(([id]) => touched.noted.has(id)))
  // Events received until the start are not new. A sender's clock may differ, so timestamps say only what is fresh.
  const startMs = Date.parse(alert.active_since)
  const freshSinceMs = nowMs - freshMs
  return wanted.flatMap((company) => {
    const { company_id: id } = company
    const occurrence = (key: string, stamp: string, report: Omit<CompanyReport, 'company'>): Occurrence => ({
      key,
      stamp,
      message: messageOf(alert.on, { company: reportedCompany(company), ...report }, context),
      facts: withSegments(factsOf(company), segmentsAround(id, noted)),
    })
    switch (alert.on) {
      case 'company.first_seen': {
        const hiddenMs = Date.parse(company.hidden_since)
        const wasHidden = hiddenMs > 0
        const atMs = Math.min(Date.parse(company.first_seen), wasHidden ? hiddenMs : Number.POSITIVE_INFINITY)
        const isNew = (touched.received.get(id) ?? 0) > startMs && !(wasHidden && hiddenMs <= startMs)
        return isNew && atMs >= freshSinceMs ? [occurrence(id, '', { atMs })] : []
      }
      case 'company.returned': {
        const { zone, zoneSinceMs } = touched
        const times = { startMs: Math.max(startMs, zoneSinceMs), freshSinceMs, nowMs, zone }
        return returnsOf(touched.days.get(id) ?? [], alert.after_days ?? 0, times).map(({ day, previousDay }) =>
          occurrence(`${id}\n${day}`, '', { atMs: nowMs, previousDay }),
        )
      }
      case 'segment.entered':
        return [occurrence(id, touched.stamps.get(id) ?? '', { atMs: nowMs })]
      default:
        return []
    }
  })
}

/** A day on which a company came back. */
export interface Return {
  readonly day: string
  readonly previousDay: string
}

interface ReturnTimes {
  /** Start of the alert. */
  readonly startMs: number
  readonly freshSinceMs: number
  readonly nowMs: number
  readonly zone: string
}

/** Fresh days that began after the start of an alert, and whose previous day with visits is at least `afterDays` days earlier. */
export function returnsOf(
  days: readonly VisitedDay[],
  afterDays: number,
  { startMs, freshSinceMs, nowMs, zone }: ReturnTimes,
): Return[] {
  const first = dayIn(zone, freshSinceMs)
  // A timestamp may be up to a day ahead.
  const last = addDays(dayIn(zone, nowMs), 1)
  return days.flatMap(({ day, receivedMs }, i) => {
    const previousDay = days[i - 1]?.day
    if (previousDay === undefined || receivedMs <= startMs || day < first || day > last) return []
    const gap = daysFrom(previousDay, day)
    return gap >= afterDays ? [{ day, previousDay }] : []
  })
}

/** A company as a message reports it. */
export function reportedCompany({ given_name: _, hidden_since: __, ...company }: VisitedCompany): ReportedCompany {
  return company
}

export function factsOf({ name, domain, given_name: given, last_seen: seen }: VisitedCompany): ReportedFacts {
  return { name, domain, given, state: 'present', seen }
}

/** Ids of the segments that a company is in. @param members companies by segment id */
export function segmentsAround(companyId: string, members: ReadonlyMap<string, ReadonlySet<string>>): string[] {
  return [...members].flatMap(([id, companies]) => (companies.has(companyId) ? [id] : [])).sort()
}

/** The facts with the segments that the company is in now. One that has no visits to see keeps those from before. */
export function withSegments({ segments: before, ...facts }: ReportedFacts, now: readonly string[]): ReportedFacts {
  const segments = facts.state === 'present' ? now : (before ?? [])
  return segments.length === 0 ? facts : { ...facts, segments }
}

/** How people have corrected a company. */
export interface Fate {
  readonly isHidden: boolean
  /** The company that its events count for; empty when it is not merged. */
  readonly countsFor: string
}

/** The facts about a company now. @param company undefined: it has no visible visits */
export function factsNow(
  before: ReportedFacts,
  company: VisitedCompany | undefined,
  fate: Fate | undefined,
  keptSinceMs: number,
): ReportedFacts {
  if (fate?.countsFor) return { ...before, state: fate.countsFor }
  if (fate?.isHidden) return { ...before, state: 'hidden' }
  if (company !== undefined) return factsOf(company)
  // Retention removes the visits of a company that was right.
  return Date.parse(before.seen) < keptSinceMs ? before : { ...before, state: 'gone' }
}

/** The correction for a receiver of the facts before; undefined: they are still right. */
export function correctionOf(before: ReportedFacts, now: ReportedFacts): Correction | undefined {
  const nameBefore = { name_before: before.name }
  if (now.state !== before.state) {
    if (now.state === 'hidden' || now.state === 'gone') return { kind: now.state, ...nameBefore }
    if (now.state !== 'present') return { kind: 'merged', ...nameBefore, merged_into: now.state }
    return { kind: 'shown', ...nameBefore }
  }
  if (now.state !== 'present' || (now.name === before.name && now.domain === before.domain)) return undefined
  // Addresses of one company may carry several spellings of its name: a new visit may change it, and corrects nothing.
  const isCorrected = now.given !== before.given || now.seen === before.seen
  return isCorrected ? { kind: 'renamed', ...nameBefore } : undefined
}
