import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { VisitorEvent } from '../../../src/client/typescript/index.ts'
import { CLIENTS, type Ends, type TestedClient } from '../../support/clients/clients.ts'
import type { DriverTask } from '../../support/clients/task.ts'
import { eventsOf, type OddServer, refuse, startOddServer, takeEvents } from '../../support/odd-server.ts'

/* What both clients do on odd answers. */

const KEY = `ipid_${'5'.repeat(64)}`

const events = (count: number): VisitorEvent[] =>
  Array.from({ length: count }, (_, n) => ({ ip: '17.0.0.1', event_id: `e${n}` }))
const ids = (count: number) => events(count).map(({ event_id }) => event_id)

function run(client: TestedClient, server: OddServer, task: Partial<DriverTask> = {}): Promise<Ends> {
  return client.run({
    ...{ key: KEY, url: server.url, options: {}, events: events(3), pauseEvery: 0, end: 'close', closeMs: 30_000 },
    ...task,
  })
}

function each(title: string, work: (client: TestedClient, server: OddServer, t: TestContext) => Promise<void>): void {
  for (const client of CLIENTS) {
    test(`${client.name}: ${title}`, { skip: client.skip }, async (t) => work(client, await startOddServer(t), t))
  }
}

each('id and time of an event are made once, before the first attempt', async (client, server) => {
  server.answers.push(refuse(503, 'not_ready'), (_, response) => response.destroy())
  const { delivered } = await run(client, server, {
    events: [{ ip: '17.0.0.1' }, { ip: '17.0.0.2', event_id: 'mine' }],
  })
  const bodies = new Set(server.requests.map(({ body }) => body))
  assert.equal(server.requests.length, 3)
  assert.equal(bodies.size, 1)
  const [first, second] = eventsOf(server.requests[0]!)
  assert.match(first!.event_id, /^[0-9a-f]{8}-/)
  assert.match(first!.timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  assert.equal(second!.event_id, 'mine')
  assert.deepEqual(delivered, [first!.event_id, 'mine'])
})

each('a request has at most 100 events, and the bytes of the option', async (client, server) => {
  await run(client, server, { events: events(250), options: { requestsMax: 1 } })
  assert.deepEqual(
    server.requests.map((request) => eventsOf(request).length),
    [100, 100, 50],
  )
  server.requests.length = 0
  const large = events(4).map((event) => ({ ...event, properties: 'x'.repeat(400) }))
  await run(client, server, { events: large, options: { requestsMax: 1, batchBytes: 1_200 } })
  assert.deepEqual(
    server.requests.map((request) => eventsOf(request).length),
    [2, 2],
  )
})

each('of a refused batch the named events fail, and the others are delivered', async (client, server) => {
  const errors = [
    { path: 'events[1].ip', message: 'is required' },
    { path: 'events[1].session_id', message: 'must be a whole number' },
    { path: 'events[3].ip', message: 'is required' },
  ]
  server.answers.push(refuse(422, 'invalid_request', { errors }))
  const { delivered, failed } = await run(client, server, { events: events(5) })
  assert.deepEqual(delivered, ['e0', 'e2', 'e4'])
  assert.deepEqual(
    failed.map(({ id, code, mayBeStored, errors }) => ({
      id,
      code,
      mayBeStored,
      paths: errors.map(({ path }) => path),
    })),
    [
      { id: 'e1', code: 'invalid_request', mayBeStored: false, paths: ['ip', 'session_id'] },
      { id: 'e3', code: 'invalid_request', mayBeStored: false, paths: ['ip'] },
    ],
  )
})

each('faults that are not as documented name no event', async (client, server) => {
  const errors = [null, { path: 7 }, { path: 'events[99].ip', message: 'x' }] as object[]
  server.usual = refuse(422, 'invalid_request', { errors })
  const { failed } = await run(client, server)
  assert.deepEqual(failed.map(({ id }) => id).toSorted(), ids(3))
})

each('of a batch that is refused without a name, only the event at fault fails', async (client, server) => {
  server.usual = (request, response) => {
    const isBad = eventsOf(request).some(({ event_id }) => event_id === 'e6')
    const answer = isBad ? refuse(413, 'too_many_values') : takeEvents
    answer(request, response)
  }
  const { delivered, failed } = await run(client, server, { events: events(10) })
  assert.deepEqual(
    failed.map(({ id, code }) => [id, code]),
    [['e6', 'too_many_values']],
  )
  assert.deepEqual(
    delivered.toSorted(),
    ids(10).filter((id) => id !== 'e6'),
  )
})

each('an unknown key is not tried again, and is in no error', async (client, server) => {
  server.usual = refuse(401, 'unknown_key')
  const { failed } = await run(client, server)
  assert.equal(server.requests.length, 1)
  assert.deepEqual(
    failed.map(({ id, code, mayBeStored }) => [id, code, mayBeStored]),
    ids(3).map((id) => [id, 'unknown_key', false]),
  )
  assert.ok(!failed.some(({ text }) => text.includes(KEY)))
})

each('it waits as long as retry-after says, or else ratelimit-reset', async (client, server) => {
  server.answers.push(
    refuse(429, 'rate_limited', { headers: { 'retry-after': '1', 'ratelimit-reset': '9' } }),
    refuse(429, 'queue_full', { headers: { 'ratelimit-reset': '1' } }),
  )
  const { delivered } = await run(client, server)
  assert.deepEqual(delivered, ids(3))
  const times = server.requests.map(({ atMs }) => atMs)
  for (const i of [1, 2]) {
    const waitedMs = times[i]! - times[i - 1]!
    assert.ok(waitedMs >= 990 && waitedMs < 8_000, `waited ${waitedMs} ms`)
  }
})

each('answers that are cut or slow are repeated', async (client, server) => {
  server.answers.push(
    (_, response) => {
      response.writeHead(200, { 'content-length': '1000' })
      response.write('{"stats":', () => response.destroy())
    },
    () => {},
  )
  const { delivered, failed } = await run(client, server, { options: { requestTimeoutMs: 300 } })
  assert.deepEqual([delivered, failed, server.requests.length], [ids(3), [], 3])
})

each('answers that are not of ipid are repeated', async (client, server) => {
  server.answers.push(
    (_, response) => response.writeHead(502).end('<html>Bad gateway</html>'),
    (_, response) => response.end('<html>Welcome to the hotel</html>'),
    (_, response) => response.end('{"results":[]}'),
  )
  const { delivered, failed } = await run(client, server)
  assert.deepEqual([delivered, failed, server.requests.length], [ids(3), [], 4])
})

each('a redirect is not followed: it would carry the key away', async (client, server) => {
  server.usual = (_, response) => response.writeHead(307, { location: `${server.url}/elsewhere` }).end()
  const { failed } = await run(client, server)
  assert.equal(server.requests.length, 1)
  assert.deepEqual(new Set(failed.map(({ code }) => code)), new Set(['unexpected_answer']))
})

each('a code of a newer service is unknown_code, and its status decides', async (client, server) => {
  server.answers.push(refuse(503, 'from_the_future'))
  server.usual = refuse(409, 'from_the_future')
  const { failed } = await run(client, server)
  assert.equal(server.requests.length, 2)
  assert.equal(failed[0]!.code, 'unknown_code')
  assert.match(failed[0]!.text, /from_the_future, 409/)
})

each('an event without room in the queue, too large, or not JSON fails at once', async (client, server) => {
  const many = [
    ...events(3),
    { ip: '17.0.0.1', event_id: 'large', properties: 'x'.repeat(1_048_576) },
    [] as unknown as VisitorEvent,
  ]
  const { taken, delivered, failed } = await run(client, server, { events: many, options: { queueEvents: 2 } })
  assert.deepEqual(taken, [true, true, false, false, false])
  assert.deepEqual(delivered, ['e0', 'e1'])
  assert.deepEqual(
    failed.map(({ code }) => code),
    ['client_queue_full', 'event_too_large', 'not_json'],
  )
})

each('an event is tried once more when its time ends before retry-after', async (client, server) => {
  server.usual = refuse(503, 'not_ready', { headers: { 'retry-after': '3600' } })
  const { failed } = await run(client, server, { options: { retryMs: 1_000 } })
  assert.equal(server.requests.length, 2)
  assert.deepEqual(
    failed.map(({ id, code, mayBeStored }) => [id, code, mayBeStored]),
    ids(3).map((id) => [id, 'not_ready', true]),
  )
})

each('a retry-after beyond the deadline costs the queue one more request', async (client, server) => {
  server.usual = refuse(429, 'rate_limited', { headers: { 'retry-after': '3600' } })
  const options = { retryMs: 1_500, requestsMax: 2, batchEvents: 10 }
  const { failed } = await run(client, server, { events: events(1_000), options })
  assert.ok(server.requests.length <= 3, `${server.requests.length} requests`)
  assert.deepEqual(failed.map(({ id }) => id).toSorted(), ids(1_000).toSorted())
  assert.deepEqual(new Set(failed.map(({ code }) => code)), new Set(['rate_limited']))
})

each('a service that is back at the deadline gets the whole queue', async (client, server) => {
  server.answers.push(refuse(429, 'rate_limited', { headers: { 'retry-after': '3600' } }))
  const options = { retryMs: 1_500, requestsMax: 2, batchEvents: 10 }
  const { delivered, failed } = await run(client, server, { events: events(200), options })
  assert.deepEqual(failed, [])
  assert.deepEqual(delivered.toSorted(), ids(200).toSorted())
})

each('a refused key or a used quota fails the queue with one request', async (client, server) => {
  for (const [status, code] of [
    [401, 'unknown_key'],
    [429, 'quota_exceeded'],
  ] as const) {
    server.requests.length = 0
    server.usual = (request, response) => setTimeout(() => refuse(status, code)(request, response), 300)
    const { failed } = await run(client, server, { events: events(1_000), options: { requestsMax: 1 } })
    assert.equal(server.requests.length, 1)
    assert.deepEqual(failed.map(({ id }) => id).toSorted(), ids(1_000).toSorted())
    assert.deepEqual(new Set(failed.map((end) => end.code)), new Set([code]))
  }
})

each('events that are left when close runs out of time are reported', async (client, server) => {
  server.answers.push((request, response) => takeEvents(request, response))
  server.usual = () => {}
  const { delivered, failed } = await run(client, server, {
    ...{ events: events(300), options: { requestsMax: 1 }, closeMs: 500 },
  })
  assert.deepEqual(delivered, ids(100))
  assert.deepEqual(
    failed.map(({ id, code, mayBeStored }) => `${id} ${code} ${mayBeStored}`).toSorted(),
    ids(300)
      .slice(100)
      .map((id, i) => `${id} not_delivered_in_time ${i < 100}`)
      .toSorted(),
  )
})
