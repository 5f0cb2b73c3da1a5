import assert from 'node:assert/strict'
import { test } from 'node:test'
import { packBlock } from '../../src/pipeline/event/block.ts'
import { appendBlocks, blockAppend } from '../../src/pipeline/streams/append.ts'
import { SettlementWriter } from '../../src/pipeline/streams/settlement.ts'
import type { RedisClient } from '../../src/stores/redis/connect.ts'
import { keys } from '../../src/stores/redis/keys.ts'
import { LARGE_BYTES } from '../../src/stores/redis/scripts.ts'
import { envelope } from '../support/pipeline.ts'
import { startStreams } from '../support/streams.ts'

/* Entries that are added before the script that judges them: none stays unless the script says so. */

const [SOURCE, OUTPUT, OTHER] = ['{p0}:source', '{p0}:output', '{p0}:other']

async function pendingEntries(client: RedisClient, entries: number): Promise<string[]> {
  await client.xgroup('CREATE', SOURCE, 'g', '0', 'MKSTREAM')
  const ids: string[] = []
  for (let i = 0; i < entries; i++) ids.push((await client.xadd(SOURCE, '*', 'n', String(i)))!)
  await client.xreadgroup('GROUP', 'g', 'c', 'STREAMS', SOURCE, '>')
  return ids
}

function settle(client: RedisClient, ids: string[], streams: readonly string[], delivery: '' | 'first' = 'first') {
  const writer = new SettlementWriter(SOURCE, keys.counters(0))
  for (const stream of streams) writer.add(stream, ['r', Buffer.alloc(LARGE_BYTES, 'r')])
  writer.count('settled', 1)
  return writer.run(client, 'g', ids, delivery)
}

test('a large settlement is written once, or leaves nothing', async (t) => {
  const { client } = await startStreams(t)
  const ids = await pendingEntries(client, 4)
  const twice = [OUTPUT, OTHER, OUTPUT]
  assert.equal(await settle(client, ids.slice(0, 1), twice), 'written')
  const there = await client.xrange(OUTPUT, '-', '+')
  assert.equal(there.length, 2)
  const nothingCame = async () => {
    assert.deepEqual(await client.xrange(OUTPUT, '-', '+'), there)
    assert.equal(await client.xlen(OTHER), 1)
    assert.equal(await client.hget(keys.counters(0), 'settled'), '1')
  }
  assert.equal(await settle(client, ids.slice(0, 1), twice), 'settled before')
  assert.equal(await settle(client, ids.slice(0, 1), twice, ''), 'settled before')
  assert.equal(await settle(client, ids.slice(0, 2), twice), 'contested', 'one of them is not pending')
  await client.call('XCLAIM', SOURCE, 'g', 'other', 0, ids[1]!)
  assert.equal(await settle(client, ids.slice(1, 2), twice), 'contested', 'it was delivered again')
  await nothingCame()
  assert.equal(await settle(client, ids.slice(2, 3), twice), 'written', 'it is pending still')
})

test('a large settlement that fails leaves nothing, and its entry stays pending', async (t) => {
  const { client } = await startStreams(t)
  const ids = await pendingEntries(client, 1)
  await client.set('{p0}:text', '')
  await assert.rejects(settle(client, ids, [OUTPUT, '{p0}:text', OTHER]), /^ReplyError: WRONGTYPE/)
  await client.rename(SOURCE, '{p0}:away')
  await assert.rejects(settle(client, ids, [OUTPUT]), /^ReplyError: NOGROUP/)
  await client.rename('{p0}:away', SOURCE)
  assert.deepEqual([await client.xlen(OUTPUT), await client.xlen(OTHER)], [0, 0])
  assert.equal(await settle(client, ids, [OUTPUT]), 'written')
})

test('a large commit that fails leaves nothing', async (t) => {
  const { client } = await startStreams(t)
  const block = { ...packBlock([envelope('t', 'e')], undefined, 'p:1'), rows: Buffer.alloc(LARGE_BYTES, 'r') }
  const append = (...streams: string[]) => {
    const blocks = streams.map((stream) =>
      blockAppend({ partition: 0, stream, lane: 'live', producer: keys.producer(0, 'a') }, block),
    )
    return appendBlocks(client, blocks, { sequence: 1, producerTtlMs: 60_000 })
  }
  await client.set(keys.stream(0, 'archive', 'live'), '')
  await assert.rejects(append('intake', 'archive', 'outcomes'), /^ReplyError: WRONGTYPE/)
  await client.del(keys.producer(0, 'a'))
  await client.hset(keys.producer(0, 'a'), 'not', 'a number')
  await assert.rejects(append('intake'), /^ReplyError: WRONGTYPE/)
  await client.del(keys.producer(0, 'a'))
  assert.equal(await append('intake'), 1)
  assert.equal(await client.xlen(keys.stream(0, 'intake', 'live')), 1)
  assert.equal(await client.xlen(keys.stream(0, 'outcomes', 'live')), 0)
})

test('a large settlement is written when Redis is full, and no other write is', async (t) => {
  const { client } = await startStreams(t)
  const ids = await pendingEntries(client, 1)
  await client.config('SET', 'maxmemory', '1')
  await assert.rejects(client.set('refused', '1'), /OOM/)
  assert.equal(await settle(client, ids, [OUTPUT]), 'written')
  assert.equal(await client.xlen(OUTPUT), 1)
})
