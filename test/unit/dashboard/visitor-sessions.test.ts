import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ActivityEvent } from '../../../schemas/dashboard/activity.ts'
import { planSentences } from '../../../src/dashboard/pages/lib/plan-sentence.ts'
import { usualWeek, usualWeekText } from '../../../src/dashboard/pages/lib/usual-week.ts'
import { durationText, sessionsOf } from '../../../src/dashboard/pages/lib/visitor-sessions.ts'
import { weekSentence } from '../../../src/dashboard/pages/lib/week-sentence.ts'

let ids = 0

function event(minute: number, event: Partial<ActivityEvent> = {}): ActivityEvent {
  const timestamp = new Date(Date.UTC(2026, 2, 15, 9, minute)).toISOString()
  return {
    ...{ event_id: `e${ids++}`, timestamp, received_at: timestamp, event_type: 'page', session_id: null },
    ...{
      ip: '192.0.2.1',
      account_id: 'a.example',
      person: '',
      page: '',
      referrer: '',
      utm_source: '',
      utm_campaign: '',
    },
    ...event,
  }
}

const minutes = (events: readonly ActivityEvent[]) =>
  sessionsOf(events).map((session) => session.events.map(({ timestamp }) => new Date(timestamp).getUTCMinutes()))

test('events with a session id are one session, however long its pauses', () => {
  assert.deepEqual(minutes([event(59, { session_id: 7 }), event(0, { session_id: 7 }), event(1, { session_id: 8 })]), [
    [1],
    [0, 59],
  ])
})

test('without a session id, a session of a visitor ends after 30 minutes without an event', () => {
  assert.deepEqual(minutes([event(0), event(29), event(58)]), [[0, 29, 58]])
  assert.deepEqual(minutes([event(0), event(30)]), [[30], [0]])
  // Another address is another visitor, unless the person is the same.
  const [a, b] = [{ ip: '192.0.2.1' }, { ip: '192.0.2.2' }]
  assert.deepEqual(minutes([event(0, a), event(1, b), event(2, a)]), [[1], [0, 2]])
  assert.deepEqual(minutes([event(0, { ...a, person: 'ann' }), event(1, { ...b, person: 'ann' })]), [[0, 1]])
})

test('sessions are in the order of their starts, which the page shows', () => {
  const long = [event(0, { session_id: 1 }), event(50, { session_id: 1 })]
  assert.deepEqual(minutes([...long, event(10, { session_id: 2 })]), [[10], [0, 50]])
})

test('tenants that store no addresses have sessions by account', () => {
  const of = (account_id: string) => ({ ip: '', account_id })
  assert.deepEqual(minutes([event(0, of('a')), event(1, of('b')), event(2, of('a'))]), [[1], [0, 2]])
})

test('a session has its pages in order, and the campaign or the site that it came from', () => {
  const [session] = sessionsOf([
    event(5, { page: 'site.example/pricing' }),
    event(0, { page: 'site.example/', referrer: 'search.example' }),
    event(6, { page: 'site.example/pricing', event_type: 'click' }),
    event(9, { page: 'site.example/' }),
    event(4, { page: '' }),
  ])
  assert.deepEqual(session!.pages, ['site.example/', 'site.example/pricing', 'site.example/'])
  assert.deepEqual([session!.source, session!.people, session!.events.length], ['search.example', [], 5])
  const [campaign] = sessionsOf([event(0, { referrer: 'x.example', utm_source: 'mail', utm_campaign: 'spring' })])
  assert.equal(campaign!.source, 'spring · mail')
  assert.equal(sessionsOf([event(0)])[0]!.source, undefined)
  assert.equal(durationText(session!.startedAt, session!.endedAt), '9 min')
  assert.equal(durationText('2026-03-15T09:00:00Z', '2026-03-15T10:05:00Z'), '1 h 5 min')
})

test('a company is compared with its own past, of up to four weeks', () => {
  const day = (text: string, visits: number) => ({ day: text, visits, events: visits })
  const days = [day('2026-02-16', 8), day('2026-03-10', 2), day('2026-03-15', 1)]
  assert.deepEqual(usualWeek('2026-01-01', '2026-03-15', days), { visits: 3, usual: 2 })
  assert.deepEqual(usualWeek('2026-03-02', '2026-03-15', days), { visits: 3, usual: 0 })
  assert.equal(usualWeek('2026-03-09', '2026-03-15', days), undefined)
  assert.equal(usualWeekText({ visits: 3, usual: 2 }), 'usually 2 a week')
})

test('the week is compared with the previous 7 days, and says that today is not over', () => {
  const week = (visits: number, companies: number, new_companies = 0) => ({
    ...{ companies, new_companies, visits, events: visits },
  })
  const link = (text: string) => `[${text}]`
  for (const [now, before, text] of [
    [
      week(312, 45, 4),
      week(278, 48),
      '[312 visits] from [45 companies] ([4 new]) in the last 7 days, 12% more visits than in the 7 days before. Today is not over yet.',
    ],
    [
      week(1, 1),
      week(0, 0),
      '[1 visit] from [1 company] in the last 7 days, after none in the 7 days before. Today is not over yet.',
    ],
    [
      week(3, 3, 1),
      week(3, 2),
      '[3 visits] from [3 companies] ([1 new]) in the last 7 days, as many visits as in the 7 days before. Today is not over yet.',
    ],
    [week(0, 0), week(2, 1), 'No company visited in the last 7 days, after 2 visits in the 7 days before.'],
    [week(0, 0), week(0, 0), 'No company visited in the last 7 days, nor in the 7 before.'],
  ] as const)
    assert.equal(
      [weekSentence({ now, before }, { visits: link, companies: link, newCompanies: link })]
        .flat(9)
        .filter((part) => typeof part === 'string')
        .join(''),
      text,
    )
})

test('only limits of the plan that are near or passed are named', () => {
  const used = (lookups: number, accounts: number, passed_at: string | null = null) =>
    planSentences({
      lookups: { used: lookups, limit: 1_000, resets_at: '2026-03-16T00:00:00Z' },
      accounts: { used: accounts, limit: 100, month: '2026-03', passed_at },
    })
  assert.deepEqual(used(849, 84), [])
  assert.deepEqual(used(850, 0), ['850 of 1,000 lookups of today (UTC) are used.'])
  assert.deepEqual(used(1_000, 0), [
    '1,000 of 1,000 lookups of today (UTC) are used; more are refused until the next day.',
  ])
  assert.deepEqual(used(0, 85), ['This month (UTC) has 85 companies, and the plan 100.'])
  assert.deepEqual(used(0, 120, '2026-03-12T10:00:00Z'), [
    'This month (UTC) has 120 companies, and the plan 100; events are still accepted.',
  ])
})
