import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ingest } from '../../pipelines/ingest.ts'
import { raisePartitions } from '../../src/operations/partitions/redis/raise.ts'
import { readDedup } from '../../src/operations/status/redis/dedup.ts'
import { packBlock } from '../../src/pipeline/event/block.ts'
import { type Envelope, NO_IDENTITY, partitionOf } from '../../src/pipeline/event/envelope.ts'
import { deadLetterFields } from '../../src/pipeline/streams/dead-letter.ts'
import { ownerOf, ownerOfNobody } from '../../src/pipeline/streams/owner.ts'
import { findClaim, type SeenClaim, seedClaims } from '../../src/pipeline/streams/seen-claims.ts'
import { expiryOf } from '../../src/pipeline/streams/seen-store.ts'
import type { Parts } from '../../src/process/context.ts'
import { topology } from '../../src/process/topology.ts'
import { partitionsOf, readChange } from '../../src/stores/redis/change-mark.ts'
import type { RedisClient } from '../../src/stores/redis/connect.ts'
import { keys } from '../../src/stores/redis/keys.ts'
import { claimsOf, facts, lettersOf, raiseTo, startPartitions, WINDOW_MS } from '../support/partitions.ts'
import { envelope } from '../support/pipeline.ts'
import { until } from '../support/until.ts'

async function assertPlaced(client: RedisClient, claims: readonly SeenClaim[], partitions: number): Promise<void> {
  const nowMs = Date.now()
  for (const { identity, owner } of claims) {
    const partition = partitionOf(identity.toString('latin1'), partitions)
    assert.deepEqual(await findClaim(client, { partition, identity, ms: nowMs }, WINDOW_MS), owner)
  }
  const buckets = (await client.keys('{p*}:seen:*')).filter((name) => !/:[mn]$/.test(name))
  for (const prefix of new Set(buckets.map((name) => name.slice(0, name.lastIndexOf(':') + 1)))) {
    const [, generation] = /:seen:(\d+):$/.exec(prefix)!
    assert.equal(await client.call('PEXPIRETIME', `${prefix}m`), expiryOf(Number(generation), WINDOW_MS))
  }
  const sizes = await Promise.all(buckets.map((name) => client.hlen(name)))
  const held = sizes.reduce((sum, size) => sum + size, 0)
  assert.equal(held, claims.length, 'each is in one partition')
  assert.equal((await readDedup(client, ingest, nowMs)).entries, claims.length)
}

async function writeLetter(
  client: RedisClient,
  partition: number,
  event: Envelope,
  more: { readonly id?: string; readonly owner?: Buffer; readonly group?: string; readonly stream?: string } = {},
): Promise<void> {
  const { id = '*', owner, group = 'clickhouse', stream = 'enriched' } = more
  const origin = { group, stream, lane: 'live' as const, owner }
  const letter = { reason: 'test', block: packBlock([event], undefined, 'p:1'), outcome: undefined }
  await client.call('XADD', keys.dead(partition), id, ...deadLetterFields(origin, letter))
}

test('a process that was cut off while partitions were raised ends when it comes back', async (t) => {
  const { client } = await startPartitions(t, 2)
  const config = { redisStartMs: 1_000, partitions: 2 }
  const parts = { shared: client, config, createGroups: async () => {} } as unknown as Parts
  const reasons: string[] = []
  const service = topology(parts, ({ message }) => reasons.push(message))
  await service.start()
  await client.set(keys.partitions(), 7)
  client.disconnect(true)
  await until(() => reasons.length > 0)
  assert.match(reasons[0]!, /PARTITIONS is 2, but this Redis holds 7/)
  await service.stop()
})

test('killed behind any command, and run again, it comes to the same end, and nobody starts in between', async (t) => {
  const { client } = await startPartitions(t, 2)
  // In one partition and generation: every run looks into all of its buckets again.
  const ids = Array.from({ length: 150 }, (_, i) => `old${i}`)
  const owner = ownerOfNobody(Date.now() - 1)
  const claims = claimsOf(ids, 2).flatMap((claim) => (claim.partition === 0 ? [{ ...claim, owner }] : []))
  await seedClaims(client, claims, WINDOW_MS)
  // A generation that is over.
  await client.zadd(keys.seenGenerations(1), 1, keys.seen(1, 5))
  const nowMs = Date.now()
  const numbers = [0, 0]
  for (let i = 0; i < 12; i++) {
    const event = envelope('t', `old${i}`)
    const partition = partitionOf(event.identity, 2)
    // Two partitions give letters up in the same moment.
    await writeLetter(client, partition, event, { id: `${nowMs}-${numbers[partition]!++}`, owner })
  }
  await writeLetter(client, 1, { ...envelope('t', 'none'), identity: NO_IDENTITY })
  await writeLetter(client, 1, envelope('t', 'old13'), { group: 'archive', stream: 'archive' })
  await client.xadd(keys.dead(0), '*', 'group', 'process', 'stream', 'intake', 'lane', 'live', 'reason', 'no block')
  const before = (await lettersOf(client, 2)).found
  const config = { redisStartMs: 1_000, partitions: 2 }
  const parts = { shared: client, config, createGroups: async () => {} } as unknown as Parts
  let runs = 0
  let hasMoved = false
  for (let commands = 1; ; commands++) {
    runs++
    try {
      await raisePartitions(dyingAfter(client, commands), raiseTo(3))
      break
    } catch (error) {
      assert.match((error as Error).message, /^killed(: it is not finished, run "ipid partitions 3" again)?$/)
    }
    const mark = await readChange(client)
    if (mark === undefined) {
      assert.equal(await partitionsOf(client), hasMoved ? 3 : 2)
      continue
    }
    // What it looks at before it moves anything is not looked at again.
    if (mark.moving && !hasMoved) commands = 0
    hasMoved ||= mark.moving
    await assert.rejects(partitionsOf(client), /partitions are being changed to 3, or .*: run "ipid partitions 3"/)
    await assert.rejects(topology(parts).start(), /partitions are being changed/)
    if (mark.moving) await assert.rejects(raisePartitions(client, raiseTo(4)), /run "ipid partitions 3"/)
  }
  assert.ok(runs > 30, `${runs}`)
  assert.equal(await partitionsOf(client), 3)
  await assertPlaced(client, claims, 3)
  const after = (await lettersOf(client, 3)).found
  assert.deepEqual(after.map(facts).sort(), before.map(facts).sort())
  for (const { partition, block, stream, firstId } of after) {
    const identity = block?.identities.toString('latin1') ?? NO_IDENTITY
    const stays = identity === NO_IDENTITY || stream === 'archive'
    assert.equal(partition, stays ? Number(firstId[0]) : partitionOf(identity, 3), firstId)
  }
  assert.deepEqual(await client.keys('*:dead:copy'), [])
  assert.equal(await client.exists(keys.seenGenerations(1)), 0)
})

/** A client that does so many commands, and then none any more. */
function dyingAfter(client: RedisClient, commands: number): RedisClient {
  let left = commands
  return new Proxy(client, {
    get(target, name) {
      const value = Reflect.get(target, name, target)
      if (typeof value !== 'function') return value
      return (...args: unknown[]) => {
        if (left-- <= 0) return Promise.reject(new Error('killed'))
        return value.apply(target, args)
      }
    },
  })
}

test('a Redis that has no room takes the change', async (t) => {
  const { client } = await startPartitions(t, 1)
  const claims = claimsOf(
    Array.from({ length: 50 }, (_, i) => `old${i}`),
    1,
  )
  await seedClaims(client, claims, WINDOW_MS)
  const owner = ownerOf(`${Date.now()}-0`, 0)
  await writeLetter(client, 0, envelope('t', 'old0'), { owner })
  await client.config('SET', 'maxmemory', '1')
  await raisePartitions(client, raiseTo(4))
  await client.config('SET', 'maxmemory', '0')
  await assertPlaced(client, claims, 4)
  assert.equal((await lettersOf(client, 4)).found.length, 1)
})
