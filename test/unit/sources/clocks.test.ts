import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readAmplitudeEvents } from '../../../src/pipeline/sources/amplitude.ts'
import { readMatomoRequests } from '../../../src/pipeline/sources/matomo.ts'
import { readMixpanelEvents, readMixpanelUpdates } from '../../../src/pipeline/sources/mixpanel.ts'
import { readPosthogEvents } from '../../../src/pipeline/sources/posthog.ts'
import { readSnowplowEvents } from '../../../src/pipeline/sources/snowplow.ts'
import { readCalls } from '../../../src/pipeline/sources/tools/calls.ts'
import { parseExactly } from '../../../src/pipeline/sources/tools/exact-json.ts'
import { readQuery } from '../../../src/pipeline/sources/tools/payload.ts'
import type { ToolEvent } from '../../../src/pipeline/sources/tools/tool-event.ts'
import { readPageEvents } from '../../../src/pipeline/sources/web.ts'
import { atOnce } from '../../../src/run/slices.ts'

/* Each tool's clock and its key of a repeat. src/pipeline/sources/README.md has the rules and the vendors' pages. */

const NOW_MS = Date.UTC(2026, 10, 22, 12)
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const iso = (ms: number) => new Date(ms).toISOString()
const NOW = iso(NOW_MS)
/** Two hours before the receipt. */
const TEN = '2026-11-22T10:00:00.000Z'
const EIGHT = '2026-11-22T08:00:00.000Z'

type Reader = (payload: unknown, query?: string) => readonly unknown[]

const READERS: Readonly<Record<string, Reader>> = {
  segment: (payload) => readCalls(payload, undefined, 'segment', NOW_MS),
  rudderstack: (payload) => readCalls(payload, undefined, 'rudderstack', NOW_MS),
  posthog: (payload, query) => readPosthogEvents(payload, NOW_MS, query),
  amplitude: (payload) => readAmplitudeEvents(payload, NOW_MS),
  mixpanel: (payload) => readMixpanelEvents(payload, NOW_MS),
  engage: (payload) => readMixpanelUpdates(payload, 'identify', NOW_MS),
  snowplow: (payload) => readSnowplowEvents(payload, NOW_MS),
  matomo: (payload) => readMatomoRequests(payload, NOW_MS),
  web: (payload) => readPageEvents(payload, NOW_MS),
}

/** Reads a payload as the tool's route does: JSON, or the query of a GET. */
function readAll(tool: keyof typeof READERS, payload: object | string, query?: string): readonly ToolEvent[] {
  const parsed = typeof payload === 'string' ? atOnce(readQuery(payload)) : parseExactly(JSON.stringify(payload))
  return READERS[tool]!(parsed, query) as readonly ToolEvent[]
}

const batch = (call: object, more: object = {}) => ({ batch: [{ type: 'page', messageId: 'm', ...call }], ...more })
const posthog = (event: object, more: object = {}) => ({ batch: [{ event: 'x', uuid: 'u', ...event }], ...more })
const amplitude = (event: object, more: object = {}) => ({ events: [{ event_type: 'x', ...event }], ...more })
const mixpanel = (properties: object) => [{ event: 'x', properties }]
const snowplow = (event: object) => ({ data: [{ e: 'pv', eid: 'e', ...event }] })

/** The time of receipt, because the event has no time that counts. */
const RECEIPT = undefined

type Case = readonly [tool: string, payload: object | string, time: string | undefined, query?: string]

const TIMES: readonly Case[] = [
  // Segment: the time of receipt minus (sentAt minus originalTimestamp).
  ['segment', batch({ timestamp: TEN }), TEN],
  ['segment', batch({ timestamp: TEN }, { sentAt: '2026-11-22T11:00:00Z' }), '2026-11-22T11:00:00.000Z'],
  ['segment', batch({ timestamp: TEN, sentAt: '2026-11-22T10:00:30Z' }, { sentAt: TEN }), iso(NOW_MS - 30_000)],
  ['segment', batch({ originalTimestamp: TEN, timestamp: EIGHT }, { sentAt: TEN }), NOW],
  ['segment', batch({ originalTimestamp: '', timestamp: TEN }, { sentAt: '' }), TEN],
  ['segment', batch({ timestamp: '' }), RECEIPT],
  ['segment', batch({ timestamp: null }), RECEIPT],
  ['segment', batch({ timestamp: 1795334400 }), EIGHT],
  ['segment', batch({ timestamp: 1795334400000 }, { sentAt: 1795334400 }), NOW],
  // A webhook: Segment has corrected the time when it received the event.
  [
    'segment',
    {
      ...{ type: 'track', event: 'x', messageId: 'm', version: 2, projectId: 'p' },
      ...{ originalTimestamp: '2026-11-22T08:59:59Z', timestamp: '2026-11-22T09:00:00Z' },
      ...{ sentAt: '2026-11-22T09:00:00.500Z', receivedAt: '2026-11-22T09:00:01Z' },
    },
    '2026-11-22T09:00:00.000Z',
  ],
  ['segment', [batch({ timestamp: TEN, sentAt: '2026-11-22T11:00:00Z', receivedAt: TEN }).batch[0]!], TEN],
  [
    'segment',
    batch({ originalTimestamp: TEN, sentAt: TEN, receivedAt: '2026-11-22T11:00:00Z' }),
    '2026-11-22T11:00:00.000Z',
  ],
  ['segment', batch({ sentAt: TEN, receivedAt: '2026-11-22T11:00:00Z' }), '2026-11-22T11:00:00.000Z'],
  ['segment', batch({ timestamp: TEN, sentAt: TEN, receivedAt: 'never' }), NOW],
  // RudderStack: a timestamp that is there counts as it is.
  [
    'rudderstack',
    batch({ timestamp: '2026-11-01T10:00:00Z', originalTimestamp: NOW, sentAt: NOW }),
    '2026-11-01T10:00:00.000Z',
  ],
  ['rudderstack', batch({ timestamp: TEN }, { sentAt: '2026-11-22T11:00:00Z', timestamp: NOW }), TEN],
  ['rudderstack', batch({ originalTimestamp: TEN }, { sentAt: '2026-11-22T11:00:00Z' }), '2026-11-22T11:00:00.000Z'],
  [
    'rudderstack',
    batch({ originalTimestamp: TEN, sentAt: TEN, receivedAt: '2026-11-22T11:00:00Z' }),
    '2026-11-22T11:00:00.000Z',
  ],
  ['rudderstack', batch({ originalTimestamp: '1970-01-01T00:00:00Z' }), '1970-01-01T00:00:00.000Z'],
  ['rudderstack', batch({ originalTimestamp: TEN }), TEN],
  ['rudderstack', batch({ timestamp: 1795334400, sentAt: TEN }), EIGHT],
  ['rudderstack', batch({ timestamp: 'never', originalTimestamp: TEN }), TEN],
  ['rudderstack', batch({ timestamp: 'never' }, { sentAt: TEN }), RECEIPT],
  // PostHog: the time plus (receipt minus sent_at), unless the event says $ignore_sent_at.
  ['posthog', posthog({ timestamp: TEN }, { sent_at: TEN }), NOW],
  ['posthog', posthog({ timestamp: TEN, properties: { $ignore_sent_at: true } }, { sent_at: TEN }), TEN],
  ['posthog', posthog({ timestamp: TEN, properties: { $ignore_sent_at: 'true' } }, { sent_at: TEN }), TEN],
  ['posthog', posthog({ timestamp: TEN, properties: { $ignore_sent_at: false } }, { sent_at: TEN }), NOW],
  ['posthog', posthog({ timestamp: TEN }, { created_at: TEN }), NOW],
  ['posthog', posthog({ timestamp: TEN, options: { disable_skew_correction: true } }, { created_at: TEN }), TEN],
  ['posthog', posthog({ timestamp: iso(NOW_MS + 2 * DAY_MS) }), NOW, `_=${NOW_MS + 2 * DAY_MS}`],
  ['posthog', posthog({ timestamp: TEN }), '2026-11-22T11:00:00.000Z', `ip=1&_=${NOW_MS - HOUR_MS}&ver=1.2`],
  ['posthog', posthog({ timestamp: TEN }, { sent_at: TEN }), NOW, `_=${NOW_MS - HOUR_MS}`],
  // Old libraries send seconds in _, which PostHog ignores.
  ['posthog', posthog({ timestamp: TEN }), TEN, `_=${NOW_MS / 1_000 - 3_600}`],
  ['posthog', { event: 'x', offset: HOUR_MS }, '2026-11-22T11:00:00.000Z'],
  ['posthog', [{ event: 'x', offset: HOUR_MS }], '2026-11-22T11:00:00.000Z', `_=${NOW_MS + DAY_MS}`],
  ['posthog', posthog({}, { offset: 2 * HOUR_MS }), TEN],
  ['posthog', posthog({}), TEN, `offset=${2 * HOUR_MS}`],
  ['posthog', posthog({ timestamp: TEN, offset: HOUR_MS }), TEN],
  ['posthog', posthog({ timestamp: 'never', offset: HOUR_MS }), '2026-11-22T11:00:00.000Z'],
  ['posthog', posthog({ timestamp: iso(NOW_MS + 23 * HOUR_MS) }), iso(NOW_MS + 23 * HOUR_MS)],
  ['posthog', posthog({ timestamp: iso(NOW_MS + 23 * HOUR_MS + 1) }), RECEIPT],
  ['posthog', posthog({ offset: -25 * HOUR_MS }), RECEIPT],
  ['posthog', posthog({ timestamp: 'not a date' }, { sent_at: TEN }), RECEIPT],
  ['posthog', posthog({ timestamp: '' }), RECEIPT],
  ['posthog', posthog({ timestamp: '0001-01-01T00:00:00Z' }, { sent_at: NOW }), RECEIPT],
  ['posthog', posthog({ timestamp: { at: 1 } }), RECEIPT],
  ['posthog', posthog({}, { sent_at: TEN }), RECEIPT],
  ['posthog', posthog({ timestamp: 1795334400 }), EIGHT],
  ['posthog', posthog({ timestamp: 1795334400000 }), EIGHT],
  // A webhook destination of PostHog, as its template sends it.
  [
    'posthog',
    { event: { uuid: 'u', event: 'x', distinct_id: 'd', properties: {}, timestamp: TEN }, person: { properties: {} } },
    TEN,
  ],
  // Amplitude: the time plus (receipt minus client_upload_time) if that is a minute or more.
  ['amplitude', amplitude({ time: NOW_MS - HOUR_MS }), iso(NOW_MS - HOUR_MS)],
  ['amplitude', amplitude({ time: Date.parse(TEN) }, { client_upload_time: TEN }), NOW],
  [
    'amplitude',
    amplitude({ time: Date.parse(TEN) }, { client_upload_time: iso(NOW_MS - 60_000) }),
    iso(Date.parse(TEN) + 60_000),
  ],
  ['amplitude', amplitude({ time: Date.parse(TEN) }, { client_upload_time: iso(NOW_MS - 59_999) }), TEN],
  ['amplitude', amplitude({ time: Date.parse(TEN) }, { client_upload_time: iso(NOW_MS + 59_999) }), TEN],
  ['amplitude', amplitude({ time: 1795334400 }), EIGHT],
  ['amplitude', amplitude({ time: '1795334400000' }), EIGHT],
  ['amplitude', amplitude({}, { client_upload_time: TEN }), RECEIPT],
  // Mixpanel: seconds or milliseconds, never corrected.
  ['mixpanel', mixpanel({ time: 1795334400 }), EIGHT],
  ['mixpanel', mixpanel({ time: 1795334400000 }), EIGHT],
  ['mixpanel', mixpanel({ time: 1795334400.25 }), '2026-11-22T08:00:00.250Z'],
  ['mixpanel', mixpanel({ time: '1795334400' }), EIGHT],
  ['mixpanel', mixpanel({ time: EIGHT }), EIGHT],
  ['mixpanel', mixpanel({}), RECEIPT],
  ['engage', { $set: { a: 1 }, $time: 1795334400 }, EIGHT],
  ['engage', { $set: { a: 1 }, $time: 1795334400000 }, EIGHT],
  // Snowplow: the collector's time minus (sent minus created), if created is before sent.
  [
    'snowplow',
    snowplow({ dtm: `${NOW_MS - 3 * HOUR_MS}`, stm: `${NOW_MS - 2 * HOUR_MS}` }),
    '2026-11-22T11:00:00.000Z',
  ],
  ['snowplow', snowplow({ dtm: `${NOW_MS}`, stm: `${NOW_MS - HOUR_MS}` }), NOW],
  ['snowplow', snowplow({ dtm: `${NOW_MS - HOUR_MS}`, stm: `${NOW_MS - HOUR_MS}` }), NOW],
  ['snowplow', snowplow({ dtm: `${NOW_MS - HOUR_MS}` }), RECEIPT],
  ['snowplow', snowplow({ stm: `${NOW_MS}` }), RECEIPT],
  ['snowplow', snowplow({ dtm: '1795334400', stm: '1795338000' }), '2026-11-22T11:00:00.000Z'],
  ['snowplow', snowplow({ ttm: `${Date.parse(TEN)}`, dtm: `${NOW_MS}`, stm: `${NOW_MS}` }), TEN],
  ['snowplow', `e=pv&dtm=${NOW_MS - 2 * HOUR_MS}&stm=${NOW_MS - HOUR_MS}`, '2026-11-22T11:00:00.000Z'],
  // Matomo: cdt minus the seconds of cdo; not in the future, and at most 20 years ago.
  ['matomo', 'rec=1&cip=17.0.0.1&cdo=10800', '2026-11-22T09:00:00.000Z'],
  ['matomo', 'rec=1&cdo=-10800', '2026-11-22T09:00:00.000Z'],
  ['matomo', 'rec=1&cdt=2026-11-22+10:00:00&cdo=7200', EIGHT],
  ['matomo', 'rec=1&cdt=1795334400', EIGHT],
  ['matomo', 'rec=1&cdt=1795334400000', EIGHT],
  ['matomo', 'rec=1&cdt=2026-11-22T10:00:00%2B02:00', EIGHT],
  ['matomo', 'rec=1&cdo=0', RECEIPT],
  ['matomo', 'rec=1&cdo=x', RECEIPT],
  ['matomo', `rec=1&cdt=${NOW_MS / 1_000 + 1}`, RECEIPT],
  ['matomo', `rec=1&cdt=${NOW_MS / 1_000 + 3_600}&cdo=7200`, '2026-11-22T11:00:00.000Z'],
  ['matomo', `rec=1&cdt=${NOW_MS / 1_000 - 20 * 365 * 86_400}`, RECEIPT],
  ['matomo', 'rec=1&cdt=never&cdo=60', RECEIPT],
  ['matomo', { requests: [{ rec: 1, cdo: 10_800 }] }, '2026-11-22T09:00:00.000Z'],
  // Our own script: by the browser's clock, corrected.
  [
    'web',
    { events: [{ id: 'a', at: NOW_MS - 3 * HOUR_MS }], sent_at: NOW_MS - 2 * HOUR_MS },
    '2026-11-22T11:00:00.000Z',
  ],
  ['web', { events: [{ id: 'a', at: 1795334400 }] }, EIGHT],
  ['web', { events: [{ id: 'a' }], sent_at: NOW_MS }, RECEIPT],
]

test('the time of an event is the one that its own tool would give it', () => {
  for (const [tool, payload, time, query] of TIMES) {
    const [event] = readAll(tool, payload, query)
    assert.equal(event!.timestamp, time, `${tool} ${JSON.stringify(payload)} ${query ?? ''}`)
  }
})

test('seconds, milliseconds, microseconds and nanoseconds are one time in every tool', () => {
  const units = [1795334400, 1795334400000, 1795334400000000, '1795334400', '1795334400000', '1795334400000000000']
  const of: Readonly<Record<string, (at: number | string) => object>> = {
    segment: (timestamp) => batch({ timestamp }),
    rudderstack: (originalTimestamp) => batch({ originalTimestamp }),
    posthog: (timestamp) => posthog({ timestamp }),
    amplitude: (time) => amplitude({ time }),
    mixpanel: (time) => mixpanel({ time }),
    engage: ($time) => ({ $set: { a: 1 }, $time }),
    snowplow: (ttm) => snowplow({ ttm }),
    matomo: (cdt) => ({ rec: 1, cdt }),
    web: (at) => ({ events: [{ id: 'a', at }] }),
  }
  for (const [tool, payload] of Object.entries(of)) {
    for (const at of units) assert.equal(readAll(tool, payload(at))[0]!.timestamp, EIGHT, `${tool} ${at}`)
  }
})

test('a time that the tool itself would not believe leaves a warning with the event', () => {
  const warned: readonly (readonly [tool: string, payload: object | string, warning: RegExp | undefined])[] = [
    ['posthog', posthog({ timestamp: 'not a date' }), /^timestamp "not a date" is not a time/],
    ['posthog', posthog({ timestamp: '' }), /^timestamp "" is not a time/],
    ['posthog', posthog({ timestamp: '0001-01-01T00:00:00Z' }), /^timestamp "0001-01-01T00:00:00Z" is not a time/],
    ['posthog', posthog({ timestamp: 12345678901234567890n.toString() }), /^timestamp "12345678901234567890" is not/],
    ['posthog', posthog({ timestamp: 'x'.repeat(9_999) }), /^timestamp "x{64}…" is not a time/],
    ['posthog', posthog({ timestamp: `${'x'.repeat(63)}😀` }), /^timestamp "x{63}…" is not a time/],
    ['posthog', posthog({ timestamp: { at: 1 } }), /^timestamp "object" is not a time/],
    ['posthog', posthog({ timestamp: '2027-01-01' }), /^timestamp "2027-01-01" is more than 23 hours ahead/],
    ['posthog', posthog({ timestamp: TEN }), undefined],
    ['posthog', posthog({}), undefined],
    ['rudderstack', batch({ timestamp: 'never' }), /^timestamp "never" is not a time/],
    ['rudderstack', batch({ originalTimestamp: 'never' }), /^originalTimestamp "never" is not a time/],
    ['rudderstack', batch({ timestamp: '', originalTimestamp: TEN }), undefined],
    ['matomo', 'rec=1&cdt=never', /^cdt "never" is not a time/],
    ['matomo', 'rec=1&cdt=2026-11-22+13:00:00', /^cdt "2026-11-22 13:00:00" is in the future/],
    ['matomo', 'rec=1&cdt=2001-01-01', /^cdt "2001-01-01" is more than 20 years ago/],
    ['matomo', 'rec=1&cdo=60', undefined],
  ]
  for (const [tool, payload, warning] of warned) {
    const { properties = {} } = readAll(tool, payload)[0]!
    const { timestamp_warning: found } = { ...properties, ...(properties[tool] as object) } as Record<string, unknown>
    if (warning === undefined) assert.equal(found, undefined, JSON.stringify(payload))
    else assert.match(`${found}`, warning)
  }
})

test('a time that the tool itself would refuse is refused, and the error is about the time', () => {
  const refused: readonly (readonly [tool: string, payload: object, given: string])[] = [
    ['segment', batch({ timestamp: 'never' }), 'never'],
    ['amplitude', amplitude({ time: 5 }), '5'],
    ['mixpanel', mixpanel({ time: 'never' }), 'never'],
    ['snowplow', snowplow({ dtm: 'never', stm: `${NOW_MS}` }), 'never'],
    ['snowplow', snowplow({ ttm: 'never' }), 'never'],
  ]
  for (const [tool, payload, given] of refused) assert.equal(readAll(tool, payload)[0]!.timestamp, given, tool)
})

const REPEATS: readonly (readonly [tool: string, one: object, other: object, isRepeat: boolean])[] = [
  [
    'amplitude',
    amplitude({ insert_id: 'open-1', device_id: 'A' }),
    amplitude({ insert_id: 'open-1', device_id: 'A', time: 5 }),
    true,
  ],
  [
    'amplitude',
    amplitude({ insert_id: 'open-1', device_id: 'A' }),
    amplitude({ insert_id: 'open-1', device_id: 'B' }),
    false,
  ],
  [
    'amplitude',
    amplitude({ insert_id: 'open-1', device_id: 'A' }),
    amplitude({ insert_id: 'open-2', device_id: 'A' }),
    false,
  ],
  ['amplitude', amplitude({ insert_id: 7, device_id: 8 }), amplitude({ insert_id: '7', device_id: '8' }), true],
  [
    'amplitude',
    amplitude({ insert_id: 'a', device_id: 'b","c' }),
    amplitude({ insert_id: 'c","a', device_id: 'b' }),
    false,
  ],
  // Amplitude makes the device id of the user id when there is none.
  [
    'amplitude',
    amplitude({ insert_id: 'open-1', user_id: 'u' }),
    amplitude({ insert_id: 'open-1', user_id: 'v' }),
    false,
  ],
  [
    'amplitude',
    amplitude({ insert_id: 'open-1', user_id: 'u' }),
    amplitude({ insert_id: 'open-1', device_id: 'u' }),
    false,
  ],
  [
    'amplitude',
    amplitude({ insert_id: 'open-1', device_id: 'A', user_id: 'u' }),
    amplitude({ insert_id: 'open-1', device_id: 'A', user_id: 'v' }),
    true,
  ],
  [
    'mixpanel',
    mixpanel({ $insert_id: 'i', distinct_id: 'd', time: 1795334400 }),
    mixpanel({ $insert_id: 'i', distinct_id: 'd', time: 1795334400, more: 1 }),
    true,
  ],
  [
    'mixpanel',
    mixpanel({ $insert_id: 'i', distinct_id: 'd', time: 1795334400 }),
    mixpanel({ $insert_id: 'i', distinct_id: 'd', time: 1795334400000 }),
    true,
  ],
  ['mixpanel', mixpanel({ $insert_id: 7, distinct_id: 8 }), mixpanel({ $insert_id: '7', distinct_id: '8' }), true],
  ['mixpanel', mixpanel({ $insert_id: 'i', distinct_id: 'd' }), mixpanel({ $insert_id: 'i', distinct_id: 'e' }), false],
  [
    'mixpanel',
    mixpanel({ $insert_id: 'i', distinct_id: 'd', time: 1795334400 }),
    mixpanel({ $insert_id: 'i', distinct_id: 'd', time: 1795334401 }),
    false,
  ],
  [
    'mixpanel',
    mixpanel({ $insert_id: 'i', distinct_id: 'd' }),
    [{ event: 'y', properties: { $insert_id: 'i', distinct_id: 'd' } }],
    false,
  ],
  ['segment', batch({ messageId: 'm', userId: 'u' }), batch({ messageId: 'm', userId: 'v' }), true],
  ['posthog', posthog({ uuid: 'u', distinct_id: 'd' }), posthog({ uuid: 'u', distinct_id: 'e' }), true],
  ['snowplow', snowplow({ eid: 'e', duid: 'd' }), snowplow({ eid: 'e', duid: 'f' }), true],
]

test('an event is a repeat when its own tool says so', () => {
  for (const [tool, one, other, isRepeat] of REPEATS) {
    const [id, otherId] = [one, other].map((payload) => readAll(tool, payload)[0]!.event_id)
    assert.equal(id === otherId, isRepeat, `${tool} ${JSON.stringify([one, other])}`)
    assert.ok(typeof id === 'string' && id.length <= 256)
  }
  const [amplitudeEvent] = readAll('amplitude', amplitude({ insert_id: 'open-1', device_id: 'A' }))
  assert.equal((amplitudeEvent!.properties!.amplitude as { insert_id: string }).insert_id, 'open-1')
  assert.equal(readAll('mixpanel', mixpanel({ $insert_id: 'i' }))[0]!.properties!.$insert_id, 'i')
  for (const [tool, payload] of [
    ['amplitude', amplitude({ device_id: 'A' })],
    ['mixpanel', mixpanel({ distinct_id: 'd' })],
  ] as const)
    assert.equal(readAll(tool, payload)[0]!.event_id, undefined, `${tool}: without an id nothing is a repeat`)
})

test('an id that comes with nothing else of its key is the id of the event', () => {
  const [{ event_id: id }] = readAll('amplitude', amplitude({ insert_id: 'open-1' })) as [ToolEvent]
  assert.equal(id, 'open-1')
})

test('the ids that Amplitude and Mixpanel events get are the same in every process', () => {
  const [{ event_id: amplitudeId }] = readAll('amplitude', amplitude({ insert_id: 'open-1', device_id: 'A' })) as [
    ToolEvent,
  ]
  const event = mixpanel({ $insert_id: 'i', distinct_id: 'd', time: 1795334400 })
  const [{ event_id: mixpanelId }] = readAll('mixpanel', event) as [ToolEvent]
  assert.deepEqual(
    [amplitudeId, mixpanelId],
    ['57b67e6e-4ad3-8251-a24b-a0b28687c7ff', '3d22efd3-f170-86e1-8fdb-97b92f56fe88'],
  )
})

test('parameters beside the data of a query or a form are no part of the event', () => {
  const data = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64')
  const event = { event: 'x', properties: { token: 't', ip: '17.0.0.1', plan: 'pro' } }
  for (const query of [
    `ip=0&verbose=0&data=${data(event)}`,
    `data=${encodeURIComponent(data(event))}&ip=1&_=1795334400000&token=t&verbose=1&img=1`,
  ])
    assert.deepEqual(readAll('mixpanel', query)[0]!.properties, { plan: 'pro' }, query)
  const captured = { event: 'x', properties: { plan: 'pro' } }
  assert.deepEqual(
    readAll('posthog', `compression=base64&ip=0&ver=1.2&_=1795334400000&data=${data(captured)}`)[0]!.properties,
    { plan: 'pro' },
  )
  assert.deepEqual(readAll('engage', `verbose=0&ip=0&data=${data({ $set: { a: 1 } })}`)[0]!.properties, undefined)
  assert.deepEqual(
    readAll('matomo', 'rec=1&idsite=1&cdo=60&cs=utf-8&queuedtracking=0&e_a=Play&e_c=Film')[0]!.properties,
    {
      ...{ e_a: 'Play', e_c: 'Film' },
    },
  )
})

test("the campaigns of Matomo's links are campaigns", () => {
  const url = (query: string) => `https://acme.com/${query}`
  const found: readonly (readonly [tool: string, payload: object, campaign: readonly (string | undefined)[]])[] = [
    ['matomo', { url: url('?mtm_campaign=mc&mtm_source=ms') }, ['mc', 'ms', undefined, undefined, undefined]],
    ['matomo', { url: url('?pk_campaign=c&pk_kwd=k&pk_medium=m&pk_content=o&pk_source=s') }, ['c', 's', 'm', 'k', 'o']],
    ['matomo', { url: url('?piwik_campaign=c&piwik_kwd=k') }, ['c', undefined, undefined, 'k', undefined]],
    ['matomo', { url: url('?matomo_campaign=c&mtm_keyword=k') }, ['c', undefined, undefined, 'k', undefined]],
    ['matomo', { url: url('?utm_campaign=u&mtm_medium=m') }, ['u', undefined, 'm', undefined, undefined]],
    ['matomo', { url: url('?a=1#mtm_campaign=c&mtm_kwd=k') }, ['c', undefined, undefined, 'k', undefined]],
    ['matomo', { mtm_campaign: 'mc', mtm_source: 'ms' }, ['mc', 'ms', undefined, undefined, undefined]],
    ['matomo', { _rcn: 'c', _rck: 'k', url: url('') }, ['c', undefined, undefined, 'k', undefined]],
    ['web', { events: [{ url: url('?mtm_campaign=c&mtm_content=o') }] }, ['c', undefined, undefined, undefined, 'o']],
    ['snowplow', snowplow({ url: url('?pk_campaign=c') }), ['c', undefined, undefined, undefined, undefined]],
    ['web', { events: [{ url: url('?xmtm_campaign=c&campaign=d') }] }, Array(5).fill(undefined)],
  ]
  for (const [tool, payload, campaign] of found) {
    const { utm_campaign, utm_source, utm_medium, utm_term, utm_content } = readAll(tool, payload)[0]!.page ?? {}
    assert.deepEqual(
      [utm_campaign, utm_source, utm_medium, utm_term, utm_content],
      campaign,
      `${tool} ${JSON.stringify(payload)}`,
    )
  }
})

test("a webhook of PostHog brings its event, and the person's properties", () => {
  const [event] = readAll('posthog', {
    event: {
      ...{ uuid: 'u', event: '$pageview', distinct_id: 'd', timestamp: '2026-11-22T10:00:00Z', elements_chain: '' },
      ...{ url: 'https://us.posthog.com/projects/1/events/1', properties: { $ip: '17.0.0.1', plan: 'pro' } },
    },
    person: { id: 'p', name: 'Ada', url: 'https://us.posthog.com/person/1', properties: { email: 'ada@acme.com' } },
  })
  assert.deepEqual(
    [event!.event_id, event!.event_type, event!.ip, event!.properties, event!.user_properties],
    ['u', '$pageview', '17.0.0.1', { plan: 'pro' }, { email: 'ada@acme.com', distinct_id: 'd' }],
  )
})

test('a webhook of RudderStack has the address of the request, unless a server sent it', () => {
  const call = { type: 'page', messageId: 'm', request_ip: '17.0.0.1', rudderId: 'r' }
  const read = (more: object) => readAll('rudderstack', { ...call, ...more })[0]!
  assert.equal(read({ channel: 'web' }).ip, '17.0.0.1')
  assert.equal(read({ channel: 'web', context: { ip: '17.0.0.2' } }).ip, '17.0.0.2')
  assert.equal(read({ channel: 'server' }).ip, undefined)
  assert.deepEqual(read({ channel: 'web' }).properties, { rudderstack: { rudderId: 'r', channel: 'web' } })
})
