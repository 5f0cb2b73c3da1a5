import { ACTIVITY_LIMITS, type ActivityEvent } from '../../../../schemas/dashboard/activity.ts'
import { TEXTS } from '../texts/texts.ts'

const texts = TEXTS.lib.visitorSessions

/** Events of one visitor that belong together. */
export interface VisitorSession {
  readonly key: string
  /** ISO 8601, of its first and last event. */
  readonly startedAt: string
  readonly endedAt: string
  /** In the order of their times. */
  readonly events: readonly ActivityEvent[]
  /** Its pages in order. A page that repeats at once is listed once. */
  readonly pages: readonly string[]
  /** The campaign, else the referring host; undefined: direct, neither is known. */
  readonly source: string | undefined
  /** Persons and addresses, as they were sent and stored. */
  readonly people: readonly string[]
  readonly addresses: readonly string[]
}

/**
 * Groups events into sessions as `ActivityAnswer` counts them, the one that began last first. Events with the same session_id are one session.
 * Without a session_id, events of the same person are one session while less than 30 minutes pass between them. An event without a person
 * belongs to its address, and one without both to its account.
 */
export function sessionsOf(events: readonly ActivityEvent[]): VisitorSession[] {
  const groups = new Map<string, ActivityEvent[]>()
  const latest = new Map<string, ActivityEvent[]>()
  for (const event of [...events].sort(byTime)) {
    if (event.session_id !== null) {
      const key = `session ${event.session_id}`
      const group = groups.get(key)
      if (group === undefined) groups.set(key, [event])
      else group.push(event)
      continue
    }
    const visitor =
      event.person !== ''
        ? `person ${event.person}`
        : event.ip !== ''
          ? `address ${event.ip}`
          : `account ${event.account_id}`
    const last = latest.get(visitor)
    if (
      last !== undefined &&
      Date.parse(event.timestamp) - Date.parse(last.at(-1)!.timestamp) < ACTIVITY_LIMITS.sessionGapMs
    )
      last.push(event)
    else {
      const group = [event]
      latest.set(visitor, group)
      groups.set(`${visitor} ${event.event_id} ${event.received_at}`, group)
    }
  }
  return [...groups]
    .map(([key, group]) => sessionOf(key, group))
    .sort((a, b) => Date.parse(b.startedAt) - Date.parse(a.startedAt))
}

const byTime = (a: ActivityEvent, b: ActivityEvent) =>
  Date.parse(a.timestamp) - Date.parse(b.timestamp) ||
  Date.parse(a.received_at) - Date.parse(b.received_at) ||
  (a.event_id < b.event_id ? -1 : 1)

function sessionOf(key: string, events: readonly ActivityEvent[]): VisitorSession {
  const pages = events.map(({ page }) => page).filter((page, i, all) => page !== '' && page !== all[i - 1])
  const campaign = events.find(({ utm_campaign, utm_source }) => utm_campaign !== '' || utm_source !== '')
  const referrer = events.find((event) => event.referrer !== '')?.referrer
  const distinct = (texts: readonly string[]) => [...new Set(texts.filter((text) => text !== ''))]
  return {
    key,
    startedAt: events[0]!.timestamp,
    endedAt: events.at(-1)!.timestamp,
    events,
    pages,
    source:
      campaign === undefined
        ? referrer
        : [campaign.utm_campaign, campaign.utm_source].filter((text) => text !== '').join(' · '),
    people: distinct(events.map(({ person }) => person)),
    addresses: distinct(events.map(({ ip }) => ip)),
  }
}

/** "under a minute", "12 min", "1 h 5 min" */
export function durationText(startedAt: string, endedAt: string): string {
  const minutes = Math.round((Date.parse(endedAt) - Date.parse(startedAt)) / 60_000)
  if (minutes < 1) return texts.underAMinute
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

/** A page without its host, which is the same for nearly all pages. */
export const pathOf = (page: string): string => page.slice(Math.max(0, page.indexOf('/')))
