import type { Correction, Told, ToldCompany } from '../messages.ts'
import { type MessageContext, messageOf } from '../messages.ts'
import type { Alert } from '../redis/alert-store.ts'
import type { Occurrence, SentAnswer } from '../redis/occurrence-store.ts'

const DAY_MS = 86_400_000

/** A company with visits, as its tenant sees it now. */
export interface VisitedCompany extends ToldCompany {
  /** Name that a person gave it; empty when none did. */
  readonly given_name: string
}

/** What is known of touched companies. */
export interface Visits {
  readonly companies: readonly VisitedCompany[]
  /** UTC days with visits by company, `YYYY-MM-DD`, ascending. */
  readonly days: ReadonlyMap<string, readonly string[]>
  /** Companies that are in a segment now, by segment id. */
  readonly members: ReadonlyMap<string, ReadonlySet<string>>
  /** Makes the ids of companies that enter a segment again, by company. */
  readonly stamps: ReadonlyMap<string, string>
}

/** What an alert has to tell of touched companies; what it told before is among it. */
export function occurrencesOf(
  alert: Alert,
  visits: Visits,
  context: MessageContext,
  nowMs: number,
  freshMs: number,
): Occurrence[] {
  const { segment_id: segmentId } = alert
  const members = segmentId === undefined ? undefined : visits.members.get(segmentId)
  const wanted = visits.companies.filter(({ company_id: id }) => members === undefined || members.has(id))
  const sinceMs = Math.max(Date.parse(alert.active_since), nowMs - freshMs)
  return wanted.flatMap((company) => {
    const { company_id: id } = company
    const occurrence = (key: string, stamp: string, told: Omit<Told, 'company'>): Occurrence => ({
      key,
      stamp,
      message: messageOf(alert.on, { company: toldOf(company), ...told }, context),
      answer: answerOf(company),
    })
    switch (alert.on) {
      case 'company.first_seen': {
        const atMs = Date.parse(company.first_seen)
        return atMs >= sinceMs ? [occurrence(id, '', { atMs })] : []
      }
      case 'company.returned':
        return returnsOf(visits.days.get(id) ?? [], alert.after_days ?? 0, sinceMs, nowMs).map(({ day, previousDay }) =>
          occurrence(`${id}\n${day}`, '', { atMs: nowMs, previousDay }),
        )
      case 'segment.entered':
        return [occurrence(id, visits.stamps.get(id) ?? '', { atMs: nowMs })]
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

/**
 * Days since a moment whose day with visits before is at least `afterDays` days earlier.
 * @param days `YYYY-MM-DD`, ascending
 */
export function returnsOf(days: readonly string[], afterDays: number, sinceMs: number, nowMs: number): Return[] {
  const first = dayOf(sinceMs)
  // A timestamp may be up to a day ahead.
  const last = dayOf(nowMs + DAY_MS)
  return days.flatMap((day, i) => {
    const previousDay = days[i - 1]
    if (previousDay === undefined || day < first || day > last) return []
    const gap = (Date.parse(day) - Date.parse(previousDay)) / DAY_MS
    return gap >= afterDays ? [{ day, previousDay }] : []
  })
}

export function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10)
}

/** A company as a message names it. */
export function toldOf({ given_name: _, ...company }: VisitedCompany): ToldCompany {
  return company
}

export function answerOf({ name, domain, given_name: given, last_seen: seen }: VisitedCompany): SentAnswer {
  return { name, domain, given, state: 'present', seen }
}

/** Where a company that was told of has gone. */
export interface Fate {
  readonly isHidden: boolean
  /** The company that its events count for; empty when it is not merged. */
  readonly countsFor: string
}

/** The answer for a company now. @param company undefined: it has no visible visits */
export function answerNow(
  before: SentAnswer,
  company: VisitedCompany | undefined,
  fate: Fate | undefined,
  keptSinceMs: number,
): SentAnswer {
  if (fate?.countsFor) return { ...before, state: fate.countsFor }
  if (fate?.isHidden) return { ...before, state: 'hidden' }
  if (company !== undefined) return answerOf(company)
  // Retention removes the visits of a company that was right.
  return Date.parse(before.seen) < keptSinceMs ? before : { ...before, state: 'gone' }
}

/** What a receiver of the answer before has to learn; undefined: nothing. */
export function correctionOf(before: SentAnswer, now: SentAnswer): Correction | undefined {
  const told = { name_before: before.name }
  if (now.state !== before.state) {
    if (now.state === 'hidden' || now.state === 'gone') return { kind: now.state, ...told }
    if (now.state !== 'present') return { kind: 'merged', ...told, merged_into: now.state }
    return before.state === 'gone' ? undefined : { kind: 'shown', ...told }
  }
  if (now.state !== 'present' || (now.name === before.name && now.domain === before.domain)) return undefined
  // Addresses of one company may carry several spellings of its name: a new visit may change it, and corrects nothing.
  const isCorrected = now.given !== before.given || now.seen === before.seen
  return isCorrected ? { kind: 'renamed', ...told } : undefined
}
