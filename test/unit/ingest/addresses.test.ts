import assert from 'node:assert/strict'
import { createSecretKey } from 'node:crypto'
import { test } from 'node:test'
import { EventEnvelope } from '../../../schemas/api/event.ts'
import { ROW_COLUMNS } from '../../../schemas/row.ts'
import { parseAddress } from '../../../src/pipeline/event/address.ts'
import type { Block } from '../../../src/pipeline/event/block.ts'
import type { Enricher, Enrichment } from '../../../src/pipeline/event/enrichment.ts'
import { EnvelopeState } from '../../../src/pipeline/event/envelope.ts'
import { type AddressMask, pseudonymOf } from '../../../src/pipeline/event/pseudonym.ts'
import { enrichmentColumns } from '../../../src/pipeline/event/row.ts'
import { compileValidator } from '../../../src/pipeline/event/validator.ts'
import { runStages } from '../../../src/pipeline/runner/step-worker.ts'
import { acceptEvents } from '../../../src/pipeline/sources/live/keep.ts'
import { enrich } from '../../../src/pipeline/stages/enrich.ts'
import { filterNoise } from '../../../src/pipeline/stages/filter-noise.ts'
import { readWhole } from '../../support/batch.ts'
import { readEvents } from '../../support/read-events.ts'

const key = createSecretKey(Buffer.alloc(32, 7))
const MASKS: readonly AddressMask[] = [
  { keep: 'truncated', key },
  { keep: 'dropped', key },
]
const receipt = { tenantId: 'acme', receivedAtMs: Date.UTC(2026, 10, 21, 23, 59, 59, 4) }
const check = compileValidator(EventEnvelope)

/** 10.… is noise, 9.… unknown, and all others an organisation whose host names contain the address. */
const enricher: Enricher = {
  enrich({ text }) {
    const noise = text.startsWith('10.')
    const known = !text.startsWith('9.')
    const classification = noise ? 'cloud' : known ? 'business' : undefined
    const data = known ? { org_name: 'A\tB', hostname: `${text.replaceAll('.', '-')}.dsl.example` } : {}
    const part: Pick<Enrichment, 'companyId' | 'classification' | 'quality' | 'data'> = {
      ...{ companyId: known ? 'example.com' : '', classification, quality: 40, data },
    }
    return {
      ...part,
      noise,
      answerJson: `"enrichment":${JSON.stringify(data)},"quality":40`,
      ...enrichmentColumns(part),
    }
  },
}

const LINES = [
  '{"ip":"203.0.113.7","event_id":"a","timestamp":"2026-11-20T23:30:00-01:00","properties":{"k": 1.0}}',
  '{"ip":"::ffff:203.0.113.7","event_id":"b","account_id":"mine"}',
  '{"ip":"2001:db8:1:2::3"}',
  '{"ip":"10.0.0.55","event_id":"n"}',
  '{"ip":"9.9.9.77","event_id":"u"}',
  '{"ip":"nowhere"}',
]
const ADDRESS = /113[.-]7|2001[:-]db8[:-]1[:-]2|[.-]55\b|[.-]77\b/

function accept(mask?: AddressMask) {
  const text = `{"events":[${LINES.join(',')}]}`
  return acceptEvents(text, readEvents(text), { ...receipt, mask }, enricher)
}

function read(mask?: AddressMask, lines: readonly string[] = LINES) {
  const chunk = { firstLine: 1, gaps: [], bytes: Buffer.from(lines.join('\n')) }
  return readWhole(chunk, { ...receipt, mask, job: 'j', partitions: 1, check, enricher })
}

function columns(row: string): Record<string, string> {
  const values = row.split('\t')
  return Object.fromEntries(values.map((value, i) => [ROW_COLUMNS[i], value]))
}

const rowsOf = ({ rows }: Block) => String(rows).trimEnd().split('\n')

/** A row without the fields that a mask changes, and without a made id. */
function rest(row: string) {
  const { ip: _, hostname: __, event_id: id, ...others } = columns(row)
  return { ...others, event_id: id!.length > 1 ? 'made' : id }
}

function run(block: Block, stages = [enrich, filterNoise]) {
  const seen = { claim: async () => [], held: async () => [] }
  const tools = { enricher, hostnames: undefined, seen } as unknown as Parameters<typeof runStages>[3]
  const delivery = { repeated: false } as Parameters<typeof runStages>[2]
  return runStages(stages, block, delivery, tools)
}

test('the row of a tenant whose addresses are kept never changed, live and of a job', () => {
  const live = accept().envelopes[0]!.row
  const head = '203.0.113.7\tacme\ta\t1795305599.004\t1795221000.000\t\t\\N\t\t{"k": 1.0}\t\t\t'
  assert.equal(live, `${head}example.com\texample.com\t\tA\\tB\t203-0-113-7.dsl.example\t\t\t\tbusiness\t\t0\t\t40`)
  const { blocks } = read()
  assert.equal(rowsOf(blocks.get(0)!)[0], head)
  assert.ok(blocks.get(0)!.states.every((state) => state === EnvelopeState.Raw))
})

test('a live event has a daily pseudonym in place of its address, and no host name', () => {
  const full = accept()
  for (const mask of MASKS) {
    const masked = accept(mask)
    assert.equal(masked.response.replace(/[0-9a-f-]{36}/g, ''), full.response.replace(/[0-9a-f-]{36}/g, ''))
    assert.deepEqual(masked.outcomes, full.outcomes)
    assert.deepEqual(
      masked.envelopes.map(({ row }) => rest(row)),
      full.envelopes.map(({ row }) => rest(row)),
    )
    const stored = masked.envelopes.map(({ row }) => columns(row))
    for (const { row } of masked.envelopes) assert.doesNotMatch(row, ADDRESS)
    assert.deepEqual([...new Set(stored.map(({ hostname }) => hostname))], [''])
    const pseudonym = (text: string, day: string) => `#${pseudonymOf(key, parseAddress(text)!, day)}`
    const networks = mask.keep === 'truncated' ? ['203.0.113.0/24', '2001:db8:1::/48', '9.9.9.0/24'] : ['', '', '']
    // By the day of its timestamp in UTC, else by that of its receipt.
    assert.deepEqual(
      stored.map(({ ip }) => ip),
      [
        networks[0] + pseudonym('203.0.113.7', '2026-11-21'),
        networks[0] + pseudonym('203.0.113.7', '2026-11-21'),
        networks[1] + pseudonym('2001:db8:1:2::3', '2026-11-21'),
        networks[2] + pseudonym('9.9.9.77', '2026-11-21'),
      ],
    )
  }
  const [text] = LINES
  const yesterday = text!.replace('-01:00', 'Z')
  const event = JSON.parse(yesterday)
  const request = `{"events":[${yesterday}]}`
  const { envelopes } = acceptEvents(request, readEvents(request), { ...receipt, mask: MASKS[1] }, enricher)
  assert.equal(columns(envelopes[0]!.row).ip, `#${pseudonymOf(key, parseAddress(event.ip)!, '2026-11-20')}`)
})

test('lines of a job are complete before the stream, and count as if addresses were kept', async () => {
  const full = read()
  const expected = await run(full.blocks.get(0)!)
  for (const mask of MASKS) {
    const masked = read(mask)
    const { lines, ...counts } = masked.counts
    const { lines: fullLines, ...fullCounts } = full.counts
    assert.deepEqual(counts, fullCounts)
    // Of its rejected lines only the fault is kept.
    assert.deepEqual(
      lines!.map(({ text }) => text),
      fullLines!.map(({ text }) => text.replace(/,"text":".*"\}\n$/, '}\n')),
    )
    assert.deepEqual(masked.outcomes, full.outcomes)
    const block = masked.blocks.get(0)!
    assert.deepEqual(block.identities, full.blocks.get(0)!.identities)
    assert.deepEqual([...block.states].sort(), [1, 1, 1, 1, 2], 'enriched, and one of noise')
    assert.doesNotMatch(String(block.rows), ADDRESS)
    const settled = await run(block)
    for (const part of ['dropped', 'outcomes', 'counts'] as const) assert.deepEqual(settled[part], expected[part], part)
    assert.deepEqual(Object.fromEntries(settled.counts), { identified: 3, 'filtered:cloud': 1 })
    assert.deepEqual(rowsOf(settled.output!).map(rest), rowsOf(expected.output!).map(rest))
    const live = accept(mask).envelopes.map(({ row }) => columns(row).ip)
    assert.deepEqual(
      rowsOf(settled.output!).map((row) => columns(row).ip),
      live,
      'an address has one pseudonym, however it came',
    )
  }
})

test('a dead letter holds the pseudonym', async () => {
  const broken = {
    name: 'broken',
    decide() {
      throw new Error('no')
    },
  }
  const { dead } = await run(read(MASKS[1]).blocks.get(0)!, [enrich, filterNoise, broken])
  assert.equal(dead.length, 4)
  for (const { block } of dead) assert.doesNotMatch(String(block.rows), ADDRESS)
})

test('the fault of a line is reported without quoting it', () => {
  const lines = ['x"203.0.113.7"', '{"ip":x, "y":"203.0.113.7"}', '{"ip":"203.0.113.7"', '[203.0.113.7]']
  for (const mask of [undefined, MASKS[1]]) {
    assert.deepEqual(
      read(mask, lines).counts.errors.map(({ detail }) => detail),
      [
        'is not JSON: unexpected "x" at position 0',
        'is not JSON: unexpected "x" at position 6',
        'is not JSON: it ends too early, at position 19',
        'is not JSON: unexpected "." at position 6',
      ],
    )
  }
})
