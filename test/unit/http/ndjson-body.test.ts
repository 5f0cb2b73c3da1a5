import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ndjsonBody } from '../../../src/pipeline/sources/batch/ndjson-body.ts'

/** The output for a body that arrives in pieces. */
async function passed(body: string, pieceBytes: number): Promise<string> {
  const bytes = Buffer.from(body)
  async function* pieces() {
    for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes)
  }
  const parts: Buffer[] = []
  for await (const part of ndjsonBody(pieces())) parts.push(part)
  return Buffer.concat(parts).toString()
}

const EVENT = '{"ip":"192.0.2.1"}'
const MANY = Array(300).fill(EVENT)

test('a JSON array and a request for /v1/ingest are refused with a remedy, however cut', async () => {
  const refused: [body: string, detail: RegExp][] = [
    [`[${EVENT}]`, /one JSON array: it must have one event per line, as jq -c '\.\[\]' prints them$/],
    [`\ufeff\n [\n  ${MANY.join(',\n')}]`, /one JSON array/],
    [`{"events":[${EVENT}]}`, /a request for \/v1\/ingest: .*as jq -c '\.events\[\]' prints them$/],
    [`{"events":[]}`, /a request for/],
    [`{\n  "events" : [\n${MANY.join(',\n')}\n]}\n`, /a request for/],
    [`{"events":[${MANY.join()}]}\n{"events":[${EVENT}]}`, /a request for/],
    [`{"events":[${Array(60_000).fill(EVENT).join()}]}`, /a request for/],
  ]
  for (const [body, detail] of refused) {
    for (const pieceBytes of body.length > 100_000 ? [1_000] : [1, 1_000, 1_000_000]) {
      await assert.rejects(passed(body, pieceBytes), { name: 'HttpError', status: 400, message: detail })
    }
  }
})

test('every other body is passed on unchanged, bad lines too', async () => {
  const bodies = [
    '',
    '   \n',
    EVENT,
    MANY.join('\n'),
    `{"events":[{"a":1}],"ip":"192.0.2.1"}\n${EVENT}`,
    `{"events":[${MANY.join()}],"ip":"192.0.2.1"}`,
    `{"events":[${MANY.join()}],"ip":"192.0.2.1"}\n${MANY.join('\n')}`,
    `[22/Nov/2026:08:00:00] a line of a log\n${EVENT}`,
    `[1, 2]\n${EVENT}`,
    `{"eventsof":[]}\n${EVENT}`,
    `${' '.repeat(5_000)}[${EVENT}]`,
    `${'x'.repeat(2_000_000)}\n${EVENT}`,
  ]
  for (const body of bodies) {
    for (const pieceBytes of body.length > 100_000 ? [65_536] : [1, 1_000, 1_000_000]) {
      assert.ok((await passed(body, pieceBytes)) === body, body.slice(0, 60))
    }
  }
})
