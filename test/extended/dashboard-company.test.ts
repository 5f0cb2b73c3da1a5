import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ActivityAnswer, ActivityEventsAnswer } from '../../schemas/dashboard/activity.ts'
import type { CompanyAnswer } from '../../schemas/dashboard/company.ts'
import { sessionsOf, type VisitorSession } from '../../src/dashboard/pages/lib/visitor-sessions.ts'
import { DAY_MS, event, NOON_MS, ODD, startCompanies, TODAY } from '../support/companies.ts'
import { lookupOf } from '../support/lookups.ts'
import { randomOf } from '../support/random.ts'

const { insert, lookups, operator } = await startCompanies()

test('a company shows where its visits come from, and why it was identified', async () => {
  lookups.answer = ({ text }) => {
    const data = { business_name: 'Anvil', network: '192.0.2.0/24', city: 'Essen', country_code: 'DE' } as const
    const provenance = { business_name: { provider: 'organisations', network: '192.0.2.0/24' } }
    return { ...lookupOf(text, data), companyId: 'anvil.example', rule: 'stated:business', provenance }
  }
  const found = await operator.read<CompanyAnswer>('/api/tenants/acme/companies/of/anvil.example')
  assert.deepEqual(
    [found.company.name, found.company.events, found.company.visits, found.company.unique_ips],
    ['Anvil', 4, 4, 3],
  )
  assert.deepEqual([found.from, found.to], ['2025-12-16', TODAY])
  assert.deepEqual(found.accounts, [
    { value: 'anvil.example', events: 3 },
    { value: 'theirs', events: 1 },
  ])
  assert.deepEqual(found.days, [
    { day: '2026-02-03', events: 1, visits: 1 },
    { day: '2026-03-14', events: 1, visits: 1 },
    { day: TODAY, events: 2, visits: 2 },
  ])
  assert.deepEqual(found.as, [
    { value: 'AS64500', events: 3 },
    { value: 'AS64501 ANVIL-AS', events: 1 },
  ])
  assert.deepEqual(found.event_types, [
    { value: '', events: 3 },
    { value: 'signup', events: 1 },
  ])
  assert.deepEqual(
    [found.networks, found.cities],
    [[{ value: '192.0.2.0/24', events: 4 }], [{ value: 'Essen, DE', events: 4 }]],
  )
  assert.deepEqual([found.located_events, found.all_events, found.addresses], [4, 4, 'full'])
  const [first] = found.events
  assert.deepEqual(
    [first!.properties, first!.platform, first!.event_type, first!.received_at, first!.is_cut],
    ['{"plan":"pro"}', 'ios', 'signup', '2026-03-15T12:00:00.001Z', false],
  )
  assert.equal(found.events.length, 4)
  const { reason } = found
  assert.deepEqual(
    [reason!.ip, reason!.events, reason!.is_same, reason!.rule],
    ['192.0.2.1', 2, true, 'stated:business'],
  )
  assert.deepEqual(reason!.values[0], {
    attribute: 'business_name',
    value: 'Anvil',
    provider: 'organisations',
    network: '192.0.2.0/24',
    word: null,
    precision: null,
  })
  assert.ok(
    lookups.asked.every(({ options }) => options.deny?.includes('rdns')),
    'no page waits for name servers',
  )
  const short = await operator.read<CompanyAnswer>('/api/tenants/acme/companies/of/anvil.example?days=1')
  assert.deepEqual([short.from, short.to, short.all_events, short.company.events], [TODAY, TODAY, 2, 4])
  const old = await operator.read<CompanyAnswer>('/api/tenants/acme/companies/of/bolt.example?days=5')
  assert.deepEqual([old.from, old.to, old.all_events], ['2026-03-01', '2026-03-05', 1])
  const odd = await operator.read<CompanyAnswer>(`/api/tenants/acme/companies/of/${encodeURIComponent(ODD)}`)
  assert.equal(odd.company.name, ODD)
})

test('addresses that are not kept are not looked up, and the page says so', async () => {
  lookups.asked.length = 0
  const found = await operator.read<CompanyAnswer>('/api/tenants/masked/companies/of/masked.example')
  assert.deepEqual([found.addresses, found.reason, found.networks, found.located_events], ['masked', null, [], 0])
  assert.equal(found.events[0]!.ip, '203.0.113.0/24#8c1e5a0b7d2f4936')
  assert.equal(lookups.asked.length, 0)
})

test('properties that are too long are cut, and marked as cut', async () => {
  const long = JSON.stringify({ text: 'ü'.repeat(20_000) })
  await insert([event('long.example', { tenant_id: 'quiet', properties: long })])
  const { events } = await operator.read<CompanyAnswer>('/api/tenants/quiet/companies/of/long.example')
  assert.deepEqual([events[0]!.is_cut, events[0]!.properties], [true, long.slice(0, 16_384)])
})

test('a company of many accounts is whole, and shows its newest events', async () => {
  const many = Array.from({ length: 120 }, (_, i) => {
    const timestamp = NOON_MS - (i % 3) * DAY_MS - i
    return event('many.example', { tenant_id: 'quiet', account_id: `account ${i}`, timestamp, event_id: `many-${i}` })
  })
  await insert(many)
  const found = await operator.read<CompanyAnswer>('/api/tenants/quiet/companies/of/many.example')
  assert.deepEqual(
    [found.all_events, found.accounts.length, found.days.map(({ events }) => events)],
    [120, 100, [40, 40, 40]],
  )
  const lastDay = await operator.read<CompanyAnswer>('/api/tenants/quiet/companies/of/many.example?days=1')
  assert.deepEqual([lastDay.all_events, lastDay.accounts.length], [40, 40], 'all of it is of the days that are shown')
  const newest = [...many].sort((a, b) => Number(b.timestamp) - Number(a.timestamp)).slice(0, 50)
  assert.deepEqual(
    found.events.map(({ event_id }) => event_id),
    newest.map(({ event_id }) => event_id),
  )
})

test('activity is read event by event, with the person as sent, and older ones follow without gaps', async () => {
  const total = 205
  const rows = Array.from({ length: total }, (_, i) =>
    event('visits.example', {
      ...{ tenant_id: 'quiet', event_id: `visit~${i}`, session_id: i % 2 === 0 ? 7 : '\\N' },
      // Two events have the same times.
      ...{ timestamp: NOON_MS - Math.floor(i / 2) * 1_000, received_at: NOON_MS },
      user_properties: i === 0 ? '{"email":"ann@visits.example"}' : '',
      extra: JSON.stringify({
        url: 'https://www.site.example/pricing?utm_source=mail&utm_campaign=spring',
        referrer: i % 2 === 0 ? 'https://www.search.example/find' : 'https://site.example/',
        ...(i === 1 && { user_id: 42 }),
      }),
    }),
  )
  await insert(rows)
  const path = '/api/tenants/quiet/companies/of/visits.example'
  const first = await operator.read<ActivityEventsAnswer>(`${path}/activity/events`)
  assert.equal(first.events.length, 200)
  const rest = await operator.read<ActivityEventsAnswer>(
    `${path}/activity/events?before=${encodeURIComponent(first.older!)}`,
  )
  assert.equal(rest.older, null)
  const ids = [...first.events, ...rest.events].map(({ event_id }) => event_id)
  assert.deepEqual([ids.length, new Set(ids).size], [total, total])
  const of = (id: string) => first.events.find(({ event_id }) => event_id === id)!
  const { page, referrer, utm_source, utm_campaign, session_id, person } = of('visit~0')
  assert.deepEqual(
    [page, referrer, utm_source, utm_campaign, session_id, person],
    ['site.example/pricing', 'search.example', 'mail', 'spring', 7, 'ann@visits.example'],
  )
  assert.deepEqual([of('visit~1').referrer, of('visit~1').session_id, of('visit~1').person], ['', null, '42'])
  assert.equal(of('visit~2').person, '')
  const activity = await operator.read<ActivityAnswer>(`${path}/activity`)
  const touch = (atMs: number) => ({
    at: new Date(atMs).toISOString(),
    ...{ channel: 'other campaign', source: 'mail', medium: '', campaign: 'spring' },
  })
  assert.deepEqual(activity, {
    // That of session 7, that of person 42, and that of the address.
    sessions: 3,
    direct_sessions: 0,
    pages: [{ value: 'site.example/pricing', sessions: 3 }],
    referrers: [{ value: 'search.example', sessions: 1 }],
    campaigns: [{ value: 'spring · mail', sessions: 3 }],
    people: [
      { value: '42', sessions: 1 },
      { value: 'ann@visits.example', sessions: 1 },
    ],
    accounts: [{ value: 'visits.example', sessions: 3 }],
    is_cut: false,
    first_touch: touch(NOON_MS - 102 * 1_000),
    last_touch: touch(NOON_MS),
  })
  assert.equal((await operator.get(`${path}/activity/events?before=nonsense`)).status, 422)
})

test('shares of a company are of the sessions that its page lists', async () => {
  const random = randomOf(14)
  const pick = <T>(from: readonly T[]) => from[random(from.length)]!
  const rows = Array.from({ length: 180 }, (_, i) =>
    event('sessions.example', {
      ...{ tenant_id: 'quiet', event_id: `session ${i}`, session_id: random(3) === 0 ? random(4) : '\\N' },
      // Gaps of exactly 30 minutes are frequent, and of several days.
      ...{
        timestamp: NOON_MS - random(12) * 900_000 - random(3) * DAY_MS - random(2),
        received_at: NOON_MS + random(2),
      },
      ...{ ip: pick(['192.0.2.1', '192.0.2.2', '']), account_id: pick(['sessions.example', 'crm-1', '']) },
      extra: JSON.stringify({
        url: pick(['https://site.example/', 'https://site.example/pricing?utm_campaign=spring', undefined]),
        referrer: pick(['https://search.example/', 'https://site.example/', 'https://news.example/', undefined]),
        user_id: pick(['ann', 'bob', undefined, undefined]),
      }),
    }),
  )
  await insert(rows)
  const path = '/api/tenants/quiet/companies/of/sessions.example/activity'
  const { events, older } = await operator.read<ActivityEventsAnswer>(`${path}/events`)
  assert.deepEqual([events.length, older], [rows.length, null])
  const sessions = sessionsOf(events)
  const count = (valuesOf: (session: VisitorSession) => readonly (string | undefined)[]) => {
    const counts = new Map<string, number>()
    for (const session of sessions) {
      for (const value of new Set(valuesOf(session))) if (value) counts.set(value, (counts.get(value) ?? 0) + 1)
    }
    return [...counts]
      .map(([value, n]) => ({ value, sessions: n }))
      .sort((a, b) => b.sessions - a.sessions || (a.value < b.value ? -1 : 1))
  }
  assert.ok(sessions.length > 20)
  // Touches are of events, not of sessions: they have a test of their own.
  const { first_touch: _first, last_touch: _last, ...shares } = await operator.read<ActivityAnswer>(path)
  assert.deepEqual(shares, {
    sessions: sessions.length,
    direct_sessions: sessions.filter(({ source }) => source === undefined).length,
    pages: count(({ pages }) => pages),
    referrers: count((session) => [session.events.find(({ referrer }) => referrer !== '')?.referrer]),
    campaigns: count((session) => [session.events.find(({ utm_campaign }) => utm_campaign !== '')?.utm_campaign]),
    people: count(({ people }) => people),
    accounts: count((session) => session.events.map(({ account_id }) => account_id)),
    is_cut: false,
  })
})
