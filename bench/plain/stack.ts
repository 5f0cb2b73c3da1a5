import { startOwnRedis } from '../bounds/own-redis.ts'
import { processName } from '../run/accounting.ts'
import { startChild } from '../run/child.ts'
import type { Stage } from '../run/scenario.ts'
import { cpuSeconds, descendants } from '../support/processes.ts'

/**
 * The plain stack: one process for HTTP, one worker, a Redis with `everysec`, and a table without projections in the product's
 * otherwise idle ClickHouse.
 */
export interface PlainStack {
  readonly url: string
  /** Number of stored rows. */
  count(): Promise<number>
  /** CPU of its processes so far, with all of the product's ClickHouse. */
  cpuSeconds(): number
  stop(): Promise<void>
}

const DATABASE = 'bench_plain'

const TABLE = `CREATE TABLE ${DATABASE}.events
(
  ip String,
  event_id String,
  received_at DateTime64(3, 'UTC'),
  timestamp DateTime64(3, 'UTC'),
  event_type String,
  session_id Int64,
  platform String,
  properties String,
  account_id String,
  country_code String
)
ENGINE = MergeTree PARTITION BY toYYYYMM(received_at) ORDER BY (account_id, timestamp)`

export async function startPlainStack(stage: Stage): Promise<PlainStack> {
  const { product, releases } = stage
  await product.query(`CREATE DATABASE ${DATABASE}`)
  const drop = releases.add(async () => void (await product.query(`DROP DATABASE ${DATABASE}`)))
  await product.query(TABLE)
  const redis = await startOwnRedis(releases)
  const { clickhouseUrl } = product
  const clickhouse = descendants(product.pid).filter(({ title }) => processName(title) === 'clickhouse')
  const worker = startChild<object>('plain/worker.ts', { socket: redis.socket, clickhouseUrl, database: DATABASE })
  const stopWorker = releases.add(() => worker.stop())
  await worker.said
  const http = await startPlainHttp(stage, redis.socket)
  const pids = [redis.pid, worker.pid, http.pid, ...clickhouse.map(({ pid }) => pid)]
  return {
    url: http.url,
    count: async () => Number(await product.query(`SELECT count() FROM ${DATABASE}.events`)),
    cpuSeconds: () => pids.reduce((sum, pid) => sum + cpuSeconds(pid), 0),
    async stop() {
      await http.stop()
      await stopWorker()
      await redis.stop()
      await drop()
    },
  }
}

interface PlainHttp {
  readonly url: string
  readonly pid: number
  stop(): Promise<void>
}

/** Starts only the HTTP server. @param socket Redis's socket; undefined for lookups only */
export async function startPlainHttp(stage: Stage, socket?: string): Promise<PlainHttp> {
  const child = startChild<{ url: string }>('plain/http.ts', { socket })
  const stop = stage.releases.add(() => child.stop())
  return { url: (await child.said).url, pid: child.pid, stop }
}
