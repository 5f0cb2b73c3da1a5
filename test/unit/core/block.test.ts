import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  decodeBlock,
  encodeBlock,
  identityAt,
  packBlock,
  type RowChange,
  rowAt,
  rowEnds,
  selectEvents,
} from '../../../src/core/event/block.ts'
import { type Envelope, EnvelopeState, identityOf } from '../../../src/core/event/envelope.ts'

const envelopes: Envelope[] = ['a', '', 'ünï', 'd'].map((row, i) => ({
  identity: identityOf('t', String(i)),
  state: row === '' ? EnvelopeState.Noise : EnvelopeState.Enriched,
  row,
}))

function rows(block: ReturnType<typeof packBlock>): string[] {
  const ends = rowEnds(block)
  return Array.from({ length: block.count }, (_, i) => rowAt(block, ends, i).toString('utf8'))
}

test('a block survives its way through a stream entry', () => {
  const block = packBlock(envelopes, 'job-1')
  const decoded = decodeBlock(encodeBlock(block).map((field) => Buffer.from(field)))
  assert.equal(decoded.count, 4)
  assert.equal(decoded.job, 'job-1')
  assert.deepEqual(rows(decoded), ['a', '', 'ünï', 'd'])
  assert.deepEqual([...decoded.states], [1, 2, 1, 1])
  envelopes.forEach((envelope, i) => {
    assert.equal(identityAt(decoded, i), envelope.identity)
  })
})

test('a selection keeps rows, states and identities together', () => {
  const changes = new Map<number, RowChange>([
    [0, { state: EnvelopeState.Enriched, append: Buffer.from('\tmore') }],
    [3, { state: EnvelopeState.Raw, row: Buffer.from('changed') }],
  ])
  const selected = selectEvents(packBlock(envelopes), [0, 2, 3], changes)
  assert.deepEqual(rows(selected), ['a\tmore', 'ünï', 'changed'])
  assert.deepEqual([...selected.states], [1, 1, 0])
  assert.equal(identityAt(selected, 2), envelopes[3]!.identity)
})

test('fields that are not a block are refused', () => {
  const fields = encodeBlock(packBlock(envelopes)).map((field) => Buffer.from(field))
  const broken = [...fields]
  broken[1] = Buffer.from('5')
  assert.throws(() => decodeBlock(broken), /not a block/)
  assert.throws(() => decodeBlock([]), /not a block/)
  assert.throws(() => rowEnds({ ...packBlock(envelopes), rows: Buffer.from('a\n') }), /only 1 rows/)
})
