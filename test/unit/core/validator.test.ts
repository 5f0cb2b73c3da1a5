import assert from 'node:assert/strict'
import { test } from 'node:test'
import { IngestRequest } from '../../../schemas/api/event.ts'
import { compileValidator } from '../../../src/pipeline/event/validator.ts'

const errorsOf = compileValidator(IngestRequest)

const errorsOfEvent = (event: unknown) => errorsOf({ events: [event] })
const onlyError = (event: unknown) => {
  const errors = errorsOfEvent(event)
  assert.equal(errors.length, 1, JSON.stringify(errors))
  return `${errors[0]!.path} ${errors[0]!.message}`
}

test('valid values pass: unknown keys, any properties, any string as address', () => {
  const ip = 'no address, but a string'
  for (const event of [
    { ip },
    { ip, event_id: 'x'.repeat(256), account_id: '', session_id: Number.MAX_SAFE_INTEGER, platform: '😀'.repeat(256) },
    { ip, timestamp: '2026-11-21T04:00:00.123456+05:30', properties: null, user_properties: [1, { a: [] }] },
    { ip, unknown: { deep: [true] }, session_id: -0.0 },
    { ip, session_id: 5.0 },
    JSON.parse('{"ip":"1.1.1.1","__proto__":{"ip":1}}'),
  ]) {
    assert.deepEqual(errorsOfEvent(event), [], JSON.stringify(event))
  }
})

test('errors name the place and the fault', () => {
  assert.deepEqual(errorsOf({}), [{ path: 'events', message: 'is required' }])
  for (const other of [null, [], 'x', 5, true]) {
    assert.deepEqual(errorsOf(other), [{ path: '', message: 'must be an object' }], JSON.stringify(other))
  }
  assert.deepEqual(errorsOf({ events: {} }), [{ path: 'events', message: 'must be an array' }])
  assert.deepEqual(errorsOf({ events: null }), [{ path: 'events', message: 'must be an array' }])
  assert.deepEqual(errorsOf({ events: [{ ip: 'a' }, { ip: 'a' }, { ip: 'a' }, {}] }), [
    { path: 'events[3].ip', message: 'is required' },
  ])
  assert.equal(onlyError(7), 'events[0] must be an object')
  assert.equal(onlyError({ ip: null }), 'events[0].ip must be a string')
  assert.equal(onlyError(JSON.parse('{"__proto__":{"ip":"1.1.1.1"}}')), 'events[0].ip is required')
})

test('every field is checked against its type and its limits', () => {
  const ip = '1.1.1.1'
  const long = 'x'.repeat(257)
  const cases: [object, string][] = [
    [{ event_id: '' }, 'event_id must not be empty'],
    [{ event_id: long }, 'event_id must have at most 256 characters'],
    [{ event_id: 5 }, 'event_id must be a string'],
    [{ event_id: null }, 'event_id must be a string'],
    [{ account_id: long }, 'account_id must have at most 256 characters'],
    [{ event_type: long }, 'event_type must have at most 256 characters'],
    [{ platform: long }, 'platform must have at most 256 characters'],
    [{ platform: ['web'] }, 'platform must be a string'],
    [{ session_id: '5' }, 'session_id must be an integer'],
    [{ session_id: 1.5 }, 'session_id must be an integer'],
    [JSON.parse('{"session_id":1e999}'), 'session_id must be an integer'],
    [{ session_id: 2 ** 53 }, 'session_id must be at most 9007199254740991'],
    [{ session_id: -(2 ** 53) }, 'session_id must be at least -9007199254740991'],
    [
      { timestamp: 'yesterday' },
      'timestamp must be an RFC 3339 date-time between 1900 and 2299, such as 2026-11-21T10:20:30Z',
    ],
    [
      { timestamp: '2026-11-21' },
      'timestamp must be an RFC 3339 date-time between 1900 and 2299, such as 2026-11-21T10:20:30Z',
    ],
    [
      { timestamp: '2026-02-30T00:00:00Z' },
      'timestamp must be an RFC 3339 date-time between 1900 and 2299, such as 2026-11-21T10:20:30Z',
    ],
    [{ timestamp: 1_700_000_000 }, 'timestamp must be a string'],
  ]
  for (const [fields, expected] of cases) {
    assert.equal(onlyError({ ip, ...fields }), `events[0].${expected}`, JSON.stringify(fields))
  }
})

test('at most 20 errors are listed', () => {
  assert.equal(errorsOf({ events: Array.from({ length: 100 }, () => ({ session_id: 'x' })) }).length, 20)
})
