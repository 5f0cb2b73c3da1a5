import { hostname } from 'node:os'
import { connectClickHouse } from '../clickhouse/client.ts'
import { readMemory } from '../clickhouse/memory.ts'
import type { Config } from '../config/config.ts'
import { version } from '../config/version.ts'
import type { Pipeline } from '../core/pipeline/pipeline.ts'
import { type Clock, systemClock } from '../core/run/clock.ts'
import { dataSetsOf } from '../enrichment/files/report.ts'
import type { RedisClient } from '../redis/connect.ts'
import { readRetention } from '../redis/retention/records.ts'
import { readBatchJobs, readBulkJobs } from '../redis/status/jobs.ts'
import { RedisReports } from '../redis/status/reports.ts'
import { readServers } from '../redis/status/servers.ts'
import { readStatus } from '../redis/streams/status.ts'
import type { StatusSources } from '../status/collect.ts'
import { Reporter } from '../status/reporter.ts'
import type { StallLimits } from '../status/stall.ts'
import type { Parts } from './parts.ts'

const CLICKHOUSE_MS = 2_000

export interface StatusStores {
  readonly redis: RedisClient
  /** Undefined or empty: nobody has said where it is. */
  readonly clickhouseUrl: string | undefined
  readonly pipeline: Pipeline
  readonly clock?: Clock
}

/** What `collectStatus` asks. */
export function statusSources({ redis, clickhouseUrl, pipeline, clock = systemClock }: StatusStores): StatusSources {
  return {
    pipeline: () => readStatus(redis, pipeline),
    batchJobs: () => readBatchJobs(redis),
    bulkJobs: () => readBulkJobs(redis),
    redis: () => readServers(redis),
    reports: () => new RedisReports(redis, clock).read(),
    retention: () => readRetention(redis),
    ...(clickhouseUrl && { clickhouse: () => clickhouseMemory(clickhouseUrl) }),
  }
}

async function clickhouseMemory(url: string) {
  const client = connectClickHouse(url, { application: 'status', requestTimeoutMs: CLICKHOUSE_MS })
  try {
    return await readMemory(client)
  } finally {
    await client.close()
  }
}

/** Parts of the archive are gathered before they are written: that is no stall. */
export function stallLimits(config: Pick<Config, 'stallMs' | 'archivePartAgeMs'>, pipeline: Pipeline): StallLimits {
  const gathering = pipeline.sinks.filter(({ takes }) => takes === 'payloads')
  return {
    stallMs: config.stallMs,
    slackMs: Object.fromEntries(gathering.map(({ group }) => [group, config.archivePartAgeMs])),
  }
}

/** Tells of this process. @param roles that it runs */
export function reporter(parts: Parts, roles: readonly string[]): Reporter {
  const { clock, problems } = parts.telemetry
  return new Reporter({
    store: new RedisReports(parts.shared, clock),
    process: { roles, host: hostname(), pid: process.pid, version: version() },
    recent: parts.recent,
    data: parts.hasEnrichment ? () => dataSetsOf(parts.enrichment.engine.providers(), clock.now()) : undefined,
    problems: () =>
      (problems?.list(clock.now()) ?? []).map(({ level, message, atMs, times }) => {
        return { at: new Date(atMs).toISOString(), level, message, times }
      }),
    clock,
  })
}
