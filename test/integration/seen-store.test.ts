import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { connectRedis } from '../../src/redis/connect.ts'
import { ownerMs, ownerOf } from '../../src/redis/streams/owner.ts'
import { DEDUP_WINDOW_MS, RedisSeenStore } from '../../src/redis/streams/seen-store.ts'
import { quiet } from '../support/pipeline.ts'
import { startTestRedis } from '../support/redis.ts'

const DAY_MS = 86_400_000

async function startStore(t: import('node:test').TestContext) {
  const redis = await startTestRedis(t)
  const client = quiet(connectRedis(redis.url, { name: 'test', kind: 'loop' }))
  t.after(() => client.disconnect())
  const clock = { ms: Date.now(), now: () => clock.ms }
  const store = new RedisSeenStore(client, clock)
  let sequence = 0
  /** Claims at a moment, as a block written then would. */
  const claimAt = (ms: number, identities: Buffer, entry = `${ms}-${sequence++}`) => {
    clock.ms = Math.max(clock.ms, ms)
    return store.claim(identities, { partition: 0, owner: ownerOf(entry, 0) })
  }
  return { claimAt, client, now: clock.ms }
}

test('owners keep their time and order', () => {
  const ms = Date.UTC(2026, 10, 21, 1, 2, 3, 456)
  assert.equal(ownerMs(ownerOf(`${ms}-7`, 1)), ms)
  const owners = [`${ms}-7`, `${ms}-8`, `${ms + 1}-0`].flatMap((id) => [ownerOf(id, 0), ownerOf(id, 1)])
  assert.equal(new Set(owners.map((owner) => owner.toString('hex'))).size, owners.length)
})

test('the first block owns an identity; its own repeat finds itself, another block finds a repeat', async (t) => {
  const { claimAt, now } = await startStore(t)
  const identities = randomBytes(16 * 500)
  assert.deepEqual(await claimAt(now, identities, `${now}-1`), [])
  assert.deepEqual(await claimAt(now, identities, `${now}-1`), [])
  assert.deepEqual(await claimAt(now + 5, identities.subarray(16, 48), `${now + 5}-0`), [0, 1])
  const mixed = Buffer.concat([randomBytes(16), identities.subarray(0, 16), randomBytes(16)])
  assert.deepEqual(await claimAt(now + 6, mixed), [1])
})

test('the window is seven days from the first sight, exactly, wherever generations end', async (t) => {
  const { claimAt, now } = await startStore(t)
  for (let day = 0; day < 8; day++) {
    const start = now + day * DAY_MS
    const identity = randomBytes(16)
    assert.deepEqual(await claimAt(start, identity), [])
    assert.deepEqual(await claimAt(start + 3 * DAY_MS, identity), [0], 'a repeat')
    assert.deepEqual(await claimAt(start + DEDUP_WINDOW_MS, identity), [0], 'the last moment of the window')
    assert.deepEqual(await claimAt(start + DEDUP_WINDOW_MS + 1, identity), [], 'seen first again')
    assert.deepEqual(await claimAt(start + DEDUP_WINDOW_MS + 2, identity), [0])
  }
})

test('a block that is processed after a later one, across the end of a generation, finds it', async (t) => {
  const { claimAt, now } = await startStore(t)
  const generation = DEDUP_WINDOW_MS / 2
  const boundary = Math.ceil(now / generation) * generation
  const identity = randomBytes(16)
  assert.deepEqual(await claimAt(boundary + 10, identity), [])
  assert.deepEqual(await claimAt(boundary - 10, identity), [0])
})

test('every key expires after the window, and stays small', async (t) => {
  const { claimAt, client, now } = await startStore(t)
  await claimAt(now, randomBytes(16 * 1_000))
  const names = await client.keys('*')
  assert.ok(names.length > 500)
  for (const name of names) {
    const ttl = await client.pttl(name)
    assert.ok(ttl > DEDUP_WINDOW_MS && ttl < 2 * DEDUP_WINDOW_MS, `${name} expires in ${ttl} ms`)
  }
  const encodings = await Promise.all(
    names.filter((name) => !name.endsWith(':m')).map((name) => client.call('OBJECT', 'ENCODING', name)),
  )
  assert.deepEqual([...new Set(encodings)], ['listpack'])
})
