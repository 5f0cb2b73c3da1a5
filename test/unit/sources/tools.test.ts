import assert from 'node:assert/strict'
import { test } from 'node:test'
import { claimOf } from '../../../src/enrichment/judge.ts'
import type { BodyScan } from '../../../src/http/engine/body-search.ts'
import type { Exchange } from '../../../src/http/engine/exchange.ts'
import type { RequestHead } from '../../../src/http/engine/head.ts'
import { trustedProxies } from '../../../src/http/engine/trusted-proxies.ts'
import { readAmplitudeEvents } from '../../../src/pipeline/sources/amplitude.ts'
import { RefusedEvent } from '../../../src/pipeline/sources/live/translated.ts'
import { matomo, readMatomoRequests } from '../../../src/pipeline/sources/matomo.ts'
import { mixpanel, readMixpanelEvents, readMixpanelUpdates } from '../../../src/pipeline/sources/mixpanel.ts'
import { readPosthogEvents } from '../../../src/pipeline/sources/posthog.ts'
import { segment } from '../../../src/pipeline/sources/segment.ts'
import { readSnowplowEvents } from '../../../src/pipeline/sources/snowplow.ts'
import { readCalls } from '../../../src/pipeline/sources/tools/calls.ts'
import { instantOf } from '../../../src/pipeline/sources/tools/clock.ts'
import { parseExactly, stringifyExactly } from '../../../src/pipeline/sources/tools/exact-json.ts'
import { fromBase64, readPayload as readInSlices } from '../../../src/pipeline/sources/tools/payload.ts'
import { eventOf, REMOTE, sessionIdOf, type ToolEvent } from '../../../src/pipeline/sources/tools/tool-event.ts'
import { Sender } from '../../../src/pipeline/sources/tools/tool-source.ts'
import { readPageEvents, readPageImage } from '../../../src/pipeline/sources/web.ts'
import { atOnce } from '../../../src/run/slices.ts'
import { isRawKey } from '../../../src/tenants/key.ts'

const readPayload = (text: string, lists?: readonly string[]) => atOnce(readInSlices(text, lists))

const NOW_MS = Date.UTC(2026, 10, 26, 12)
/** The sender's clock is an hour slow. */
const SENT_AT = '2026-11-26T11:00:00.000Z'

test('a Segment batch: each call becomes an event, by the clock of the receiver', () => {
  const [page, group] = readCalls(
    {
      sentAt: SENT_AT,
      context: { library: { name: 'analytics.js' } },
      batch: [
        {
          type: 'page',
          messageId: 'm1',
          timestamp: '2026-11-26T10:59:58.000Z',
          userId: 'u1',
          name: 'Pricing',
          properties: { plan: 'pro' },
          context: { ip: '203.0.113.7', page: { url: 'https://acme.com/p?utm_source=x#top' } },
        },
        { type: 'group', messageId: 'm2', groupId: 56, traits: { name: 'Initech' } },
      ],
    },
    undefined,
    'segment',
    NOW_MS,
  )
  assert.deepEqual(page, {
    event_id: 'm1',
    timestamp: '2026-11-26T11:59:58.000Z',
    event_type: 'page',
    account_id: undefined,
    session_id: undefined,
    platform: 'analytics.js',
    properties: {
      plan: 'pro',
      segment: {
        name: 'Pricing',
        context: { library: { name: 'analytics.js' }, page: { url: 'https://acme.com/p?utm_source=x#top' } },
      },
    },
    user_properties: { userId: 'u1' },
    page: { url: 'https://acme.com/p?utm_source=x', utm_source: 'x' },
    ip: '203.0.113.7',
    library: 'analytics.js',
  })
  assert.equal(group!.account_id, '56')
  assert.equal(group!.user_properties, undefined, 'the traits of a group are not those of the user')
  assert.deepEqual(group!.properties!.segment, {
    groupId: 56,
    traits: { name: 'Initech' },
    context: { library: { name: 'analytics.js' } },
  })
})

test('a call of a path has the type of the path, and may ask for the address of its connection', () => {
  const [event] = readCalls(
    { event: 'Signed up', messageId: 'm', context: { direct: true } },
    'track',
    'segment',
    NOW_MS,
  )
  assert.deepEqual([event!.event_type, event!.ip], ['Signed up', REMOTE])
})

test('PostHog: a batch, one event, an array, and version 1 give the same events', () => {
  const event = {
    event: '$pageview',
    uuid: '0190',
    distinct_id: 'd',
    timestamp: '2026-11-26T10:59:59.000Z',
    properties: { $ip: '203.0.113.7', $current_url: 'https://acme.com/', $groups: { company: 'acme' }, $lib: 'web' },
  }
  const forms = [
    { api_key: 'k', sent_at: SENT_AT, batch: [event] },
    { created_at: SENT_AT, batch: [event] },
  ]
  for (const form of forms) {
    const [read] = readPosthogEvents(form, NOW_MS)
    assert.deepEqual(
      [read!.event_id, read!.timestamp, read!.event_type, read!.account_id, read!.ip, read!.page],
      ['0190', '2026-11-26T11:59:59.000Z', '$pageview', 'acme', '203.0.113.7', { url: 'https://acme.com/' }],
    )
    assert.equal(read!.properties!.$ip, undefined, 'the address has a column of its own')
  }
  assert.equal(readPosthogEvents(event, NOW_MS)[0]!.timestamp, event.timestamp)
  assert.equal(readPosthogEvents([event, event], NOW_MS).length, 2)
})

test('Amplitude: its time is in milliseconds, a session of -1 is none, and $remote is the connection', () => {
  const [event] = readAmplitudeEvents(
    {
      api_key: 'k',
      events: [
        { event_type: 'x', insert_id: 'i', time: NOW_MS, session_id: -1, ip: '$remote', user_id: 'u', device_id: 'd' },
      ],
    },
    NOW_MS,
  )
  assert.deepEqual(
    [event!.timestamp, event!.session_id, event!.ip, event!.user_properties],
    ['2026-11-26T12:00:00.000Z', undefined, REMOTE, { user_id: 'u', device_id: 'd' }],
  )
})

test('Mixpanel: its time is in seconds or milliseconds, and updates of people and groups are events', () => {
  const times = [NOW_MS / 1_000, NOW_MS]
  const read = readMixpanelEvents(
    times.map((time) => ({ event: 'x', properties: { token: 't', time, ip: '1.2.3.4' } })),
    NOW_MS,
  )
  assert.deepEqual(
    read.map(({ timestamp }) => timestamp),
    ['2026-11-26T12:00:00.000Z', '2026-11-26T12:00:00.000Z'],
  )
  const [update] = readMixpanelUpdates({ $token: 't', $distinct_id: 'd', $set: { plan: 'pro' } }, 'identify', NOW_MS)
  assert.deepEqual([update!.event_type, update!.user_properties], ['identify', { plan: 'pro', distinct_id: 'd' }])
})

test('Mixpanel: an update without an id is itself again when it is repeated, unless it adds something each time', () => {
  const idOf = (update: object, { type = 'identify' as 'identify' | 'group', ip = '1.2.3.4', nowMs = NOW_MS } = {}) => {
    const [read] = readMixpanelUpdates({ $token: 't', $distinct_id: 'd', ...update }, type, nowMs)
    return (eventOf(read!, ip) as { event_id: unknown }).event_id
  }
  const long = parseExactly('{"$set":{"n":12345678901234567890}}') as object
  for (const update of [{ $set: { plan: 'pro' } }, { $unset: ['plan'] }, { $union: { tags: ['a'] } }, long]) {
    const id = idOf(update)
    assert.match(String(id), /^[0-9a-f-]{36}$/)
    assert.equal(idOf(update), id)
    assert.equal(idOf(update, { nowMs: NOW_MS + 59 * 60_000 }), id, 'the library waits up to 10 minutes')
    assert.notEqual(idOf({ ...update, $distinct_id: 'other' }), id)
    assert.notEqual(idOf({ ...update, $time: 1 }), id)
    assert.notEqual(idOf(update, { nowMs: NOW_MS + 3_600_000 }), id, 'the same again hours later is another visit')
    assert.notEqual(idOf(update, { ip: '1.2.3.5' }), id, 'from another office')
    assert.notEqual(idOf({ ...update, $time: null }), idOf({ ...update, $time: null }, { ip: '1.2.3.5' }))
    const timed = { ...update, $time: NOW_MS / 1_000 }
    assert.equal(idOf(timed, { nowMs: NOW_MS + 3_600_000, ip: '1.2.3.5' }), idOf(timed), 'its time makes it unique')
  }
  assert.equal(idOf(long), '8143347e-779d-826c-81e9-de2698f4b996', 'the same in each process')
  const group = { $group_key: 'company', $group_id: 'g', $set: { name: 'Initech' } }
  assert.equal(idOf(group, { type: 'group' }), idOf(group, { type: 'group' }))
  assert.deepEqual(
    [{ $add: { n: 1 } }, { $append: { list: 1 } }, { $set: { a: 1 }, $add: { n: 1 } }].map((update) => idOf(update)),
    [undefined, undefined, undefined],
  )
})

test('Snowplow: self-describing events have the name of their schema, and values are texts', () => {
  const payload = { schema: 'iglu:com.acme/signed_up/jsonschema/1-0-0', data: { plan: 'pro' } }
  const encoded = Buffer.from(JSON.stringify({ schema: 'iglu:…', data: payload })).toString('base64url')
  const [event] = readSnowplowEvents(
    {
      schema: 's',
      data: [{ e: 'ue', eid: 'x', dtm: String(NOW_MS), stm: String(NOW_MS), ip: '1.2.3.4', ue_px: encoded }],
    },
    NOW_MS,
  )
  assert.deepEqual(
    [event!.event_id, event!.event_type, event!.timestamp, event!.properties],
    ['x', 'signed_up', '2026-11-26T12:00:00.000Z', { plan: 'pro' }],
  )
})

test('Matomo: requests of a bulk are queries or objects, and an action names an event', () => {
  const [page, action] = readMatomoRequests(
    {
      requests: [
        '?idsite=1&rec=1&url=https%3A%2F%2Facme.com%2F&cip=1.2.3.4&cdt=2026-11-26%2010%3A00%3A00',
        { e_a: 'Play', cip: '1.2.3.5' },
      ],
    },
    NOW_MS,
  ) as readonly ToolEvent[]
  assert.deepEqual(
    [page!.event_type, page!.timestamp, page!.ip, page!.page],
    ['page', '2026-11-26T10:00:00.000Z', '1.2.3.4', { url: 'https://acme.com/' }],
  )
  assert.deepEqual([action!.event_type, action!.ip], ['Play', '1.2.3.5'])
})

test('a long value of a form is decoded in slices, whatever it has, and as browsers decode it', () => {
  for (const value of ['%80', 'a%F0%9F%98%80', '%E2%82', 'x+%', '%zz%2']) {
    const form = `a=${value.repeat(60_000)}`
    const work = readInSlices(form)
    let slices = 0
    let step = work.next()
    for (; step.done !== true; step = work.next()) slices++
    assert.ok(slices >= Math.floor(form.length / 17_000), `${value}: ${slices}`)
    assert.equal((step.value as { a: string }).a, new URLSearchParams(form).get('a'), value)
  }
  const blanks = 'YWJj '.repeat(4)
  assert.equal(fromBase64(blanks).toString('hex'), Buffer.from(blanks.replaceAll(' ', '+'), 'base64').toString('hex'))
})

test('Matomo: a request with too many parameters is refused by itself', () => {
  const query = (parameters: number) => `?e_a=x&${'a=1&'.repeat(parameters)}`
  const [few, many] = readMatomoRequests({ requests: [query(900), query(1_100)] }, NOW_MS)
  assert.ok(!(few instanceof RefusedEvent))
  assert.ok(many instanceof RefusedEvent && /more than 1000 parameters/.test(many.errors[0]!.message))
})

test('a payload may be JSON, a form, or base64, whatever its labels say', () => {
  const value = { event: 'x' }
  const base64 = Buffer.from(JSON.stringify(value)).toString('base64')
  for (const text of [JSON.stringify(value), `data=${encodeURIComponent(base64)}`, `data=${base64}`, base64]) {
    assert.deepEqual(readPayload(text), value, text)
  }
  assert.throws(() => readPayload('{"event"'), /not JSON/)
})

test('a form without a field data is parameters, as a beacon of Matomo sends them', () => {
  assert.deepEqual(readPayload('idsite=1&rec=1&url=https%3A%2F%2Facme.com%2F'), {
    idsite: '1',
    rec: '1',
    url: 'https://acme.com/',
  })
})

test('numbers keep all of their digits', () => {
  const text = '{"id":12345678901234567891,"small":1.5,"text":"12345678901234567891","exact":1e400}'
  assert.equal(stringifyExactly(readPayload(text)), text)
})

test('a session that is no integer is always the same integer of 53 bits', () => {
  assert.equal(sessionIdOf(42), 42)
  assert.equal(sessionIdOf('42'), 42)
  const hashed = sessionIdOf('0190f6f2-aaaa')!
  assert.ok(Number.isSafeInteger(hashed))
  assert.equal(sessionIdOf('0190f6f2-aaaa'), hashed)
  assert.notEqual(sessionIdOf('0190f6f2-aaab'), hashed)
})

test('the script tag: the title of the page does not replace a property of that name', () => {
  const read = (properties: object, title: string) =>
    readPageEvents({ events: [{ id: 'a', type: 'View', title, properties }] }, NOW_MS)[0]!.properties
  assert.deepEqual(read({}, 'Home'), { title: 'Home' })
  assert.deepEqual(read({ title: 'Shoe' }, 'Home'), { title: 'Shoe' })
})

test('the script tag: with data-hash the path of a page is its fragment', () => {
  const pages: readonly (readonly [string, string])[] = [
    ['https://a.example/#/pricing', 'https://a.example/pricing'],
    ['https://a.example/app#!/pricing?plan=1', 'https://a.example/app/pricing?plan=1'],
    ['https://a.example/?utm_source=x#pricing?plan=1', 'https://a.example/pricing?plan=1&utm_source=x'],
    ['https://a.example/?q=1#', 'https://a.example/?q=1'],
    ['https://a.example/?q=1', 'https://a.example/?q=1'],
    [`https://a.example/#${'/'.repeat(200_000)}x`, 'https://a.example/x'],
  ]
  const read = (url: unknown, hash: unknown) =>
    readPageEvents({ events: [{ id: 'a', url, referrer: url }], hash }, NOW_MS)[0]!.page!
  for (const [url, page] of pages) {
    const { url: found, referrer } = read(url, true)
    assert.deepEqual([found, referrer], [page, page])
    assert.equal(read(url, false).url, url.split('#')[0])
  }
  assert.equal(read('https://a.example/?utm_source=x#/b', true).utm_source, 'x')
  assert.equal(read(5, true), undefined)
})

test('the script tag: each event has its session, and scripts of before have one for all', () => {
  const sessions = (body: object) => readPageEvents(body, NOW_MS).map(({ session_id: id }) => id)
  assert.deepEqual(sessions({ events: [{ session: '1' }, { session: '2' }, {}] }), [1, 2, undefined])
  assert.deepEqual(sessions({ events: [{}, {}], session: '3' }), [3, 3])
})

test('the image of a browser without JavaScript is a page view of its referer, unless the visitor refuses', () => {
  const read = (head: Partial<RequestHead>) =>
    readPageImage({ referer: '', refusesTracking: false, ...head } as RequestHead).map(({ event_type, page }) => [
      event_type,
      page,
    ])
  const referer = 'https://shop.example/a?utm_source=news'
  assert.deepEqual(read({ referer }), [['page', { url: referer, utm_source: 'news' }]])
  assert.deepEqual(read({}), [['page', undefined]])
  assert.deepEqual(read({ referer, refusesTracking: true }), [])
})

test('ids and names that are numbers are their digits, so that an attempt again is the same event', () => {
  const long = '12345678901234567890'
  const read = (body: string, events: (payload: unknown) => readonly ToolEvent[]) =>
    events(readPayload(body)).map(({ event_id, event_type }) => [event_id, event_type])
  for (const id of [long, '123']) {
    const calls = read(`{"type":"track","messageId":${id},"event":${id}}`, (body) =>
      readCalls(body, undefined, 'segment', NOW_MS),
    )
    const amplitude = read(`{"events":[{"event_type":${id},"insert_id":${id}}]}`, (body) =>
      readAmplitudeEvents(body, NOW_MS),
    )
    const posthog = read(`{"event":${id},"uuid":${id}}`, (body) => readPosthogEvents(body, NOW_MS))
    const snowplow = read(`{"data":[{"e":"se","eid":${id},"se_ac":${id}}]}`, (body) => readSnowplowEvents(body, NOW_MS))
    const web = read(`{"events":[{"id":${id},"type":${id}}]}`, (body) => readPageEvents(body, NOW_MS))
    assert.deepEqual([calls, amplitude, posthog, snowplow, web], Array(5).fill([[id, id]]))
    const [[, action]] = read(
      `{"requests":[{"e_a":${id}}]}`,
      (body) => readMatomoRequests(body, NOW_MS) as readonly ToolEvent[],
    ) as [[0, 0]]
    assert.equal(action, id)
  }
  assert.deepEqual(
    read('{"messageId":{}}', (body) => readCalls(body, 'page', 'segment', NOW_MS)),
    [[{}, 'page']],
  )
})

test('a number with many digits is no text, as any other number', () => {
  const read = (number: string) => {
    const call = `{"type":${number},"properties":{"url":${number}},"context":{"ip":${number},"page":{"referrer":${number}}}}`
    const [{ event_type, page, ip }] = readCalls(readPayload(call), 'track', 'segment', NOW_MS) as [ToolEvent]
    return { event_type, page, ip }
  }
  assert.deepEqual(read('12345678901234567890'), read('5'))
  const exchange = { request: { head: {} } } as unknown as Exchange
  const { ip } = readPayload('{"ip":12345678901234567890}') as { ip: unknown }
  assert.equal(
    new Sender(exchange, trustedProxies([]), { address: 'auto', isBrowser: false }).addressOf({ ip }),
    '12345678901234567890',
  )
})

test('an event with too many levels is read with the others of its batch', () => {
  const deep = `${'['.repeat(200)}${']'.repeat(200)}`
  const body = `{"batch":[{"type":"page","messageId":"a","properties":{"x":${deep}}},{"type":"page","messageId":"b"}]}`
  const read = readCalls(readPayload(body), undefined, 'segment', NOW_MS)
  assert.deepEqual(
    read.map(({ event_id }) => event_id),
    ['a', 'b'],
  )
  assert.ok(stringifyExactly(read[0]).includes(deep))
  assert.throws(() => readPayload(`${'['.repeat(257)}${']'.repeat(257)}`), /more than 256 levels/)
})

test('Snowplow: numbers in its texts keep their digits, and texts with too many levels are left out', () => {
  const read = (data: string) => {
    const text = `{"schema":"iglu:…","data":{"schema":"iglu:com.acme/x/jsonschema/1-0-0","data":${data}}}`
    const event = { e: 'ue', eid: 'x', ue_px: Buffer.from(text).toString('base64url'), co: `{"data":[${data}]}` }
    return stringifyExactly(readSnowplowEvents({ data: [event] }, NOW_MS)[0]!.properties ?? {})
  }
  assert.equal(read('{"n":12345678901234567890}'), '{"n":12345678901234567890,"contexts":[{"n":12345678901234567890}]}')
  assert.equal(read(`${'['.repeat(257)}${']'.repeat(257)}`), '{}')
})

test('strings of any length keep their text beside numbers with many digits', () => {
  const texts = [`{"n":12345678901234567890,"a":"${'x'.repeat(40_000_000)}"}`]
  texts.push(`{"a":"${String.raw`\"\\`.repeat(500_000)}","n":12345678901234567890,"b":"\\\\","c":[1.50,-2]}`)
  for (const text of texts) assert.ok(stringifyExactly(parseExactly(text)) === text)
})

test('a time has a usual form, and without a zone it is UTC', () => {
  const zone = process.env.TZ
  process.env.TZ = 'America/New_York'
  try {
    const times = [
      '2026-11-26T10:00:00',
      '2026-11-26 10:00:00.000',
      '2026-11-26T12:00:00+02:00',
      'Thu, 26 Nov 2026 10:00:00 GMT',
    ]
    for (const time of times) assert.equal(instantOf(time), Date.UTC(2026, 10, 26, 10), time)
    for (const text of ['foo 3', '2026-02-30T10:00:00Z', '01/02/2026', ''])
      assert.equal(instantOf(text), undefined, text)
  } finally {
    if (zone === undefined) delete process.env.TZ
    else process.env.TZ = zone
  }
  const [seconds] = readMixpanelEvents(readPayload('{"properties":{"time":1795680000.1230000001}}'), NOW_MS)
  assert.equal(seconds!.timestamp, '2026-11-26T08:00:00.123Z')
})

test("a server's address is never a visitor's, also when its library asks for that of the connection", () => {
  const exchange = { request: { head: { origin: '', fetchSite: '', fetchDest: '' } }, peerAddress: () => '203.0.113.7' }
  const sender = (mode: 'auto' | 'connection') =>
    new Sender(exchange as unknown as Exchange, trustedProxies([]), { address: mode, isBrowser: false })
  for (const library of ['amplitude-node-ts/1.5', 'analytics-python']) {
    assert.equal(sender('auto').addressOf({ ip: REMOTE, library }), undefined)
    assert.equal(sender('connection').addressOf({ ip: REMOTE, library }), '203.0.113.7')
  }
  assert.equal(sender('auto').addressOf({ ip: REMOTE, library: 'amplitude-ts/2.0' }), '203.0.113.7')
  assert.equal(sender('auto').addressOf({ ip: REMOTE }), '203.0.113.7')
})

test('an address in a payload is read in every spelling, and a list past private and trusted proxies', () => {
  const exchange = { request: { head: { origin: '', fetchSite: '', fetchDest: '' } }, peerAddress: () => '203.0.113.7' }
  const facts = { address: 'auto', isBrowser: false } as const
  const sender = new Sender(exchange as unknown as Exchange, trustedProxies(['cloudflare']), facts)
  const cases: [written: unknown, right: unknown][] = [
    ['17.0.0.1:52614', '17.0.0.1'],
    ['17.0.0.1, 10.0.0.1', '17.0.0.1'],
    ['17.9.9.9, 17.0.0.1, 172.68.10.5', '17.0.0.1'],
    ['[2001:db8::1]:443', '2001:db8::1'],
    ['17.0.0.1,', '17.0.0.1'],
    ['unknown', undefined],
    ['-', undefined],
    ['localhost', 'localhost'],
  ]
  for (const [written, right] of cases) {
    const [call] = readCalls({ type: 'page', messageId: 'a', context: { ip: written } }, undefined, 'segment', NOW_MS)
    assert.equal(sender.addressOf(call as ToolEvent), right, `segment ${written}`)
    const capture = { event: '$pageview', distinct_id: 'd', properties: { $ip: written } }
    const [event] = readPosthogEvents({ batch: [capture] }, NOW_MS)
    assert.equal(sender.addressOf(event!), right, `posthog ${written}`)
  }
})

test('with a browser key neither an address nor a time of the payload counts', () => {
  const exchange = { request: { head: { origin: '', fetchSite: '', fetchDest: '' } }, peerAddress: () => '203.0.113.7' }
  for (const address of ['auto', 'payload', 'connection'] as const) {
    const sender = new Sender(exchange as unknown as Exchange, trustedProxies([]), { address, isBrowser: true })
    for (const ip of ['17.0.0.1', REMOTE, undefined, 7]) assert.equal(sender.addressOf({ ip }), '203.0.113.7')
    assert.equal(sender.addressOf({ ip: '17.0.0.1', library: 'posthog-node' }), undefined)
    const timeOf = (ageMs: number) =>
      sender.withTime({ timestamp: new Date(NOW_MS - ageMs).toISOString() }, NOW_MS).timestamp
    assert.equal(timeOf(3_600_000), new Date(NOW_MS - 3_600_000).toISOString())
    for (const ageMs of [3_600_001, 4 * 86_400_000, -1, -86_400_000]) assert.equal(timeOf(ageMs), undefined)
    assert.equal(sender.withTime({ timestamp: 'no time' }, NOW_MS).timestamp, 'no time', 'the schema says so')
  }
})

test("the connection's user agent makes an event a bot's when the address is the connection's", () => {
  const GPTBOT =
    'Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.3; +https://openai.com/gptbot)'
  const PERSON = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36'
  const botOf = (userAgent: string, event: ToolEvent, mode: 'auto' | 'connection' = 'auto') => {
    const head = { origin: 'https://acme.com', fetchSite: '', fetchDest: '', userAgent }
    const exchange = { request: { head }, peerAddress: () => '203.0.113.7' }
    const sender = new Sender(exchange as unknown as Exchange, trustedProxies([]), { address: mode, isBrowser: false })
    const read = sender.withBot(event, sender.addressOf(event))
    const properties = read.properties === undefined ? '' : stringifyExactly(read.properties)
    return [claimOf({ properties, extra: '' }), read.properties]
  }
  assert.deepEqual(botOf(GPTBOT, { properties: { a: 1 } }), ['gptbot', { user_agent: GPTBOT, a: 1 }])
  assert.deepEqual(botOf(GPTBOT, { ip: REMOTE }), ['gptbot', { user_agent: GPTBOT }])
  assert.deepEqual(botOf(GPTBOT, { ip: '198.51.100.1' }, 'connection')[0], 'gptbot')
  assert.deepEqual(botOf(GPTBOT, { ip: '203.0.113.7' }, 'connection')[0], 'gptbot')
  assert.deepEqual(botOf(GPTBOT, { ip: '198.51.100.1' }), [undefined, undefined], 'a server that forwards a visit')
  assert.deepEqual(botOf(PERSON, {}), [undefined, undefined], "a person's is not stored")
  assert.deepEqual(botOf('curl/8.5.0', {}), [undefined, undefined], 'a program that sends for a visitor')
  const own = { properties: { user_agent: PERSON } }
  assert.deepEqual(botOf(GPTBOT, own), [undefined, own.properties], "the event's own user agent counts first")
})

/** The key that a route of a tool finds in a request. */
function keyFound(
  tool: typeof segment,
  path: string,
  request: { authorization?: string; text: string; query?: string },
) {
  const { authorization = '', text, query = '' } = request
  const exchange = {
    request: { head: { sourceKey: '', authorization, hasBody: text !== '' }, query, parameters: [] },
    search: (begin: () => BodyScan) => {
      const scan = begin()
      // As pieces that end anywhere.
      for (let at = 0, size = 1; at < text.length; at += size++) if (scan.read(text.slice(at, at + size))) break
      return scan.found
    },
  } as unknown as Exchange
  const route = tool.routes!.find((route) => route.path === path && route.method === 'POST')!
  const inHead = route.keyOf!(exchange)
  return isRawKey(inHead) ? inHead : (route.keyInBody!(exchange, false) ?? inHead)
}

const KEY = `src_${'0123456789'.repeat(4)}`
const OTHER = `src_${'9876543210'.repeat(4)}`

test('a secret of the tool in the header does not hide the key in the body', () => {
  const basic = `Basic ${Buffer.from('mixpanel-secret:').toString('base64')}`
  const text = JSON.stringify([{ event: 'x', properties: { token: KEY } }])
  assert.equal(keyFound(mixpanel, '/s/mixpanel/import', { authorization: basic, text }), KEY)
  const oauth = { authorization: 'Bearer eyJhbGciOi', text: JSON.stringify({ writeKey: KEY }) }
  assert.equal(keyFound(segment, '/s/segment/v1/batch', oauth), KEY)
  assert.equal(keyFound(segment, '/s/segment/v1/batch', { ...oauth, text: '{}' }), 'eyJhbGciOi')
  const own = { authorization: `Bearer ${KEY}`, text: JSON.stringify({ writeKey: 'src_other' }) }
  assert.equal(keyFound(segment, '/s/segment/v1/batch', own), KEY)
})

test('the key is the value of its own field, in JSON, base64 or a form, and written as it was made', () => {
  assert.equal(keyFound(segment, '/s/segment/v1/batch', { text: '{"not JSON' }), '')
  assert.equal(keyFound(matomo, '/s/matomo/matomo.php', { text: '', query: `idsite=1&token_auth=${KEY}` }), KEY)
  for (const blanks of ['', ' ', '  ']) {
    const base64 = Buffer.from(`${blanks}{"event":"x","properties":{"token":"${KEY}"}}`).toString('base64')
    for (const text of [base64, `data=${base64}`, `data=${encodeURIComponent(base64)}`]) {
      assert.equal(keyFound(mixpanel, '/s/mixpanel/track', { text }), KEY)
    }
  }

  const inBody = (text: string) => keyFound(mixpanel, '/s/mixpanel/track', { text })
  for (const text of [
    `{"token" :\n "${KEY}"}`,
    `[{"a":"${OTHER}","properties":{"token":"${KEY}"}}]`,
    `\ufeff [{"a":{"token":"${OTHER}"},"$token":"${KEY}"}]`,
    `[{"properties":{"text":"\\\\","a":{"b":1},"token":"${KEY}"}}`,
    `data=${encodeURIComponent(`{"token":"${KEY}"}`)}`,
    `a=1&token=${KEY}`,
  ])
    assert.equal(inBody(text), KEY, text)
  for (const text of [
    `[{"event":"x"},{"token":"${KEY}"}]`,
    `{"event":"x","properties":{"a":{"token":"${KEY}"}}}`,
    `{"url":"https://shop.example/?token=${KEY}"}`,
    JSON.stringify({ text: `\\","token":"${KEY}","` }),
    `{"other":"${KEY}"}`,
    `{"mytoken":"${KEY}"}`,
    `{"token":"${KEY}0"}`,
    `{"token":"${KEY} "}`,
    `{"token":"${KEY.toUpperCase()}"}`,
    `{"token":["${KEY}"]}`,
    `a=${KEY}`,
  ])
    assert.equal(inBody(text), '', text)
})
