import assert from 'node:assert/strict'
import { createSecretKey } from 'node:crypto'
import { test } from 'node:test'
import { EventEnvelope } from '../../../schemas/api/event.ts'
import { ROW_COLUMNS } from '../../../schemas/row.ts'
import { tenantEnricher } from '../../../src/enrichment/judge.ts'
import { readLine } from '../../../src/operations/replay/lines.ts'
import { unitToFeed } from '../../../src/operations/replay/put-back.ts'
import type { StageTools } from '../../../src/pipeline/declaration/stage.ts'
import { type Block, packBlock, stateAt } from '../../../src/pipeline/event/block.ts'
import type { Enricher, Enrichment } from '../../../src/pipeline/event/enrichment.ts'
import type { Envelope } from '../../../src/pipeline/event/envelope.ts'
import { payloadLineStart } from '../../../src/pipeline/event/payload.ts'
import type { EventContext } from '../../../src/pipeline/event/read-event.ts'
import { enrichmentColumns } from '../../../src/pipeline/event/row.ts'
import { compileValidator } from '../../../src/pipeline/event/validator.ts'
import { acceptEvents } from '../../../src/pipeline/sources/live/keep.ts'
import { enrich } from '../../../src/pipeline/stages/enrich.ts'
import { readWhole } from '../../support/batch.ts'
import { readEvents } from '../../support/read-events.ts'

/*
 * An event becomes the same row, byte for byte, whether it comes live, in a batch job, or back from the archive.
 */

/** 10.… is noise, a claimed bot too; 9.… is unknown, and all others an organisation whose host names contain the address. */
const enricher: Enricher = {
  enrich({ text }, bot) {
    const isKnown = !text.startsWith('9.') && bot === undefined
    const data = isKnown ? { org_name: 'Zürich\t株式会社', hostname: `${text}.dsl.example`, asn: 64_500 } : {}
    const part = { companyId: isKnown ? 'zürich\\' : '', classification: 'business' as const, quality: 40, data }
    const noise = text.startsWith('10.') || bot !== undefined
    return { ...part, noise, answerJson: '"enrichment":{},"quality":40', ...enrichmentColumns(part) } as Enrichment
  },
}

/** The usual form, and everything that is read, judged or written in a way of its own. */
const EVENTS = [
  '{"ip":"203.0.113.7","event_id":"usual","event_type":"page_view","platform":"web","properties":{"url":"/"}}',
  '{"ip":"203.0.113.7","event_id":"time","timestamp":"2026-11-20T23:30:00-01:00","session_id":-7,"x":[1.0, 1e400]}',
  '{"ip":"::ffff:203.0.113.7","event_id":"account","account_id":"конто\\\\"}',
  '{"ip":"2001:db8::7","event_id":"\\u00e9\\t\\n","event_type":"a\\"b","properties":{"t":"tab\\t"}}',
  '{"ip":"203.0.113.7","event_id":"cut \\ud83d","event_type":"\\ude00","properties":{"t":"x \\ud83d","\\ud83d\\ude00":1},"x":"\\ud83d"}',
  '{"ip":"9.9.9.9","event_id":"unknown"}',
  '{"ip":"10.0.0.1","event_id":"noise"}',
  '{"ip":"192.0.2.50","event_id":"rule"}',
  '{"ip":"203.0.113.8","event_id":"mail","user_properties":{"email":"é@Zürich.example"},"_status":"own member"}',
  '{"ip":"203.0.113.8","event_id":"no mail","properties":{"handle":"@nobody"}}',
  '{"ip":"203.0.113.9","event_id":"bot","properties":{"user_agent":"Mozilla/5.0 (compatible; Googlebot/2.1)"}}',
]

const key = createSecretKey(Buffer.alloc(32, 7))
const receipt: EventContext = { tenantId: 'acme', receivedAtMs: Date.UTC(2026, 10, 21, 23, 59, 59, 4), archived: true }
const RULES = { rules: ['own 192.0.2.0/24'] }
const CONTEXTS: readonly EventContext[] = [
  receipt,
  { ...receipt, sourceId: 'src_0123abc' },
  { ...receipt, mask: { keep: 'truncated', key } },
  { ...receipt, mask: { keep: 'dropped', key }, sourceId: 'src_0123abc' },
]

type Stored = Map<string, { readonly state: number; readonly row: string }>
const EVENT_ID_AT = ROW_COLUMNS.indexOf('event_id')

function storedOf(blocks: Iterable<Block>): Stored {
  const stored: Stored = new Map()
  for (const block of blocks) {
    const rows = block.rows.toString('utf8').split('\n')
    for (let i = 0; i < block.count; i++) {
      stored.set(rows[i]!.split('\t')[EVENT_ID_AT]!, { state: stateAt(block, i), row: rows[i]! })
    }
  }
  return stored
}

function live(context: EventContext, judging: Enricher) {
  const text = `{"events":[${EVENTS.join(',')}]}`
  const { envelopes, payloads } = acceptEvents(text, readEvents(text), context, judging)
  return { stored: storedOf([packBlock(envelopes)]), payloads: packBlock(payloads) }
}

function batch(context: EventContext & { readonly job: string }, judging: Enricher) {
  const chunk = { firstLine: 1, gaps: [], bytes: Buffer.from(EVENTS.join('\n')) }
  const check = compileValidator(EventEnvelope)
  const isJudged = judging !== enricher
  const { blocks, payloads } = readWhole(chunk, { ...context, partitions: 1, check, isJudged, enricher: judging })
  // The stage has no rules: they are applied where lines are read.
  const tools = { enricher, hostnames: undefined } as unknown as StageTools
  const completed = [...blocks.values()].map((block) => enrich.decide(block, undefined, tools).changed ?? block)
  return { stored: storedOf(completed), payloads: payloads.get(0)! }
}

/** Puts a context's events back from the archive. */
function putBack(payloads: Block, { tenantId, mask, job, requestId = '' }: EventContext, judging: Enricher): Stored {
  const { rows } = payloads
  const events = []
  for (let start = 0; start < rows.length; ) {
    const end = rows.indexOf('\n', start)
    const text = rows.toString('utf8', payloadLineStart(rows, start), end)
    events.push({ ...readLine({ text, requestId })!, isRepeat: false })
    start = end + 1
  }
  const none = new Map<string, number>()
  const unit = { partition: 0, entry: '1-0', commit: 'p:1', day: '2026-11-21', job, rejected: [], events }
  const lost = { ...unit, outcomes: none, kept: none, unfiltered: none }
  const identities = new Map(events.map((event) => [event, '0'.repeat(16)]))
  const { envelopes } = unitToFeed(lost, { tenantId, mask, enricher: judging }, identities)
  return storedOf([packBlock(envelopes as Envelope[])])
}

/** A row up to the columns that say how the event came. */
function judgedPart({ state, row }: { readonly state: number; readonly row: string }) {
  return { state, columns: row.split('\t').slice(0, ROW_COLUMNS.indexOf('job_id')) }
}

function knownDomain({ row }: { readonly row: string }) {
  return row.split('\t')[ROW_COLUMNS.indexOf('known_domain')] ?? ''
}

for (const [name, tenant] of [
  ['without rules', {}],
  ['with rules', RULES],
] as const) {
  test(`an event has the same row live, in a batch job and from the archive, ${name}`, () => {
    const judging = tenantEnricher(enricher, tenant)
    for (const context of CONTEXTS) {
      const request = { ...context, requestId: 'r\\1' }
      const job = { ...context, job: 'jöb' }
      const [fromLive, fromBatch] = [live(request, judging), batch(job, judging)]
      assert.equal(fromBatch.stored.size, EVENTS.length)
      assert.deepEqual(putBack(fromBatch.payloads, job, judging), fromBatch.stored)
      const again = putBack(fromLive.payloads, request, judging)
      // A request answers for noise, and leaves it out.
      const rejected = tenant === RULES ? 3 : 2
      assert.equal(fromLive.stored.size, EVENTS.length - rejected)
      for (const [id, event] of fromLive.stored) {
        assert.deepEqual(again.get(id), event)
        assert.deepEqual(judgedPart(fromBatch.stored.get(id)!), judgedPart(event))
        assert.equal(knownDomain(fromBatch.stored.get(id)!), knownDomain(event))
      }
      assert.equal(knownDomain(fromLive.stored.get('mail')!), 'xn--zrich-kva.example')
    }
  })
}

test('a browser key is counted in the row of a live event and of its replay', () => {
  const context: EventContext = { ...receipt, requestId: 'r', sourceId: 'src_0123abc', isBrowser: true }
  const { stored, payloads } = live(context, enricher)
  const again = putBack(payloads, context, enricher)
  for (const [id, event] of stored) assert.deepEqual(again.get(id), event)
  const keys = ['usual', 'mail'].map((id) => stored.get(id)!.row.split('\t')[ROW_COLUMNS.indexOf('browser_key')])
  assert.deepEqual(keys, ['1', '2'])
})
