import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { inspect } from 'node:util'
import { type EventResult, type FailedEvent, Ipid, IpidError } from '../../../src/client/typescript/index.ts'
import { eventsOf, refuse, startOddServer, takeEvents } from '../../support/odd-server.ts'
import { until } from '../../support/until.ts'

/* The TypeScript client alone; what both clients do is in delivery.test.ts. */

const KEY = `ipid_${'7'.repeat(64)}`

async function open(t: TestContext, options: Partial<ConstructorParameters<typeof Ipid>[0]> = {}) {
  const server = await startOddServer(t)
  const ends = { delivered: [] as EventResult[], failed: [] as FailedEvent[] }
  const ipid = new Ipid({
    key: KEY,
    url: server.url,
    onDelivered: (results) => ends.delivered.push(...results),
    onFailed: (failed) => ends.failed.push(...failed),
    ...options,
  })
  t.after(() => ipid.close({ timeoutMs: 1 }))
  return { server, ends, ipid }
}

const json = (value: unknown) => (_: unknown, response: { end(text: string): void }) => {
  response.end(JSON.stringify(value))
}

test('a key or an address that cannot be sent is refused, and not quoted', () => {
  for (const [key, url] of [
    ['ipid_se cret', 'http://a.example'],
    ['ipid_se\ncret', 'http://a.example'],
    ['', 'http://a.example'],
    ['ipid_secret', 'http://user:secret@a.example'],
    ['ipid_secret', 'secret'],
    ['ipid_secret', 'file:///secret'],
  ] as const) {
    assert.throws(
      () => new Ipid({ key, url }),
      (error) => error instanceof TypeError && !error.message.includes('secret'),
    )
  }
  const ipid = new Ipid({ key: ` ${KEY}\n`, url: 'http://a.example' })
  assert.ok(!inspect(ipid, { depth: 9, showHidden: true }).includes(KEY))
})

test('an option out of its range is refused by its name', () => {
  for (const [name, value] of [
    ['batchEvents', 101],
    ['batchBytes', 1_048_576],
    ['queueEvents', 0],
    ['retryMs', Number.NaN],
  ] as const) {
    assert.throws(
      () => new Ipid({ key: KEY, url: 'http://a.example', [name]: value }),
      (error) => error instanceof TypeError && error.message.startsWith(`${name} must be`),
    )
  }
})

test('the object of an event may change after track', async (t) => {
  const { server, ipid } = await open(t)
  const event = { ip: '17.0.0.1', event_id: 'a' }
  ipid.track(event)
  event.event_id = 'b'
  await ipid.flush()
  assert.equal(eventsOf(server.requests[0]!)[0]!.event_id, 'a')
})

test('an event is sent when it has waited for batchMs', async (t) => {
  const { server, ends, ipid } = await open(t, { batchMs: 50 })
  ipid.track({ ip: '17.0.0.1' })
  ipid.track({ ip: '17.0.0.2' })
  await until(() => ends.delivered.length === 2)
  assert.equal(server.requests.length, 1)
  assert.deepEqual(ipid.counts, { delivered: 2, failed: 0, queued: 0 })
})

test('deliver resolves with the result, waits for room, and rejects with the error', async (t) => {
  const { server, ends, ipid } = await open(t, { batchMs: 1, queueEvents: 1 })
  const results = await Promise.all(['a', 'b', 'c'].map((event_id) => ipid.deliver({ ip: '17.0.0.1', event_id })))
  assert.deepEqual(
    results.map(({ event_id }) => event_id),
    ['a', 'b', 'c'],
  )
  server.usual = refuse(422, 'invalid_request', { errors: [{ path: 'events[0].ip', message: 'is required' }] })
  const refused = await ipid.deliver({ ip: '' }).catch((error: unknown) => error)
  assert.ok(refused instanceof IpidError)
  assert.deepEqual(
    [refused.code, refused.status, refused.requestId, refused.errors],
    ['invalid_request', 422, 'r1', [{ path: 'ip', message: 'is required' }]],
  )
  assert.deepEqual(ends.failed, [])
})

test('flush waits for what was given before, and not for what comes', async (t) => {
  const { server, ends, ipid } = await open(t, { batchMs: 600_000 })
  ipid.track({ ip: '17.0.0.1', event_id: 'before' })
  const flushed = ipid.flush()
  ipid.track({ ip: '17.0.0.1', event_id: 'after' })
  await flushed
  assert.deepEqual(
    ends.delivered.map(({ event_id }) => event_id),
    ['before'],
  )
  assert.equal(ipid.counts.queued, 1)
  await ipid.close()
  assert.equal(server.requests.length, 2)
  assert.equal(ipid.track({ ip: '17.0.0.1' }), false)
  assert.equal(ends.failed[0]!.error.code, 'client_closed')
})

test('a failed event given to track again has its id and its time', async (t) => {
  const { server, ends, ipid } = await open(t)
  server.answers.push(refuse(401, 'unknown_key'))
  ipid.track({ ip: '17.0.0.1' })
  await ipid.flush()
  ipid.track(ends.failed[0]!.event)
  await ipid.flush()
  assert.deepEqual(eventsOf(server.requests[1]!), eventsOf(server.requests[0]!))
})

test('a callback that throws stops no delivery, and is a warning', async (t) => {
  const warnings: Error[] = []
  const note = (warning: Error) => warnings.push(warning)
  process.on('warning', note)
  t.after(() => process.off('warning', note))
  const { ipid } = await open(t, {
    onDelivered: () => {
      throw new Error('of the caller')
    },
  })
  ipid.track({ ip: '17.0.0.1' })
  await ipid.flush()
  assert.equal(ipid.counts.delivered, 1)
  await until(() => warnings.some(({ message }) => message.includes('of the caller')))
})

test('without onFailed, events that fail are a warning without the key', async (t) => {
  const warnings: Error[] = []
  const note = (warning: Error) => warnings.push(warning)
  process.on('warning', note)
  t.after(() => process.off('warning', note))
  const { server, ipid } = await open(t, { onFailed: undefined })
  server.usual = refuse(401, 'unknown_key')
  ipid.track({ ip: '17.0.0.1' })
  await ipid.flush()
  await until(() =>
    warnings.some(({ message }) => message.startsWith('1 events were not delivered: refused: unknown_key')),
  )
  assert.ok(!inspect(warnings).includes(KEY))
})

test('while a batch waits for its next attempt, no other one is sent', async (t) => {
  const { server, ends, ipid } = await open(t, { batchMs: 1 })
  server.answers.push(refuse(429, 'queue_full', { headers: { 'retry-after': '1' } }))
  ipid.track({ ip: '17.0.0.1' })
  await until(() => server.requests.length === 1)
  await until(() => ipid.counts.queued === 1)
  for (let i = 0; i < 300; i++) ipid.track({ ip: '17.0.0.1' })
  await until(() => ends.delivered.length === 301)
  for (const { atMs } of server.requests.slice(1)) assert.ok(atMs - server.requests[0]!.atMs >= 990)
})

test('each request names the client, and carries the key', async (t) => {
  const { server, ipid } = await open(t)
  server.usual = json({ ip: '17.0.0.1' })
  await ipid.lookup('17.0.0.1', { fields: ['industry'] })
  const [request] = server.requests
  assert.match(request!.headers['user-agent']!, /^ipid-client-typescript\/\d+\.\d+\.\d+ node\//)
  assert.equal(request!.headers['x-api-key'], KEY)
  assert.deepEqual(JSON.parse(request!.body), { fields: ['industry'], ip: '17.0.0.1' })
})

test('a bulk lookup that is cut is asked again; a quota of the day is not', async (t) => {
  const { server, ipid } = await open(t)
  server.answers.push((_, response) => response.end('{"ip":"17.0.0.1"}\n'))
  server.usual = (_, response) => response.end('{"ip":"17.0.0.1"}\n{"ip":"17.0.0.2"}\n')
  assert.equal((await ipid.bulk(['17.0.0.1', '17.0.0.2'])).length, 2)
  server.usual = refuse(429, 'quota_exceeded', { headers: { 'retry-after': '1' } })
  await assert.rejects(ipid.lookup('17.0.0.1'), { code: 'quota_exceeded', retryAfterMs: 1_000 })
  assert.equal(server.requests.length, 3)
})

test('companies follows the pages to the last one', async (t) => {
  const { server, ipid } = await open(t)
  server.answers.push(
    json({ companies: [{ company_id: 'a' }], next_cursor: 'next page' }),
    json({ companies: [{ company_id: 'b' }], next_cursor: null }),
  )
  const found: string[] = []
  for await (const { company_id: id } of ipid.companies({ country: ['DE', 'AT'], visits_min: 3 })) found.push(id)
  assert.deepEqual(found, ['a', 'b'])
  assert.deepEqual(
    server.requests.map(({ path }) => path),
    [
      '/v1/companies?country=DE&country=AT&visits_min=3',
      '/v1/companies?country=DE&country=AT&visits_min=3&cursor=next%20page',
    ],
  )
})

test('an upload is sent again after 429 and after an answer that was lost, with the same key', async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'ipid-client-'))
  t.after(() => rmSync(dir, { recursive: true }))
  const file = join(dir, 'visits.csv')
  writeFileSync(file, 'Visitor IP\n17.0.0.1\n')
  const { server, ipid } = await open(t)
  server.answers.push(
    refuse(429, 'too_many_jobs'),
    (_, response) => response.destroy(),
    refuse(409, 'idempotency_key_in_use'),
    json({ job_id: 'j', status: 'queued', received: 1 }),
    refuse(409, 'idempotency_key_reused'),
  )
  assert.equal((await ipid.uploadFile(file, { map: { 'Visitor IP': 'ip' } })).job_id, 'j')
  const keys = server.requests.map(({ headers }) => headers['idempotency-key'])
  assert.match(String(keys[0]), /^[0-9a-f-]{36}$/)
  assert.deepEqual(new Set(keys).size, 1)
  assert.deepEqual(
    server.requests.map(({ path, headers, body }) => [path, headers['content-type'], body]),
    Array(4).fill(['/v1/ingest/batch?map=Visitor%20IP%3Dip', 'text/csv', 'Visitor IP\n17.0.0.1\n']),
  )
  await assert.rejects(ipid.uploadFile(file, { idempotencyKey: 'mine', label: 'crm' }), {
    ...{ code: 'idempotency_key_reused', mayBeStored: false },
  })
  assert.equal(server.requests.length, 5)
  assert.equal(server.requests[4]!.path, '/v1/ingest/batch?label=crm')
  assert.equal(server.requests[4]!.headers['idempotency-key'], 'mine')
})

test('request repeats a POST only when the service has not taken it', async (t) => {
  let refused = 1
  const { server, ipid } = await open(t, {
    fetch: (...args) => {
      if (refused-- > 0) throw new TypeError('fetch failed', { cause: { code: 'ECONNREFUSED' } })
      return fetch(...args)
    },
  })
  server.answers.push(refuse(429, 'rate_limited'), refuse(500, 'unexpected'))
  await assert.rejects(ipid.request('POST', '/v1/ingest', { events: [] }), { code: 'unexpected' })
  assert.equal(server.requests.length, 2)
  server.usual = json({ found: true })
  server.answers.push(refuse(500, 'unexpected'))
  assert.deepEqual(await ipid.request('GET', '/v1/ingest/batch'), { found: true })
  assert.equal(server.requests.length, 4)
  assert.deepEqual(new Set(server.requests.map(({ headers }) => headers['idempotency-key'])), new Set([undefined]))
})

test('request repeats a POST with an idempotency key, its own or that of the caller', async (t) => {
  const { server, ipid } = await open(t)
  server.usual = json({ job_id: 'j' })
  server.answers.push(refuse(500, 'unexpected'))
  await ipid.request('POST', '/v1/bulk?mode=async', { ips: ['17.0.0.1'] })
  server.answers.push(refuse(500, 'unexpected'))
  const headers = { 'Idempotency-Key': 'mine', 'X-Trace': 't', 'X-API-Key': 'other' }
  await ipid.request('POST', '/v1/bulk', { ips: ['17.0.0.1'], mode: 'async' }, { headers })
  const keys = server.requests.map((request) => request.headers['idempotency-key'])
  assert.match(String(keys[0]), /^[0-9a-f-]{36}$/)
  assert.deepEqual(keys, [keys[0], keys[0], 'mine', 'mine'])
  assert.deepEqual([server.requests[3]!.headers['x-trace'], server.requests[3]!.headers['x-api-key']], ['t', KEY])
})

test('a file that cannot be opened is an error of its own, at once', async (t) => {
  const { server, ipid } = await open(t)
  await assert.rejects(ipid.uploadFile(join(tmpdir(), 'ipid-no-file.csv')), { code: 'ENOENT' })
  await assert.rejects(ipid.uploadFile(tmpdir()), { name: 'TypeError', message: /is a directory$/ })
  assert.equal(server.requests.length, 0)
})

test('a failed upload leaves no file open', { skip: process.platform !== 'linux' && 'needs /proc' }, async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'ipid-client-'))
  t.after(() => rmSync(dir, { recursive: true }))
  const file = join(dir, 'visits.ndjson')
  writeFileSync(file, Buffer.alloc(8 * 1_048_576, '\n'))
  const closed = createServer().listen(0, '127.0.0.1')
  await once(closed, 'listening')
  const url = `http://127.0.0.1:${(closed.address() as AddressInfo).port}`
  await once(closed.close(), 'close')
  const ipid = new Ipid({ key: KEY, url, callRetryMs: 1 })
  for (let i = 0; i < 5; i++) await assert.rejects(ipid.uploadFile(file), { code: 'network' })
  const isOpen = (fd: string) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`) === file
    } catch {
      return false
    }
  }
  await until(() => !readdirSync('/proc/self/fd').some(isOpen))
})

test('callers of deliver that wait for room get it in their order, with one timer', async (t) => {
  const { server, ipid } = await open(t, { batchMs: 1, queueEvents: 10, requestsMax: 1 })
  const given = Array.from({ length: 500 }, (_, n) => `e${n}`)
  const results = Promise.all(given.map((event_id) => ipid.deliver({ ip: '17.0.0.1', event_id })))
  const timers = process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout')
  assert.ok(timers.length < 10, `${timers.length} timers`)
  assert.equal((await results).length, 500)
  const sent = server.requests.flatMap((request) => eventsOf(request).map(({ event_id: id }) => id))
  assert.deepEqual(sent, given)
})

test('close ends the callers of deliver that wait for room', async (t) => {
  const { server, ipid } = await open(t, { batchMs: 1, queueEvents: 1 })
  server.usual = () => {}
  const ends = ['a', 'b'].map((event_id) => ipid.deliver({ ip: '17.0.0.1', event_id }).catch(({ code }) => code))
  await until(() => server.requests.length === 1)
  await ipid.close({ timeoutMs: 1 })
  assert.deepEqual(await Promise.all(ends), ['not_delivered_in_time', 'client_closed'])
})

for (const [name, jumpMs] of [
  ['back', -3_600_000],
  ['forward', 3_600_000],
] as const) {
  test(`a wall clock that jumps ${name} neither stops nor fails events`, async (t) => {
    const { server, ipid } = await open(t, { batchMs: 1, retryMs: 60_000 })
    const now = Date.now
    let shiftMs = 0
    t.mock.method(Date, 'now', () => now() + shiftMs)
    server.answers.push(
      (request, response) => {
        refuse(503, 'not_ready', { headers: { 'retry-after': '1' } })(request, response)
        // After the answer has set the pause.
        setTimeout(() => {
          shiftMs = jumpMs
        }, 500)
      },
      refuse(503, 'not_ready'),
    )
    await ipid.deliver({ ip: '17.0.0.1' })
    assert.equal(server.requests.length, 3)
  })
}

test('await using delivers at the end of the block', async (t) => {
  const server = await startOddServer(t)
  server.usual = takeEvents
  const ipid = new Ipid({ key: KEY, url: server.url })
  ipid.track({ ip: '17.0.0.1' })
  await ipid[Symbol.asyncDispose]()
  assert.equal(ipid.counts.delivered, 1)
})
