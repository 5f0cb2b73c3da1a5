import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { ingest } from '../../pipelines/ingest.ts'
import { RedisFeederStore } from '../../src/redis/batch/feeder-store.ts'
import type { RedisClient } from '../../src/redis/connect.ts'
import { keys } from '../../src/redis/keys.ts'
import { loadScript } from '../../src/redis/scripts.ts'
import { LARGE_BYTES } from '../../src/redis/streams/append.ts'
import { SettlementWriter } from '../../src/redis/streams/settlement-writer.ts'
import { PARTITIONS, startBatch } from '../support/batch.ts'
import { startStreams } from '../support/streams.ts'

/* What is added before the script that judges it: nothing of it stays unless the script says so. */

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
  await client.set('{p0}:text', '')
  await assert.rejects(settle(client, ids.slice(2, 3), [OUTPUT, '{p0}:text', OTHER]), /WRONGTYPE/)
  await nothingCame()
  assert.equal(await settle(client, ids.slice(2, 3), twice), 'written', 'it is pending still')
})

test('a large settlement is written when Redis is full, and no other write is', async (t) => {
  const { client } = await startStreams(t)
  const ids = await pendingEntries(client, 1)
  await client.config('SET', 'maxmemory', '1')
  await assert.rejects(client.set('refused', '1'), /OOM/)
  assert.equal(await settle(client, ids, [OUTPUT]), 'written')
  assert.equal(await client.xlen(OUTPUT), 1)
})

/** Sends a chunk as uploads do. */
function sendChunk(client: RedisClient, job: string, number: number, attempt: number, text: string): Promise<unknown> {
  const names = [keys.upload(job), keys.chunks(job)]
  const id = `${number}-${attempt}`
  const chunk = [names[1]!, id, 'l', '1', 'b', Buffer.from(text)] as const
  return loadScript('spoolChunk-2').runBehind(client, [chunk], names, [60_000, number, id])
}

async function textsOf(client: RedisClient, job: string): Promise<string[]> {
  return (await client.xrange(keys.chunks(job), '-', '+')).map(([, fields]) => fields[3]!)
}

test('chunks are kept once, in their order, and only while their upload is there', async (t) => {
  const { client } = await startStreams(t)
  await client.set(keys.upload('j'), '0')
  const send = (number: number, attempt: number) => sendChunk(client, 'j', number, attempt, `${number}`)
  assert.equal(await send(1, 0), 1)
  assert.equal(await send(3, 0), 2, 'the one before is not there')
  assert.equal(await send(2, 5), 1)
  assert.equal(await send(3, 1), 1)
  for (const again of [send(2, 0), send(2, 6), send(3, 0), send(3, 2)]) assert.equal(await again, 1)
  assert.deepEqual(await textsOf(client, 'j'), ['1', '2', '3'])
  assert.ok((await client.pttl(keys.chunks('j'))) > 0)
  await client.del(keys.upload('j'), keys.chunks('j'))
  assert.equal(await send(4, 0), 0)
  assert.equal(await client.exists(keys.chunks('j')), 0)
})

test('a chunk that comes when its upload has become a job takes none from it', async (t) => {
  const { client } = await startStreams(t)
  await client.set(keys.upload('j'), '0')
  await sendChunk(client, 'j', 1, 0, 'a')
  await sendChunk(client, 'j', 2, 1, 'b')
  await client.del(keys.upload('j'))
  await client.persist(keys.chunks('j'))
  for (const attempt of [0, 2]) assert.equal(await sendChunk(client, 'j', 2, attempt, 'b'), 0)
  assert.deepEqual(await textsOf(client, 'j'), ['a', 'b'])
  assert.equal(await client.pttl(keys.chunks('j')), -1)
})

/** The first answer to each chunk is lost. */
function loseAnswers(t: TestContext, client: RedisClient): void {
  const redis = client as Extract<RedisClient, { multi: unknown }>
  const multi = redis.multi.bind(redis) as () => ReturnType<typeof redis.multi>
  let calls = 0
  t.mock.method(redis, 'multi', () => {
    const transaction = multi()
    const exec = transaction.exec.bind(transaction)
    transaction.exec = async () => {
      const answer = await exec()
      if (calls++ % 2 === 0) throw new Error('Command timed out')
      return answer
    }
    return transaction
  })
}

test('a chunk that is sent once more, since its answer was lost, is there and fed once', async (t) => {
  const { client, jobs } = await startBatch(t)
  loseAnswers(t, client)
  const uploaded = await jobs.begin('acme')
  const line = '{"ip":"192.0.2.1"}\n'
  await uploaded.write(Buffer.from(line.repeat(30_000)))
  const { jobId, received } = await uploaded.complete()
  assert.equal(received, 30_000)
  const store = new RedisFeederStore({ client, pipeline: ingest, partitions: PARTITIONS })
  const job = { id: jobId, next: 1 } as Parameters<RedisFeederStore['readChunk']>[0]
  let bytes = 0
  for (let next = 1; ; next++) {
    const chunk = await store.readChunk({ ...job, next })
    if (chunk === undefined) break
    bytes += chunk.bytes.length
  }
  assert.equal(bytes, 30_000 * line.length)
  assert.equal(await client.xlen(keys.chunks(jobId)), Number(await client.hget(keys.job(jobId), 'chunks')))
})
