import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { Redis } from 'ioredis'
import { connectRedis } from '../../src/stores/redis/connect.ts'
import { loadScript, type Write } from '../../src/stores/redis/scripts.ts'
import { startTestRedis } from '../support/redis.ts'

/* Writes and the script after them, in one transaction. */

const script = loadScript(import.meta.url, '../../src/pipeline/sources/batch/redis/spoolChunk-3.lua')
const NAMES = ['{j}:upload', '{j}:chunks', '{j}:lines']
const ARGS = [60_000, 1, '1']

/** A client that is connected. */
async function connected(t: TestContext, url: string): Promise<Redis> {
  const client = connectRedis(url, { name: 'test', kind: 'loop' })
  // Some of these tests lose the connection on purpose.
  client.on('error', () => {})
  t.after(() => client.disconnect())
  await client.set(NAMES[0]!, 0)
  assert.ok(client instanceof Redis)
  return client
}

function set(bytes: Buffer): Write {
  return ['SET', NAMES[2]!, bytes, 'PX', 60_000]
}

test('large bytes arrive unchanged, and other commands run before or after them', async (t) => {
  const { url } = await startTestRedis(t)
  const client = await connected(t, url)
  const bytes = randomBytes(3_000_000)
  const before = client.strlen(NAMES[2]!)
  const ran = script.runAfter(client, [['SET', '{j}:empty', Buffer.alloc(0)], set(bytes)], NAMES, ARGS)
  const later = client.strlen(NAMES[2]!)
  assert.deepEqual(await Promise.all([before, ran, later]), [0, 1, bytes.length])
  assert.ok((await client.getBuffer(NAMES[2]!))!.equals(bytes))
  assert.equal(await client.get('{j}:empty'), '')
})

test('a refused write is reported in its own words, and nothing of it runs', async (t) => {
  const { url } = await startTestRedis(t)
  const client = await connected(t, url)
  const wrong: Write = ['SET', NAMES[2]!]
  await assert.rejects(script.runAfter(client, [set(randomBytes(9)), wrong], NAMES, ARGS), /wrong number of arguments/)
  assert.equal(await client.exists(NAMES[2]!), 0)
  await client.config('SET', 'maxmemory', '1')
  await assert.rejects(script.runAfter(client, [set(randomBytes(9))], NAMES, ARGS), /^ReplyError: OOM/)
  await client.config('SET', 'maxmemory', '0')
  assert.equal(await script.runAfter(client, [set(randomBytes(9))], NAMES, ARGS), 1, 'the connection is as before')
})

test('a connection that breaks in the middle fails all of it, and does not mix with a later one', async (t) => {
  const redis = await startTestRedis(t)
  const client = await connected(t, redis.url)
  redis.signal('SIGSTOP')
  const bytes = randomBytes(8_000_000)
  const lost = [1, 2].map(() => script.runAfter(client, [set(bytes)], NAMES, ARGS))
  const ended = Promise.allSettled(lost)
  await redis.restart()
  assert.deepEqual(
    (await ended).map(({ status }) => status),
    ['rejected', 'rejected'],
  )
  assert.equal(await client.exists(NAMES[2]!), 0)
  assert.equal(await script.runAfter(client, [set(bytes)], NAMES, ARGS), 1)
})

test('written bytes are not copied', async (t) => {
  const { url } = await startTestRedis(t)
  const client = await connected(t, url)
  const bytes = randomBytes(300_000)
  const write = t.mock.method(client.stream, 'write')
  assert.equal(await script.runAfter(client, [set(bytes)], NAMES, ARGS), 1)
  assert.ok(write.mock.calls.some(({ arguments: [part] }) => part === bytes))
})

test('when the connection is lost first, nothing is sent that could run by itself', async (t) => {
  const redis = await startTestRedis(t)
  const client = await connected(t, redis.url)
  process.kill(redis.pid, 'SIGKILL')
  // The socket fails at the first write; its end is reported in a later turn.
  while (readFileSync('/proc/net/unix', 'utf8').includes(redis.dir));
  const ran = script.runAfter(client, [set(randomBytes(300_000))], NAMES, ARGS)
  const { commandQueue, offlineQueue } = client as unknown as Record<string, { readonly length: number }>
  const parts = [commandQueue!.length, offlineQueue!.length].filter((length) => length > 0)
  assert.deepEqual(parts, [4], 'MULTI, the write, the script and EXEC are together')
  await assert.rejects(ran)
  await redis.restart()
  if (client.status !== 'ready') await once(client, 'ready')
  assert.equal(await client.exists(NAMES[2]!), 0)
})
