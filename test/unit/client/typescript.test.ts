import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
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

test('await using delivers at the end of the block', async (t) => {
  const server = await startOddServer(t)
  server.usual = takeEvents
  const ipid = new Ipid({ key: KEY, url: server.url })
  ipid.track({ ip: '17.0.0.1' })
  await ipid[Symbol.asyncDispose]()
  assert.equal(ipid.counts.delivered, 1)
})
