import assert from 'node:assert/strict'
import { test } from 'node:test'
import { lastDue, nextDue, openDue, upcomingDue } from '../../../src/exports/schedule.ts'
import { addDays, dayIn, isTimeZone, momentIn, mondayOf } from '../../../src/run/time-zone.ts'

const iso = (ms: number) => new Date(ms).toISOString().slice(0, 16)

test('only names of IANA are time zones, as ClickHouse knows them', () => {
  const right = ['UTC', 'Europe/Berlin', 'Asia/Kolkata', 'Asia/Calcutta', 'America/Argentina/Buenos_Aires']
  const wrong = [
    '',
    'europe/berlin',
    'Asia/KOLKATA',
    '+01:00',
    'Etc/GMT+5',
    'EST5EDT',
    'Mars/Olympus',
    "Europe/Berlin'",
  ]
  assert.deepEqual(right.filter(isTimeZone), right)
  assert.deepEqual(wrong.filter(isTimeZone), [])
})

test('a day of a zone begins at its midnight', () => {
  for (const [zone, at, day] of [
    ['UTC', '2026-03-29T23:59:59Z', '2026-03-29'],
    ['Europe/Berlin', '2026-03-28T22:59:59Z', '2026-03-28'],
    ['Europe/Berlin', '2026-03-28T23:00:00Z', '2026-03-29'],
    ['Europe/Berlin', '2026-03-29T22:00:00Z', '2026-03-30'],
    ['Asia/Kolkata', '2026-03-28T18:30:00Z', '2026-03-29'],
    ['America/St_Johns', '2026-01-01T03:29:00Z', '2025-12-31'],
    ['Pacific/Apia', '2011-12-30T09:59:59Z', '2011-12-29'],
    ['Pacific/Apia', '2011-12-30T10:00:00Z', '2011-12-31'],
  ] as const)
    assert.equal(dayIn(zone, Date.parse(at)), day, `${zone} at ${at}`)
  assert.equal(addDays('2024-03-01', -1), '2024-02-29')
  assert.deepEqual(['2026-11-29', '2026-11-30', '2026-12-06'].map(mondayOf), ['2026-11-23', '2026-11-30', '2026-11-30'])
})

test('a time that clocks leave out is after the change, and one that they show twice is the first', () => {
  for (const [zone, day, time, at] of [
    ['UTC', '2026-03-29', '02:30', '2026-03-29T02:30'],
    ['Europe/Berlin', '2026-03-29', '00:00', '2026-03-28T23:00'],
    ['Europe/Berlin', '2026-03-29', '02:30', '2026-03-29T01:30'],
    ['Europe/Berlin', '2026-10-25', '02:30', '2026-10-25T00:30'],
    ['America/Sao_Paulo', '2018-11-04', '00:00', '2018-11-04T03:00'],
    ['Asia/Kolkata', '2026-03-29', '06:00', '2026-03-29T00:30'],
  ] as const)
    assert.equal(iso(momentIn(zone, day, time)), at, `${zone}, ${day} ${time}`)
})

test('schedules follow the clocks and the Mondays of a zone', () => {
  const week = { every: 'week', at: '06:00' } as const
  for (const [zone, now, last, next] of [
    ['UTC', '2026-03-29T12:00Z', '2026-03-23T06:00', '2026-03-30T06:00'],
    // Clocks change on Sunday.
    ['Europe/Berlin', '2026-03-29T12:00Z', '2026-03-23T05:00', '2026-03-30T04:00'],
    ['Europe/Berlin', '2026-03-30T03:59Z', '2026-03-23T05:00', '2026-03-30T04:00'],
    ['Europe/Berlin', '2026-03-30T04:00Z', '2026-03-30T04:00', '2026-04-06T04:00'],
    // In Apia it is Monday while it is Sunday in UTC.
    ['Pacific/Apia', '2026-03-29T17:00Z', '2026-03-29T17:00', '2026-04-05T17:00'],
    ['Asia/Kolkata', '2026-03-30T00:29Z', '2026-03-23T00:30', '2026-03-30T00:30'],
  ] as const)
    assert.deepEqual(
      [lastDue, nextDue].map((due) => iso(due(week, Date.parse(now), zone))),
      [last, next],
      `${zone}, ${now}`,
    )
  const day = { every: 'day', at: '02:30' } as const
  assert.deepEqual(upcomingDue(day, Date.parse('2026-03-27T12:00Z'), 3, 'Europe/Berlin').map(iso), [
    ...['2026-03-28T01:30', '2026-03-29T01:30', '2026-03-30T00:30'],
  ])
})

test('a change of the zone makes no second file on a day', () => {
  const one = { every: 'day', at: '06:00', active_since: '2026-01-01T00:00:00Z' } as const
  const written = { dueMs: Date.parse('2026-11-30T06:00Z') }
  const open = (zone: string, now: string) => {
    const dueMs = openDue(one, written, Date.parse(now), zone)
    return dueMs === undefined ? undefined : iso(dueMs)
  }
  assert.equal(open('America/New_York', '2026-11-30T12:00Z'), undefined)
  assert.equal(open('America/New_York', '2026-12-01T11:00Z'), '2026-12-01T11:00')
  assert.equal(open('Europe/Berlin', '2026-12-01T04:59Z'), undefined)
  assert.equal(open('Europe/Berlin', '2026-12-01T05:00Z'), '2026-12-01T05:00')
  assert.equal(open('UTC', '2026-12-01T06:00Z'), '2026-12-01T06:00')
  // It is still the day before in Los Angeles when the file of this day is written.
  assert.equal(open('America/Los_Angeles', '2026-11-30T15:00Z'), undefined)
  assert.equal(open('America/Los_Angeles', '2026-12-01T14:00Z'), '2026-12-01T14:00')
  const weekly = { ...one, every: 'week' } as const
  for (const [zone, now, due] of [
    ['America/Los_Angeles', '2026-12-02T12:00Z', undefined],
    ['Pacific/Honolulu', '2026-12-06T12:00Z', undefined],
    ['America/Los_Angeles', '2026-12-07T14:00Z', '2026-12-07T14:00'],
    ['Pacific/Auckland', '2026-12-06T17:00Z', '2026-12-06T17:00'],
  ] as const) {
    const dueMs = openDue(weekly, written, Date.parse(now), zone)
    assert.equal(dueMs === undefined ? undefined : iso(dueMs), due, `${zone}, ${now}`)
  }
})
