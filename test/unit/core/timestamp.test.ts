import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseTimestamp } from '../../../src/pipeline/event/timestamp.ts'

test('date-times of RFC 3339 become UTC milliseconds', () => {
  const cases: [string, string][] = [
    ['2026-11-21T10:20:30Z', '2026-11-21T10:20:30.000Z'],
    ['2026-11-21t10:20:30z', '2026-11-21T10:20:30.000Z'],
    ['2026-11-21T10:20:30.5Z', '2026-11-21T10:20:30.500Z'],
    ['2026-11-21T10:20:30.123999999Z', '2026-11-21T10:20:30.123Z'],
    ['2026-11-21T10:20:30+05:30', '2026-11-21T04:50:30.000Z'],
    ['2026-11-21T10:20:30-08:00', '2026-11-21T18:20:30.000Z'],
    ['2026-11-21T10:20:30-00:00', '2026-11-21T10:20:30.000Z'],
    ['2024-02-29T00:00:00Z', '2024-02-29T00:00:00.000Z'],
    ['2016-12-31T23:59:60Z', '2017-01-01T00:00:00.000Z'],
    ['2026-11-21T23:59:60Z', '2026-11-22T00:00:00.000Z'],
    ['1990-12-31T15:59:60-08:00', '1991-01-01T00:00:00.000Z'],
    ['1969-12-31T23:59:59.999Z', '1969-12-31T23:59:59.999Z'],
  ]
  for (const [input, expected] of cases) assert.equal(new Date(parseTimestamp(input)).toISOString(), expected, input)
})

test('anything else is refused', () => {
  const inputs = [
    '',
    '2026-11-21',
    '2026-11-21T10:20:30',
    '2026-11-21 10:20:30Z',
    '2026-11-21T10:20Z',
    '2026-11-21T24:00:00Z',
    '2026-11-21T10:60:00Z',
    '2026-11-21T10:20:61Z',
    '2026-11-21T10:20:60Z',
    '2026-02-29T00:00:00Z',
    '2026-04-31T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-00-10T00:00:00Z',
    '2026-11-21T10:20:30.Z',
    '2026-11-21T10:20:30+24:00',
    '2026-11-21T10:20:30+0530',
    '1899-12-31T23:59:59Z',
    '2300-01-01T00:00:00Z',
    '0001-01-01T00:00:00Z',
    '1795235481',
    '2026/11-21T10:20:30Z',
    '2026-11-21T10:2a:30Z',
    '2026-11-21T10:20:3 Z',
    '2026-11-21T10:20:30,123Z',
    '2026-11-21T10:20:30.12:Z',
    '1899-11-21T10:20:30Z',
    '2026-11-00T10:20:30.000Z',
  ]
  for (const input of inputs) assert.ok(Number.isNaN(parseTimestamp(input)), input)
})

test('each time is parsed independently of the one before', () => {
  let state = 7
  const random = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
  const first = Date.UTC(1900, 0, 1)
  const last = Date.UTC(2299, 11, 31, 23, 59, 59, 999)
  let ms = first
  for (let i = 0; i < 5_000; i++) {
    // Within a day, the same day of another month or year, and at random.
    const steps = [
      random() * 86_400_000,
      86_400_000 * (28 + (i % 4)),
      86_400_000 * (365 + (i % 2)),
      random() * (last - first),
    ]
    ms = first + ((ms - first + Math.floor(steps[i % 4]!)) % (last - first))
    const text = new Date(ms).toISOString()
    assert.equal(parseTimestamp(text), ms, text)
    const second = ms - (((ms % 1_000) + 1_000) % 1_000)
    assert.equal(parseTimestamp(`${text.slice(0, 19)}Z`), second, text)
  }
})
