import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { testedEngine } from '../support/engines.ts'
import { heldIntake, ingestHead, RawConnection, startHttp } from '../support/http.ts'
import { until } from '../support/until.ts'

const CHILD = fileURLToPath(new URL('../support/http-child.ts', import.meta.url))

interface ChildState {
  readonly rssBytes: number
  readonly answered: number
}

/** A server in a process that reports its memory and its answers. */
async function startChild(t: TestContext) {
  const child = fork(CHILD, [testedEngine()], { execArgv: ['--import', 'tsx'] })
  t.after(() => child.kill('SIGKILL'))
  const port = await messageFrom<number>(child)
  const state = () => {
    child.send('state')
    return messageFrom<ChildState>(child)
  }
  return { port, state }
}

async function messageFrom<T>(child: ChildProcess): Promise<T> {
  const [message] = (await once(child, 'message')) as [T]
  return message
}

const BODY = '{"events":[{"ip":"8.8.8.8"}]}'
const WHOLE = `${ingestHead(`content-length: ${BODY.length}`)}${BODY}`

/** The largest answer that needs no key. */
const LARGE = '/docs/openapi-tools.json'

/** The request that is flooded. */
const FLOODS: readonly (readonly [string, string])[] = [
  ['a large answer', `GET ${LARGE}`],
  ['an error', 'GET /nothing'],
  ['a head', `HEAD ${LARGE}`],
  ['nothing but headers', `OPTIONS ${LARGE}`],
]
const CONNECTIONS = 10
const REQUESTS = 20_000
/** Answers that the kernel buffers, and one HEAD in 256, since nothing shows whether it is read. */
const ANSWERED_MAX = 2_000

for (const [what, line] of FLOODS) {
  test(`unread answers, each ${what}, take no memory and block no other client`, async (t) => {
    const { port, state } = await startChild(t)
    let asked = 0
    const health = async () => {
      asked++
      assert.equal((await fetch(`http://127.0.0.1:${port}/healthz`)).status, 200)
    }
    for (let i = 0; i < 200; i++) await health()
    const before = await state()
    const requests = Buffer.from(`${line} HTTP/1.1\r\nhost: t\r\n\r\n`.repeat(1_000))
    for (let i = 0; i < CONNECTIONS; i++) {
      const { socket } = await RawConnection.open(t, port)
      socket.pause()
      for (let sent = 0; sent < REQUESTS && !socket.destroyed; sent += 1_000) {
        socket.write(requests)
        await health()
      }
    }
    const { rssBytes, answered } = await state()
    const grownBytes = rssBytes - before.rssBytes
    assert.ok(grownBytes < 50e6, `${grownBytes} bytes more`)
    // Clients that do not read are served no further, so others are. Counts are stable; times on a busy host are not.
    const flooded = answered - asked
    assert.ok(flooded < CONNECTIONS * ANSWERED_MAX, `${flooded} answers to clients that read none`)
  })
}

/** Answers that the kernel's buffers take. With more, the next request would arrive before the last answer has left. */
const LATE_ANSWERS = 2

test('a large answer that is read late arrives whole', async (t) => {
  const { port } = await startChild(t)
  const health = async () => await (await fetch(`http://127.0.0.1:${port}/healthz`)).text()
  const answer = await (await fetch(`http://127.0.0.1:${port}${LARGE}`)).arrayBuffer()
  // The received bytes of a connection, kept as latin1.
  const whole = Buffer.from(answer).toString('latin1')
  const connections = await Promise.all(Array.from({ length: 20 }, () => RawConnection.open(t, port)))
  for (const { socket } of connections) socket.pause()
  for (let sent = 0; sent < LATE_ANSWERS; sent++) {
    for (const connection of connections) await connection.write(`GET ${LARGE} HTTP/1.1\r\nhost: t\r\n\r\n`)
    // uWebSockets.js takes one request from a packet, so each is read before the next is sent.
    for (let i = 0; i < 3; i++) await health()
  }
  for (const connection of connections) {
    connection.socket.resume()
    await until(
      async () => connection.received.split(whole).length - 1,
      (count) => count === LATE_ANSWERS,
    )
  }
})

test('more requests or body bytes than the limit are 429', async (t) => {
  const { intake, release, appended } = heldIntake()
  const { port } = await startHttp(t, { intake, limits: { inFlightMax: 2 } })
  const held = await Promise.all([RawConnection.open(t, port), RawConnection.open(t, port)])
  for (const connection of held) await connection.write(WHOLE)
  await until(
    async () => appended(),
    (count) => count === 2,
  )
  const third = await RawConnection.open(t, port)
  await third.write(WHOLE)
  await until(() => appended() > 2 || third.received.includes('retry-after: 1'))
  assert.match(third.received, /^HTTP\/1\.1 429 /)
  release()
  for (const connection of held) await connection.until(/200 OK/)
  await third.write(WHOLE)
  await third.until(/200 OK/)

  const small = await startHttp(t, { limits: { bodiesMaxBytes: 2_000_000 } })
  const holder = await RawConnection.open(t, small.port)
  await holder.write(ingestHead('content-length: 870000') + 'x'.repeat(869_000))
  const other = await RawConnection.open(t, small.port)
  const large = `{"events":[{"ip":"8.8.8.8","properties":"${'x'.repeat(20_000)}"}]}`
  const attempt = async () => {
    const seen = other.received.length
    await other.write(`${ingestHead(`content-length: ${large.length}`)}${large}`)
    await until(
      async () => other.received.slice(seen),
      (text) => /\}$/.test(text),
    )
    return other.received.slice(seen)
  }
  await until(attempt, (text) => text.startsWith('HTTP/1.1 429 '), 10_000)
  holder.socket.resetAndDestroy()
  await until(attempt, (text) => text.startsWith('HTTP/1.1 200 '))
})
