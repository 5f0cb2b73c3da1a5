import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import type { HttpResponse } from '../../../src/http/engine/response.ts'
import type { Route } from '../../../src/http/route/route.ts'
import { heldIntake, ingestHead, MemoryIntake, RawConnection, startHttp } from '../../support/http.ts'
import { until } from '../../support/until.ts'

/* What proxies and old clients send. `node:http` answers it; src/http/engine/README.md says what uWebSockets.js does instead. */

const engine = 'node:http'
const BODY = '{"events":[{"ip":"8.8.8.8"}]}'
const WHOLE = `${ingestHead(`content-length: ${BODY.length}`)}${BODY}`

/** A route whose answer is streamed. */
function streaming(path: string, pieces: () => AsyncGenerator<string>): Route {
  const handle = (): HttpResponse => ({ status: 200, type: 'text/plain', body: pieces(), flush: true })
  return { method: 'GET', path, access: 'open', handle }
}

const STREAM = streaming('/stream', async function* () {
  yield 'first '
  await delay(20)
  yield 'last'
})

test('HTTP/1.0 is answered, and its connection ends, as nginx asks by default', async (t) => {
  const intake = new MemoryIntake()
  const { port } = await startHttp(t, { engine, intake, moreRoutes: [STREAM] })
  const answerOf = async (text: string) => {
    const connection = await RawConnection.open(t, port)
    await connection.write(text)
    return connection.untilClosed()
  }
  for (const head of ['host: t\r\nconnection: close\r\n', 'host: t\r\n', '']) {
    const answer = await answerOf(`GET /healthz HTTP/1.0\r\n${head}\r\n`)
    assert.match(answer, /^HTTP\/1\.1 200 OK\r\n/)
    assert.match(answer, /\r\nconnection: close\r\n/i)
  }
  assert.match(await answerOf(WHOLE.replace('HTTP/1.1', 'HTTP/1.0')), /^HTTP\/1\.1 200 /)
  assert.equal(intake.envelopes.length, 1)
  assert.match(await answerOf('HEAD /healthz HTTP/1.0\r\n\r\n'), /^HTTP\/1\.1 200 OK\r\n/)
  const streamed = await answerOf('GET /stream HTTP/1.0\r\nhost: t\r\n\r\n')
  assert.match(streamed, /\r\n\r\nfirst last$/)
  assert.doesNotMatch(streamed, /transfer-encoding|content-length/i)
})

test('HTTP/1.0 with keep-alive takes another request', async (t) => {
  const { port } = await startHttp(t, { engine })
  const connection = await RawConnection.open(t, port)
  const request = 'GET /healthz HTTP/1.0\r\nconnection: keep-alive\r\n\r\n'
  await connection.write(request)
  await connection.until(/200 OK/)
  await connection.write(request)
  await connection.until(/200 OK[\s\S]*200 OK/)
})

test('the target may be given in absolute form', async (t) => {
  const { port } = await startHttp(t, { engine })
  for (const target of [
    'http://example.com/healthz?a=b',
    'HTTPS://example.com:443/healthz',
    'http://[::1]:80/healthz',
  ]) {
    const connection = await RawConnection.open(t, port)
    await connection.write(`GET ${target} HTTP/1.1\r\nhost: example.com\r\n\r\n`)
    await connection.until(/200 OK/)
  }
})

test('a client that ends its side after a request gets the answer', async (t) => {
  const { intake, release, appended } = heldIntake()
  const { port } = await startHttp(t, { engine, intake, moreRoutes: [STREAM] })
  const held = await RawConnection.open(t, port)
  await held.write(WHOLE)
  held.socket.end()
  await until(
    async () => appended(),
    (count) => count === 1,
  )
  release()
  assert.match(await held.untilClosed(), /^HTTP\/1\.1 200 [\s\S]*"accepted":1/)
  for (const path of ['/healthz', '/stream']) {
    const connection = await RawConnection.open(t, port)
    await connection.write(`GET ${path} HTTP/1.1\r\nhost: t\r\n\r\n`)
    connection.socket.end()
    assert.match(await connection.untilClosed(), /^HTTP\/1\.1 200 OK[\s\S]*\r\n\r\n./)
  }
})

test('a client that leaves while its answer is streamed ends the answer', async (t) => {
  const endless = streaming('/endless', async function* () {
    yield 'first'
    await new Promise<void>((resolve) => t.after(() => resolve()))
  })
  const { port } = await startHttp(t, { engine, moreRoutes: [endless] })
  const connection = await RawConnection.open(t, port)
  await connection.write('GET /endless HTTP/1.1\r\nhost: t\r\n\r\n')
  await connection.until(/first/)
  connection.socket.end()
  await connection.untilClosed()
})

test('a connection stays open for as long as is set, by default longer than the 60 s of load balancers', async (t) => {
  const { port } = await startHttp(t, { engine, idleSeconds: 1 })
  const short = await RawConnection.open(t, port)
  await short.write('GET /healthz HTTP/1.1\r\nhost: t\r\n\r\n')
  assert.match(await short.untilClosed(), /\r\nkeep-alive: timeout=1\r\n/i)
  const usual = await startHttp(t, { engine })
  const connection = await RawConnection.open(t, usual.port)
  await connection.write('GET /healthz HTTP/1.1\r\nhost: t\r\n\r\n')
  assert.match(await connection.until(/200 OK[\s\S]*\r\n\r\n/), /\r\nkeep-alive: timeout=75\r\n/i)
})
