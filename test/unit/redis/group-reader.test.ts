import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encodeBlock, packBlock } from '../../../src/core/event/block.ts'
import { EnvelopeState, NO_IDENTITY } from '../../../src/core/event/envelope.ts'
import type { RedisClient } from '../../../src/redis/connect.ts'
import { StreamGroupReader } from '../../../src/redis/streams/group-reader.ts'

const BLOCK = packBlock([{ identity: NO_IDENTITY, state: EnvelopeState.Enriched, row: 'row' }])
const FIELDS = encodeBlock(BLOCK).map((field) => Buffer.from(field))

/** A reader of streams that always hold so many entries more. */
function readerOf(waiting: { readonly live: number; readonly batch: number }) {
  let sequence = 0
  const client = {
    async callBuffer(command: string, ...args: (string | number)[]) {
      if (command === 'XAUTOCLAIM') return [Buffer.from('0-0'), [], []]
      const count = Number(args[args.indexOf('COUNT') + 1])
      const key = String(args[args.indexOf('STREAMS') + 1])
      const there = Math.min(count, key.endsWith(':batch') ? waiting.batch : waiting.live)
      if (there === 0) return null
      return [[Buffer.from(key), Array.from({ length: there }, () => [Buffer.from(`1-${++sequence}`), FIELDS])]]
    },
  }
  return new StreamGroupReader({
    client: client as unknown as RedisClient,
    blocking: client as unknown as RedisClient,
    partition: 0,
    group: 'g',
    consumer: 'c',
    from: 'intake',
    to: 'enriched',
    joinsOutput: true,
    outcomesTo: undefined,
    countsJobs: true,
    dedupWindowMs: 1_000,
    claimIdleMs: 60_000,
    entriesMax: { live: 16, batch: 2 },
    ensureGroups: async () => {},
  })
}

async function lanesOf(reader: StreamGroupReader, reads: number): Promise<Set<string>> {
  const lanes = new Set<string>()
  for (let i = 0; i < reads; i++) for (const { lane } of (await reader.next()).entries) lanes.add(lane)
  return lanes
}

test('where live entries never end but are few, batch entries have their turn while those come together', async () => {
  assert.deepEqual(await lanesOf(readerOf({ live: 3, batch: 2 }), 5), new Set(['live', 'batch']))
})

test('no batch entry is read while more live ones wait than one read takes', async () => {
  assert.deepEqual(await lanesOf(readerOf({ live: 500, batch: 2 }), 5), new Set(['live']))
})
