import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { Redis } from 'ioredis'
import { ingest } from '../../pipelines/ingest.ts'
import type { FeederStore } from '../../src/pipeline/sources/batch/feeder-ports.ts'
import { RedisFeederStore } from '../../src/pipeline/sources/batch/redis/feeder-store.ts'
import { connectRedis, type RedisClient } from '../../src/stores/redis/connect.ts'
import { keys } from '../../src/stores/redis/keys.ts'
import { completed, drainAsSink, enricher, PARTITIONS, startBatch, startFeeder, upload } from '../support/batch.ts'
import { quiet, startWorker } from '../support/pipeline.ts'
import { startCluster } from '../support/redis-cluster.ts'
import { until } from '../support/until.ts'

/** More than a chunk. */
const LINES = 14_000
const body = Array.from({ length: LINES }, (_, i) => `{"ip":"192.0.2.${i % 200}"}`).join('\n')

type Step = 'feed' | 'advance' | 'summaryIfFinished' | 'complete'

/** Runs `before` and `after` around calls of a step. Its caller continues when `after` has ended. */
function around(
  store: FeederStore,
  step: Step,
  before: () => Promise<unknown>,
  after: (result: unknown) => Promise<unknown>,
): void {
  const call = store[step].bind(store) as (...args: unknown[]) => Promise<unknown>
  const instead = async (...args: unknown[]) => {
    await before()
    const result = await call(...args)
    await after(result)
    return result
  }
  Object.assign(store, { [step]: instead })
}

/** All keys of a Redis at one moment: for each its name, its dump, and milliseconds to live. */
type Moment = readonly (Buffer | number)[]

const ALL_KEYS = `
  local all = {}
  for _, name in ipairs(redis.call('KEYS', '*')) do
    all[#all + 1] = name
    all[#all + 1] = redis.call('DUMP', name)
    all[#all + 1] = math.max(0, redis.call('PTTL', name))
  end
  return all`
const RESTORE = `
  redis.call('FLUSHALL')
  for i = 1, #ARGV, 3 do
    redis.call('RESTORE', ARGV[i], ARGV[i + 2], ARGV[i + 1])
  end`

/** A Redis or a cluster of one node, and the feeder's connection to it, that can fail over to an earlier moment. */
class FailingOver {
  readonly #client: RedisClient
  readonly #feeding: RedisClient
  #moment: Moment = []
  times = 0

  constructor(client: RedisClient, feeding: RedisClient) {
    this.#client = client
    this.#feeding = feeding
  }

  /** The next master has the writes until now. */
  async note(): Promise<void> {
    this.#moment = (await this.#client.callBuffer('EVAL', ALL_KEYS, 0)) as Moment
  }

  async failOver(): Promise<void> {
    const connections = this.#feeding instanceof Redis ? [this.#feeding] : this.#feeding.nodes('master')
    await Promise.all(
      connections.map(async (connection) => {
        const closed = once(connection, 'close')
        connection.disconnect(true)
        await closed
      }),
    )
    await this.#client.callBuffer('EVAL', RESTORE, 0, ...this.#moment)
    this.times++
  }
}

async function start(t: TestContext, url?: string) {
  const { redis, client, jobs } = await startBatch(t, 3, url === undefined ? undefined : { url })
  const feeding = quiet(connectRedis(redis.url, { name: 'test-feeder', kind: 'loop', timeoutMs: 2_000 }))
  t.after(() => feeding.disconnect())
  const store = new RedisFeederStore({ client: feeding, pipeline: ingest, partitions: PARTITIONS })
  const worker = await startWorker(redis.url, ingest, 'process', PARTITIONS, enricher)
  const failingOver = new FailingOver(client, feeding)
  const stops = [worker.stop]
  const feedUntilFailedOver = async () => {
    stops.push(await startFeeder(redis, 1_000_000, { store }))
    await until(async () => {
      await drainAsSink(client)
      return failingOver.times === 1
    })
  }
  /** The job's counts are exact, and only its record is left. */
  const endsWell = async (jobId: string) => {
    const { result_summary: summary } = await completed(client, jobs, 'acme', jobId)
    assert.deepEqual([summary!.processed, summary!.identified_ips, summary!.duplicates], [LINES, LINES, 0])
    const names = async () => [...(await client.keys('*job*')), ...(await client.keys('{batch}:open*'))]
    await until(
      async () => {
        await drainAsSink(client)
        return await names()
      },
      (found) => found.length === 1,
    )
    assert.deepEqual(await names(), [keys.job(jobId)])
    // Before the Redis ends: a client of a cluster that is gone waits for it.
    await Promise.all(stops.map((stop) => stop()))
  }
  return { jobs, store, redis: failingOver, feedUntilFailedOver, endsWell }
}

for (const [title, step, startServer] of [
  ['a fail-over that loses a chunk that was fed', 'feed', startNone],
  ['a fail-over that loses the end of a job', 'complete', startNone],
  ['a fail-over in a Redis Cluster that loses a chunk that was fed', 'feed', startCluster],
] as const) {
  test(`${title} loses and repeats no line, and leaves nothing`, async (t) => {
    const { jobs, store, redis, feedUntilFailedOver, endsWell } = await start(t, await startServer(t))
    const isFirst = () => redis.times === 0
    around(
      store,
      step,
      async () => isFirst() && (await redis.note()),
      async () => isFirst() && (await redis.failOver()),
    )
    const jobId = await upload(jobs, 'acme', body)
    await feedUntilFailedOver()
    await endsWell(jobId)
  })
}

test('a fail-over that loses the last progress of a job completes it once, and leaves nothing', async (t) => {
  const { jobs, store, redis, feedUntilFailedOver, endsWell } = await start(t)
  around(store, 'advance', nothing, () => redis.note())
  around(store, 'summaryIfFinished', nothing, async (summary) => {
    if (summary !== undefined && redis.times === 0) await redis.failOver()
  })
  const jobId = await upload(jobs, 'acme', body)
  await feedUntilFailedOver()
  await endsWell(jobId)
})

test('a fail-over that loses an upload without an answer leaves nothing of it', async (t) => {
  const { jobs, store, redis, feedUntilFailedOver, endsWell } = await start(t)
  // After all reads of the chunk, so that only the write can notice it.
  around(store, 'feed', async () => redis.times === 0 && (await redis.failOver()), nothing)
  await redis.note()
  await upload(jobs, 'acme', body)
  await feedUntilFailedOver()
  await endsWell(await upload(jobs, 'acme', body))
})

async function nothing(): Promise<void> {}

/** `startBatch` starts one. */
async function startNone(): Promise<undefined> {}
