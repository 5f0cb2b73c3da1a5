import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ActivityEvent } from '../../../schemas/dashboard/activity.ts'
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
    [0, 59],
    [1],
  ])
})

test('without a session id, a session of a visitor ends after 30 minutes without an event', () => {
  assert.deepEqual(minutes([event(0), event(29), event(58)]), [[0, 29, 58]])
  assert.deepEqual(minutes([event(0), event(30)]), [[30], [0]])
  // Another address is another visitor, unless the person is the same.
  const [a, b] = [{ ip: '192.0.2.1' }, { ip: '192.0.2.2' }]
  assert.deepEqual(minutes([event(0, a), event(1, b), event(2, a)]), [[0, 2], [1]])
  assert.deepEqual(minutes([event(0, { ...a, person: 'ann' }), event(1, { ...b, person: 'ann' })]), [[0, 1]])
})

test('tenants that store no addresses have sessions by account', () => {
  const of = (account_id: string) => ({ ip: '', account_id })
  assert.deepEqual(minutes([event(0, of('a')), event(1, of('b')), event(2, of('a'))]), [[0, 2], [1]])
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

test('the week is one sentence', () => {
  const week = (companies: number, new_companies = 0) => ({
    companies,
    new_companies,
    visits: companies,
    events: companies,
  })
  assert.equal(
    weekSentence({ now: week(3, 1), before: week(5) }),
    '3 companies visited in the last 7 days, today so far included: 2 fewer than in the 7 days before; 1 of them is new.',
  )
  assert.equal(
    weekSentence({ now: week(0), before: week(2) }),
    'No company visited in the last 7 days, 2 fewer than in the 7 days before.',
  )
  assert.match(
    weekSentence({ now: week(1), before: week(0) }),
    /1 company visited .* after none .* none of them is new/,
  )
})
