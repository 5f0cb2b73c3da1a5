import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { ingest } from '../../pipelines/ingest.ts'
import { readDedup } from '../../src/operations/status/redis/dedup.ts'
import { SettledElsewhereError } from '../../src/pipeline/declaration/stage.ts'
import { claimIdMs, claimIdOf, claimIdOfNoEntry } from '../../src/pipeline/streams/entries.ts'
import { Janitor } from '../../src/pipeline/streams/janitor.ts'
import { findClaim, seedClaims } from '../../src/pipeline/streams/seen-claims.ts'
import { claimOf, expiryOf, generationOf, RedisSeenStore, sweepSeen } from '../../src/pipeline/streams/seen-store.ts'
import { SettlementWriter } from '../../src/pipeline/streams/settlement.ts'
import { connectRedis } from '../../src/stores/redis/connect.ts'
import { keys } from '../../src/stores/redis/keys.ts'
import { quiet, silent } from '../support/pipeline.ts'
import { startTestRedis } from '../support/redis.ts'
import { until } from '../support/until.ts'

const DAY_MS = 86_400_000
const DEDUP_WINDOW_MS = 7 * DAY_MS
const STREAM = keys.stream(0, 'intake', 'live')

async function startStore(t: import('node:test').TestContext) {
  const redis = await startTestRedis(t)
  const client = quiet(connectRedis(redis.url, { name: 'test', kind: 'loop' }))
  t.after(() => client.disconnect())
  const clock = { ms: Date.now(), now: () => clock.ms }
  const store = new RedisSeenStore({ client, clock, group: 'g', from: 'intake', windowMs: DEDUP_WINDOW_MS })
  await client.xgroup('CREATE', STREAM, 'g', '0', 'MKSTREAM')
  const id = (await client.xadd(STREAM, '*', 'n', '1'))!
  await client.xreadgroup('GROUP', 'g', 'c', 'STREAMS', STREAM, '>')
  let sequence = 0
  /** A delivery of a block written at a given moment; the entry stays pending until it is acknowledged. */
  const deliveryAt = (ms: number, entry = `${ms}-${sequence++}`) => {
    clock.ms = Math.max(clock.ms, ms)
    return { partition: 0, lane: 'live' as const, id, claimId: claimIdOf(entry, 0), repeated: false }
  }
  const claimAt = (ms: number, identities: Buffer, entry?: string) => store.claim(identities, deliveryAt(ms, entry))
  return { claimAt, deliveryAt, store, client, id, now: clock.ms }
}

test('claim ids keep their time and order', () => {
  const ms = Date.UTC(2026, 10, 21, 1, 2, 3, 456)
  assert.equal(claimIdMs(claimIdOf(`${ms}-7`, 1)), ms)
  const claimIds = [`${ms}-7`, `${ms}-8`, `${ms + 1}-0`].flatMap((id) => [claimIdOf(id, 0), claimIdOf(id, 1)])
  assert.equal(new Set(claimIds.map((claimId) => claimId.toString('hex'))).size, claimIds.length)
})

test('the first block owns an identity; its own repeat finds itself, another block a repeat', async (t) => {
  const { claimAt, deliveryAt, store, now } = await startStore(t)
  const identities = randomBytes(16 * 500)
  assert.deepEqual(await claimAt(now, identities, `${now}-1`), [])
  assert.equal((await store.held(identities, deliveryAt(now, `${now}-1`))).length, 500)
  assert.deepEqual(await store.held(identities, deliveryAt(now, `${now}-2`)), [])
  assert.deepEqual(await claimAt(now, identities, `${now}-1`), [])
  assert.deepEqual(await claimAt(now + 5, identities.subarray(16, 48), `${now + 5}-0`), [0, 1])
  const mixed = Buffer.concat([randomBytes(16), identities.subarray(0, 16), randomBytes(16)])
  assert.deepEqual(await claimAt(now + 6, mixed), [1])
})

test('a claim is in the bucket of its number, whatever its number of digits', async (t) => {
  const { claimAt, deliveryAt, store, client, now } = await startStore(t)
  const buckets = [0, 7, 10, 99, 100, 1_000, 4_096, 10_000, 32_767]
  const identities = buckets.map((bucket) => {
    const identity = randomBytes(16)
    identity.writeUIntBE(bucket, 13, 3)
    return identity
  })
  assert.deepEqual(await claimAt(now, Buffer.concat(identities), `${now}-1`), [])
  const prefix = keys.seen(0, generationOf(now, DEDUP_WINDOW_MS))
  const names = (await client.keys(`${prefix}*`)).filter((name) => !/:[mn]$/.test(name))
  assert.deepEqual(names.sort(), buckets.map((bucket) => `${prefix}${bucket}`).sort())
  assert.equal((await store.held(Buffer.concat(identities), deliveryAt(now, `${now}-1`))).length, buckets.length)
})

test('the window is exactly seven days from the first sight, wherever generations end', async (t) => {
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

test('a block processed after a later one finds it, across the end of a generation', async (t) => {
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
  const buckets = async () => (await client.keys('{p0}:seen:*')).filter((name) => !/:[mn]$/.test(name))
  const names = await buckets()
  assert.ok(names.length > 500)
  const encodings = await Promise.all(names.map((name) => client.call('OBJECT', 'ENCODING', name)))
  assert.deepEqual([...new Set(encodings)], ['listpack'])
  for (const name of await client.keys('{p0}:seen:*:[mn]')) {
    const ttl = await client.pttl(name)
    assert.ok(ttl > DEDUP_WINDOW_MS && ttl < 2 * DEDUP_WINDOW_MS, `${name} expires in ${ttl} ms`)
  }
  await claimAt(now - DEDUP_WINDOW_MS / 2, randomBytes(16 * 100))
  const end = expiryOf(generationOf(now, DEDUP_WINDOW_MS), DEDUP_WINDOW_MS)
  assert.equal(await sweepSeen(client, 0, now + DEDUP_WINDOW_MS / 2), false)
  assert.equal(await sweepSeen(client, 0, end - 1), true, 'the generation before')
  assert.equal(await sweepSeen(client, 0, end - 1), false)
  assert.deepEqual((await buckets()).sort(), names.sort())
  assert.equal(await sweepSeen(client, 0, end), true)
  assert.deepEqual(await buckets(), [])
  assert.equal(await client.exists(keys.seenGenerations(0)), 0)
})

test('an emptied bucket, or one of an older generation, expires after the window', async (t) => {
  const { claimAt, client, now } = await startStore(t)
  const identity = randomBytes(16)
  const generation = generationOf(now, DEDUP_WINDOW_MS)
  // As earlier versions wrote it: a marker without the generation.
  await client.set(`${keys.seen(0, generation)}m`, '')
  await claimAt(now, identity)
  const [bucket] = (await client.keys('{p0}:seen:*')).filter((name) => !/:[mn]$/.test(name))
  await client.hdel(bucket!, identity)
  await claimAt(now + 1, identity)
  assert.equal(await client.exists(bucket!), 1)
  assert.equal(await sweepSeen(client, 0, expiryOf(generation, DEDUP_WINDOW_MS)), true)
  assert.equal(await client.exists(bucket!), 0)
  // It expires by itself, too.
  await claimAt(now - 3 * DEDUP_WINDOW_MS, identity)
  const janitor = new Janitor({ client, pipeline: ingest, partitions: 1, log: silent })
  await janitor.start()
  await until(async () => (await client.exists(keys.seenGenerations(0))) === 0)
  await janitor.stop()
  assert.deepEqual(
    (await client.keys('{p0}:seen:*')).filter((name) => !/:[mn]$/.test(name)),
    [],
  )
})

test('the size of the window is counted, and its memory estimated', async (t) => {
  const { claimAt, client, now } = await startStore(t)
  await client.set(keys.partitions(), 1)
  assert.deepEqual(await readDedup(client, ingest, now), { entries: 0, bytes: 0 })
  const identities = randomBytes(16 * 3_000)
  const part = (from: number, to: number) => identities.subarray(from * 16, to * 16)
  for (let at = 0; at < 2_000; at += 500) await claimAt(now, part(at, at + 500))
  assert.equal((await claimAt(now + 1, part(0, 500))).length, 500, 'repeats')
  const older = generationOf(now, DEDUP_WINDOW_MS) * (DEDUP_WINDOW_MS / 2) - 1
  const claims = Array.from({ length: 1_000 }, (_, i) => {
    return { partition: 0, identity: part(2_000 + i, 2_001 + i), claimId: claimIdOfNoEntry(older) }
  })
  await seedClaims(client, claims, DEDUP_WINDOW_MS)
  const { entries, bytes } = await readDedup(client, ingest, now)
  assert.equal(entries, 3_000)
  const names = (await client.keys('{p0}:seen:*')).filter((name) => !/:[mn]$/.test(name))
  const sizes = await Promise.all(names.map((name) => client.memory('USAGE', name)))
  const real = sizes.reduce<number>((sum, size) => sum + Number(size), 0)
  assert.ok(Math.abs(bytes / real - 1) < 0.2, `${bytes} of ${real}`)
  for (const count of await client.keys('{p0}:seen:*:n')) assert.ok((await client.pttl(count)) > 0, 'it expires')
})

test('a consumer delayed until another one settled its entry claims nothing', async (t) => {
  const { claimAt, client, id, now } = await startStore(t)
  const identities = randomBytes(16 * 3)
  await client.xack(STREAM, 'g', id)
  await assert.rejects(claimAt(now, identities), SettledElsewhereError)
  assert.deepEqual(await client.keys('{p0}:seen:*'), [])
})

test('claims of one turn run in order, except those of settled entries', async (t) => {
  const { store, client, now } = await startStore(t)
  const pool = Array.from({ length: 40 }, () => randomBytes(16))
  const pick = (from: number, many: number, out: Buffer[]) =>
    Buffer.concat(Array.from({ length: many }, (_, i) => out[(from + i * 7) % out.length]!))
  const blocks = Array.from({ length: 12 }, (_, i) => ({ from: i * 5, many: 1 + (i % 6) }))
  const ids: string[] = []
  for (const _ of blocks) ids.push((await client.xadd(STREAM, '*', 'n', '1'))!)
  await client.xreadgroup('GROUP', 'g', 'c', 'STREAMS', STREAM, '>')
  const settled = new Set([3, 7])
  for (const i of settled) await client.xack(STREAM, 'g', ids[i]!)
  /** Some are a generation older, and in mixed order. */
  const claimsOf = (identities: Buffer[]) =>
    blocks.map(({ from, many }, i) => {
      const delivery = { partition: 0, lane: 'live' as const, id: ids[(i * 5) % 12]!, repeated: false }
      const claimId = claimIdOf(`${now - (i % 4 === 0 ? DEDUP_WINDOW_MS / 2 : 0)}-${i}`, 0)
      return () =>
        store.claim(pick(from, many, identities), { ...delivery, claimId }).catch((error: Error) => error.name)
    })
  const together = await Promise.all(claimsOf(pool).map((claim) => claim()))
  const others = pool.map(() => randomBytes(16))
  const apart: unknown[] = []
  // Claims of an earlier generation are a separate call, after those that came before them.
  const order = blocks.map((_, i) => i).sort((a, b) => Number(b % 4 === 0) - Number(a % 4 === 0) || a - b)
  const claims = claimsOf(others)
  for (const i of order) apart[i] = await claims[i]!()
  assert.deepEqual(together, apart)
  assert.equal(together.filter((result) => result === 'SettledElsewhereError').length, 2)
  assert.ok(together.some((result) => Array.isArray(result) && result.length > 0))
})

test('a settlement that drops an event claimed elsewhere is contested, and writes nothing', async (t) => {
  const { deliveryAt, store, client, id, now } = await startStore(t)
  const ours = deliveryAt(now)
  const theirs = deliveryAt(now + 1)
  const [first, second] = [randomBytes(16), randomBytes(16)]
  assert.deepEqual(await store.claim(first, ours), [])
  assert.deepEqual(await store.claim(second, theirs), [])
  assert.deepEqual(await store.held(Buffer.concat([first, second]), ours), [0])
  const settling = (delivery: 'first' | 'repeated', ...identities: Buffer[]) => {
    const writer = new SettlementWriter(STREAM, keys.counters(0))
    for (const identity of identities) {
      writer.requireUnclaimed(claimOf(identity.toString('latin1'), ours, DEDUP_WINDOW_MS))
    }
    writer.count('settled', 1)
    return writer.run(client, 'g', [id], delivery)
  }
  assert.equal(await settling('repeated', second, first), 'contested')
  await client.call('XCLAIM', STREAM, 'g', 'other', 0, id)
  assert.equal(await settling('first', second), 'contested', 'it was delivered again')
  assert.equal(await client.hget(keys.counters(0), 'settled'), null)
  assert.equal(await settling('repeated', second), 'written', "another claim id's claim")
  assert.equal(await settling('repeated', first), 'settled before')
  assert.equal(await client.hget(keys.counters(0), 'settled'), '1')
})

test('imported claims count until their window has passed, also when imported twice', async (t) => {
  const { claimAt, client, now } = await startStore(t)
  const identities = randomBytes(16 * 5_000)
  const identity = (i: number) => identities.subarray(i * 16, i * 16 + 16)
  const claims = Array.from({ length: 5_000 }, (_, i) => {
    return { partition: 0, identity: identity(i), claimId: claimIdOfNoEntry(now - (i % 7) * DAY_MS) }
  })
  await seedClaims(client, claims, DEDUP_WINDOW_MS)
  await seedClaims(client, claims, DEDUP_WINDOW_MS)
  const found = await findClaim(client, { partition: 0, identity: identity(6), ms: now }, DEDUP_WINDOW_MS)
  assert.deepEqual(found, claims[6]!.claimId)
  assert.equal((await claimAt(now + 1, identities)).length, 5_000)
  const [newest, oldest] = [identity(0), identity(6)]
  assert.deepEqual(await claimAt(now + DAY_MS, Buffer.concat([newest, oldest])), [0, 1], 'the last moment')
  assert.deepEqual(await claimAt(now + DAY_MS + 1, Buffer.concat([newest, oldest])), [0], 'six days and one are over')
  assert.ok((await client.ttl(`${(await client.keys('{p0}:seen:*'))[0]}`)) > 0, 'they expire')
  const kept = randomBytes(16)
  assert.deepEqual(await claimAt(now + 2, kept, `${now}-9`), [])
  await seedClaims(client, [{ partition: 0, identity: kept, claimId: claimIdOfNoEntry(now) }], DEDUP_WINDOW_MS)
  assert.deepEqual(await claimAt(now + 3, kept, `${now}-9`), [], 'an existing claim stays')
})
