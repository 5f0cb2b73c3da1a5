import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encodeBlock, packBlock } from '../../../src/pipeline/event/block.ts'
import { EnvelopeState, NO_IDENTITY } from '../../../src/pipeline/event/envelope.ts'
import { BLOCK_MS_MAX } from '../../../src/pipeline/streams/blocking-read.ts'
import { StreamGroupReader } from '../../../src/pipeline/streams/group-reader.ts'
import type { RedisClient } from '../../../src/stores/redis/connect.ts'
import { type Caller, pipelinedCalls } from '../../../src/stores/redis/pipelined-calls.ts'
import { mockTimeouts, settled } from '../../support/mock-timeouts.ts'

const BLOCK = packBlock([{ identity: NO_IDENTITY, state: EnvelopeState.Enriched, row: 'row' }])
const FIELDS = encodeBlock(BLOCK).map((field) => Buffer.from(field))

/** A reader of streams that always hold this many more entries. */
function readerOf(
  waiting: { live: number; batch: number },
  blocks: number[] = [],
  claimIdleMs = 60_000,
  { turn, onLive, claims }: { turn?: number; onLive?: () => void; claims?: Caller } = {},
) {
  let sequence = 0
  const client = {
    call: async () => 1,
    once() {},
    async callBuffer(command: string, ...args: (string | number)[]) {
      if (command === 'XAUTOCLAIM') return [Buffer.from('0-0'), [], []]
      if (command === 'XPENDING') return [[Buffer.from(String(args[2])), Buffer.from('c'), 0, 3]]
      if (args.includes('BLOCK')) blocks.push(Number(args[args.indexOf('BLOCK') + 1]))
      const count = Number(args[args.indexOf('COUNT') + 1])
      const key = String(args[args.indexOf('STREAMS') + 1])
      const there = Math.min(count, key.endsWith(':batch') ? waiting.batch : waiting.live)
      if (there === 0) return null
      if (key.endsWith(':live')) onLive?.()
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
    claimIdleMs,
    turn,
    claims,
    entriesMax: { live: 16, batch: 2 },
    ensureGroups: async () => {},
  })
}

async function lanesOf(reader: StreamGroupReader, reads: number): Promise<Set<string>> {
  const lanes = new Set<string>()
  for (let i = 0; i < reads; i++) for (const { lane } of (await reader.next()).entries) lanes.add(lane)
  return lanes
}

test('when live entries are few but endless, batch entries get their turn while those gather', async () => {
  assert.deepEqual(await lanesOf(readerOf({ live: 3, batch: 2 }), 5), new Set(['live', 'batch']))
})

test('a reader that only polls does not wait for entries, and puts live ones first', async () => {
  const blocks: number[] = []
  const none = readerOf({ live: 0, batch: 0 }, blocks)
  assert.deepEqual(await none.next(false), { entries: [], broken: [] })
  assert.deepEqual(await none.next(false), { entries: [], broken: [] })
  assert.deepEqual(blocks, [])
  const full = readerOf({ live: 500, batch: 2 })
  assert.deepEqual(new Set((await full.next(false)).entries.map(({ lane }) => lane)), new Set(['live']))
})

test('no batch entry is read while more live ones wait than one read takes', async () => {
  assert.deepEqual(await lanesOf(readerOf({ live: 500, batch: 2 }), 5), new Set(['live']))
})

test('when idle an interruptible wait lasts until the next check for abandoned entries', async (t) => {
  let nowMs = 1_000_000
  t.mock.method(Date, 'now', () => nowMs)
  const waiting = { live: 0, batch: 0 }
  const blocks: number[] = []
  const { signal } = new AbortController()
  const reader = readerOf(waiting, blocks, 4_000)
  await reader.next(true, signal)
  await reader.next(true, signal)
  nowMs += 500
  await reader.next(true, signal)
  nowMs += 1_500
  await reader.next(true, signal)
  await reader.next()
  assert.deepEqual(blocks, [1_000, 2_000, 1_500, 2_000, 1_000])

  waiting.live = 1
  await reader.next(true, signal)
  waiting.live = 0
  await reader.next(true, signal)
  assert.deepEqual(blocks.slice(5), [2_000, 1_000], 'where something came more may come')

  const patient = readerOf(waiting, blocks)
  await patient.next(true, signal)
  blocks.length = 0
  await patient.next(true, signal)
  assert.deepEqual(blocks, [BLOCK_MS_MAX])
})

test('readers of several partitions with simultaneous events read them one after the other', async (t) => {
  mockTimeouts(t)
  let nowMs = 0
  t.mock.method(performance, 'now', () => nowMs)
  t.mock.method(Date, 'now', () => nowMs)
  const reads = [0, 0.25, 0.5, 0.75].map((turn) => {
    const at: number[] = []
    const reader = readerOf({ live: 3, batch: 0 }, [], 60_000, { turn, onLive: () => at.push(nowMs) })
    void (async () => {
      while (nowMs < 1_000) await reader.next()
    })()
    return at
  })
  while (nowMs < 1_000) {
    await settled()
    t.mock.timers.tick(5)
    nowMs += 5
  }
  await settled()
  const last = reads.map((at) => at[at.length - 1]! % 100)
  assert.deepEqual(last, [0, 25, 50, 75])
  for (const at of reads) assert.ok(at.length >= 9 && at.length <= 11, `${at.length} reads in a second`)
})

test('abandoned entries of both lanes are taken over at one check, and reported by lane', async () => {
  let looks = 0
  const left = async (_: string, stream: string) => {
    looks++
    return [Buffer.from('0-0'), [[Buffer.from(stream.endsWith(':live') ? '1-1' : '2-1'), FIELDS]], []]
  }
  const reader = readerOf({ live: 0, batch: 0 }, [], 1_000, { claims: { callBuffer: left } as unknown as Caller })
  const reads = [await reader.next(), await reader.next()]
  assert.deepEqual(
    reads.map(({ entries }) => entries.map(({ id, lane, deliveries }) => [id, lane, deliveries])),
    [[['1-1', 'live', 3]], [['2-1', 'batch', 3]]],
  )
  assert.deepEqual(
    reads.flatMap(({ broken }) => broken),
    [],
  )
  assert.equal(looks, 2)
})

test('entries taken over with others are not reported when read again as pending', async () => {
  const left = async (_: string, stream: string) => [
    Buffer.from('0-0'),
    [[Buffer.from(`${stream.length}-1`), FIELDS]],
    [],
  ]
  const reader = readerOf({ live: 0, batch: 2 }, [], 60_000, { claims: { callBuffer: left } as unknown as Caller })
  await reader.next()
  reader.recover()
  const { entries } = await reader.next()
  assert.deepEqual(
    entries.map(({ id }) => id),
    ['1-1', '1-2'],
    'those that the stream has for this consumer',
  )
})

test('entries that Redis reports deleted are repeated until buried, whatever fails meanwhile', async () => {
  let looks = 0
  const claims = {
    async callBuffer(_: string, stream: string) {
      if (++looks > 2) return [Buffer.from('0-0'), [], []]
      if (stream.endsWith(':live')) throw new Error('Redis is down')
      return [Buffer.from('0-0'), [], [Buffer.from('7-1'), Buffer.from('7-2')]]
    },
  } as unknown as Caller
  const reader = readerOf({ live: 0, batch: 0 }, [], 1_000, { claims })
  await assert.rejects(reader.next(), /Redis is down/)
  reader.recover()
  const gone = ['7-1', '7-2'].map((id) => ({
    lane: 'batch' as const,
    reason: 'deleted while pending',
    isGone: true,
    id,
  }))
  assert.deepEqual(await reader.next(), { entries: [], broken: gone })
  await reader.bury(gone[0]!).catch(() => {})
  assert.deepEqual(await reader.next(), { entries: [], broken: [gone[1]] })
})

test('partitions that check at once for abandoned entries ask in one write', async () => {
  const writes: number[] = []
  const pipeline = () => {
    let commands = 0
    return {
      callBuffer: () => ++commands,
      exec: async () => {
        writes.push(commands)
        return Array.from({ length: commands }, () => [null, [Buffer.from('0-0'), [], []]])
      },
    }
  }
  const claims = pipelinedCalls({ pipeline } as unknown as RedisClient)
  const readers = [1, 2, 3].map(() => readerOf({ live: 1, batch: 0 }, [], 60_000, { claims }))
  await Promise.all(readers.map((reader) => reader.next()))
  assert.deepEqual(writes, [6])
})
