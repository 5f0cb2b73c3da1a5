import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Inserter } from '../../../src/pipeline/declaration/destination.ts'
import { packBlock } from '../../../src/pipeline/event/block.ts'
import { EnvelopeState, NO_IDENTITY } from '../../../src/pipeline/event/envelope.ts'
import type { SinkRun, SinkSource } from '../../../src/pipeline/runner/sink-ports.ts'
import {
  countRows,
  InsertBatcher,
  SinkWorker,
  type SinkWorkerOptions,
} from '../../../src/pipeline/runner/sink-worker.ts'
import { pause } from '../../../src/run/loop.ts'
import { silent } from '../../support/pipeline.ts'
import { until } from '../../support/until.ts'

const ROW_BYTES = 100

function runOf(id: number): SinkRun {
  const block = packBlock([{ identity: NO_IDENTITY, state: EnvelopeState.Raw, row: 'x'.repeat(ROW_BYTES - 1) }])
  const stream = { partition: 0, lane: 'live' } as const
  return { ...stream, entries: [{ ...stream, id: `${id}-0`, block, claimId: Buffer.alloc(8) }] }
}

/**
 * A sink that passes entries from `waiting` to `insert`, one entry per read.
 * @param asked gets the number of rows of each read
 */
function start(
  t: TestContext,
  waiting: SinkRun[],
  inserter: Partial<Inserter>,
  options: Partial<SinkWorkerOptions>,
  asked: number[] = [],
) {
  const source: SinkSource = {
    acquire: async () => true,
    release: async () => {},
    isShared: false,
    givesBack: () => false,
    intent: async () => undefined,
    writeIntent: async () => {},
    clearIntent: async () => {},
    readRanges: async () => ({ runs: [], inserted: true }),
    readPending: async () => [],
    async readNew(eventsMax, waitMs) {
      asked.push(eventsMax)
      const run = waiting.shift()
      if (run === undefined) await pause(Math.min(waitMs, 5))
      return run === undefined ? [] : [run]
    },
    acknowledge: async () => {},
    forgotBefore: async () => 0,
    hasStrayPending: async () => false,
    close: async () => {},
  }
  const sink = new SinkWorker({
    group: 'g',
    startsReady: false,
    source,
    inserter: {
      prepare: async () => {},
      absent: async () => [],
      close: async () => {},
      insert: async () => {},
      ...inserter,
    },
    rowsMax: 1_000,
    lingerMs: 0,
    log: silent,
    ...options,
  })
  t.after(() => sink.stop())
  return sink
}

test('an insert is closed when it has enough bytes, and has its entries', async (t) => {
  const waiting = Array.from({ length: 10 }, (_, i) => runOf(i))
  const inserts: (string[] | undefined)[] = []
  const insert: Inserter['insert'] = async (_rows, _token, entries) => {
    inserts.push(entries?.map(({ partition, lane, id }) => `${partition} ${lane} ${id}`))
  }
  const limits = { bytesMax: 4 * ROW_BYTES, gatherMs: 60_000, pollMs: 1, backlogRows: 1 }
  const sink = start(t, waiting, { insert }, limits)
  await sink.start()
  await until(
    () => inserts.length === 2 && waiting.length === 0,
    (it) => it,
    10_000,
  )
  assert.deepEqual(inserts, [
    ['0 live 0-0', '0 live 1-0', '0 live 2-0', '0 live 3-0'],
    ['0 live 4-0', '0 live 5-0', '0 live 6-0', '0 live 7-0'],
  ])
  // The open insert is stored at the end.
  await sink.stop()
  assert.deepEqual(inserts[2], ['0 live 8-0', '0 live 9-0'])
})

test('a read asks for at most the rows that fit in bytes, by the size of earlier ones', async (t) => {
  const asked: number[] = []
  const inserts: number[] = []
  const waiting = Array.from({ length: 8 }, (_, i) => runOf(i))
  const insert: Inserter['insert'] = async (rows) => void inserts.push(rows.length)
  const limits = { rowsMax: 1_000, bytesMax: 4 * ROW_BYTES, aheadBytesMax: 2 * ROW_BYTES, pollMs: 1, backlogRows: 1 }
  const sink = start(t, waiting, { insert }, { ...limits, gatherMs: 60_000 }, asked)
  await sink.start()
  await until(() => asked.length >= 6)
  // One, while the size of rows is unknown; then as many as fit; and ahead, since the insert is full.
  assert.deepEqual(asked.slice(0, 6), [1, 3, 2, 1, 2, 3])
  await sink.stop()
  assert.equal(inserts[0], 4)
})

test('an insert is closed by age, when the first row has waited long enough', async (t) => {
  const waiting = [runOf(1), runOf(2)]
  const inserts: number[] = []
  const insert: Inserter['insert'] = async (rows) => void inserts.push(rows.length)
  const sink = start(t, waiting, { insert }, { gatherMs: 200, pollMs: 1, bytesMax: 1e9 })
  await sink.start()
  await until(() => inserts.length > 0)
  assert.deepEqual(inserts, [2])
})

test('an insert takes the rows that arrived until it is due', async (t) => {
  const waiting = [runOf(1), runOf(2)]
  const inserts: number[] = []
  const insert: Inserter['insert'] = async (rows) => void inserts.push(rows.length)
  const sink = start(t, waiting, { insert }, { gatherMs: 0 })
  await sink.start()
  await until(() => inserts.length > 0)
  assert.deepEqual(inserts, [2])
})

test('a tenth of an insert is sent when no more rows come; less waits', async (t) => {
  const inserts: number[] = []
  const asked: number[] = []
  const waiting = [runOf(1)]
  const insert: Inserter['insert'] = async (rows) => void inserts.push(rows.length)
  const sink = start(t, waiting, { insert }, { rowsMax: 20, lingerMs: 1e6, gatherMs: 0, pollMs: 1 }, asked)
  await sink.start()
  await until(() => asked.length > 10)
  assert.deepEqual(inserts, [])
  waiting.push(runOf(2))
  await until(() => inserts.length > 0)
  assert.deepEqual(inserts, [2])
})

test('rows that arrive while a source stops waiting do not end a flow', async (t) => {
  let nowMs = 0
  t.mock.method(performance, 'now', () => nowMs)
  const reads: [endsAtMs: number, runs: SinkRun[]][] = [
    [0, [runOf(1), runOf(2)]],
    [12, []],
    [12, [runOf(3)]],
    [25, []],
    [26, []],
  ]
  const readNew = async () => {
    const [endsAtMs, runs] = reads.shift()!
    nowMs = endsAtMs
    return runs
  }
  const options = { rowsMax: 10, lingerMs: 1e6, gatherMs: 10, pollMs: 10, backlogRows: 1 }
  const gathering = new InsertBatcher(
    { readNew } as Partial<SinkSource> as SinkSource,
    options,
    new AbortController().signal,
  )
  assert.equal(countRows(await gathering.next(0)), 3)
  assert.deepEqual(reads, [])
})

test('rows read ahead stay within the memory given for them', async (t) => {
  const inserts: number[] = []
  const asked: number[] = []
  const sink = start(
    t,
    Array.from({ length: 6 }, (_, i) => runOf(i)),
    { insert: async (rows) => void inserts.push(rows.length) },
    { rowsMax: 4, gatherMs: 1_000, pollMs: 1, backlogRows: 1, aheadBytesMax: 2 * ROW_BYTES },
    asked,
  )
  await sink.start()
  await until(() => asked.length >= 6)
  await sink.stop()
  // Four one by one, then as many ahead as fit in memory: one came, and the sink went on with it.
  assert.deepEqual(asked.slice(0, 6), [4, 3, 2, 1, 2, 3])
  assert.deepEqual(inserts, [4, 2])
})

test('a stop does not wait for a silent destination, which gets the signal to give up', async (t) => {
  let giveUp: (error: Error) => void = () => {}
  let inserting = false
  const sink = start(
    t,
    [runOf(1)],
    {
      insert: () =>
        new Promise((_, reject) => {
          inserting = true
          giveUp = reject
        }),
      abort: () => giveUp(new Error('given up')),
    },
    {},
  )
  await sink.start()
  await until(() => inserting)
  await sink.stop()
})
