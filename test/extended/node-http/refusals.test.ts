import assert from 'node:assert/strict'
import { test } from 'node:test'
import { heldIntake, ingestHead, RawConnection, startHttp } from '../../support/http.ts'
import { until } from '../../support/until.ts'

/* `node:http` answers these; uWebSockets.js does not: it reports no unreadable request. */

const engine = 'node:http'
const BODY = '{"events":[{"ip":"8.8.8.8"}]}'

const OTHERS: readonly (readonly [string, string, RegExp])[] = [
  ['HTTP/0.9', 'GET /healthz HTTP/0.9\r\nhost: t\r\n\r\n', /^HTTP\/1\.1 505 [\s\S]*proxy_http_version 1\.1/],
  [
    'HTTP/1.0 with chunks',
    'POST /v1/ingest HTTP/1.0\r\nhost: t\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
    /^HTTP\/1\.1 400 [\s\S]*chunked/,
  ],
  ['HTTP/1.0 with two hosts', 'GET /healthz HTTP/1.0\r\nhost: a\r\nhost: b\r\n\r\n', /^HTTP\/1\.1 400 [\s\S]*host/],
  ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', /^HTTP\/1\.1 505 /],
  ['a request without a host', 'GET /healthz HTTP/1.1\r\n\r\n', /^HTTP\/1\.1 400 [\s\S]*host header/],
  [
    'a request with two hosts',
    'GET /healthz HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n',
    /^HTTP\/1\.1 400 [\s\S]*host header/,
  ],
  ['another protocol', 'EHLO example.com\r\n\r\n', /^HTTP\/1\.1 400 [\s\S]*not an HTTP/],
  ['half a request', 'POST /v1/ingest HTTP/1.1\r\nhost', /^HTTP\/1\.1 400 [\s\S]*ends too early/],
]

for (const [what, text, answer] of OTHERS) {
  test(`${what} is answered with the fault, and the connection ends`, async (t) => {
    const { port } = await startHttp(t, { engine })
    const connection = await RawConnection.open(t, port)
    await connection.write(text)
    if (what.startsWith('half')) connection.socket.end()
    const received = await connection.untilClosed()
    assert.match(received, answer)
    assert.match(received, /\r\nconnection: close\r\n/)
    const [, length, body] = /content-length: (\d+)[\s\S]*?\r\n\r\n([\s\S]*)$/.exec(received)!
    assert.equal(body!.length, Number(length))
    assert.ok((JSON.parse(body!) as { detail: string }).detail)
  })
}

test('unreadable bytes after a request do not cost it its answer', async (t) => {
  const { intake, release, appended } = heldIntake()
  const { port } = await startHttp(t, { engine, intake })
  const connection = await RawConnection.open(t, port)
  await connection.write(`${ingestHead(`content-length: ${BODY.length}`)}${BODY}nonsense\r\n\r\n`)
  await until(
    async () => appended(),
    (count) => count === 1,
  )
  release()
  assert.match(await connection.untilClosed(), /^HTTP\/1\.1 200 OK[\s\S]*HTTP\/1\.1 400 /)
})
