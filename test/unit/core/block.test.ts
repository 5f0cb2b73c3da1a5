import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ENVELOPE_FORM } from '../../../schemas/forms.ts'
import {
  type Block,
  commitAt,
  decodeBlock,
  encodeBlock,
  identityAt,
  joinBlocks,
  packBlock,
  type RowChange,
  rowAt,
  rowEnds,
  selectEvents,
} from '../../../src/pipeline/event/block.ts'
import { type Envelope, EnvelopeState, identityOf } from '../../../src/pipeline/event/envelope.ts'

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

test('a block keeps the source of its job when it is stored, split and joined', () => {
  const block: Block = { ...packBlock(envelopes, 'job-1'), sourceId: 'src_0123abc' }
  const decoded = decodeBlock(encodeBlock(block).map((field) => Buffer.from(field)))
  const [first, rest] = [selectEvents(decoded, [0]), selectEvents(decoded, [1, 2, 3])]
  for (const one of [decoded, first, rest, joinBlocks([first, rest])]) assert.equal(one.sourceId, 'src_0123abc')
  const older = encodeBlock(packBlock(envelopes, 'job-1')).map((field) => Buffer.from(field))
  assert.equal(decodeBlock(older).sourceId, undefined)
})

test('a block without a form is read, and one of a later form is refused', () => {
  const fields = encodeBlock(packBlock(envelopes)).map((field) => Buffer.from(field))
  const at = fields.findIndex((field) => field.toString() === 'v')
  const earlier = fields.toSpliced(at, 2)
  assert.deepEqual(rows(decodeBlock(earlier)), rows(packBlock(envelopes)))
  const later = fields.toSpliced(at + 1, 1, Buffer.from(String(ENVELOPE_FORM + 1)))
  assert.throws(() => decodeBlock(later), { name: 'NewerDataError' })
})

test('a block of more text than one gathering keeps all its envelopes', () => {
  const many = Array.from({ length: 1_000 }, (_, i): Envelope => {
    const row = i % 7 === 0 ? '' : `${i}\t${'ü€😀x'.repeat(i % 40)}`
    return { identity: identityOf('t', String(i)), state: i % 7 === 0 ? EnvelopeState.Noise : EnvelopeState.Raw, row }
  })
  const long: Envelope = { identity: identityOf('t', 'long'), state: EnvelopeState.Enriched, row: 'é'.repeat(100_000) }
  const all = [...many, long, ...envelopes]
  const block = packBlock(all)
  assert.equal(block.count, all.length)
  assert.deepEqual(
    rows(block),
    all.map(({ row }) => row),
  )
  assert.deepEqual(
    [...block.states],
    all.map(({ state }) => state),
  )
  assert.deepEqual(
    all.map((_, i) => identityAt(block, i)),
    all.map(({ identity }) => identity),
  )
})

test('a selection keeps rows, states and identities together', () => {
  const changes = new Map<number, RowChange>([
    [0, { state: EnvelopeState.Enriched, row: Buffer.from('a\tmore') }],
    [3, { state: EnvelopeState.Raw, row: Buffer.from('changed') }],
  ])
  const selected = selectEvents(packBlock(envelopes), [0, 2, 3], changes)
  assert.deepEqual(rows(selected), ['a\tmore', 'ünï', 'changed'])
  assert.deepEqual([...selected.states], [1, 1, 0])
  assert.equal(identityAt(selected, 2), envelopes[3]!.identity)
})

test('a block joined from several keeps each event, through a stream entry and a selection', () => {
  const commits = ['p:1', 'p:1', 'q:7', undefined, 'p:1']
  const blocks = commits.map((commit, i) => {
    const part = envelopes
      .slice(0, 1 + (i % 3))
      .map((envelope, j) => ({ ...envelope, identity: identityOf(`${i}`, `${j}`) }))
    return packBlock(part, undefined, commit)
  })
  const joined = joinBlocks(blocks)
  const eventsOf = (block: Block) => {
    return rows(block).map((row, i) => [row, block.states[i], identityAt(block, i), commitAt(block, i)] as const)
  }
  const expected = blocks.flatMap(eventsOf)
  assert.deepEqual(eventsOf(joined), expected)
  assert.equal(joined.commit, undefined)
  const decoded = decodeBlock(encodeBlock(joined).map((field) => Buffer.from(field)))
  assert.deepEqual(eventsOf(decoded), expected)
  assert.deepEqual(eventsOf(joinBlocks([joined, decoded])), [...expected, ...expected])
  for (let mask = 1; mask < 2 ** expected.length; mask += 7) {
    const keep = expected.flatMap((_, i) => (mask & (1 << i) ? [i] : []))
    const selected = selectEvents(decoded, keep)
    const chosen = keep.map((i) => expected[i])
    assert.deepEqual(eventsOf(selected), chosen)
    assert.deepEqual(eventsOf(decodeBlock(encodeBlock(selected).map((field) => Buffer.from(field)))), chosen)
  }
})

test('blocks of one commit keep it when joined, and so does an extracted event', () => {
  const [a, b] = ['p:1', 'p:2'].map((commit) => packBlock(envelopes, undefined, commit)) as [Block, Block]
  assert.equal(joinBlocks([a, a]).commit, 'p:1')
  assert.equal(selectEvents(joinBlocks([a, b]), [6]).commit, 'p:2')
})

test('fields that are not a block are refused', () => {
  const fields = encodeBlock(packBlock(envelopes)).map((field) => Buffer.from(field))
  const broken = [...fields]
  broken[1] = Buffer.from('5')
  assert.throws(() => decodeBlock(broken), /not a block/)
  assert.throws(() => decodeBlock([]), /not a block/)
  assert.throws(() => rowEnds({ ...packBlock(envelopes), rows: Buffer.from('a\n') }), /only 1 rows/)
})
