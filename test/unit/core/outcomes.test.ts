import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeBlock, encodeBlock, packBlock, selectEvents } from '../../../src/pipeline/event/block.ts'
import { type Envelope, EnvelopeState, NO_IDENTITY } from '../../../src/pipeline/event/envelope.ts'
import {
  BlockOutcomes,
  eventsByStatus,
  outcomeKey,
  packOutcomes,
  utcDay,
} from '../../../src/pipeline/event/outcomes.ts'
import { envelope } from '../../support/pipeline.ts'

const NOON = { received_at: '1763985600.000' }
const noise = (id: string, columns = {}) => envelope('acme', id, { ...NOON, classification: 'cloud', ...columns })

function count(envelopes: readonly Envelope[], job?: string): string[] {
  const block = packBlock(envelopes, job)
  const outcomes = new BlockOutcomes()
  for (let i = 0; i < block.count; i++) outcomes.add(block, i, 'filtered')
  return [...outcomes.counts].map(([key, events]) => `${key}\t${events}`)
}

test('events are counted by tenant, day of receipt and classification, as in their rows', () => {
  const rows = [
    noise('a'),
    noise('b', { properties: 'x'.repeat(300) }),
    noise('c', { classification: '' }),
    noise('d', { received_at: '1969-12-31 23:59:59.999' }),
    envelope('other', 'e', NOON),
  ]
  assert.deepEqual(count(rows), [
    'acme\t2025-11-24\t\tfiltered\t\tcloud\t2',
    'acme\t2025-11-24\t\tfiltered\t\t\t1',
    'acme\t1969-12-31\t\tfiltered\t\tcloud\t1',
    'other\t2025-11-24\t\tfiltered\t\t\t1',
  ])
})

test('rows count the same with a job, a request, or neither, as earlier versions wrote them', () => {
  const { row, ...rest } = noise('a')
  const rows = [row, `${row}\tjob-1`, `${row}\t\t50`, `${row}\t\tcdn`].map((text) => ({ ...rest, row: text }))
  assert.deepEqual(count(rows, 'job-1'), ['acme\t2025-11-24\tjob-1\tfiltered\t\tcloud\t4'])
  assert.deepEqual(count(rows), ['acme\t2025-11-24\t\tfiltered\t\tcloud\t4'])
})

test('an incomplete row has no classification, an empty one no tenant, and no row is too short', () => {
  const raw = { identity: NO_IDENTITY, state: EnvelopeState.Raw, row: '192.0.2.1\tacme\tid\t1763985600.000\tcloud' }
  assert.deepEqual(count([raw, { ...raw, row: '' }]), ['acme\t2025-11-24\t\tfiltered\t\t\t1'])
  for (const row of ['a', '\t', 'a\tb\tc\tnever', '\t\t\t']) {
    assert.equal(count([{ ...raw, row, state: EnvelopeState.Enriched }]).length, 1)
  }
})

test('rows of a job of a source count for the source, complete or not', () => {
  const raw = { identity: NO_IDENTITY, state: EnvelopeState.Raw, row: '192.0.2.1\tacme\tid\t1763985600.000\t' }
  const block = { ...packBlock([raw, noise('a', { classification: '' })], 'job-1'), sourceId: 'src_0123abc' }
  const outcomes = new BlockOutcomes()
  for (const i of [0, 1]) outcomes.add(block, i, 'duplicates')
  assert.deepEqual([...outcomes.counts], [['acme\t2025-11-24\tjob-1\tduplicates\t\t\tsrc_0123abc', 2]])
})

test('counts travel as rows of the table outcomes, each with its source', () => {
  const key = outcomeKey({ tenantId: 'acme', day: utcDay(0), status: 'rejected', reason: 'not JSON' })
  const block = packOutcomes([
    ['p:1', new Map([[key, 3]])],
    ['p:2', new Map([[key, 4]])],
  ])
  const rows = ['p:1', 'p:2'].map((source, i) => `${source}\tacme\t1970-01-01\t\trejected\tnot JSON\t\t${i + 3}\n`)
  assert.equal(block.rows.toString(), rows.join(''))
  assert.deepEqual([...eventsByStatus(new Map([[key, 3]]))], [['rejected', 3]])
})

test('a block keeps its commit, also in parts', () => {
  const block = packBlock([noise('a'), noise('b')], undefined, 'producer:7')
  const decoded = decodeBlock(encodeBlock(selectEvents(block, [1])).map((field) => Buffer.from(field)))
  assert.equal(decoded.commit, 'producer:7')
  assert.equal(decodeBlock(encodeBlock(packBlock([noise('a')])).map((field) => Buffer.from(field))).commit, undefined)
})
