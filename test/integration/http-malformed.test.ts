import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testedEngine } from '../support/engines.ts'
import { ingestHead, MemoryIntake, RawConnection, startHttp } from '../support/http.ts'

const BODY = '{"events":[{"ip":"8.8.8.8"}]}'
const WHOLE = `${ingestHead(`content-length: ${BODY.length}`)}${BODY}`
/** `node:http` names the fault that its parser refuses. */
const ANSWERS_ALL = testedEngine() === 'node:http'

test('ambiguous lengths are refused, and the bytes after them are no request', async (t) => {
  const intake = new MemoryIntake()
  const { port } = await startHttp(t, { intake })
  const chunked = `${BODY.length.toString(16)}\r\n${BODY}\r\n0\r\n\r\n`
  const attempts = [
    `${ingestHead(`content-length: ${BODY.length}`, 'content-length: 5')}${BODY}`,
    `${ingestHead('content-length: 0', `content-length: ${BODY.length}`)}${BODY}`,
    `${ingestHead(`content-length: ${BODY.length}`, `content-length: ${BODY.length}`)}${BODY}`,
    `${ingestHead(`content-length: ${BODY.length}, ${BODY.length}`)}${BODY}`,
    `${ingestHead('content-length: +29')}${BODY}`,
    `${ingestHead('content-length: -1')}${BODY}`,
    `${ingestHead('content-length: 0x1d')}${BODY}`,
    `${ingestHead('content-length: 99999999999999999999')}${BODY}`,
    `${ingestHead('transfer-encoding: chunked', `content-length: ${chunked.length}`)}${chunked}`,
    `${ingestHead(`content-length: ${chunked.length}`, 'transfer-encoding: chunked')}${chunked}`,
    `${ingestHead('transfer-encoding: gzip, chunked')}${chunked}`,
    `${ingestHead('transfer-encoding: xchunked')}${chunked}`,
    `${ingestHead('transfer-encoding:', 'transfer-encoding: chunked', 'content-length: 3')}${chunked}`,
    `${ingestHead('transfer-encoding: identity')}${BODY}`,
    `${ingestHead('transfer-encoding: chunked')}zz\r\n${BODY}\r\n0\r\n\r\n`,
  ]
  for (const attempt of attempts) {
    const connection = await RawConnection.open(t, port)
    await connection.write(attempt + WHOLE)
    const received = await connection.untilClosed()
    // From version 20.57 on, uWebSockets.js answers unreadable input with "another version of HTTP".
    assert.match(received, /^$|^HTTP\/1\.1 (?:400|505) /, attempt)
    assert.ok(!received.includes('200 OK'), attempt)
  }
  assert.equal(intake.envelopes.length, 0)
})

test('a refused length is answered with the reason, and the connection ends', async (t) => {
  const { port } = await startHttp(t)
  const connection = await RawConnection.open(t, port)
  await connection.write(`${ingestHead('content-length: 3', 'content-length: 5')}abc`)
  const received = await connection.untilClosed()
  assert.match(received, /^HTTP\/1\.1 400 /)
  assert.match(received, /content-length must be one number/)
})

test('a body whose length comes after a nameless header is not a second request', async (t) => {
  const intake = new MemoryIntake()
  const { port } = await startHttp(t, { intake })
  for (const framing of [`content-length: ${WHOLE.length}`, 'transfer-encoding: chunked']) {
    const connection = await RawConnection.open(t, port)
    await connection.write(ingestHead(': x', framing))
    await connection.until(/400/).catch(() => {})
    await connection.write(WHOLE).catch(() => {})
    const received = await connection.untilClosed()
    assert.ok((received.match(/HTTP\/1\.1 \d/g) ?? []).length <= 1, received)
  }
  assert.equal(intake.envelopes.length, 0)
})

test('bytes after a request that ends early or ends its connection are no second request', async (t) => {
  const intake = new MemoryIntake()
  const { port } = await startHttp(t, { intake })
  const firsts = [
    'GET /healthz',
    'HEAD /healthz',
    'OPTIONS /healthz',
    'GET /nothing',
    'HEAD /nothing',
    'DELETE /healthz',
  ]
  const headers = [`: x\r\ncontent-length: ${WHOLE.length}`, ': x\r\ntransfer-encoding: chunked', 'connection: close']
  const attempts = firsts.flatMap((first) => headers.map((lines) => `${first} HTTP/1.1\r\nhost: t\r\n${lines}\r\n\r\n`))
  // Refused at once, with and without its body.
  attempts.push(`POST /v1/ingest HTTP/1.1\r\nhost: t\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}`)
  attempts.push(`POST /nothing HTTP/1.1\r\nhost: t\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`)
  for (const attempt of attempts) {
    const connection = await RawConnection.open(t, port)
    await connection.write(attempt + WHOLE)
    const received = await connection.untilClosed()
    assert.ok((received.match(/HTTP\/1\.1 \d/g) ?? []).length <= 1, `${attempt} ${received}`)
  }
  assert.equal(intake.envelopes.length, 0)
})

test('a request that ends its connection is answered', async (t) => {
  const { port } = await startHttp(t)
  for (const method of ['GET', 'HEAD', 'OPTIONS']) {
    const connection = await RawConnection.open(t, port)
    await connection.write(`${method} /healthz HTTP/1.1\r\nhost: t\r\nconnection: close\r\n\r\n`)
    assert.match(await connection.untilClosed(), /^HTTP\/1\.1 20[04] /)
  }
})

test('headers of several kilobytes in one packet are read', async (t) => {
  const { port } = await startHttp(t)
  const connection = await RawConnection.open(t, port)
  await connection.write(`${ingestHead(`x-long: ${'a'.repeat(3_500)}`, `content-length: ${BODY.length}`)}${BODY}`)
  await connection.until(/200 OK/)
})

test('an endless head is cut off, and does not block the server', async (t) => {
  const { port, url } = await startHttp(t)
  const endless = await RawConnection.open(t, port)
  for (let i = 0; i < 40; i++)
    await endless.write(`${i === 0 ? 'GET / HTTP/1.1\r\n' : ''}x-${i}: ${'a'.repeat(1_000)}\r\n`)
  assert.match(await endless.untilClosed(), ANSWERS_ALL ? /^HTTP\/1\.1 431 [\s\S]*too large/ : /^$|^HTTP\/1\.1 431 /)
  assert.equal((await fetch(`${url}/healthz`)).status, 200)
})
