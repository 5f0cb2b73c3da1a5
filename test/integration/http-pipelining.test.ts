import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testedEngine } from '../support/engines.ts'
import { heldIntake, ingestHead, RawConnection, startHttp } from '../support/http.ts'
import { until } from '../support/until.ts'

const BODY = '{"events":[{"ip":"8.8.8.8"}]}'
const WHOLE = `${ingestHead(`content-length: ${BODY.length}`)}${BODY}`

test('a pipelined request never gets the answer of another', async (t) => {
  const { intake, release, appended } = heldIntake()
  const { port } = await startHttp(t, { intake })
  const connection = await RawConnection.open(t, port)
  const second = `${ingestHead(`content-length: ${BODY.length}`, 'x-request-id: second')}${BODY}`
  await connection.write(WHOLE + second)
  if (testedEngine() === 'uWebSockets.js') {
    assert.equal(await connection.untilClosed(), '', 'the engine ends a connection that does not wait')
    assert.equal(appended(), 0, 'in the turn in which both arrived, before the first one began')
    release()
  } else {
    await until(
      async () => appended(),
      (count) => count === 1,
    )
    assert.equal((await fetch(`http://127.0.0.1:${port}/healthz`)).status, 200)
    assert.equal(appended(), 1, 'the second waits for its turn')
    release()
    await connection.until(/200 OK[\s\S]*200 OK[\s\S]*x-request-id: second/)
    assert.equal(appended(), 2)
  }
  const answeredAtOnce = await RawConnection.open(t, port)
  await answeredAtOnce.write('GET /healthz HTTP/1.1\r\nhost: t\r\n\r\n'.repeat(3))
  if (testedEngine() === 'uWebSockets.js') assert.equal(await answeredAtOnce.untilClosed(), '')
  else await answeredAtOnce.until(/(200 OK[\s\S]*){3}/)
})

test('too many requests queued in a connection end it', async (t) => {
  const { intake, release, appended } = heldIntake()
  t.after(release)
  const { port } = await startHttp(t, { intake })
  const connection = await RawConnection.open(t, port)
  await connection.write(WHOLE.repeat(200))
  assert.equal(await connection.untilClosed(), '')
  assert.equal(appended(), testedEngine() === 'uWebSockets.js' ? 0 : 1)
})

test('pipelined requests that are refused are all answered, or none is begun', async (t) => {
  const { port } = await startHttp(t)
  const connection = await RawConnection.open(t, port)
  const keyless = `POST /v1/ingest HTTP/1.1\r\nhost: t\r\ncontent-length: ${BODY.length}\r\n\r\n${BODY}`
  await connection.write(keyless.repeat(3))
  if (testedEngine() === 'uWebSockets.js') assert.equal(await connection.untilClosed(), '')
  else await connection.until(/(401 Unauthorized[\s\S]*){3}/)
})
