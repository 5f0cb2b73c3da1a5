import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { BATCH_LIMITS } from '../../schemas/api/batch.ts'
import type { Exchange } from '../../src/http/engine/exchange.ts'
import { AbortedError } from '../../src/http/engine/http-error.ts'
import type { HttpLimits } from '../../src/http/engine/limits.ts'
import type { Route } from '../../src/http/route/route.ts'
import { type BatchJobs, UploadTooLargeError } from '../../src/pipeline/declaration/batch-jobs.ts'
import { API_KEY, keyedHead, RawConnection, startHttp } from '../support/http.ts'
import { sendRaw } from '../support/raw-request.ts'
import { until } from '../support/until.ts'

const MAX = 20_000_000

/** A route that counts the bytes it receives, and reads as fast as the test lets it. */
async function startUploads(t: TestContext, limits: Partial<HttpLimits> = {}) {
  const seen = { bytes: 0, started: 0, failure: undefined as unknown, gate: Promise.resolve() }
  const route: Route = {
    method: 'POST',
    path: '/upload',
    access: 'key',
    bodyMaxBytes: MAX,
    streamsBody: true,
    async handle(exchange: Exchange) {
      seen.started++
      seen.bytes = 0
      try {
        for await (const bytes of exchange.stream()) {
          seen.bytes += bytes.length
          await seen.gate
        }
      } catch (error) {
        seen.failure = error
        throw error
      }
      return { status: 202, body: JSON.stringify({ bytes: seen.bytes }) }
    },
  }
  const server = await startHttp(t, { moreRoutes: [route], limits })
  const post = async (body: Buffer, headers: Record<string, string> = {}) => {
    const answer = await fetch(`${server.url}/upload`, {
      method: 'POST',
      body,
      headers: { 'x-api-key': API_KEY, ...headers },
    })
    return [answer.status, ((await answer.json()) as { bytes?: number }).bytes]
  }
  return { seen, post, port: server.port }
}

const uploadHead = (...headers: string[]) =>
  ['POST /upload HTTP/1.1', 'host: t', `x-api-key: ${API_KEY}`, ...headers, '', ''].join('\r\n')

test('an upload of any size up to the limit arrives whole, plain and gzip', async (t) => {
  const { post } = await startUploads(t)
  assert.deepEqual(await post(Buffer.alloc(0)), [202, 0])
  assert.deepEqual(await post(randomBytes(MAX)), [202, MAX])
  assert.deepEqual(await post(gzipSync(Buffer.alloc(MAX)), { 'content-encoding': 'gzip' }), [202, MAX])
  const members = Buffer.concat([gzipSync(Buffer.alloc(100_000)), gzipSync(Buffer.alloc(5))])
  assert.deepEqual(await post(members, { 'content-encoding': 'gzip' }), [202, 100_005])
})

test('over the limit is 413 as announced, as received and as decoded; broken gzip is 400', async (t) => {
  const { post, port } = await startUploads(t)
  assert.equal((await post(Buffer.alloc(MAX + 1)))[0], 413)
  assert.equal((await post(gzipSync(Buffer.alloc(MAX + 1)), { 'content-encoding': 'gzip' }))[0], 413)
  const whole = gzipSync(randomBytes(300_000))
  assert.equal((await post(whole.subarray(0, 200_000), { 'content-encoding': 'gzip' }))[0], 400)
  assert.equal((await post(randomBytes(300_000), { 'content-encoding': 'gzip' }))[0], 400)
  assert.equal((await post(Buffer.from('x'), { 'content-encoding': 'br' }))[0], 415)
  const connection = await RawConnection.open(t, port)
  await connection.write(uploadHead('transfer-encoding: chunked'))
  const chunk = Buffer.concat([Buffer.from('f4240\r\n'), Buffer.alloc(1_000_000), Buffer.from('\r\n')])
  for (let sent = 0; sent <= MAX; sent += 1_000_000) await connection.write(chunk)
  await connection.until(/^HTTP\/1\.1 413 /)
  const announced = { 'x-api-key': API_KEY, 'content-length': String(BATCH_LIMITS.bodyMaxBytes + 1) }
  assert.equal((await sendRaw(port, '/v1/ingest/batch', announced, '{')).status, 413, 'by the route of uploads')
})

test('a body is read only as fast as it is consumed, and a paused stream is not called slow', async (t) => {
  const { seen, port } = await startUploads(t, { bodyStallMs: 100 })
  let open = () => {}
  seen.gate = new Promise((resolve) => {
    open = resolve
  })
  const connection = await RawConnection.open(t, port)
  await connection.write(uploadHead(`content-length: ${MAX}`))
  const written = connection.write(Buffer.alloc(MAX))
  await until(
    async () => seen.bytes,
    (bytes) => bytes > 0,
  )
  // The sweep that ends stalled bodies runs twice a second: the next two leave it open.
  const { promise: sweeps, resolve: swept } = countdown(3)
  const timer = setInterval(swept, 500)
  await sweeps
  clearInterval(timer)
  assert.equal(connection.received, '')
  assert.ok(connection.socket.writableLength > 1_000_000, 'most of it waits on the sender')
  open()
  await written
  await connection.until(/202 Accepted[\s\S]*\{"bytes":20000000\}/)
})

function countdown(times: number): { promise: Promise<void>; resolve: () => void } {
  let left = times
  let done = () => {}
  const promise = new Promise<void>((resolve) => {
    done = resolve
  })
  return { promise, resolve: () => --left === 0 && done() }
}

test('an interrupted upload ends the stream with an error, a stalled one with 408', async (t) => {
  const { seen, port } = await startUploads(t, { bodyStallMs: 200 })
  const broken = await RawConnection.open(t, port)
  await broken.write(uploadHead('content-length: 1000') + 'x'.repeat(999))
  await until(
    async () => seen.bytes,
    (bytes) => bytes === 999,
  )
  broken.socket.resetAndDestroy()
  await until(
    async () => seen.failure,
    (failure) => failure instanceof AbortedError,
  )
  const stalled = await RawConnection.open(t, port)
  await stalled.write(uploadHead('transfer-encoding: chunked'))
  await stalled.write('3\r\nabc\r\n')
  assert.match(await stalled.untilClosed(), /^HTTP\/1\.1 408 /)
  assert.ok(seen.failure instanceof Error && seen.failure.message.startsWith('the body arrived too slowly: '))
})

/** Uploads whose end a test can observe. */
function watchedJobs(complete: () => Promise<void>, abort: () => Promise<void> = async () => {}) {
  const log: string[] = []
  const jobs: BatchJobs = {
    begin: async () => ({
      jobId: 'j',
      write: async () => {},
      async complete(commit) {
        log.push('complete')
        await complete()
        commit?.()
        log.push('job')
        return { jobId: 'j', received: 1 }
      },
      abort() {
        log.push('abort')
        return abort()
      },
    }),
    find: async () => undefined,
    list: async () => ({ jobs: [], next: null }),
    repeated: async () => undefined,
    rejected: async () => undefined,
    cancel: async () => undefined,
  }
  return { log, jobs }
}

test('an upload that was answered 500, or whose client left, becomes no job', async (t) => {
  for (const leaves of [false, true]) {
    let go = () => {}
    const gate = new Promise<void>((resolve) => {
      go = resolve
    })
    const { log, jobs } = watchedJobs(() => gate)
    const { port } = await startHttp(t, { jobs, limits: { workMs: leaves ? 30_000 : 100 } })
    const connection = await RawConnection.open(t, port)
    await connection.write(`${keyedHead('POST /v1/ingest/batch', 'content-length: 3')}{}\n`)
    await until(
      async () => log.length,
      (count) => count === 1,
    )
    if (leaves) {
      connection.socket.resetAndDestroy()
      await connection.untilClosed()
      await fetch(`http://127.0.0.1:${port}/healthz`)
    } else {
      await connection.until(/^HTTP\/1\.1 500 [\s\S]*took too long/)
    }
    go()
    await until(
      async () => log.length,
      (count) => count === 2,
      10_000,
    )
    assert.deepEqual(log, ['complete', 'abort'])
  }
})

test('a failing abort does not hide why an upload failed', async (t) => {
  const refused = async () => {
    throw new UploadTooLargeError('too many lines')
  }
  const { jobs } = watchedJobs(refused, async () => {
    throw new Error('the store is down')
  })
  const { url } = await startHttp(t, { jobs })
  const headers = { 'x-api-key': API_KEY }
  const answer = await fetch(`${url}/v1/ingest/batch`, { method: 'POST', body: '{}\n', headers })
  assert.deepEqual([answer.status, await answer.json()], [413, { detail: 'too many lines', code: 'body_too_large' }])
})
