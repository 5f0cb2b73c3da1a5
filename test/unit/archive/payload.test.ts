import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EventEnvelope } from '../../../schemas/api/event.ts'
import { NOTHING_KNOWN } from '../../../src/enrichment/answers/answer.ts'
import type { Enricher } from '../../../src/pipeline/event/enrichment.ts'
import { payloadLineStart, readCounted } from '../../../src/pipeline/event/payload.ts'
import { compileValidator } from '../../../src/pipeline/event/validator.ts'
import { acceptEvents } from '../../../src/pipeline/sources/live/keep.ts'
import { readWhole } from '../../support/batch.ts'
import { readEvents } from '../../support/read-events.ts'

const RECEIVED_AT = Date.UTC(2026, 10, 21, 23, 59, 59, 4)
const enricher: Enricher = {
  enrich: ({ text }) => ({ ...NOTHING_KNOWN, noise: text.startsWith('10.'), classification: undefined }),
}
const receipt = { tenantId: 'acme', receivedAtMs: RECEIVED_AT, archived: true, requestId: 'req 1' }

/** The line that the archive gets for an event's text. */
function lineOf(text: string): string {
  const body = `{ "events" : [ ${text} ] }`
  const { payloads } = acceptEvents(body, readEvents(body), receipt, enricher)
  assert.equal(payloads.length, 1)
  const row = Buffer.from(payloads[0]!.row)
  const lineStart = payloadLineStart(row, 0)
  assert.equal(row.toString('utf8', 0, lineStart), 'acme\t2026-11-21T23\t=req 1\t')
  assert.ok(!row.includes('\n'))
  return row.toString('utf8', lineStart)
}

const OWN = '"_received_at":"2026-11-21T23:59:59.004Z","_event_id":"a"'

test('an event is archived exactly as it came, after the answer it got', () => {
  const members =
    '"ip" : "8.8.8.8", "event_id":"a","n":1.0,"big":12345678901234567890,"s":"\\u00e9\\t{\\"}]","x":{"a":1,"a":[ ]}'
  assert.equal(lineOf(`{${members}}`), `{${OWN},"_status":"ok",${members}}`)
  assert.equal(lineOf(`{\t${members} }`), `{${OWN},"_status":"ok",${members}}`)
  assert.match(lineOf('{"ip":"10.0.0.1","event_id":"a"}'), /"_status":"filtered","ip"/)
  assert.match(lineOf('{"ip":"nowhere","event_id":"a"}'), /"_status":"invalid_ip","ip"/)
})

test('an event over several lines becomes one line of the same value', () => {
  const text = '{\r\n  "ip": "8.8.8.8",\n  "event_id":\n"a", "list": [1,\n 2], "text": "two\\nlines"\n}'
  const { _received_at, _event_id, _status, ...sent } = JSON.parse(lineOf(text))
  assert.deepEqual(sent, JSON.parse(text))
  assert.deepEqual([_received_at, _event_id, _status], ['2026-11-21T23:59:59.004Z', 'a', 'ok'])
})

test("members with one of our names are kept apart, so that ours and the caller's both stay", () => {
  const text =
    '{"_status":"mine","ip":"8.8.8.8","_\\u0065vent_id":7,"event_id":"a","_other":1,"nested":{"_status":1},"_sent":[2]}'
  assert.equal(
    lineOf(text),
    `{${OWN},"_status":"ok","_sent":{"_status":"mine","_\\u0065vent_id":7,"_sent":[2]},"ip":"8.8.8.8","event_id":"a","_other":1,"nested":{"_status":1}}`,
  )
})

test('an id that we made is recorded, and equals that of the answer', () => {
  const body = '{"events":[{"ip":"8.8.8.8"},{"ip":"nowhere"}]}'
  const { payloads, response } = acceptEvents(body, readEvents(body), receipt, enricher)
  const ids = payloads.map(({ row }) => JSON.parse(row.slice(row.indexOf('{')))._event_id)
  assert.deepEqual(
    ids,
    JSON.parse(response).results.map((result: { event_id: string }) => result.event_id),
  )
})

test('a tenant without an archive has no payloads', () => {
  const body = '{"events":[{"ip":"8.8.8.8"},{"ip":"nowhere"}]}'
  const { payloads } = acceptEvents(body, readEvents(body), { ...receipt, archived: false }, enricher)
  assert.deepEqual(payloads, [])
})

test('all events of a request without an id go to one partition, invalid ones too', () => {
  const body = '{"events":[{"ip":"nowhere"},{"ip":"8.8.8.8"},{"ip":"10.0.0.1"},{"ip":"no"}]}'
  for (let i = 0; i < 20; i++) {
    const { payloads } = acceptEvents(body, readEvents(body), { ...receipt, colocateAmong: 4 }, enricher)
    const partitions = payloads.map(({ identity }) => ((identity.charCodeAt(0) << 8) | identity.charCodeAt(1)) % 4)
    assert.equal(new Set(partitions).size, 1, String(partitions))
  }
})

test('upload lines are archived with the partition of their events, bad ones as a count', () => {
  const lines = [
    '\ufeff{"ip":"8.8.8.8","event_id":"a"} \r',
    'bad',
    '{"ip":"nowhere"}',
    '{"ip":"10.0.0.1"}',
    '{"no":"ip"}',
  ]
  const chunk = { firstLine: 1, gaps: [], bytes: Buffer.from(lines.join('\n')) }
  const context = {
    ...receipt,
    requestId: undefined,
    job: 'j',
    partitions: 2,
    check: compileValidator(EventEnvelope),
    enricher,
  }
  const { blocks, payloads, counts } = readWhole(chunk, context)
  assert.deepEqual([counts.fed, counts.rejected, counts.invalidIp], [2, 2, 1])
  const rows = [...payloads.values()].flatMap(({ rows }) => rows.toString().trimEnd().split('\n'))
  const sent = rows.filter((row) => row.includes('{')).map((row) => JSON.parse(row.slice(row.indexOf('{'))))
  assert.deepEqual(sent.map(({ ip, _status }) => `${ip} ${_status}`).sort(), [
    '10.0.0.1 filtered',
    '8.8.8.8 ok',
    'nowhere invalid_ip',
  ])
  const rejected = rows.map((row) => readCounted(Buffer.from(row.split('\t').slice(2).join('\t')))).filter(Boolean)
  assert.deepEqual(rejected, [
    ['not JSON', 1],
    ['schema', 1],
  ])
  for (const [partition, { job, count }] of payloads) {
    assert.equal(job, 'j')
    assert.ok(count >= (blocks.get(partition)?.count ?? 0))
  }
  assert.equal(readWhole(chunk, { ...context, archived: false }).payloads.size, 0)
})
