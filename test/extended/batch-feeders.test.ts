import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Logger } from 'pino'
import { ingest } from '../../pipelines/ingest.ts'
import type { ChunkReading } from '../../src/pipeline/declaration/source.ts'
import type { OpenJob } from '../../src/pipeline/sources/batch/feeder-ports.ts'
import { RedisFeederStore } from '../../src/pipeline/sources/batch/redis/feeder-store.ts'
import { connectRedis, type RedisClient } from '../../src/stores/redis/connect.ts'
import { keys } from '../../src/stores/redis/keys.ts'
import { shareOf } from '../../src/stores/redis/membership.ts'
import { completed, enricher, PARTITIONS, startBatch, startFeeder, upload } from '../support/batch.ts'
import { quiet, startWorker } from '../support/pipeline.ts'
import type { TestRedis } from '../support/redis.ts'
import { until } from '../support/until.ts'

/** A feeder's store with its own connection. It reports each chunk it feeds, and can be held there. */
class SharingStore extends RedisFeederStore {
  readonly fed = new Set<string>()
  before = async (_job: OpenJob) => {}
  override async feed(job: OpenJob, reading: ChunkReading): Promise<void> {
    this.fed.add(job.tenantId)
    await this.before(job)
    await super.feed(job, reading)
  }
}

function sharing(t: TestContext, redis: TestRedis, shares: number, log?: Logger): SharingStore {
  const client = quiet(connectRedis(redis.url, { name: 'test-sharing', kind: 'loop' }))
  t.after(() => client.disconnect())
  return new SharingStore({ client, pipeline: ingest, partitions: PARTITIONS, shares, log })
}

/** The feeder's name and its share. */
async function ownersOf(client: RedisClient): Promise<Map<string, number[]>> {
  const owners = new Map<string, number[]>()
  for (const [share, owner] of Object.entries(await client.hgetall(keys.leaseShares('feeder')))) {
    owners.set(owner, [...(owners.get(owner) ?? []), Number(share)])
  }
  return owners
}

/** Names of tenants, by the share of two that they belong to. */
const tenantsOf = (share: number) =>
  ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].filter((name) => shareOf(name, 2) === share)

test('two feeders feed tenants of different shares, and one takes over when the other hangs', async (t) => {
  const { redis, client, jobs } = await startBatch(t)
  const worker = await startWorker(redis.url, ingest, 'process', PARTITIONS, enricher)
  const stores = [sharing(t, redis, 2), sharing(t, redis, 2)] as const
  const stops = await Promise.all(stores.map((store) => startFeeder(redis, 1_000_000, { store })))
  await until(async () => (await ownersOf(client)).size === 2)
  // Each feeds its first chunk only when the other one has reached its own.
  const atWork = Promise.all(stores.map((store) => until(() => store.fed.size > 0)))
  for (const store of stores) store.before = () => atWork.then(() => {})
  const tenants = [tenantsOf(0)[0]!, tenantsOf(1)[0]!] as const
  const body = Array.from({ length: 14_000 }, (_, i) => `{"ip":"192.0.2.${i % 200}"}`).join('\n')
  const upload2 = () => Promise.all(tenants.map((tenant) => upload(jobs, tenant, body)))
  const check = async (ids: readonly string[]) => {
    for (const [i, id] of ids.entries()) {
      const { result_summary: summary } = await completed(client, jobs, tenants[i]!, id)
      assert.deepEqual([summary!.processed, summary!.identified_ips, summary!.duplicates], [14_000, 14_000, 0])
    }
  }
  await check(await upload2())
  assert.deepEqual([stores[0].fed.size, stores[1].fed.size], [1, 1])

  const held = stores[1]
  let goOn = () => {}
  const holding = new Promise<void>((resolve) => {
    goOn = resolve
  })
  let isHeld = false
  held.before = async () => {
    isHeld = true
    await holding
  }
  const ids = await upload2()
  await until(() => isHeld)
  // The lease ends as if no process had renewed it.
  const heldShare = shareOf([...held.fed][0]!, 2)
  await client.zadd(
    keys.leaseMembers('feeder'),
    'XX',
    1,
    [...(await ownersOf(client))].find(([, shares]) => shares.includes(heldShare))![0],
  )
  await check(ids)
  assert.equal(stores[0].fed.size, 2)
  // Its chunk comes late, and adds nothing.
  const added = await held.eventsInLane()
  goOn()
  await stops[1]!()
  assert.deepEqual(await held.eventsInLane(), added)
  await Promise.all([stops[0]!(), worker.stop()])
})

test('all feeders share one bound of the lane, and a new number of shares waits for the old one', async (t) => {
  const { redis, client, jobs } = await startBatch(t)
  const stores = [sharing(t, redis, 2), sharing(t, redis, 2)]
  const stops = await Promise.all(stores.map((store) => startFeeder(redis, 8_000, { store })))
  await until(async () => (await ownersOf(client)).size === 2)
  // Chunks of about 800 lines.
  const body = Array.from({ length: 6_000 }, (_, i) => `{"ip":"192.0.2.1","k":"${i}${'x'.repeat(300)}"}`).join('\n')
  const ids = new Map<string, string>()
  for (const tenant of [tenantsOf(0)[0]!, ...tenantsOf(1).slice(0, 2)])
    ids.set(tenant, await upload(jobs, tenant, body))
  const level = () => stores[0]!.eventsInLane()
  await until(async () => (await level()).waiting >= 8_000)

  const lines: string[] = []
  const log = { warn: (_: unknown, text: string) => lines.push(text) } as unknown as Logger
  const three = sharing(t, redis, 3, log)
  const stopThree = await startFeeder(redis, 1_000_000, { store: three })
  await until(() => lines.length > 0)
  assert.match(lines[0]!, /another FEEDER_SHARES/)
  assert.equal(three.fed.size, 0)
  await Promise.all(stops.map((stop) => stop()))
  const { waiting, added } = await level()
  // At most one chunk of each beyond it, and one that was fed before the other job was seen.
  assert.ok(added === waiting && waiting < 12_500, `${waiting} of ${added}`)
  const worker = await startWorker(redis.url, ingest, 'process', PARTITIONS, enricher)
  for (const [tenant, id] of ids) {
    const { result_summary: summary } = await completed(client, jobs, tenant, id)
    assert.deepEqual([summary!.processed, summary!.identified_ips, summary!.duplicates], [6_000, 6_000, 0])
  }
  await Promise.all([stopThree(), worker.stop()])
})
