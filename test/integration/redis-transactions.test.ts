import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { connectRedis } from '../../src/redis/connect.ts'
import { loadScript, type Write } from '../../src/redis/scripts.ts'
import { startTestRedis } from '../support/redis.ts'

/* Writes and the script behind them, as one. */

const script = loadScript('spoolChunk-3')
const NAMES = ['{j}:upload', '{j}:chunks', '{j}:lines']
const ARGS = [60_000, 1, '1']

function set(bytes: Buffer): Write {
  return ['SET', NAMES[2]!, bytes, 'PX', 60_000]
}

test('large bytes arrive as they are, and what others send comes before or behind', async (t) => {
  const { url } = await startTestRedis(t)
  const client = connectRedis(url, { name: 'test', kind: 'loop' })
  t.after(() => client.disconnect())
  await client.set(NAMES[0]!, 0)
  const bytes = randomBytes(3_000_000)
  const before = client.strlen(NAMES[2]!)
  const ran = script.runBehind(client, [['SET', '{j}:empty', Buffer.alloc(0)], set(bytes)], NAMES, ARGS)
  const behind = client.strlen(NAMES[2]!)
  assert.deepEqual(await Promise.all([before, ran, behind]), [0, 1, bytes.length])
  assert.ok((await client.getBuffer(NAMES[2]!))!.equals(bytes))
  assert.equal(await client.get('{j}:empty'), '')
})

test('a refused write is told by its own words, and nothing of it runs', async (t) => {
  const { url } = await startTestRedis(t)
  const client = connectRedis(url, { name: 'test', kind: 'loop' })
  t.after(() => client.disconnect())
  await client.set(NAMES[0]!, 0)
  const wrong: Write = ['SET', NAMES[2]!]
  await assert.rejects(script.runBehind(client, [set(randomBytes(9)), wrong], NAMES, ARGS), /wrong number of arguments/)
  assert.equal(await client.exists(NAMES[2]!), 0)
  await client.config('SET', 'maxmemory', '1')
  await assert.rejects(script.runBehind(client, [set(randomBytes(9))], NAMES, ARGS), /^ReplyError: OOM/)
  await client.config('SET', 'maxmemory', '0')
  assert.equal(await script.runBehind(client, [set(randomBytes(9))], NAMES, ARGS), 1, 'the connection is as before')
})

test('a connection that breaks in the middle fails all of it, and a later one is not mixed up', async (t) => {
  const redis = await startTestRedis(t)
  const client = connectRedis(redis.url, { name: 'test', kind: 'loop' })
  t.after(() => client.disconnect())
  await client.set(NAMES[0]!, 0)
  redis.signal('SIGSTOP')
  const bytes = randomBytes(8_000_000)
  const lost = [1, 2].map(() => script.runBehind(client, [set(bytes)], NAMES, ARGS))
  const ended = Promise.allSettled(lost)
  await redis.restart()
  assert.deepEqual(
    (await ended).map(({ status }) => status),
    ['rejected', 'rejected'],
  )
  assert.equal(await client.exists(NAMES[2]!), 0)
  assert.equal(await script.runBehind(client, [set(bytes)], NAMES, ARGS), 1)
})
