import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { test } from 'node:test'
import { chooseEngine } from '../../src/http/engine/choose.ts'
import { canSharePorts } from '../../src/http/engine/node/engine.ts'
import type { Intake } from '../../src/pipeline/declaration/source.ts'
import { StartupError } from '../../src/run/errors.ts'
import { testedEngine } from '../support/engines.ts'
import { API_KEY, heldIntake, ingestHead, MemoryIntake, RawConnection, startHttp } from '../support/http.ts'
import { until } from '../support/until.ts'

const BODY = '{"events":[{"ip":"8.8.8.8"}]}'
const WHOLE = `${ingestHead(`content-length: ${BODY.length}`)}${BODY}`

test('chunked bodies, bodies in pieces and a head in pieces are whole requests', async (t) => {
  const intake = new MemoryIntake()
  const { port } = await startHttp(t, { intake })
  const connection = await RawConnection.open(t, port)
  await connection.write(ingestHead('transfer-encoding: Chunked'))
  for (const piece of [BODY.slice(0, 7), BODY.slice(7)]) {
    await connection.write(`${piece.length.toString(16)}\r\n`)
    await connection.write(`${piece}\r\n`)
  }
  await connection.write('0\r\n\r\n')
  await connection.until(/200 OK/)
  const other = await RawConnection.open(t, port)
  for (const byte of WHOLE) await other.write(byte)
  await other.until(/200 OK/)
  assert.equal(intake.envelopes.length, 2)
})

/** The older uWebSockets.js ends a connection whose head of more than 4 KB comes in pieces. */
const isOlder = testedEngine() === 'uWebSockets.js' && (await chooseEngine('auto')).version!.startsWith('20.30')

test('a head of 8 KB in pieces is read, and one of 17 KB is answered 431', { skip: isOlder }, async (t) => {
  const { port } = await startHttp(t)
  for (const [bytes, status] of [
    [4_500, 200],
    [8_000, 200],
    [17_000, 431],
  ] as const) {
    const connection = await RawConnection.open(t, port)
    const head = `GET /healthz HTTP/1.1\r\nhost: t\r\ncookie: ${'a'.repeat(bytes)}\r\n\r\n`
    for (let at = 0; at < head.length; at += 1_000) await connection.write(head.slice(at, at + 1_000))
    await connection.until(new RegExp(`^HTTP/1\\.1 ${status} `))
  }
})

test('Expect: 100-continue is answered before the body is sent', async (t) => {
  const { port } = await startHttp(t)
  const connection = await RawConnection.open(t, port)
  await connection.write(ingestHead(`content-length: ${BODY.length}`, 'expect: 100-continue'))
  await connection.until(/^HTTP\/1\.1 100 Continue\r\n\r\n/)
  await connection.write(BODY)
  await connection.until(/HTTP\/1\.1 200 OK/)
})

test('401 and 413 come before the body, and the connection can be used again after it', async (t) => {
  const { port } = await startHttp(t)
  const connection = await RawConnection.open(t, port)
  await connection.write('POST /v1/ingest HTTP/1.1\r\nhost: t\r\ncontent-length: 2000000\r\n\r\n')
  await connection.until(/401 Unauthorized[\s\S]*missing/)
  await connection.write(Buffer.alloc(2_000_000))
  await connection.write(ingestHead('content-length: 1048577'))
  await connection.until(/413 [\s\S]*larger than/)
  await connection.write(Buffer.alloc(1_048_577))
  await connection.write(WHOLE)
  await connection.until(/200 OK/)
})

test('an early refusal arrives whole, also when the connection ends with it', async (t) => {
  const { port } = await startHttp(t)
  const chunked = `${BODY.length.toString(16)}\r\n${BODY}\r\n0\r\n\r\n`
  const bodies = [
    [`content-length: ${BODY.length}\r\nconnection: close`, BODY],
    ['transfer-encoding: chunked', chunked],
    ['transfer-encoding: chunked\r\nconnection: close', chunked],
  ]
  for (const [headers, body] of bodies) {
    for (const [line, status] of [
      ['POST /v1/ingest', 401],
      ['POST /nothing', 404],
      ['POST /healthz', 405],
    ]) {
      for (const split of [false, true]) {
        const connection = await RawConnection.open(t, port)
        const head = `${line} HTTP/1.1\r\nhost: t\r\n${headers}\r\n\r\n`
        await connection.write(split ? head : head + body)
        if (split) await connection.write(body!)
        await connection.until(new RegExp(`^HTTP/1\\.1 ${status} [\\s\\S]*"detail"`))
        if (headers!.includes('close')) await connection.untilClosed()
      }
    }
  }
})

test('an unwanted body of unknown length is read up to a limit, then the connection ends', async (t) => {
  const { port } = await startHttp(t, { limits: { discardMaxBytes: 3_000_000 } })
  const connection = await RawConnection.open(t, port)
  await connection.write(ingestHead('transfer-encoding: chunked'))
  const chunk = `80000\r\n${'x'.repeat(0x80000)}\r\n`
  for (let i = 0; i < 3; i++) await connection.write(chunk)
  const received = await connection.until(/413 Content Too Large[\s\S]*connection: close[\s\S]*\}(\r\n)?$/)
  const [head, body] = received.split(/\r\n\r\n([\s\S]*)/)
  assert.equal(Number(/content-length: (\d+)/.exec(head!)![1]), body!.length, 'the answer is whole at once')
  for (let i = 0; i < 100 && !connection.socket.destroyed; i++) await connection.write(chunk)
  await connection.untilClosed()
})

test('an unwanted body that stops is not waited for', async (t) => {
  const { port } = await startHttp(t)
  const connection = await RawConnection.open(t, port)
  await connection.write(ingestHead('transfer-encoding: chunked'))
  await connection.write(`120000\r\n${'x'.repeat(0x120000)}`)
  assert.match(await connection.untilClosed(), /^HTTP\/1\.1 413 /)
})

test('a body that stalls is 408, and the connection ends', async (t) => {
  const intake = new MemoryIntake()
  const { port } = await startHttp(t, { intake, limits: { bodyStallMs: 300 } })
  const connection = await RawConnection.open(t, port)
  await connection.write(`${ingestHead(`content-length: ${BODY.length}`)}${BODY.slice(0, -1)}`)
  const received = await connection.untilClosed()
  assert.match(received, /^HTTP\/1\.1 408 Request Timeout/)
  assert.match(received, /\{"detail":"the body arrived too slowly: less than 160 KiB in 0\.3 s","code":"slow_body"\}$/)
  assert.equal(intake.envelopes.length, 0)
})

test('a request that waits too long for the intake is answered 500', async (t) => {
  const { intake, release } = heldIntake()
  t.after(release)
  const { port } = await startHttp(t, { intake, limits: { workMs: 200 } })
  const connection = await RawConnection.open(t, port)
  await connection.write(WHOLE)
  await connection.until(/^HTTP\/1\.1 500 [\s\S]*retry-after: 1[\s\S]*took too long/)
})

test('an interrupted request leaves nothing', async (t) => {
  const intake = new MemoryIntake()
  const { metrics, port, url } = await startMeasured(t, intake)
  for (const part of [
    ingestHead('content-length: 900000') + BODY,
    ingestHead('transfer-encoding: chunked'),
    WHOLE.slice(0, 60),
  ]) {
    const connection = await RawConnection.open(t, port)
    await connection.write(part)
    connection.socket.resetAndDestroy()
  }
  const inFlight = async () => /in_flight (\d+)/.exec(await metrics.metrics())![1]
  await until(inFlight, (count) => count === '0')
  assert.equal(intake.envelopes.length, 0)
  assert.equal((await fetch(`${url}/healthz`)).status, 200)
})

async function startMeasured(t: import('node:test').TestContext, intake: Intake) {
  const { Registry } = await import('prom-client')
  const metrics = new Registry()
  const server = await startHttp(t, { intake, metrics })
  return { metrics, port: server.port, url: server.url }
}

test('an answer for a client that has left is dropped', async (t) => {
  const { intake, release, appended } = heldIntake()
  const { port, url } = await startHttp(t, { intake })
  const connection = await RawConnection.open(t, port)
  await connection.write(WHOLE)
  await until(
    async () => appended(),
    (count) => count === 1,
  )
  connection.socket.resetAndDestroy()
  await connection.untilClosed()
  await fetch(`${url}/healthz`)
  release()
  assert.equal((await fetch(`${url}/healthz`)).status, 200)
})

test('a response created while all connections end touches no closed connection', async (t) => {
  const { create } = await chooseEngine(testedEngine())
  let isGone = false
  const response = { moved() {}, hasRoom: () => assert.ok(!isGone) }
  const engine = create([
    {
      method: 'GET',
      path: '/',
      arrived: (_request, writer) => ({
        start: () =>
          void setImmediate(() => {
            writer.send(200, ['x-request-id', '1'], 'made', false, response)
            engine.close()
          }),
        receive() {},
        abort() {
          isGone = true
        },
      }),
    },
  ])
  const port = await engine.listen({ host: '127.0.0.1', port: 0, hostSetting: 'HOST', portSetting: 'PORT' }, false)
  t.after(() => engine.stopListening())
  const connection = await RawConnection.open(t, port)
  await connection.write('GET / HTTP/1.1\r\nhost: t\r\n\r\n')
  const received = await connection.untilClosed()
  if (testedEngine() === 'uWebSockets.js') assert.equal(received, '', 'it was put off')
  assert.ok(isGone)
})

test('stop finishes requests in flight, ends idle connections, and accepts no new ones', async (t) => {
  const { intake, release, appended } = heldIntake()
  const server = await startHttp(t, { intake, limits: { stopMs: 10_000 } })
  const idle = await RawConnection.open(t, server.port)
  await idle.write('GET /healthz HTTP/1.1\r\nhost: t\r\n\r\n')
  await idle.until(/200 OK/)
  const busy = await RawConnection.open(t, server.port)
  await busy.write(WHOLE)
  await until(
    async () => appended(),
    (count) => count === 1,
  )
  const stopped = server.stop()
  await assert.rejects(RawConnection.open(t, server.port), { code: 'ECONNREFUSED' })
  release()
  assert.match(await busy.untilClosed(), /^HTTP\/1\.1 200 OK/)
  await stopped
  await idle.untilClosed()
  await server.stop()
})

test('stop has a time limit', async (t) => {
  const { intake, release, appended } = heldIntake()
  t.after(release)
  const server = await startHttp(t, { intake, limits: { stopMs: 50 } })
  const busy = await RawConnection.open(t, server.port)
  await busy.write(WHOLE)
  await until(
    async () => appended(),
    (count) => count === 1,
  )
  await server.stop()
  assert.equal(await busy.untilClosed(), '')
})

test('a port of another program is a clear error; a shared port is shared', async (t) => {
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  t.after(() => other.close())
  const { port } = other.address() as { port: number }
  for (const sharePort of [true, false]) {
    await assert.rejects(startHttp(t, { port, sharePort }), (error) => {
      assert.ok(error instanceof StartupError)
      assert.match(error.message, new RegExp(`127\\.0\\.0\\.1:${port}: another program uses this port`))
      return true
    })
  }
  other.close()
  await once(other, 'close')
  const first = await startHttp(t, { port })
  if (testedEngine() === 'uWebSockets.js' || canSharePorts()) await startHttp(t, { port })
  else await assert.rejects(startHttp(t, { port }), /shares a port on Linux with Node\.js 22\.12 or newer/)
  await assert.rejects(startHttp(t, { port, sharePort: false }), StartupError)
  assert.equal(first.url, `http://127.0.0.1:${port}`)
})

test('a server that never started, or was stopped, can be stopped and started again', async (t) => {
  const server = await startHttp(t)
  await server.start()
  const { port } = server
  await server.stop()
  await server.stop()
  await server.start()
  assert.ok(port > 0 && server.port > 0)
  const answer = await fetch(`${server.url}/v1/ingest`, {
    method: 'POST',
    body: BODY,
    headers: { 'x-api-key': API_KEY },
  })
  assert.equal(answer.status, 200)
})
