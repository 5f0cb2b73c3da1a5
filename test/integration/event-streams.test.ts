import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import {
  type EventSender,
  type EventStreamLimits,
  EventStreams,
  eventText,
} from '../../src/dashboard/server/event-streams.ts'
import type { Session } from '../../src/dashboard/server/sessions.ts'
import { SharedFeed } from '../../src/dashboard/server/shared-feed.ts'
import { createServer } from '../../src/http/engine/server.ts'
import { errorResponse } from '../../src/http/route/errors.ts'
import { testedEngine } from '../support/engines.ts'
import { keyedHead, RawConnection } from '../support/http.ts'
import { bufferBytes } from '../support/memory.ts'
import { until } from '../support/until.ts'

const session: Session = { id: 'one', role: 'operator', csrfToken: 'of one session', endsMs: Number.MAX_VALUE }
const PATH = '/events'

/** A server whose answers stay open; `senders` are the current readers. */
async function startStreams(t: TestContext, limits: Partial<EventStreamLimits> = {}) {
  const streams = new EventStreams(limits)
  t.after(() => streams.end())
  const senders = new Set<EventSender>()
  let begun = 0
  const begin = (sender: EventSender) => {
    begun++
    senders.add(sender)
    return () => void assert.ok(senders.delete(sender), 'ended once')
  }
  const lines: string[] = []
  const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) })
  const respond = () => streams.respond(session, begin)
  const server = createServer({
    ...{ host: '127.0.0.1', port: 0, engine: testedEngine(), limits: { stopMs: 20_000 } },
    targets: [{ method: 'GET', path: PATH, endpoint: { path: PATH, respond } }],
    ...{ explain: errorResponse, log, metrics: new Registry() },
  })
  await server.start()
  t.after(() => server.stop())
  const ask = () => fetch(server.url + PATH)
  const text = async () => {
    const reader = (await ask()).body!.pipeThrough(new TextDecoderStream()).getReader()
    let received = ''
    return async (pattern: RegExp) => {
      while (!pattern.test(received)) {
        const { value, done } = await reader.read()
        if (done) throw new Error(`ended after ${received.slice(-200)}`)
        received += value
      }
    }
  }
  const send = (text: string) => {
    for (const sender of senders) sender.send(text)
  }
  return { streams, senders, send, ask, text, server, lines, begun: () => begun }
}

test('events arrive as they are sent, and comments in between when there are none', async (t) => {
  const { ask, send, text } = await startStreams(t, { heartbeatMs: 20 })
  const received = await text()
  await received(/^retry: \d+\n\n/)
  send(eventText('first', { a: 'x\ny' }))
  await received(/event: first\ndata: {"a":"x\\ny"}\n\n/)
  await received(/:\n\n[\s\S]*:\n\n/)
  send(eventText('second', 2))
  await received(/event: second\ndata: 2\n\n/)
  const answer = await ask()
  assert.equal(answer.headers.get('content-type'), 'text/event-stream')
  assert.equal(answer.headers.get('x-accel-buffering'), 'no')
})

test('a client that leaves gets nothing more', async (t) => {
  const { senders, streams, server } = await startStreams(t)
  const connection = await RawConnection.open(t, server.port)
  await connection.write(keyedHead(`GET ${PATH}`))
  await connection.until(/retry/)
  assert.deepEqual([senders.size, streams.size], [1, 1])
  connection.socket.destroy()
  await until(() => senders.size === 0 && streams.size === 0)
})

test('streams end whole when the server stops, and no new one begins', async (t) => {
  const { ask, senders, streams, begun } = await startStreams(t)
  const [one, other] = [await ask(), await ask()]
  assert.equal(senders.size, 2)
  streams.end()
  assert.equal(senders.size, 0)
  assert.match(await one.text(), /^retry: \d+\n\n$/)
  assert.match(await other.text(), /^retry/)
  const refused = await ask()
  assert.deepEqual([refused.status, refused.headers.get('retry-after'), begun()], [503, '2', 2])
})

test('an old stream ends', async (t) => {
  const { ask, senders } = await startStreams(t, { ageMaxMs: 30 })
  assert.match(await (await ask()).text(), /^retry/)
  assert.equal(senders.size, 0)
})

test('streams are limited per session, and in total', async (t) => {
  const { ask, streams } = await startStreams(t, { perSessionMax: 2 })
  const first = await ask()
  // An answer that nothing holds is garbage, and its stream ends.
  const second = await ask()
  const refused = await ask()
  assert.equal(refused.status, 429)
  await refused.text()
  await first.body!.cancel()
  await until(() => streams.size === 1)
  const third = await ask()
  assert.equal(third.status, 200)
  const all = await startStreams(t, { totalMax: 1 })
  const only = await all.ask()
  assert.equal((await all.ask()).status, 429)
  for (const held of [second, third, only]) await held.body!.cancel()
})

test('the limits hold for requests that arrive at the same moment', async () => {
  const streams = new EventStreams({ perSessionMax: 2 })
  const bodies = Array.from({ length: 5 }, () => streams.respond(session, () => () => {}).body as AsyncIterable<string>)
  const opened = await Promise.allSettled(bodies.map((body) => body[Symbol.asyncIterator]().next()))
  assert.equal(streams.size, 2)
  const refused = opened.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []))
  assert.deepEqual(
    refused.map((error) => errorResponse(error).response.status),
    [429, 429, 429],
  )
  streams.end()
})

test('a stalled reader buffers a few events, and gets the newest when it reads again', async (t) => {
  const { send, senders, server } = await startStreams(t)
  const connection = await RawConnection.open(t, server.port)
  await connection.write(keyedHead(`GET ${PATH}`))
  await connection.until(/retry/)
  connection.socket.pause()
  const before = bufferBytes()
  for (let i = 0; i < 3_000; i++) {
    send(eventText('big', `${i} ${'x'.repeat(10_000)}`))
    await new Promise(setImmediate)
  }
  assert.ok(bufferBytes() - before < 8 * 2 ** 20, `${bufferBytes() - before} bytes`)
  assert.equal(senders.size, 1)
  connection.socket.resume()
  await connection.until(/"2999 x{5000}/)
  assert.ok(!connection.received.includes('"2000 x'), 'events that it could not take were left out')
})

test('a stalled reader does not hold up the stop of the server', async (t) => {
  const { send, streams, server, lines } = await startStreams(t)
  const connection = await RawConnection.open(t, server.port)
  await connection.write(keyedHead(`GET ${PATH}`))
  await connection.until(/retry/)
  connection.socket.pause()
  for (let i = 0; i < 2_000; i++) {
    send(eventText('big', 'x'.repeat(10_000)))
    await new Promise(setImmediate)
  }
  streams.end()
  await server.stop()
  assert.deepEqual(lines, [])
})

test('one source serves all readers of the same data, while there are any', () => {
  const log: string[] = []
  let send = (_: string) => {}
  const feed = new SharedFeed((sender) => {
    log.push('begun')
    send = (text) => sender.send(text)
    return () => log.push('ended')
  }, true)
  const listener = (name: string): EventSender => ({ send: (text) => log.push(`${name} ${text}`) })
  const leave = [feed.join(listener('a'))]
  send('1')
  leave.push(feed.join(listener('b')))
  send('2')
  for (const one of leave) one()
  leave[0]!()
  feed.join(listener('c'))
  assert.deepEqual(log, ['begun', 'a 1', 'b 1', 'a 2', 'b 2', 'ended', 'begun'])
})
