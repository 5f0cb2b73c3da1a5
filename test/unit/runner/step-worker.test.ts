import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { StageTools } from '../../../src/pipeline/declaration/stage.ts'
import { packBlock } from '../../../src/pipeline/event/block.ts'
import { identityOf } from '../../../src/pipeline/event/envelope.ts'
import type { Entry, GroupReader, Settlement } from '../../../src/pipeline/runner/ports.ts'
import { StepWorker } from '../../../src/pipeline/runner/step-worker.ts'
import { UnavailableError } from '../../../src/run/errors.ts'
import { mockTimeouts, settled } from '../../support/mock-timeouts.ts'
import { silent } from '../../support/pipeline.ts'
import { until } from '../../support/until.ts'

/** Delivers one entry again and again until it is settled. */
function readerOf(deliveries: number) {
  const settlements: Settlement[] = []
  const block = packBlock(['a', 'b'].map((row) => ({ identity: identityOf('t', row), state: 1 as const, row })))
  let delivered = deliveries
  const reader: GroupReader = {
    partition: 0,
    async next() {
      await new Promise(setImmediate)
      if (settlements.length > 0) return { entries: [], broken: [] }
      const entry: Entry = {
        id: '1-0',
        lane: 'live',
        partition: 0,
        claimId: Buffer.alloc(8),
        block,
        deliveries: delivered++,
        repeated: deliveries > 1,
      }
      return { entries: [entry], broken: [] }
    },
    recover() {},
    async settle(_entry, settlement) {
      settlements.push(settlement)
      return 'written'
    },
    async bury() {},
    async close() {},
  }
  return { reader, settlements, delivered: () => delivered }
}

const tools = { seen: { claim: async () => [], held: async () => [] } } as unknown as StageTools

function workerOf(reader: GroupReader, gather: () => Promise<void>) {
  const stages = [{ name: 'stage', gather, decide: () => ({}) }]
  return new StepWorker({ group: 'g', stages, tools, readers: [reader], deliveriesMax: 2, log: silent })
}

test('a long outage of a store loses no event, however often the entry comes back', async () => {
  const { reader, settlements, delivered } = readerOf(1)
  let down = true
  const worker = workerOf(reader, async () => {
    if (down) throw new UnavailableError('down')
  })
  await worker.start()
  await until(() => delivered() > 6 || settlements.length > 0)
  down = false
  await until(() => settlements.length > 0)
  await worker.stop()
  assert.equal(settlements[0]!.output?.count, 2)
  assert.deepEqual(settlements[0]!.dead, [])
})

test('outcomes of a round are reported once, without entries that another consumer settled', async () => {
  const block = packBlock(['a', 'b'].map((row) => ({ identity: identityOf('t', row), state: 1 as const, row })))
  const entries = ['1-0', '2-0', '3-0'].map((id): Entry => {
    return { id, lane: 'live', partition: 0, claimId: Buffer.alloc(8), block, deliveries: 1, repeated: false }
  })
  const { reader } = readerOf(1)
  const rounds: unknown[] = []
  const worker = new StepWorker({
    group: 'g',
    stages: [
      { name: 'first', drops: ['b'], decide: () => ({ outcomes: new Map([[1, { kind: 'drop', reason: 'b' }]]) }) },
    ],
    tools,
    readers: [
      {
        ...reader,
        next: async () => ({ entries: rounds.length === 0 ? entries : [], broken: [] }),
        settle: async ({ id }) => (id === '2-0' ? 'settled before' : 'written'),
      },
    ],
    deliveriesMax: 2,
    log: silent,
    onSettled: (outcomes, stages) => rounds.push({ outcomes: Object.fromEntries(outcomes), stages }),
  })
  await worker.start()
  await worker.stop()
  const stages = [{ stage: 'first', in: 4, out: 2, dropped: new Map([['b', 2]]) }]
  assert.deepEqual(rounds, [{ outcomes: { b: 2, kept: 2 }, stages }])
})

test('an entry that ended processes before is split', async () => {
  const { reader, settlements } = readerOf(3)
  const worker = workerOf(reader, async () => {})
  await worker.start()
  await until(() => settlements.length > 0)
  await worker.stop()
  assert.equal(settlements[0]!.output, undefined)
  assert.equal(settlements[0]!.again.length, 2)
})

test('an entry for which a claiming stage fails is split in the end, too', async () => {
  const { reader, settlements } = readerOf(1)
  const stages = [{ name: 'stage', claims: true, gather: () => Promise.reject(new Error('odd')), decide: () => ({}) }]
  const worker = new StepWorker({ group: 'g', stages, tools, readers: [reader], deliveriesMax: 2, log: silent })
  await worker.start()
  await until(() => settlements.length > 0)
  await worker.stop()
  assert.equal(settlements[0]!.again.length, 2)
})

test('a contested settlement is made again, as for a repeated delivery', async () => {
  const { reader, settlements } = readerOf(1)
  const results = ['contested', 'contested', 'written'] as const
  const repeated: boolean[] = []
  reader.settle = async (entry, settlement) => {
    repeated.push(entry.repeated)
    const result = results[repeated.length - 1]!
    if (result === 'written') settlements.push(settlement)
    return result
  }
  const worker = workerOf(reader, async () => {})
  await worker.start()
  await until(() => settlements.length > 0)
  await worker.stop()
  assert.deepEqual(repeated, [false, true, true])
})

/** A reader that answers reads with entries of a lane, and holds its settlements until they are answered. */
function heldReader(lane: 'live' | 'batch', reads: number) {
  const block = packBlock([{ identity: identityOf('t', 'a'), state: 1, row: 'a' }])
  const log: string[] = []
  const settling = new Map<string, (error?: Error) => void>()
  let read = 0
  const { reader } = readerOf(1)
  const held: GroupReader = {
    ...reader,
    async next(waits) {
      if (read === reads) {
        if (waits) await new Promise(setImmediate)
        return { entries: [], broken: [] }
      }
      const id = `${++read}-0`
      log.push(`${waits ? 'wait for' : 'look for'} ${id}`)
      return {
        entries: [{ id, lane, partition: 0, claimId: Buffer.alloc(8), block, deliveries: 1, repeated: false }],
        broken: [],
      }
    },
    recover: () => void log.push('recover'),
    settle: ({ id }) => {
      log.push(`settle ${id}`)
      return new Promise((resolve, reject) => {
        settling.set(id, (error) => (error === undefined ? resolve('written') : reject(error)))
      })
    },
  }
  const sees = (...lines: string[]) => until(() => lines.every((line) => log.includes(line)))
  return { held, log, settling, sees }
}

test('batch entries finish during the next reads, two at most; live ones before the next read', async () => {
  const batch = heldReader('batch', 3)
  const worker = workerOf(batch.held, async () => {})
  await worker.start()
  await batch.sees('settle 1-0', 'settle 2-0')
  assert.deepEqual([...batch.log].sort(), ['look for 2-0', 'settle 1-0', 'settle 2-0', 'wait for 1-0'])
  batch.settling.get('1-0')!()
  await batch.sees('settle 3-0')
  assert.deepEqual(batch.log.slice(4), ['look for 3-0', 'settle 3-0'])
  const stopped = worker.stop()
  batch.settling.get('2-0')!()
  batch.settling.get('3-0')!()
  await stopped

  const live = heldReader('live', 2)
  const second = workerOf(live.held, async () => {})
  await second.start()
  await live.sees('settle 1-0')
  await settled()
  assert.deepEqual(live.log, ['wait for 1-0', 'settle 1-0'])
  live.settling.get('1-0')!()
  await live.sees('settle 2-0')
  live.settling.get('2-0')!()
  await second.stop()
})

test('under any batch backlog, abandoned entries are checked after every eighth read', async () => {
  const { held, log, settling, sees } = heldReader('batch', 18)
  const worker = workerOf(held, async () => {})
  await worker.start()
  for (let n = 1; n <= 18; n++) {
    await sees(`settle ${n}-0`)
    settling.get(`${n}-0`)!()
  }
  await worker.stop()
  assert.deepEqual(log.filter((line) => line.startsWith('wait')).slice(0, 3), [
    'wait for 1-0',
    'wait for 9-0',
    'wait for 17-0',
  ])
})

test('after a failure nothing is read before everything in hand has ended', async (t) => {
  mockTimeouts(t)
  const { held, log, settling } = heldReader('batch', 3)
  const worker = workerOf(held, async () => {})
  await worker.start()
  await settled()
  settling.get('1-0')!(new Error('down'))
  await settled()
  // Long after the delay of the next try.
  t.mock.timers.tick(60_000)
  await settled()
  assert.deepEqual(log.slice(4), ['recover'])
  settling.get('2-0')!()
  await settled()
  const stopped = worker.stop()
  settling.get('3-0')!()
  await stopped
  assert.deepEqual(log.slice(4), ['recover', 'wait for 3-0', 'settle 3-0'])
})
