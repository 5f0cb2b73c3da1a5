import type { EventRow } from './event-rows.ts'

/*
 * A model of the views `companies`, `accounts` and `daily_visits`, written as plainly as possible: it goes through all events, one after
 * the other.
 */

const DAY_MS = 86_400_000

/** A company's corrections in force. */
export interface ModelState {
  readonly hidden?: boolean
  readonly name?: string
  readonly countsFor?: string
  readonly tags?: readonly string[]
  readonly owner?: string
  readonly status?: string
  readonly own?: Readonly<Record<string, string>>
  readonly note?: string
}

type States = ReadonlyMap<string, ModelState>

interface Sums {
  readonly events: EventRow[]
}

const endOf = (states: States, id: string) => states.get(id)?.countsFor || id

function groupBy(events: readonly EventRow[], keyOf: (event: EventRow) => string): Map<string, Sums> {
  const groups = new Map<string, Sums>()
  for (const event of events) {
    const key = keyOf(event)
    if (!groups.has(key)) groups.set(key, { events: [] })
    groups.get(key)!.events.push(event)
  }
  return groups
}

const latestOf = (events: readonly EventRow[]) =>
  events.reduce<EventRow | undefined>(
    (latest, event) => (latest === undefined || event.received_at! > latest.received_at! ? event : latest),
    undefined,
  )

const visitsOf = (events: readonly EventRow[]) =>
  new Set(events.map(({ ip, timestamp }) => `${ip} ${Math.floor(Number(timestamp) / DAY_MS)}`)).size

const countsOf = (events: readonly EventRow[]) => ({
  events: events.length,
  visits: visitsOf(events),
  unique_ips: new Set(events.map(({ ip }) => ip)).size,
})

const sorted = <T extends object>(rows: T[]) =>
  rows.sort((a, b) => (JSON.stringify(Object.values(a)) < JSON.stringify(Object.values(b)) ? -1 : 1))

/** Attributes of a company: those of its own newest event, or else of the newest one that counts for it. */
function companyLatest(events: readonly EventRow[], id: string): EventRow | undefined {
  return latestOf(events.filter(({ company_id }) => company_id === id)) ?? latestOf(events)
}

export function modelCompanies(events: readonly EventRow[], states: States) {
  const known = events.filter(({ company_id }) => company_id !== '')
  const rows = [...groupBy(known, ({ company_id }) => endOf(states, String(company_id)))].flatMap(([id, group]) => {
    const state = states.get(id) ?? {}
    if (state.hidden) return []
    return [
      {
        company_id: id,
        business_name: state.name || companyLatest(group.events, id)!.business_name,
        ...countsOf(group.events),
        accounts: new Set(group.events.map(({ account_id }) => endOf(states, String(account_id)))).size,
        tags: state.tags ?? [],
        owner: state.owner ?? '',
        status: state.status ?? '',
        own: state.own ?? {},
        note: state.note ?? '',
      },
    ]
  })
  return sorted(rows)
}

export function modelAccounts(events: readonly EventRow[], states: States) {
  const named = events.filter(({ account_id }) => account_id !== '')
  const rows = [...groupBy(named, ({ account_id }) => endOf(states, String(account_id)))].flatMap(([id, group]) => {
    if (states.get(id)?.hidden) return []
    const isShown = ({ company_id }: EventRow) =>
      company_id !== '' && !states.get(endOf(states, String(company_id)))?.hidden
    const latest = latestOf(group.events.filter(isShown))
    return [{ account_id: id, business_name: latest ? nameIn(latest, events, states) : '', ...countsOf(group.events) }]
  })
  return sorted(rows)
}

/** The name that an account shows when this is its newest event of a company that is shown. */
function nameIn(event: EventRow, events: readonly EventRow[], states: States) {
  const company = endOf(states, String(event.company_id))
  const name = states.get(company)?.name
  if (name) return name
  if (company === event.company_id) return event.business_name
  return (latestOf(events.filter(({ company_id }) => company_id === company)) ?? event).business_name
}

export function modelDays(events: readonly EventRow[], states: States) {
  const named = events.filter(({ account_id }) => account_id !== '')
  const keyOf = ({ account_id, timestamp }: EventRow) =>
    JSON.stringify([
      endOf(states, String(account_id)),
      new Date(Math.floor(Number(timestamp) / DAY_MS) * DAY_MS).toISOString().slice(0, 10),
    ])
  const rows = [...groupBy(named, keyOf)].flatMap(([key, group]) => {
    const [account_id, day] = JSON.parse(key) as [string, string]
    if (states.get(account_id)?.hidden) return []
    const { events: count, unique_ips } = countsOf(group.events)
    return [{ account_id, day, visits: unique_ips, events: count }]
  })
  return sorted(rows)
}

export function modelSessions(events: readonly EventRow[], states: States) {
  const withSession = events.filter(({ session_id }) => session_id !== undefined)
  const keyOf = ({ account_id, timestamp, session_id }: EventRow) =>
    JSON.stringify([
      new Date(Math.floor(Number(timestamp) / DAY_MS) * DAY_MS).toISOString().slice(0, 10),
      endOf(states, String(account_id)),
      session_id,
    ])
  const rows = [...groupBy(withSession, keyOf)].flatMap(([key, group]) => {
    const [day, account_id, session_id] = JSON.parse(key) as [string, string, number]
    if (states.get(account_id)?.hidden) return []
    const { events: count, unique_ips } = countsOf(group.events)
    return [{ day, account_id, session_id, events: count, unique_ips }]
  })
  return sorted(rows)
}
