import assert from 'node:assert/strict'
import { test } from 'node:test'
import { json } from '../../../src/pipeline/sources/formats/json.ts'
import { mappedReader, parseMapping } from '../../../src/pipeline/sources/mapping.ts'
import { parseExactly, stringifyExactly } from '../../../src/pipeline/sources/tools/exact-json.ts'
import { eventOf, type JsonObject, sessionIdOf } from '../../../src/pipeline/sources/tools/tool-event.ts'

/** The event of an object as JSON has it. @param options as `--map` takes them */
function read(options: readonly string[], object: JsonObject): JsonObject {
  const event = mappedReader(parseMapping(options))(object)
  return JSON.parse(stringifyExactly(eventOf(event, event.ip)))
}

test('fields come from their paths, and everything else stays in properties', () => {
  const event = read(['ip=ClientIP', 'event_id=RayID', 'timestamp=EdgeStartTimestamp', 'user_agent=UA'], {
    ClientIP: '203.0.113.7',
    RayID: '8c1',
    EdgeStartTimestamp: 1_795_680_000,
    UA: 'Mozilla/5.0',
    EdgeColo: 'FRA',
  })
  assert.deepEqual(event, {
    ip: '203.0.113.7',
    event_id: '8c1',
    timestamp: '2026-11-26T08:00:00.000Z',
    properties: { EdgeColo: 'FRA', user_agent: 'Mozilla/5.0' },
  })
})

test('paths lead into objects and arrays, and keys may have dots themselves', () => {
  const object = {
    request: { client_ip: '203.0.113.7', headers: [{ name: 'id', value: 'r1' }], host: 'acme.com' },
    'http.user': 'u1',
    attributes: { 'client.kind': 'web', list: [1, 'x'] },
  }
  const options = ['ip=request.client_ip', 'event_id=request.headers[0].value', 'account_id=http.user']
  options.push('platform=attributes.client.kind', 'event_type=attributes.list.1')
  assert.deepEqual(read(options, object), {
    ip: '203.0.113.7',
    event_id: 'r1',
    account_id: 'u1',
    platform: 'web',
    event_type: 'x',
    properties: { request: { headers: [{ name: 'id' }], host: 'acme.com' }, attributes: { list: [1, null] } },
  })
  assert.deepEqual(object.request.headers[0], { name: 'id', value: 'r1' }, 'the object itself is unchanged')
})

test('an object that has nothing but fields leaves no properties', () => {
  assert.deepEqual(read(['ip=a.b.c'], { a: { b: { c: '203.0.113.7' } } }), { ip: '203.0.113.7' })
})

test('a field without a path, or whose path leads nowhere, has its own name', () => {
  const event = read(['ip=client.ip', 'url=page'], { ip: '203.0.113.7', event_id: 'e', url: '/p#x', client: 5 })
  assert.deepEqual(event, { ip: '203.0.113.7', event_id: 'e', url: '/p', properties: { client: 5 } })
})

test('a dash is no text, as logs write it', () => {
  const object = { ip: '203.0.113.7', referer: '-', agent: '-', account_id: '-', url: '/p', note: '-' }
  assert.deepEqual(read(['referrer=referer', 'user_agent=agent'], object), {
    ip: '203.0.113.7',
    url: '/p',
    properties: { note: '-' },
  })
})

test('a dash is empty in every field and in a text of several paths, and the next path counts', () => {
  const dashes = { ip: '-', event_id: '-', timestamp: '-', event_type: '-', session_id: '-', platform: '-' }
  assert.deepEqual(read(['url=https://{host}{path}', 'ip=peer'], { ...dashes, host: '-', path: '/p', peer: '-' }), {
    properties: { path: '/p' },
  })
  assert.deepEqual(read(['ip=client'], { client: '-', ip: '203.0.113.7' }), { ip: '203.0.113.7' })
})

test('the request line names the page where no path does, and says with the status what is one', () => {
  const request = { req: 'GET /p?q=1 HTTP/1.1', code: '200', ip: '203.0.113.7' }
  assert.deepEqual(read(['request=req'], request), {
    ip: '203.0.113.7',
    url: '/p?q=1',
    properties: { req: request.req, code: '200' },
  })
  assert.equal(read(['request=req'], { ...request, url: '/own' }).url, '/own')
  const cases: [object: JsonObject, isPage: boolean][] = [
    [request, true],
    [{ ...request, code: '404' }, false],
    [{ ...request, req: 'POST /p HTTP/1.1' }, false],
    [{ ...request, req: 'GET /a.svg HTTP/2.0' }, false],
    [{ ...request, user_agent: '' }, false],
    [{ ip: '203.0.113.7', url: '/a.svg' }, true],
  ]
  const options = { mapping: parseMapping(['request=req', 'status=code']), nowMs: 0 }
  for (const [object, isPage] of cases) {
    const [some, every] = [false, true].map((all) => json.reader({ ...options, all }).read(JSON.stringify(object)))
    assert.deepEqual(['event' in some!, 'event' in every!], [isPage, true], JSON.stringify(object))
  }
})

test('an event in the form of the API is read as it is', () => {
  const event = {
    ip: '203.0.113.7',
    event_id: 'e1',
    timestamp: '2026-11-26T08:00:00.123+01:00',
    event_type: 'page',
    account_id: 'acme',
    session_id: 7,
    platform: 'web',
    properties: { a: 1 },
    user_properties: { plan: 'pro' },
    url: 'https://acme.com/?utm_source=x',
    referrer: 'https://example.org/',
    utm_source: 'x',
  }
  assert.deepEqual(read([], event), event)
  assert.deepEqual(read([], { ...event, a: 2, b: 3 }).properties, { a: 1, b: 3, http: { a: 2 } })
})

test('text is made of several paths, and of none when one of them is missing', () => {
  const options = ['url=https://{host}{request.uri}']
  assert.deepEqual(read(options, { ip: '::1', host: 'acme.com', request: { uri: '/a?utm_medium=m', id: 1 } }), {
    ip: '::1',
    url: 'https://acme.com/a?utm_medium=m',
    utm_medium: 'm',
    properties: { request: { id: 1 } },
  })
  assert.deepEqual(read(options, { host: 'acme.com' }), { properties: { host: 'acme.com' } })
})

test('an address may have a port, brackets, or more addresses after it', () => {
  const cases: Record<string, unknown> = {
    '203.0.113.7:52614': '203.0.113.7',
    '[2001:db8::7]:443': '2001:db8::7',
    '[2001:db8::7]': '2001:db8::7',
    '2001:db8::7': '2001:db8::7',
    ' 203.0.113.7 ': '203.0.113.7',
    '203.0.113.7, 10.0.0.1': '203.0.113.7',
    '198.51.100.1, 203.0.113.7': '203.0.113.7',
    unknown: undefined,
    '-': undefined,
    '': undefined,
    'acme.com:80': 'acme.com:80',
  }
  for (const [text, expected] of Object.entries(cases)) assert.equal(read(['ip=c'], { c: text }).ip, expected, text)
  assert.equal(read(['ip=c'], { c: ['203.0.113.7', '10.0.0.1'] }).ip, '203.0.113.7')
  assert.equal(read(['ip=c'], { c: ['198.51.100.1', '203.0.113.7'] }).ip, '203.0.113.7', 'a header that was sent twice')
  assert.equal(read(['ip=c'], { c: null }).ip, undefined)
})

test('a time is RFC 3339, or a number whose size tells its unit', () => {
  const cases: [string, string][] = [
    ['"2026-11-26T08:00:00Z"', '2026-11-26T08:00:00Z'],
    ['"2026-11-26T08:00:00+0000"', '2026-11-26T08:00:00.000Z'],
    ['1795680000', '2026-11-26T08:00:00.000Z'],
    ['1795680000.123456', '2026-11-26T08:00:00.123Z'],
    ['1795680000123', '2026-11-26T08:00:00.123Z'],
    ['1795680000123456', '2026-11-26T08:00:00.123Z'],
    ['1795680000123999999', '2026-11-26T08:00:00.123Z'],
    ['"1795680000123456789"', '2026-11-26T08:00:00.123Z'],
  ]
  for (const [json, expected] of cases) {
    assert.equal(read(['timestamp=at'], parseExactly(`{"at":${json}}`) as JsonObject).timestamp, expected, json)
  }
})

test('values that do not fit stay for the schema to name, or in properties', () => {
  const event = read([], { ip: 5, event_id: {}, timestamp: 'yesterday', platform: { os: 'x' }, event_type: 12 })
  assert.deepEqual(event, {
    ip: 5,
    event_id: {},
    timestamp: 'yesterday',
    event_type: '12',
    properties: { platform: { os: 'x' } },
  })
})

test('ids and properties keep every digit of long numbers', () => {
  const object = parseExactly('{"id":12345678901234567890,"n":0.1000000000000000055,"s":98765432109876543210}')
  const event = mappedReader(parseMapping(['event_id=id', 'session_id=s']))(object as JsonObject)
  assert.equal(event.session_id, sessionIdOf('98765432109876543210'))
  assert.match(stringifyExactly(event), /"event_id":"12345678901234567890",.*"n":0.1000000000000000055/)
})

test('a mapping that cannot work is refused, and the error shows a valid one', () => {
  const refused = (option: string | string[], message: RegExp) =>
    assert.throws(() => parseMapping([option].flat()), message, String(option))
  refused('address=ClientIP', /no field "address": map one of ip, event_id, timestamp/)
  refused('ip', /give a path for ip, as in ip=request.ip/)
  refused('ip=', /give a path for ip/)
  refused(['ip=a', 'ip=b'], /ip is mapped twice/)
  refused('url=https://{host', /brace without its other half/)
  refused('url={}', /brace/)
  refused(`ip=${'a'.repeat(501)}`, /more than 500 characters/)
})
