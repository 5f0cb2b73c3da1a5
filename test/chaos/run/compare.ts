import { numberOf, type StoredEvent, storedOf } from './events.ts'
import type { Ledger } from './ledger.ts'

/** The result of a comparison. */
export interface Verdict {
  /** Stored events. */
  readonly stored: number
  lost: number
  doubled: number
  wrong: number
  /** The first differences, in words. */
  readonly examples: string[]
}

export type Query = (sql: string) => Promise<string>

const EXAMPLES_MAX = 20

/** Compares the tables with the events that a tenant sent. Nothing is read with FINAL. */
export async function compareTables(ledger: Ledger, query: Query): Promise<Verdict> {
  const verdict: Verdict = { stored: 0, lost: 0, doubled: 0, wrong: 0, examples: [] }
  const stored = await compareEvents(ledger, query, verdict)
  await compareViews(ledger, query, stored, verdict)
  await compareOutcomes(ledger, query, stored.length, verdict)
  const ofSources = await query(`SELECT count() FROM events WHERE tenant_id = '${ledger.tenantId}' AND source_id != ''`)
  // Without this, a source that refuses everything would go unseen: its events are sent again in another way.
  // A few requests may all be repeats.
  if (Number(ofSources) === 0 && ledger.sourceAnswers >= 5)
    note(verdict, 'wrong', `${ledger.tenantId}: no event of its source is stored`)
  return { ...verdict, stored: stored.length }
}

/** Notes one defect. */
export function note(verdict: Verdict, kind: 'lost' | 'doubled' | 'wrong', example: string, count = 1): void {
  verdict[kind] += count
  if (verdict.examples.length < EXAMPLES_MAX) verdict.examples.push(`${kind}: ${example}`)
}

/** Returns the expected content of the views: events that must be stored and events that may be. */
async function compareEvents({ tenantId, sure, groups }: Ledger, query: Query, verdict: Verdict) {
  const rows = await lines(
    query,
    `SELECT if(event_id LIKE 'live-%' OR event_id LIKE 'batch-%' OR event_id LIKE 'probe-%', event_id, JSONExtractString(properties, 'tag')),
       account_id, company_id, ip, toDate(timestamp), count()
     FROM events WHERE tenant_id = '${tenantId}' GROUP BY ALL`,
  )
  const found = new Map<string, StoredEvent>()
  for (const [key = '', account = '', company = '', ip = '', day = '', count] of rows) {
    if (Number(count) > 1 || found.has(key))
      note(verdict, 'doubled', `${tenantId} ${key}`, Math.max(1, Number(count) - 1))
    found.set(key, { account, company, ip, day })
  }
  const allowed = new Set<string>(sure)
  for (const key of sure) if (storedOf(numberOf(key)) && !found.has(key)) note(verdict, 'lost', `${tenantId} ${key}`)
  for (const { keys, answered } of groups) {
    const due = keys.filter((key) => storedOf(numberOf(key)) !== undefined)
    const there = due.filter((key) => found.has(key)).length
    for (const key of keys) allowed.add(key)
    if (there === due.length) continue
    if (answered) note(verdict, 'lost', `${tenantId} ${due.find((key) => !found.has(key))}`, due.length - there)
    else if (there > 0) note(verdict, 'wrong', `${tenantId}: ${there} of ${due.length} of an unanswered ${keys[0]}`)
  }
  const expected: StoredEvent[] = []
  for (const [key, row] of found) {
    const due = allowed.has(key) ? storedOf(numberOf(key)) : undefined
    if (due === undefined) note(verdict, 'wrong', `${tenantId} ${key} is stored`)
    else if (!isDeepEqual(due, row)) note(verdict, 'wrong', `${tenantId} ${key} is ${JSON.stringify(row)}`)
    else expected.push(due)
  }
  return expected
}

async function compareViews({ tenantId }: Ledger, query: Query, stored: readonly StoredEvent[], verdict: Verdict) {
  const of = `WHERE tenant_id = '${tenantId}'`
  const views = [
    {
      sql: `SELECT account_id, events, visits, unique_ips FROM accounts ${of}`,
      expected: sums(
        stored,
        ({ account }) => account,
        ({ events, visits, ips }) => [events, visits.size, ips.size],
      ),
    },
    {
      sql: `SELECT company_id, events, visits, unique_ips, accounts FROM companies ${of}`,
      expected: sums(
        stored,
        ({ company }) => company,
        ({ events, visits, ips, accounts }) => [events, visits.size, ips.size, accounts.size],
      ),
    },
    {
      sql: `SELECT concat(account_id, '\\t', toString(day)), visits, events FROM daily_visits ${of} FORMAT TSVRaw`,
      expected: sums(
        stored,
        ({ account, day }) => `${account}\t${day}`,
        ({ events, ips }) => [ips.size, events],
      ),
    },
  ]
  for (const { sql, expected } of views) {
    const found = (await query(sql)).split('\n').filter((line) => line !== '')
    const due = new Set(expected)
    for (const line of found) if (!due.delete(line)) note(verdict, 'wrong', `${tenantId}: ${sql} says ${line}`)
    for (const line of due) note(verdict, 'wrong', `${tenantId}: ${sql} does not say ${line}`)
  }
}

/** Counts of events that are stored and not stored: each once for each time that they were received. */
async function compareOutcomes({ tenantId, received }: Ledger, query: Query, stored: number, verdict: Verdict) {
  const rows = await lines(
    query,
    `SELECT status, sum(events) FROM daily_outcomes WHERE tenant_id = '${tenantId}' GROUP BY status`,
  )
  const counted = new Map(rows.map(([status = '', events]) => [status, Number(events)]))
  const of = (status: string) => counted.get(status) ?? 0
  const all = [...counted.values()].reduce((sum, events) => sum + events, 0)
  if (of('stored') !== stored) note(verdict, 'wrong', `${tenantId}: ${of('stored')} counted as stored, ${stored} are`)
  if (of('dead') !== 0) note(verdict, 'wrong', `${tenantId}: ${of('dead')} counted as dead`)
  for (const [kind, count] of [
    ['all', all],
    ['filtered', of('filtered')],
    ['invalid_ip', of('invalid_ip')],
  ] as const) {
    const { answered, attempted } = received[kind]
    if (count < answered || count > attempted) {
      note(verdict, 'wrong', `${tenantId}: ${count} counted (${kind}), ${answered} to ${attempted} received`)
    }
  }
}

interface Sums {
  events: number
  readonly visits: Set<string>
  readonly ips: Set<string>
  readonly accounts: Set<string>
}

/** One line per group, as ClickHouse prints it. */
function sums(
  stored: readonly StoredEvent[],
  keyOf: (event: StoredEvent) => string,
  columns: (sums: Sums) => readonly number[],
): string[] {
  const groups = new Map<string, Sums>()
  for (const event of stored) {
    const key = keyOf(event)
    const group = groups.get(key) ?? { events: 0, visits: new Set(), ips: new Set(), accounts: new Set() }
    groups.set(key, group)
    group.events++
    group.visits.add(`${event.ip} ${event.day}`)
    group.ips.add(event.ip)
    group.accounts.add(event.account)
  }
  return [...groups].map(([key, group]) => [key, ...columns(group)].join('\t'))
}

async function lines(query: Query, sql: string): Promise<string[][]> {
  return (await query(sql))
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.split('\t'))
}

function isDeepEqual(one: StoredEvent, other: StoredEvent): boolean {
  return one.account === other.account && one.company === other.company && one.ip === other.ip && one.day === other.day
}
