import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import zlib, { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import type { Intake } from '../../src/pipeline/declaration/source.ts'
import type { Caller } from '../../src/tenants/tenancy.ts'
import { acme, startHttp } from '../support/http.ts'

/* Bodies as senders make them: several documents, one broken event, character sets, log lines, compression. */

const KEY = `src_${'a1'.repeat(20)}`

/** A server for sources of a kind, with what it keeps. */
async function startSource(t: TestContext, kind: string) {
  let rows: string[] = []
  let reasons: string[] = []
  const intake: Intake = {
    async append(envelopes, _payloads, outcomes) {
      rows.push(...envelopes.map(({ row }) => row.toString()))
      for (const [key, events] of outcomes ?? [])
        reasons.push(`${key.split('\t').slice(3, 5).join(' ')} ${events}`.trim())
    },
  }
  const caller: Caller = { ...acme, source: { id: 'src_a1a1a1a', kind, address: 'payload', isBrowser: false } }
  const { url } = await startHttp(t, {
    intake,
    settings: { trustedProxies: ['127.0.0.0/8'] },
    authenticator: { authenticate: (key) => (key === KEY ? caller : undefined) },
  })
  return async (path: string, body: string | Buffer, headers: Record<string, string> = {}) => {
    rows = []
    reasons = []
    const answer = await fetch(`${url}/s/${kind}${path}`, { method: 'POST', body, headers })
    return { status: answer.status, text: await answer.text(), rows, reasons }
  }
}

const mixpanelEvent = (n: number) =>
  `{"event":"View","properties":{"token":"${KEY}","time":${Math.floor(Date.now() / 1_000)},"$insert_id":"m${n}","distinct_id":"d","ip":"17.0.0.${n}"}}`

test('Mixpanel /import takes NDJSON, and rejects one broken line by itself', async (t) => {
  const send = await startSource(t, 'mixpanel')
  const headers = { authorization: `Basic ${btoa(`${KEY}:`)}`, 'content-type': 'application/x-ndjson' }
  const two = await send('/import?strict=1', `${mixpanelEvent(1)}\n${mixpanelEvent(2)}\n`, headers)
  assert.deepEqual([two.status, JSON.parse(two.text)], [200, { code: 200, num_records_imported: 2, status: 'OK' }])
  assert.equal(two.rows.length, 2)
  const broken = mixpanelEvent(3).replace('"d"', 'NaN')
  const one = await send('/import', `${mixpanelEvent(1)}\n${broken}\n`, headers)
  assert.equal(JSON.parse(one.text).num_records_imported, 1)
  assert.deepEqual(one.reasons, ['rejected the event is not JSON, which has no NaN 1'])
  const keyed = await send('/track', gzipSync(`${mixpanelEvent(1)}${mixpanelEvent(2)}`))
  assert.deepEqual([keyed.text, keyed.rows.length], ['1', 2], 'the key is in the first document')
})

test('Segment: a batch with one event that is no JSON keeps the others', async (t) => {
  const send = await startSource(t, 'segment')
  const call = (n: number, price: string) =>
    `{"type":"track","event":"Buy \\ud83d","messageId":"s${n}","context":{"ip":"17.0.0.${n}"},"properties":{"price":${price},"name":"x \\ud83d"}}`
  const { status, rows, reasons } = await send(
    '/v1/batch',
    `{"writeKey":"${KEY}","batch":[${call(1, '1')},${call(2, 'NaN')},${call(3, '3.5')}]}`,
  )
  assert.deepEqual([status, rows.length, reasons], [200, 2, ['rejected the event is not JSON, which has no NaN 1']])
  assert.match(rows[0]!, /\tBuy \ufffd\t.*"name":"x \\\\ufffd"/)
})

test('Matomo: a title in the character set of its page', async (t) => {
  const send = await startSource(t, 'matomo')
  const query = 'idsite=1&rec=1&cip=17.0.0.1&cs=windows-1251&action_name=%CF%F0%E8%E2%E5%F2'
  const { status, rows } = await send(`/${KEY}/matomo.php`, query)
  assert.deepEqual([status, rows.length], [200, 1])
  assert.match(rows[0]!, /"action_name":"Привет"/)
})

test('logs and JSON: documents without anything between them, log lines, and messages of CloudWatch', async (t) => {
  const send = await startSource(t, 'http')
  const counts = async (body: string) => JSON.parse((await send(`/${KEY}`, body)).text)
  assert.equal((await counts('{"ip":"17.0.0.1"}{"ip":"17.0.0.2"}')).accepted, 2)
  const line =
    '17.0.0.1 - - [28/Nov/2026:10:01:02 +0000] "GET /p HTTP/1.1" 200 10 "-" "Mozilla/5.0 (X11; Linux x86_64) Chrome/140.0.0.0 Safari/537.36"'
  assert.deepEqual(await counts(`${line}\nnope\n`), {
    ...{ received: 2, accepted: 1, filtered: 0, invalid_ip: 0, no_ip: 0, rejected: 1 },
  })
  const message = { messageType: 'DATA_MESSAGE', logEvents: [{ id: '1', timestamp: 1_795_334_400_000, message: line }] }
  const record = { data: gzipSync(JSON.stringify(message)).toString('base64') }
  const firehose = await send(`/${KEY}`, JSON.stringify({ requestId: 'r', records: [record] }), {
    'x-amz-firehose-request-id': 'r',
  })
  assert.deepEqual([firehose.status, firehose.rows.length], [200, 1])
})

const { zstdCompressSync } = zlib as unknown as { zstdCompressSync?: (text: string) => Buffer }
const CODINGS: readonly (readonly [string, ((text: string) => Buffer) | undefined])[] = [
  ['gzip', gzipSync],
  ['deflate', deflateSync],
  ['br', brotliCompressSync],
  ['zstd', zstdCompressSync],
]

for (const [kind, path, event] of [
  ['http', `/${KEY}`, '{"ip":"17.0.0.1"}'],
  // The key is in the body.
  ['mixpanel', '/track', mixpanelEvent(1)],
] as const) {
  test(`${kind}: compressed in every way that senders use, small and large`, async (t) => {
    const send = await startSource(t, kind)
    for (const [coding, compress] of CODINGS) {
      if (compress === undefined) {
        const { status, text } = await send(path, event, { 'content-encoding': coding })
        assert.deepEqual([status, /must be gzip/.test(text)], [415, true])
        continue
      }
      for (const text of [event, `[${event}${' '.repeat(200_000)}]`]) {
        const { status, rows } = await send(path, compress(text), { 'content-encoding': coding })
        assert.deepEqual([status, rows.length], [200, 1], coding)
      }
      const broken = await send(path, compress(event).subarray(0, 12), {
        'content-encoding': coding,
        'x-source-key': KEY,
      })
      assert.equal(broken.status, 400, coding)
    }
    const { status, text } = await send(path, event, { 'content-encoding': 'snappy' })
    assert.deepEqual([status, /must be gzip or deflate or br/.test(text)], [415, true])
  })
}
