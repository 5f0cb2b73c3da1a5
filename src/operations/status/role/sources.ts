import { hostname } from 'node:os'
import type { ClickHouseClient } from '@clickhouse/client'
import type { Plans } from '../../../../schemas/plans.ts'
import type { Config } from '../../../config/config.ts'
import { RedisDaysRecords } from '../../../days/redis/records.ts'
import { daysStatus } from '../../../days/status.ts'
import { readExports } from '../../../exports/status.ts'
import type { PipelineOutline } from '../../../pipeline/declaration/pipeline.ts'
import { readStatus } from '../../../pipeline/streams/status.ts'
import { type Clock, systemClock } from '../../../run/clock.ts'
import { spaceOf } from '../../../run/free-space.ts'
import { connectClickHouse } from '../../../stores/clickhouse/client.ts'
import { missingObjects } from '../../../stores/clickhouse/migrate.ts'
import { readSchema, type Schema } from '../../../stores/clickhouse/schema.ts'
import type { RedisClient } from '../../../stores/redis/connect.ts'
import { type QuotaSources, Quotas, quotaStore } from '../../../tenants/quotas.ts'
import { readSchedule } from '../../backup/redis/schedule-store.ts'
import { backupStatus } from '../../backup/status.ts'
import { reenrichmentOf } from '../../reenrich/jobs/job.ts'
import { ReenrichJobs } from '../../reenrich/jobs/job-store.ts'
import { readRetention } from '../../retention/redis/records.ts'
import { clockAheadMs } from '../clocks.ts'
import type { StatusSources } from '../collect.ts'
import { readDamage } from '../redis/damage.ts'
import { readDedup } from '../redis/dedup.ts'
import { readBatchJobs, readBulkJobs } from '../redis/jobs.ts'
import { RedisReports } from '../redis/reports.ts'
import { readServers } from '../redis/servers.ts'
import { sharedRead } from '../shared-read.ts'
import type { StallLimits } from '../stall.ts'
import type { ClickHouseStatus, ProcessReport, QuotaStatus, ReenrichmentsStatus } from '../system-status.ts'

/** A busy server takes longer than one that is idle. `GET /progress` waits 3 s for everything. */
const CLICKHOUSE_MS = 2_500

interface StatusStores {
  readonly redis: RedisClient
  /** Undefined or empty: unknown. */
  readonly clickhouseUrl: string | undefined
  readonly pipeline: PipelineOutline
  /** Limits of tenants; undefined: the status has no quotas. */
  readonly plans?: Plans
  readonly clock?: Clock
  /** `DATA_DIR` of this machine, for its disk. Undefined: it is on no local disk. */
  readonly dataDir?: string
}

/** Quotas are expensive to read, and a ClickHouse that hangs must not delay a status. */
const QUOTAS = { freshMs: 60_000, lateMs: 5_000 }

/** The sources of `collectStatus`. They cache, so create them once. */
export function statusSources({
  redis,
  clickhouseUrl,
  pipeline,
  plans,
  clock = systemClock,
  dataDir,
}: StatusStores): StatusSources {
  return {
    get reader() {
      return { host: hostname(), disk: dataDir === undefined ? undefined : diskOf(dataDir) }
    },
    pipeline: () => readStatus(redis, pipeline),
    batchJobs: () => readBatchJobs(redis),
    bulkJobs: () => readBulkJobs(redis),
    reenrichments: () => readReenrichments(redis),
    exports: sharedRead(() => readExports(redis, clock.now()), EXPORTS),
    backup: async () => backupStatus(await readSchedule(redis), clock.now()),
    days: async () => daysStatus(await new RedisDaysRecords(redis).read(), clock.now()),
    redis: () => readServers(redis),
    dedup: () => readDedup(redis, pipeline, clock.now()),
    reports: () => new RedisReports(redis).readAll(),
    retention: () => readRetention(redis),
    damage: () => readDamage(redis),
    ...(clickhouseUrl && { clickhouse: () => clickhouseStatus(clickhouseUrl) }),
    ...(clickhouseUrl && plans && { quotas: readQuotas({ redis, clickhouseUrl, plans, clock }) }),
  }
}

/** The disk of a folder; undefined while it cannot be asked. */
export function diskOf(folder: string): ProcessReport['disk'] {
  try {
    return { path: folder, ...spaceOf(folder) }
  } catch {
    return undefined
  }
}

/** There may be thousands, and a page asks every 2 s. */
const EXPORTS = { freshMs: 10_000, lateMs: 5_000 }

function readQuotas(sources: QuotaSources): () => Promise<QuotaStatus> {
  const quotas = new Quotas({ store: quotaStore(sources), clock: sources.clock })
  return sharedRead(() => quotas.read(), QUOTAS)
}

let schema: Promise<Schema> | undefined

/** ClickHouse's version and memory, and the missing tables and views of ipid. */
export async function clickhouseStatus(url: string, requestTimeoutMs = CLICKHOUSE_MS): Promise<ClickHouseStatus> {
  const client = connectClickHouse(url, { application: 'status', requestTimeoutMs })
  try {
    schema ??= readSchema()
    const known = await schema
    const [[{ now_ms: _, ...memory }, aheadMs], missing] = await Promise.all([
      clockAheadMs(
        () => readMemory(client),
        ({ now_ms: nowMs }) => nowMs,
      ),
      missingObjects(client, known),
    ])
    return { ...memory, clock_ahead_ms: aheadMs, missing_tables: missing }
  } finally {
    await client.close()
  }
}

/** The archive gathers events for a while before it writes a part, so its group gets more time. */
export function stallLimits(
  config: Pick<Config, 'stallMs' | 'archivePartAgeMs'>,
  pipeline: PipelineOutline,
): StallLimits {
  const archiving = pipeline.sinks.filter(({ takes }) => takes === 'payloads')
  return {
    stallMs: config.stallMs,
    slackMs: Object.fromEntries(archiving.map(({ group }) => [group, config.archivePartAgeMs])),
  }
}

const MEMORY_QUERY = `
  SELECT
    version() AS version,
    toUnixTimestamp64Milli(now64(3)) AS now_ms,
    (SELECT sum(value) FROM system.metrics WHERE metric = 'MemoryTracking') AS memory_bytes,
    (SELECT sum(toUInt64OrZero(value)) FROM system.server_settings WHERE name = 'max_server_memory_usage') AS memory_max_bytes`

type Memory = Pick<ClickHouseStatus, 'version' | 'memory_bytes' | 'memory_max_bytes'> & { readonly now_ms: number }

/** ClickHouse's version, its time, and the memory that it reports. */
async function readMemory(client: ClickHouseClient): Promise<Memory> {
  const settings = { output_format_json_quote_64bit_integers: 0, log_queries: 0 } as const
  const result = await client.query({ query: MEMORY_QUERY, format: 'JSONEachRow', clickhouse_settings: settings })
  const [row] = await result.json<Memory>()
  if (row === undefined) throw new Error('ClickHouse sent an empty answer')
  return row
}

const SHOWN_MAX = 20

/** Open jobs that apply rules to stored events, of all tenants. */
export async function readReenrichments(client: RedisClient, nowMs = Date.now()): Promise<ReenrichmentsStatus> {
  const { jobs, total } = await new ReenrichJobs(client).open(SHOWN_MAX)
  const shown = jobs.slice(0, SHOWN_MAX).map((job) => {
    const { job_id, state, share, changed_events, seconds_left, problem } = reenrichmentOf(job, nowMs)
    const status = state === 'running' ? ('running' as const) : ('waiting' as const)
    const facts = { job_id, tenant_id: job.tenantId, status, share, changed_events, seconds_left, problem }
    return { ...facts, age_ms: Math.max(0, nowMs - job.requestedAtMs) }
  })
  return { open: total, jobs: shown }
}
