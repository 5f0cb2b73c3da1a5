import { startOwnRedis } from '../bounds/own-redis.ts'
import { startChild } from '../run/child.ts'
import type { Stage } from '../run/scenario.ts'

/**
 * The plain stack: one process for HTTP, one worker, a Redis with `everysec`, and a table without projections in the product's
 * otherwise idle ClickHouse.
 */
export interface PlainStack {
  readonly url: string
  /** Number of stored rows. */
  count(): Promise<number>
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
  const worker = startChild<object>('plain/worker.ts', { socket: redis.socket, clickhouseUrl, database: DATABASE })
  const stopWorker = releases.add(() => worker.stop())
  await worker.said
  const http = await startPlainHttp(stage, redis.socket)
  return {
    url: http.url,
    count: async () => Number(await product.query(`SELECT count() FROM ${DATABASE}.events`)),
    async stop() {
      await http.stop()
      await stopWorker()
      await redis.stop()
      await drop()
    },
  }
}

/** Starts only the HTTP server. @param socket Redis's socket; undefined for lookups only */
export async function startPlainHttp(stage: Stage, socket?: string): Promise<{ url: string; stop(): Promise<void> }> {
  const child = startChild<{ url: string }>('plain/http.ts', { socket })
  const stop = stage.releases.add(() => child.stop())
  return { url: (await child.said).url, stop }
}
