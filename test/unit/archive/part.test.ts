import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { EntryOfRows } from '../../../src/pipeline/declaration/destination.ts'
import { packBlock } from '../../../src/pipeline/event/block.ts'
import { EnvelopeState, NO_IDENTITY } from '../../../src/pipeline/event/envelope.ts'
import { countedRow, payloadRow } from '../../../src/pipeline/event/payload.ts'
import { ArchiveInserter } from '../../../src/pipeline/sinks/archive/destination.ts'
import { indexKey, parsePartKey, partKey } from '../../../src/pipeline/sinks/archive/layout.ts'
import { makeParts } from '../../../src/pipeline/sinks/archive/part.ts'
import { assertKey, type ObjectStore } from '../../../src/stores/objects/object-store.ts'

function entry(partition: number, id: string, rows: readonly string[], job?: string, commit = ''): EntryOfRows {
  const envelopes = rows.map((row) => ({ identity: NO_IDENTITY, state: EnvelopeState.Raw, row }))
  return { partition, id, lane: job === undefined ? 'live' : 'batch', block: packBlock(envelopes, job, commit) }
}

const row = (tenant: string, hour: string, line: string, requestId?: string) =>
  payloadRow(tenant, `${hour}:30:00.000Z`, line, requestId)

const ENTRIES = [
  entry(
    1,
    '1700000000002-0',
    [row('acme', '2026-11-21T23', '{"é":1}'), row('b', '2026-11-21T23', '{}')],
    undefined,
    'producer:5',
  ),
  entry(0, '1700000000001-12', [row('acme', '2026-11-21T23', '{"a":2}'), row('acme', '2026-11-22T00', '{"a":3}')]),
  entry(
    0,
    '1700000000009-0',
    [row('acme', '2026-11-21T23', '{"a":4}'), row('acme', '2026-11-21T23', '{}')],
    'job-1',
    'job-1:7',
  ),
]

test('events are split by tenant, day, source and run, and the index names their entries', async () => {
  const parts = await makeParts(ENTRIES)
  const shown = parts.map(({ location, lines, index }) => [partKey(location), Buffer.concat(lines).toString(), index])
  assert.deepEqual(shown, [
    [
      'tenant=acme/day=2026-11-21/source=ingest/run=2026-11-21T23/part-1700000000001-000012-p0.ndjson.gz',
      '{"é":1}\n{"a":2}\n',
      {
        lane: 'live',
        lines: 2,
        bytes: 17,
        entries: [
          [1, '1700000000002-0', 'producer:5', 1],
          [0, '1700000000001-12', '', 1],
        ],
      },
    ],
    [
      'tenant=b/day=2026-11-21/source=ingest/run=2026-11-21T23/part-1700000000002-000000-p1.ndjson.gz',
      '{}\n',
      { lane: 'live', lines: 1, bytes: 3, entries: [[1, '1700000000002-0', 'producer:5', 1]] },
    ],
    [
      'tenant=acme/day=2026-11-22/source=ingest/run=2026-11-22T00/part-1700000000001-000012-p0.ndjson.gz',
      '{"a":3}\n',
      { lane: 'live', lines: 1, bytes: 8, entries: [[0, '1700000000001-12', '', 1]] },
    ],
    [
      'tenant=acme/day=2026-11-21/source=batch/run=job-1/part-1700000000009-000000-p0.ndjson.gz',
      '{"a":4}\n{}\n',
      { lane: 'batch', lines: 2, bytes: 11, entries: [[0, '1700000000009-0', 'job-1:7', 2]] },
    ],
  ])
  assert.deepEqual(await makeParts(ENTRIES), parts)
  const keysOf = (all: typeof parts) => all.map(({ location }) => partKey(location)).sort()
  assert.deepEqual(keysOf(await makeParts(ENTRIES.toReversed())), keysOf(parts), 'a name follows from the first entry')
})

test('a part of live events names their requests, in the order of its lines', async () => {
  const hour = '2026-11-21T23'
  const lineless = (id: string) => row('acme', hour, '{}', id)
  const [part, ...others] = await makeParts([
    entry(1, '1700000000002-0', [lineless('r1'), lineless('r1'), lineless('{"= \\')]),
    entry(0, '1700000000003-0', [
      lineless('{"= \\'),
      row('acme', hour, '{"\t":\t1}'),
      lineless('r1'),
      row('b', hour, '{}'),
    ]),
    entry(0, '1700000000004-0', [row('acme', '2026-11-22T00', '{}', 'r1')]),
  ])
  assert.deepEqual(part!.index.requests, [
    ['r1', 2],
    ['{"= \\', 2],
    ['', 1],
    ['r1', 1],
  ])
  assert.equal(part!.index.lines, 6)
  assert.equal(Buffer.concat(part!.lines).toString(), `${'{}\n'.repeat(4)}{"\t":\t1}\n{}\n`)
  assert.deepEqual(
    others.map(({ index }) => index.requests),
    [undefined, [['r1', 1]]],
  )
})

test('lines of a job without an event are in the index only, even when there are no others', async () => {
  const rejected = countedRow('acme', '2026-11-21T23:30:00.000Z', { status: 'rejected', reason: 'not JSON', events: 3 })
  const hour = '2026-11-21T23'
  const [part, only] = await makeParts([
    entry(0, '2-0', [row('acme', hour, '{"a":4}'), rejected], 'job-1', 'job-1:7'),
    entry(1, '3-0', [`${rejected}\tsrc_0123abc`], 'job-2', 'job-2:1'),
  ])
  assert.deepEqual(part!.lines.map(String), ['{"a":4}\n'])
  assert.deepEqual(part!.index.entries, [[0, '2-0', 'job-1:7', 1]])
  assert.deepEqual(part!.index.rejected, [[0, '2-0', 'job-1:7', 'not JSON', 3]])
  assert.deepEqual([only!.location.name, only!.lines.length, only!.index.entries], ['part-3-000000-p1', 0, []])
  assert.deepEqual(only!.index.rejected, [[1, '3-0', 'job-2:1', 'not JSON', 3, 'src_0123abc']])
})

test('a key names its location, and cannot lead to another one', async () => {
  for (const { location } of await makeParts(ENTRIES)) {
    for (const key of [partKey(location), indexKey(location)]) {
      assertKey(key)
      assert.deepEqual(parsePartKey(key), location)
    }
  }
  assert.equal(parsePartKey('tenant=acme/day=2026-11-21/notes.txt'), undefined)
  for (const key of [
    '',
    '/a',
    'a//b',
    '../a',
    'a/..',
    'a/../b',
    '.partial/a',
    'a\\b',
    'a\0',
    'ä',
    `${'a/'.repeat(500)}a`,
  ]) {
    assert.throws(() => assertKey(key), /is not a valid key/, key)
  }
})

test('the index of a part is written before its events, so that a reader always finds it', async () => {
  const puts: string[] = []
  const store = { put: async (key: string) => void puts.push(key) } as unknown as ObjectStore
  const inserter = new ArchiveInserter(store)
  await inserter.insert([], 'token', [ENTRIES[0]!])
  const locations = (await makeParts([ENTRIES[0]!])).map(({ location }) => location)
  for (const location of locations) {
    const [index, part] = [puts.indexOf(indexKey(location)), puts.indexOf(partKey(location))]
    assert.ok(index >= 0 && index < part, puts.join())
  }
  await assert.rejects(inserter.insert([], 'token'), /needs the entries/)
})
