import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { Registry } from 'prom-client'
import type { Route } from '../../../src/http/route/route.ts'
import { heldIntake, ingestHead, RawConnection, startHttp } from '../../support/http.ts'
import { until } from '../../support/until.ts'

/* Connections that `node:http` ends in its own way, and the ends that it leaves to us. */

const engine = 'node:http'
const BODY = '{"events":[{"ip":"8.8.8.8"}]}'
const WHOLE = `${ingestHead(`content-length: ${BODY.length}`)}${BODY}`

/** A client connection that writes everything before it reads. */
async function openUnread(t: TestContext, port: number): Promise<RawConnection> {
  const connection = await RawConnection.open(t, port)
  connection.socket.pause()
  return connection
}

test('a client that first sends everything reads the refusal', async (t) => {
  const { port } = await startHttp(t, { engine })
  const hostless = await openUnread(t, port)
  await hostless.write('POST /v1/ingest HTTP/1.1\r\ncontent-length: 6000000\r\n\r\n')
  await hostless.write(Buffer.alloc(6_000_000))
  hostless.socket.resume()
  assert.match(await hostless.untilClosed(), /^HTTP\/1\.1 400 /)
  const other = await openUnread(t, port)
  await other.write('EHLO example.com\r\n\r\n')
  for (let i = 0; i < 5; i++) {
    await delay(10)
    await other.write('x'.repeat(2_000))
  }
  other.socket.resume()
  assert.match(await other.untilClosed(), /^HTTP\/1\.1 400 /)
})

test('after a refusal a connection ends, also while bytes keep arriving', async (t) => {
  const { port } = await startHttp(t, { engine })
  for (const head of ['EHLO example.com\r\n\r\n', 'POST / HTTP/1.1\r\ncontent-length: 100000\r\n\r\n']) {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true }).resume()
    const trickle = setInterval(() => socket.write('x'), 100)
    t.after(() => {
      clearInterval(trickle)
      socket.destroy()
    })
    const ended = new Promise((resolve) => socket.on('error', () => {}).once('close', () => resolve(true)))
    socket.write(head)
    assert.ok(await Promise.race([ended, delay(6_000, false)]))
  }
})

test('an unreadable body is refused at once, also when its request waited for another', async (t) => {
  const { intake, release, appended } = heldIntake()
  const { port } = await startHttp(t, { engine, intake })
  const connection = await RawConnection.open(t, port)
  await connection.write(`${WHOLE}${ingestHead('transfer-encoding: chunked')}3\r\nabc\r\nzz\r\n`)
  await until(
    async () => appended(),
    (count) => count === 1,
  )
  release()
  assert.match(await connection.untilClosed(), /^HTTP\/1\.1 200 [\s\S]*HTTP\/1\.1 400 [\s\S]*chunks/)
})

test('a request with an unknown expectation is answered like any other', async (t) => {
  const { port } = await startHttp(t, { engine })
  const connection = await RawConnection.open(t, port)
  await connection.write('GET /healthz HTTP/1.1\r\nhost: t\r\nexpect: nothing\r\n\r\n')
  await connection.until(/^HTTP\/1\.1 200 [\s\S]*x-request-id/)
})

test('every header counts, even among many', async (t) => {
  const { port } = await startHttp(t, { engine })
  const many = 'a:b\r\n'.repeat(1_500)
  for (const [headers, status] of [
    [`${many}host: t\r\n`, 200],
    [`host: t\r\n${many}host: u\r\n`, 400],
    [`host: t\r\n${many}transfer-encoding: gzip, chunked\r\n`, 400],
  ] as const) {
    const connection = await RawConnection.open(t, port)
    await connection.write(`GET /healthz HTTP/1.1\r\n${headers}\r\n`)
    await connection.until(new RegExp(`^HTTP/1\\.1 ${status} `))
  }
})

test('HEAD of an unwanted body announces no body', async (t) => {
  const { port } = await startHttp(t, { engine })
  for (const method of ['HEAD', 'OPTIONS']) {
    const connection = await RawConnection.open(t, port)
    await connection.write(`${method} /healthz HTTP/1.1\r\nhost: t\r\ntransfer-encoding: chunked\r\n\r\n`)
    const received = await connection.until(/\r\n\r\n$/)
    assert.match(received, /connection: close/)
    assert.ok(!received.includes('content-length'), received)
  }
})

test('a stop does not cut off an answer that its client reads slowly', async (t) => {
  const body = 'x'.repeat(200_000)
  const route: Route = { method: 'GET', path: '/large', access: 'open', handle: () => ({ status: 200, body }) }
  const metrics = new Registry()
  const server = await startHttp(t, { engine, moreRoutes: [route], metrics, limits: { stopMs: 10_000 } })
  const connection = await openUnread(t, server.port)
  await connection.write('GET /large HTTP/1.1\r\nhost: t\r\n\r\n'.repeat(90))
  const answered = async () => /requests_total\{.*large.*\} (\d+)/.exec(await metrics.metrics())?.[1]
  await until(
    async () => [await answered(), await delay(100).then(answered)],
    ([before, after]) => before !== undefined && before === after,
  )
  const count = Number(await answered())
  assert.ok(count < 90, 'more answers than fit')
  const stopped = server.stop()
  connection.socket.resume()
  await stopped
  const received = await connection.untilClosed()
  assert.ok(received.endsWith(body))
  assert.ok(received.split(body).length - 1 >= count)
})
