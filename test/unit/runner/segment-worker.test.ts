import assert from 'node:assert/strict'
import { test } from 'node:test'
import { packBlock } from '../../../src/core/event/block.ts'
import { identityOf } from '../../../src/core/event/envelope.ts'
import { UnavailableError } from '../../../src/core/run/errors.ts'
import type { Commit, Entry, GroupReader } from '../../../src/runner/ports.ts'
import { SegmentWorker } from '../../../src/runner/segment-worker.ts'
import { silent } from '../../support/pipeline.ts'
import { until } from '../../support/until.ts'

/** Delivers one entry again and again until it is committed. */
function readerOf(deliveries: number) {
  const commits: Commit[] = []
  const block = packBlock(['a', 'b'].map((row) => ({ identity: identityOf('t', row), state: 1 as const, row })))
  let delivered = deliveries
  const reader: GroupReader = {
    partition: 0,
    async next() {
      await new Promise(setImmediate)
      if (commits.length > 0) return { entries: [], broken: [] }
      const entry: Entry = {
        id: '1-0',
        lane: 'live',
        partition: 0,
        owner: Buffer.alloc(8),
        block,
        deliveries: delivered++,
      }
      return { entries: [entry], broken: [] }
    },
    recover() {},
    async commit(_entry, commit) {
      commits.push(commit)
      return true
    },
    async bury() {},
    async close() {},
  }
  return { reader, commits, delivered: () => delivered }
}

function workerOf(reader: GroupReader, gather: () => Promise<void>) {
  const stages = [{ name: 'stage', gather, decide: () => ({}) }]
  return new SegmentWorker({ group: 'g', stages, readers: [reader], deliveriesMax: 2, log: silent })
}

test('a store that is away for long costs no event, however often the entry comes back', async () => {
  const { reader, commits, delivered } = readerOf(1)
  let away = true
  const worker = workerOf(reader, async () => {
    if (away) throw new UnavailableError('away')
  })
  await worker.start()
  await until(() => delivered() > 6)
  away = false
  await until(() => commits.length > 0)
  await worker.stop()
  assert.equal(commits[0]!.output?.count, 2)
  assert.deepEqual(commits[0]!.dead, [])
})

test('an entry that ended processes before is taken apart', async () => {
  const { reader, commits } = readerOf(3)
  const worker = workerOf(reader, async () => {})
  await worker.start()
  await until(() => commits.length > 0)
  await worker.stop()
  assert.equal(commits[0]!.output, undefined)
  assert.equal(commits[0]!.again.length, 2)
})
