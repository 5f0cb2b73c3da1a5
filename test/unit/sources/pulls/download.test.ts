import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { download, LateAnswerError } from '../../../../src/pipeline/sources/pulls/download.ts'
import { UnavailableError } from '../../../../src/run/errors.ts'

const LIMITS = { connectMs: 10_000, answerMs: 10_000, silenceMs: 10_000 }
const SHORT_MS = 100

async function listen(t: TestContext, server: Server): Promise<URL> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
}

async function serve(t: TestContext, answer: RequestListener): Promise<URL> {
  const server = createServer(answer)
  t.after(() => server.closeAllConnections())
  return await listen(t, server)
}

function start(t: TestContext, url: URL, limits = LIMITS, signal = new AbortController().signal) {
  const dir = mkdtempSync(join(tmpdir(), 'ipid-download-'))
  t.after(() => rmSync(dir, { recursive: true }))
  const file = join(dir, 'file')
  const headers = { authorization: 'Basic x' }
  return { file, answer: download(url, { headers, file, bytesMax: 1_000, limits, signal }) }
}

test('an answer is written to the file, and read no further than its limit', async (t) => {
  for (const [bytes, read] of [
    [1_000, 1_000],
    [1_001, 1_001],
  ] as const) {
    const url = await serve(t, (_, response) => void response.end('x'.repeat(bytes)))
    const { file, answer } = start(t, url)
    assert.deepEqual(await answer, { status: 200, bytes: read })
    if (bytes <= 1_000) assert.equal(readFileSync(file, 'utf8').length, bytes)
  }
})

test('a status other than 200 writes no file', async (t) => {
  const { file, answer } = start(t, await serve(t, (_, response) => void response.writeHead(504).end('text')))
  assert.deepEqual(await answer, { status: 504, bytes: 0 })
  assert.equal(existsSync(file), false)
})

test('an answer that does not begin in time is another error than a broken connection', async (t) => {
  const late = await serve(t, () => {})
  await assert.rejects(start(t, late, { ...LIMITS, answerMs: SHORT_MS }).answer, (error: Error) => {
    assert.ok(error instanceof LateAnswerError)
    assert.equal(error.message, 'no answer began within 0.1 s')
    return true
  })
  const cases: readonly (readonly [RequestListener, RegExp])[] = [
    [(request) => void request.socket.destroy(), /socket hang up/],
    [(_, response) => void response.write('x', () => response.destroy()), /aborted/],
    [(_, response) => void response.write('x'), /nothing more came within 0.1 s/],
  ]
  for (const [answer, message] of cases) {
    const url = await serve(t, answer)
    await assert.rejects(start(t, url, { ...LIMITS, silenceMs: SHORT_MS }).answer, (error: Error) => {
      assert.ok(error instanceof UnavailableError && !(error instanceof LateAnswerError), error.message)
      assert.match(error.message, message)
      return true
    })
  }
})

test('a server that takes the connection, but ends no handshake of TLS, is not connected', async (t) => {
  const server = createTcpServer((socket) => void t.after(() => socket.destroy()))
  const url = await listen(t, server)
  url.protocol = 'https:'
  const https = new URL(`https://${url.host}/`)
  await assert.rejects(start(t, https, { ...LIMITS, connectMs: SHORT_MS }).answer, /no connection within 0.1 s/)
})

test('a signal ends a download at any point, with its reason', async (t) => {
  const url = await serve(t, (_, response) => void response.write('x'))
  const stopping = new AbortController()
  const { answer } = start(t, url, LIMITS, stopping.signal)
  setTimeout(() => stopping.abort(new Error('stopped')), SHORT_MS)
  await assert.rejects(answer, /^Error: stopped$/)
  await assert.rejects(start(t, url, LIMITS, stopping.signal).answer, /^Error: stopped$/)
})

test('redirects are followed, and another host gets no credentials', async (t) => {
  const seen: (string | undefined)[] = []
  const other = await serve(t, ({ headers }, response) => {
    seen.push(headers.authorization)
    response.end('x')
  })
  const url = await serve(t, ({ url: path, headers }, response) => {
    seen.push(headers.authorization)
    const location = path === '/' ? '/next' : path === '/next' ? other.href : '/circle'
    response.writeHead(302, { location }).end()
  })
  assert.deepEqual(await start(t, url).answer, { status: 200, bytes: 1 })
  assert.deepEqual(seen, ['Basic x', 'Basic x', undefined])
  await assert.rejects(start(t, new URL('/circle', url)).answer, /redirects in a circle/)
})
