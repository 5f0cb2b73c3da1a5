import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { testedEngine } from '../support/engines.ts'
import { ingestHead, keyedHead, MemoryIntake, RawConnection, startHttp } from '../support/http.ts'

const BODY = '{"events":[{"ip":"8.8.8.8"}]}'
const CHUNK = `${BODY.length.toString(16)}\r\n${BODY}\r\n`
const HIDDEN_GET = 'GET /healthz HTTP/1.1\r\nhost: x\r\nx-request-id: hidden\r\n\r\n'
const HIDDEN_POST = `${ingestHead(`content-length: ${BODY.length}`, 'x-request-id: hidden')}${BODY}`
const REQUEST_LINE = 'GET /healthz HTTP/1.1\r\nx-request-id: hidden\r\n\r\n'

/** The chunked requests: with a key, without one, to an endpoint that takes no body. */
const HEADS = {
  keyed: ingestHead('transfer-encoding: chunked'),
  keyless: 'POST /v1/ingest HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n',
  'without a body by its nature': 'GET /healthz HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n',
}

/**
 * Ends of a chunked body that hide a request from a proxy, as packets. The proxy forwards each as part of one request, or
 * refuses it. So a second answer would go to another client.
 */
const ENDS: Readonly<Record<string, readonly string[]>> = {
  'one letter before a GET': [`${CHUNK}0\r\nX:${HIDDEN_GET}`],
  'one letter before a POST': [`${CHUNK}0\r\nX:${HIDDEN_POST}`],
  'a name of no letters': [`${CHUNK}0\r\n: ${HIDDEN_GET}`],
  'a blank after the colon': [`${CHUNK}0\r\nX: ${HIDDEN_GET}`],
  'blanks in front of the colon': [`${CHUNK}0\r\nX :${HIDDEN_GET}`],
  'a folded line': [`${CHUNK}0\r\nX:\r\n ${HIDDEN_GET}`],
  'a folded line without a name': [`${CHUNK}0\r\n\t ${HIDDEN_GET}`],
  'a long name': [`${CHUNK}0\r\nx-checksum: ${HIDDEN_GET}`],
  'a trailer before it': [`${CHUNK}0\r\nA: b\r\nX:${HIDDEN_GET}`],
  'two bytes before a trailer': [`${CHUNK}0\r\nA:\r\nX:${HIDDEN_GET}`],
  'a request line without a host': [`${CHUNK}0\r\nX:${REQUEST_LINE}`],
  'a bare line feed after the size': [`${CHUNK}0\nX:${HIDDEN_GET}`],
  'a bare line feed after the last chunk': [`${CHUNK}0\r\n\n${HIDDEN_GET}`],
  'a bare carriage return': [`${CHUNK}0\r\n\rX${HIDDEN_GET}`],
  'a chunk extension': [`${CHUNK}0;a=b\r\nX:${HIDDEN_GET}`],
  'a size of many zeros': [`${CHUNK}0000\r\nX:${HIDDEN_GET}`],
  'the trailer in a packet of its own': [`${CHUNK}0\r\n`, `X:${HIDDEN_GET}`],
  'the trailer cut within its first two bytes': [`${CHUNK}0\r\nX`, `:${HIDDEN_GET}`],
}

test('a trailer never becomes a request: 54 forms get one answer each, or a closed connection', async (t) => {
  const intake = new MemoryIntake()
  const { port, url } = await startHttp(t, { intake })
  const attempts = Object.entries(HEADS).flatMap(([kind, head]) =>
    Object.entries(ENDS).map(([end, [first, ...more]]) => ({
      form: `${kind}: ${end}`,
      packets: [head + first, ...more],
    })),
  )
  assert.equal(attempts.length, 54)
  await Promise.all(
    attempts.map(async ({ form, packets }) => {
      const connection = await RawConnection.open(t, port)
      connection.socket.setNoDelay()
      for (const packet of packets) {
        await connection.write(packet)
        // An answer, or the end. Some forms get neither before the connection ends: they are incomplete.
        await Promise.race([connection.until(/HTTP/).catch(() => {}), delay(200)])
      }
      await (await fetch(`${url}/healthz`)).text()
      connection.socket.end()
      const received = await connection.untilClosed()
      assert.ok((received.match(/HTTP\/1\.1 \d/g) ?? []).length <= 1, `${form}: ${received}`)
      assert.ok(!received.includes('hidden'), `${form}: ${received}`)
    }),
  )
  assert.ok(intake.envelopes.length <= attempts.length / 3, 'nothing that was hidden is stored')
})

test('after a chunked request an engine that ignores trailers closes, and the answer arrives', async (t) => {
  const { port } = await startHttp(t)
  const ends = testedEngine() === 'uWebSockets.js'
  const connection = await RawConnection.open(t, port)
  await connection.write(`${ingestHead('transfer-encoding: chunked')}${CHUNK}0\r\n\r\n`)
  const received = await connection.until(/"received":1[\s\S]*\}\s*$/)
  assert.match(received, /^HTTP\/1\.1 200 OK/)
  assert.equal(/connection: close/i.test(received), ends)
  await connection.write(HIDDEN_GET)
  if (ends) assert.equal(await connection.untilClosed(), received)
  else await connection.until(/x-request-id: hidden/)
})

test('the last line break of a chunked body may come after the answer', async (t) => {
  const { port } = await startHttp(t)
  const connection = await RawConnection.open(t, port)
  await connection.write(`${ingestHead('transfer-encoding: chunked')}${CHUNK}0\r\n`)
  if (testedEngine() === 'uWebSockets.js') await connection.until(/200 OK/)
  await connection.write('\r\n')
  await connection.until(/200 OK[\s\S]*"received":1/)
})

test('a response streamed after a chunked request is whole', async (t) => {
  const { port } = await startHttp(t)
  const ips = Array.from({ length: 300 }, (_, i) => `8.8.${i % 256}.${i % 250}`)
  const body = JSON.stringify({ ips })
  const connection = await RawConnection.open(t, port)
  await connection.write(keyedHead('POST /v1/bulk', 'transfer-encoding: chunked'))
  await connection.write(`${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`)
  const received = await connection.until(/\r\n0\r\n(x-request-id: .*\r\n)?\r\n$/)
  assert.equal((received.match(/"tenant_id"/g) ?? []).length, ips.length)
  if (testedEngine() !== 'uWebSockets.js') return
  assert.match(received, /^[^{]*\r\nconnection: close\r\n/)
  assert.equal((received.match(/connection: close/gi) ?? []).length, 1)
  assert.equal(await connection.untilClosed(), received)
})
