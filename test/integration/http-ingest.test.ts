import assert from 'node:assert/strict'
import { request } from 'node:http'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { Ajv } from 'ajv'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { IngestResponse } from '../../schemas/api/event.ts'
import type { Intake } from '../../src/pipeline/declaration/source.ts'
import { BackpressureError, UnavailableError } from '../../src/run/errors.ts'
import { API_KEY, fullLimit, MemoryIntake, startHttp } from '../support/http.ts'

const event = { ip: '8.8.8.8', event_id: 'e1' }

function post(url: string, body: string | Buffer, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${url}/v1/ingest`, { method: 'POST', body, headers: { 'x-api-key': API_KEY, ...headers } })
}
const postEvents = (url: string, events: unknown, headers = {}) => post(url, JSON.stringify({ events }), headers)

async function refusal(answer: Response) {
  assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8')
  assert.ok(answer.headers.get('x-request-id'))
  const body = (await answer.json()) as { detail: string; errors?: { path: string; message: string }[] }
  assert.equal(typeof body.detail, 'string')
  assert.equal('errors' in body, answer.status === 422)
  return { status: answer.status, ...body }
}

test('events are answered in order, after the intake has all that are kept', async (t) => {
  const intake = new MemoryIntake()
  const { url } = await startHttp(t, { intake })
  const events = [event, { ip: 'nonsense' }, { ip: '2001:DB8::1' }, { ip: '::ffff:8.8.8.8', extra: { a: [1.0] } }]
  const answer = await postEvents(url, events, { 'x-request-id': 'mine 1' })
  assert.equal(answer.status, 200)
  assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8')
  assert.equal(answer.headers.get('x-request-id'), 'mine 1')
  assert.equal(answer.headers.get('ratelimit-policy'), '20;w=4')
  assert.equal(answer.headers.get('cache-control'), 'no-store')
  assert.equal(answer.headers.get('ratelimit-limit'), '20')
  assert.equal(answer.headers.get('ratelimit-remaining'), '19')
  assert.equal(answer.headers.get('ratelimit-reset'), '1')
  const body = (await answer.json()) as IngestResponse
  const holds = new Ajv({ strict: true }).compile(IngestResponse)
  assert.ok(holds(body), JSON.stringify(holds.errors))
  assert.deepEqual(body.stats, { received: 4, accepted: 3, rejected: 1, filtered: 0, invalid_ip: 1, unique_ips: 2 })
  assert.deepEqual(
    body.results.map((result) => [result.ip, result.status]),
    events.map(({ ip }) => [ip, ip === 'nonsense' ? 'invalid_ip' : 'ok']),
  )
  assert.equal(body.results[0]!.event_id, 'e1')
  assert.match(body.results[1]!.event_id, /^[0-9a-f-]{36}$/)
  assert.equal(intake.envelopes.length, 3)
})

test('a request without a valid address is answered once the intake has its counts', async (t) => {
  const appended: unknown[] = []
  const append: Intake['append'] = async (envelopes, _payloads, outcomes) => {
    appended.push([envelopes.length, [...outcomes!.values()]])
  }
  const { url } = await startHttp(t, { intake: { append } })
  assert.equal((await postEvents(url, [{ ip: 'x' }, { ip: 'y' }])).status, 200)
  assert.deepEqual(appended, [[0, [2]]])
})

test('any content type, a byte order mark, and gzip are accepted', async (t) => {
  const intake = new MemoryIntake()
  const { url } = await startHttp(t, { intake })
  const text = JSON.stringify({ events: [event] })
  for (const type of ['application/x-www-form-urlencoded', 'text/plain', 'application/json; charset=latin1']) {
    assert.equal((await post(url, text, { 'content-type': type })).status, 200)
  }
  assert.equal((await post(url, `\ufeff${text}`)).status, 200)
  assert.equal((await post(url, gzipSync(text), { 'content-encoding': 'GZIP' })).status, 200)
  const members = Buffer.concat([gzipSync(text.slice(0, 9)), gzipSync(text.slice(9))])
  assert.equal((await post(url, members, { 'content-encoding': 'gzip' })).status, 200)
  assert.equal((await post(url, text, { 'content-encoding': 'identity' })).status, 200)
  assert.equal(intake.envelopes.length, 7)
})

test('every kind of wrong body has its status, and none of it is kept', async (t) => {
  const intake = new MemoryIntake()
  const { url } = await startHttp(t, { intake })
  const status = async (body: string | Buffer, headers = {}) => (await refusal(await post(url, body, headers))).status
  const over = (bytes: number) => `{"events":[{"ip":"${'x'.repeat(bytes - 22)}"}]}`
  assert.equal(over(100).length, 100)
  assert.equal(await status(''), 400)
  assert.equal(await status('  '), 400)
  assert.equal(await status('{"events":[}'), 400)
  assert.equal(await status(Buffer.from([0x22, 0xff, 0x22])), 400)
  assert.equal(await status(gzipSync('{}').subarray(0, 8), { 'content-encoding': 'gzip' }), 400)
  assert.equal(await status('{"events":[]}'), 400)
  assert.equal(await status('{}'), 422)
  assert.equal(await status('[]'), 422)
  assert.equal(await status('null'), 422)
  assert.equal(await status('{"events":{}}'), 422)
  assert.equal(await status('x', { 'content-encoding': 'br' }), 415)
  assert.equal(await status(JSON.stringify({ events: Array(101).fill({}) })), 413, 'the number comes before the schema')
  assert.equal(await status(over(1_048_577)), 413)
  assert.equal(await status(gzipSync(over(1_048_577)), { 'content-encoding': 'gzip' }), 413)
  assert.equal(await status(gzipSync(Buffer.alloc(50_000_000)), { 'content-encoding': 'gzip' }), 413)
  assert.equal(await status(over(1_048_577), { 'content-encoding': 'br' }), 413, 'size comes before encoding')
  const pieces = new Blob([over(1_048_577)]).stream()
  const chunked = { method: 'POST', body: pieces, headers: { 'x-api-key': API_KEY }, duplex: 'half' } as const
  assert.equal((await fetch(`${url}/v1/ingest`, chunked)).status, 413, 'without a length, too')
  assert.equal((await post(url, over(1_048_576))).status, 200, 'the limit itself is allowed')
  assert.equal((await postEvents(url, Array(100).fill(event))).status, 200)
  const kept = intake.envelopes.length
  assert.equal(await status(JSON.stringify({ events: [event, event, { ip: 5 }] })), 422)
  assert.equal(intake.envelopes.length, kept, 'one bad event refuses all')
})

test('the detail says where: position in JSON, path in the schema', async (t) => {
  const { url } = await startHttp(t)
  assert.match((await refusal(await post(url, '{"events":[{"ip":}]}'))).detail, /position 17/)
  const { detail, errors } = await refusal(await postEvents(url, [event, { session_id: 'x' }]))
  assert.equal(detail, 'events[1].ip is required')
  assert.deepEqual(errors, [
    { path: 'events[1].ip', message: 'is required' },
    { path: 'events[1].session_id', message: 'must be an integer' },
  ])
})

test('a body of another shape gets a remedy in its detail, and the specified status', async (t) => {
  const intake = new MemoryIntake()
  const { url } = await startHttp(t, { intake })
  const one = JSON.stringify(event)
  const bodies: readonly (readonly [body: string, status: number, detail: RegExp, path?: string])[] = [
    [
      `[${one}]`,
      422,
      /^the body is a JSON array: it must be \{"events": \[…\]\}, as jq '\{events: \.\}' makes it; /,
      '',
    ],
    ['[]', 422, /^the body is a JSON array: /, ''],
    [`[${one},${one}]`, 422, /\/v1\/ingest\/batch takes one event per line, as jq -c '\.\[\]' prints them$/, ''],
    [one, 422, /^the body is one event: it must be \{"events": \[event\]\}, as jq /, 'events'],
    [`{"batch":[${one}]}`, 422, /^events is required: the body has its array under "batch"$/, 'events'],
    ['{}', 422, /^events is required$/, 'events'],
    ['{"x":["y"]}', 422, /^events is required$/, 'events'],
    [JSON.stringify(`{"events":[${one}]}`), 422, /^the body is a JSON string: .* encoded twice$/, ''],
    ['null', 422, /^the body is null: it must be /, ''],
    ['5', 422, /^the body is a JSON number: it must be /, ''],
    [`{"events":${one}}`, 422, /^events must be an array$/, 'events'],
    [
      `${one}\n${one}\n`,
      400,
      /^the body is several JSON values, not one; the second is at position \d+: .* jq -s '\{events: \.\}'/,
    ],
    [`${one}\n{"ip":`, 400, /several JSON values/],
    [`${one},`, 400, /^the body is not JSON: unexpected "," at position/],
    ['{"events":[]}', 400, /^events is empty$/],
  ]
  for (const [body, status, detail, path] of bodies) {
    const response = await post(url, body)
    assert.equal(response.status, status, body)
    const answer = await refusal(response)
    assert.match(answer.detail, detail)
    assert.equal(answer.errors?.[0]?.path, path, body)
  }
  assert.equal(intake.envelopes.length, 0)
})

test('hostile JSON does not change the process', async (t) => {
  const { url } = await startHttp(t)
  const deep = (open: string, close: string, times: number) => open.repeat(times) + close.repeat(times)
  const nested = (levels: number) => `{"events":[{"ip":"8.8.8.8","properties":${deep('[', ']', levels)}}]}`
  assert.equal((await post(url, nested(125))).status, 200)
  const tooDeep = 'the body is nested more than 128 levels deep'
  assert.equal((await refusal(await post(url, nested(126)))).detail, tooDeep)
  const unknown = `{"events":[{"ip":"8.8.8.8","x":${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}}]}`
  for (const body of [nested(100_000), unknown, deep('[', ']', 400_000), '['.repeat(400_000)]) {
    const response = await post(url, body)
    assert.equal(response.status, 422)
    assert.equal((await refusal(response)).detail, tooDeep)
  }
  const proto = '{"__proto__":{"ip":"1.1.1.1"},"events":[{"__proto__":{"ip":"8.8.8.8"}}]}'
  assert.equal((await refusal(await post(url, proto))).detail, 'events[0].ip is required')
  const huge = '{"events":[{"ip":"8.8.8.8","properties":{"n":1e99999,"m":123456789012345678901234567890}}]}'
  assert.equal((await post(url, huge)).status, 200)
  const twice = '{"events":"x","events":[{"ip":5,"ip":"8.8.8.8","event_id":"a","event_id":"b"}]}'
  const answer = (await (await post(url, twice)).json()) as IngestResponse
  assert.equal(answer.results[0]!.event_id, 'b', 'of repeated keys the last counts')
  assert.equal((await fetch(`${url}/healthz`)).status, 200)
})

test('the key is checked before any costly step, whatever else is wrong', async (t) => {
  const { url } = await startHttp(t, {
    limiter: {
      take: async () => {
        throw new Error('not to be called')
      },
    },
  })
  for (const key of [
    undefined,
    '',
    API_KEY.slice(0, 12),
    `${API_KEY.slice(0, 12)}********`,
    API_KEY.replace('0', '1'),
  ]) {
    const headers: Record<string, string> = key === undefined ? {} : { 'x-api-key': key }
    const answer = await fetch(`${url}/v1/ingest`, { method: 'POST', body: 'x'.repeat(2_000_000), headers })
    assert.equal((await refusal(answer)).status, 401, String(key))
    assert.equal(answer.headers.get('ratelimit-limit'), null)
  }
})

test('over the rate limit is 429 before the size is checked, with Retry-After', async (t) => {
  const { url } = await startHttp(t, { limiter: fullLimit })
  const answer = await post(url, 'x'.repeat(2_000_000))
  assert.equal(answer.headers.get('retry-after'), '3')
  assert.equal(answer.headers.get('ratelimit-remaining'), '0')
  assert.equal(answer.headers.get('ratelimit-reset'), '4')
  assert.equal((await refusal(answer)).status, 429)
})

test('errors after authentication carry the state of the bucket', async (t) => {
  const { url } = await startHttp(t)
  for (const [body, status] of [
    ['{', 400],
    ['{}', 422],
    ['x'.repeat(1_100_000), 413],
  ] as const) {
    const answer = await post(url, body)
    assert.equal(answer.status, status)
    assert.equal(answer.headers.get('ratelimit-remaining'), '19')
  }
})

test('a store that is down is 500 with Retry-After, a full pipeline 429, a fault a bare 500', async (t) => {
  const failures = [
    new UnavailableError('the event store did not answer in time', { cause: new Error('secret address') }),
    new BackpressureError('too much waits', 2.5),
    new TypeError('secret of the program'),
  ]
  const lines: string[] = []
  const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) })
  const append = async () => {
    throw failures.shift()
  }
  const metrics = new Registry()
  const { url } = await startHttp(t, { log, metrics, intake: { append } })
  const seen: unknown[] = []
  for (let i = 0; i < 3; i++) {
    const answer = await postEvents(url, [event], { 'x-request-id': `r${i}` })
    const text = await answer.clone().text()
    assert.doesNotMatch(text, /secret|Error|at /)
    seen.push([answer.status, answer.headers.get('retry-after'), (await refusal(answer)).detail])
  }
  assert.deepEqual(seen, [
    [500, '1', 'the event store did not answer in time'],
    [429, '3', 'too much waits'],
    [500, '1', 'unexpected failure'],
  ])
  assert.match(await metrics.metrics(), /ipid_http_refused_total\{limit="intake"\} 1\n/)
  assert.ok(lines.some((line) => line.includes('"level":50') && line.includes('"request_id":"r2"')))
  assert.ok(lines.every((line) => !line.includes(API_KEY)))
})

test('sequential requests of one connection are answered in order, and each counts', async (t) => {
  const metrics = new Registry()
  const { url } = await startHttp(t, { metrics })
  for (let i = 0; i < 5; i++) assert.equal((await postEvents(url, [event])).status, 200)
  await fetch(`${url}/nowhere`)
  const text = await metrics.metrics()
  assert.match(text, /ipid_http_requests_total\{route="\/v1\/ingest",status="200"\} 5/)
  assert.match(text, /ipid_http_requests_total\{route="\(none\)",status="404"\} 1/)
  assert.match(text, /ipid_http_requests_in_flight 0/)
})

test('a client that sends everything before it reads still gets its early answer', async (t) => {
  const { url } = await startHttp(t)
  for (const headers of [{}, { connection: 'close' }, { 'transfer-encoding': 'chunked' }]) {
    const answer = await new Promise<{ status: number; body: string }>((resolve, reject) => {
      const outgoing = request(
        `${url}/v1/ingest`,
        { method: 'POST', headers: { 'x-api-key': API_KEY, ...headers } },
        (incoming) => {
          let body = ''
          incoming.on('data', (chunk) => {
            body += chunk
          })
          incoming.on('end', () => resolve({ status: incoming.statusCode!, body }))
        },
      )
      outgoing.on('error', reject)
      outgoing.end(Buffer.alloc(30_000_000, 32))
    })
    assert.equal(answer.status, 413, JSON.stringify(headers))
    assert.match(JSON.parse(answer.body).detail, /larger than 1048576 bytes/)
  }
})
