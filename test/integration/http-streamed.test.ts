import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { HttpLimits } from '../../src/http/engine/limits.ts'
import type { Route } from '../../src/http/route/route.ts'
import { testedEngine } from '../support/engines.ts'
import { API_KEY, keyedHead, RawConnection, startHttp } from '../support/http.ts'
import { bufferBytes } from '../support/memory.ts'
import { until } from '../support/until.ts'

const DONE = { done: true, value: undefined } as const
const LINE = `${'x'.repeat(8_000)}\n`

/** A route that yields the requested number of lines, and reports how many were taken. */
async function startLines(t: TestContext, options: { lines?: number; limits?: Partial<HttpLimits> } = {}) {
  const seen = { taken: 0, ended: 0, gate: undefined as Promise<void> | undefined, fail: -1 }
  async function* lines() {
    try {
      for (let i = 0; i < (options.lines ?? Number.POSITIVE_INFINITY); i++) {
        if (i === seen.fail) throw new Error('no more')
        if (i > 0) await seen.gate
        seen.taken++
        yield LINE
      }
    } finally {
      seen.ended++
    }
  }
  const route: Route = {
    method: 'GET',
    path: '/lines',
    access: 'key',
    handle: () => ({ status: 200, type: 'application/x-ndjson', headers: { 'x-own': '1' }, body: lines() }),
  }
  const server = await startHttp(t, { moreRoutes: [route], limits: options.limits })
  const ask = (method = 'GET') => fetch(`${server.url}/lines`, { method, headers: { 'x-api-key': API_KEY } })
  return { seen, ask, ...server, port: server.port, url: server.url }
}

/** A reader of one kilobyte at a time, which reads only on request. */
async function openSlowly(t: TestContext, port: number) {
  const connection = await RawConnection.open(t, port)
  connection.socket.pause()
  await connection.write(keyedHead('GET /lines'))
  return connection
}

test('a streamed answer arrives whole, chunked, with its headers, and the connection is reused', async (t) => {
  const { ask, port } = await startLines(t, { lines: 100 })
  const answer = await ask()
  assert.equal(answer.headers.get('content-type'), 'application/x-ndjson')
  assert.equal(answer.headers.get('x-own'), '1')
  assert.equal(answer.headers.get('content-length'), null)
  assert.ok(answer.headers.get('x-request-id') && answer.headers.get('ratelimit-limit'))
  assert.equal(await answer.text(), LINE.repeat(100))
  const connection = await RawConnection.open(t, port)
  for (let i = 0; i < 2; i++) {
    await connection.write(keyedHead('GET /lines'))
    await connection.until(new RegExp(`(HTTP/1\\.1 200 OK[\\s\\S]*\\r\\n0\\r\\n\\r\\n){${i + 1}}$`))
  }
})

test('HEAD of a streamed answer is its head, and no line is made', async (t) => {
  const { ask, seen, port } = await startLines(t, { lines: 3 })
  const answer = await ask('HEAD')
  assert.deepEqual([answer.status, answer.headers.get('x-own'), await answer.text()], [200, '1', ''])
  assert.equal(seen.taken, 0)
  const connection = await RawConnection.open(t, port)
  await connection.write(keyedHead('HEAD /lines'))
  await connection.until(/200 OK[\s\S]*\r\n\r\n$/)
  await connection.write(keyedHead('GET /lines'))
  await connection.until(/\r\n0\r\n\r\n$/)
})

test('an empty streamed answer is a complete answer', async (t) => {
  const { ask } = await startLines(t, { lines: 0 })
  const answer = await ask()
  assert.deepEqual([answer.status, await answer.text()], [200, ''])
})

test('a failure before the first piece is 500; one after it cuts the connection off', async (t) => {
  const { ask, seen } = await startLines(t, { lines: 10 })
  seen.fail = 0
  const failed = await ask()
  assert.deepEqual(
    [failed.status, (await failed.json()) as unknown],
    [500, { detail: 'unexpected failure', code: 'unexpected' }],
  )
  seen.fail = 3
  const broken = await ask()
  assert.equal(broken.status, 200)
  await assert.rejects(broken.text())
  seen.fail = -1
  assert.equal((await (await ask()).text()).length, LINE.length * 10)
})

test('an endless answer is made only as fast as it is read, and others are answered', async (t) => {
  const { seen, port, url } = await startLines(t)
  const heldBefore = bufferBytes()
  const readers = await Promise.all(Array.from({ length: 10 }, () => openSlowly(t, port)))
  const taken = await stands(() => seen.taken, url)
  const heldBytes = bufferBytes() - heldBefore
  assert.ok(heldBytes < 15_000_000, `${heldBytes} bytes held of ${taken * LINE.length} made`)
  for (const reader of readers) reader.socket.resume()
  await until(
    async () => seen.taken,
    (count) => count > taken * 1.2,
  )
  for (const reader of readers) reader.socket.resetAndDestroy()
  await until(
    async () => seen.ended,
    (count) => count === 10,
  )
})

/** Waits until a count stays the same while other requests are answered. */
async function stands(count: () => number, url: string): Promise<number> {
  for (let before = -1; ; ) {
    for (let i = 0; i < 100; i++) assert.equal((await fetch(`${url}/healthz`)).status, 200)
    const now = count()
    if (now === before && now > 0) return now
    before = now
  }
}

// Node.js waits for room without a limit.
const onlyThere = testedEngine() === 'uWebSockets.js' ? test : () => {}
onlyThere('a reader that moves again after longer than the engine would wait gets everything', async (t) => {
  const { seen, port, url } = await startLines(t, { lines: 1_500 })
  const reader = await openSlowly(t, port)
  const taken = await stands(() => seen.taken, url)
  assert.ok(taken < 1_500, 'not all fits into sockets')
  // uWebSockets.js ends a connection that it cannot write to for 10 to 12 s.
  await new Promise((resolve) => setTimeout(resolve, 14_000))
  let bytes = 0
  let tail = ''
  reader.socket.removeAllListeners('data')
  const whole = new Promise<void>((resolve, reject) => {
    reader.socket.on('close', () => reject(new Error(`closed after ${bytes} bytes`)))
    reader.socket.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      tail = (tail + chunk.toString('latin1')).slice(-7)
      if (tail === '\r\n0\r\n\r\n') resolve()
    })
  })
  reader.socket.resume()
  await whole
  assert.ok(bytes > 1_500 * LINE.length)
  assert.equal(seen.ended, 1)
})

test('a stalled reader is cut off; so is an answer whose rest does not come', async (t) => {
  const { seen, port } = await startLines(t, { limits: { writeStallMs: 300, workMs: 300 } })
  const dead = await openSlowly(t, port)
  await until(
    async () => seen.ended,
    (count) => count === 1,
  )
  dead.socket.resume()
  assert.doesNotMatch((await dead.untilClosed()).slice(-10), /0\r\n\r\n$/)
  const connection = await RawConnection.open(t, port)
  let open = () => {}
  await connection.write(keyedHead('GET /lines'))
  await connection.until(/200 OK/)
  seen.gate = new Promise((resolve) => {
    open = resolve
  })
  await connection.untilClosed()
  open()
  await until(
    async () => seen.ended,
    (count) => count === 2,
  )
})

test('a source learns at once that the reader of its first piece has left', async (t) => {
  const seen = { asked: 0, left: 0 }
  // A generator would learn of it only after its piece.
  const source = {
    next() {
      seen.asked++
      return new Promise<never>(() => {})
    },
    async return() {
      seen.left++
      return DONE
    },
  }
  const handle = () => ({ status: 200, body: { [Symbol.asyncIterator]: () => source } })
  const moreRoutes: Route[] = [{ method: 'GET', path: '/slow', access: 'key', handle }]
  const { port, url } = await startHttp(t, { moreRoutes, limits: { workMs: 300 } })
  const leaving = await RawConnection.open(t, port)
  await leaving.write(keyedHead('GET /slow'))
  await until(
    async () => seen.asked,
    (count) => count === 1,
  )
  leaving.socket.resetAndDestroy()
  await until(
    async () => seen.left,
    (count) => count === 1,
  )
  assert.equal((await fetch(`${url}/slow`, { headers: { 'x-api-key': API_KEY } })).status, 500)
  assert.equal(seen.left, 2, 'nor is the answer made that took too long')
})

test('stop waits for a streamed answer that is being read', async (t) => {
  const { seen, port, stop } = await startLines(t, { lines: 3, limits: { stopMs: 10_000 } })
  let open = () => {}
  const connection = await RawConnection.open(t, port)
  await connection.write(keyedHead('GET /lines'))
  const gate = new Promise<void>((resolve) => {
    open = resolve
  })
  seen.gate = gate
  await connection.until(/200 OK/)
  const stopped = stop()
  open()
  await stopped
  assert.match(await connection.untilClosed(), /200 OK[\s\S]*\r\n0\r\n\r\n$/)
})
