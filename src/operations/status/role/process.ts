import { hostname } from 'node:os'
import { version } from '../../../config/version.ts'
import { dataSetsOf } from '../../../enrichment/files/report.ts'
import { readStatus } from '../../../pipeline/streams/status.ts'
import type { ProcessContext } from '../../../process/context.ts'
import type { Clock } from '../../../run/clock.ts'
import type { RedisClient } from '../../../stores/redis/connect.ts'
import type { RecentProblems } from '../../../telemetry/problems.ts'
import { DamageWatch } from '../damage-watch.ts'
import { ClickHouseDamage } from '../detached-parts.ts'
import { createProcessMetrics, type StoreReads } from '../metrics.ts'
import { RedisDamageRecords } from '../redis/damage.ts'
import { readDedup } from '../redis/dedup.ts'
import { readBatchJobs, readBulkJobs } from '../redis/jobs.ts'
import { RedisReports } from '../redis/reports.ts'
import { readServers } from '../redis/servers.ts'
import { Reporter } from '../reporter.ts'
import { diskOf } from './sources.ts'

export function damageWatch({ shared, config, telemetry }: ProcessContext): DamageWatch {
  const { clock, metrics, log } = telemetry
  const store = new ClickHouseDamage(config.clickhouseUrl)
  return new DamageWatch({ store, records: new RedisDamageRecords(shared), clock, metrics, log })
}

export function storeReads({ shared, pipeline, telemetry }: ProcessContext): StoreReads {
  return {
    pipeline,
    waiting: () => readStatus(shared, pipeline, { onlyWaiting: true }),
    batchJobs: () => readBatchJobs(shared),
    bulkJobs: () => readBulkJobs(shared),
    redis: () => readServers(shared),
    dedup: () => readDedup(shared, pipeline, telemetry.clock.now()),
  }
}

/** Reports this process. @param roles that it runs */
export function reporter(context: ProcessContext, roles: readonly string[]): Reporter {
  const { clock, problems, metrics } = context.telemetry
  createProcessMetrics(metrics, version(), roles)
  return new Reporter({
    store: new RedisReports(context.shared),
    process: { roles, host: hostname(), pid: process.pid, version: version() },
    recent: context.recent,
    data: context.hasEnrichment ? () => dataSetsOf(context.enrichment.engine.providers(), clock.now()) : undefined,
    disk: () => diskOf(context.config.dataDir),
    problems: () => (problems === undefined ? [] : loggedProblems(problems, clock)),
    clock,
  })
}

/** Reports the problems of the supervisor. @param redis used by nothing else */
export function supervisorReporter(redis: RedisClient, problems: RecentProblems, clock: Clock): Reporter {
  return new Reporter({
    store: new RedisReports(redis),
    process: { roles: [], host: hostname(), pid: process.pid, version: version() },
    ...{ recent: undefined, data: undefined },
    problems: () => loggedProblems(problems, clock),
    clock,
  })
}

function loggedProblems(problems: RecentProblems, clock: Clock) {
  return problems.list(clock.now()).map(({ level, message, atMs, times }) => {
    return { at: new Date(atMs).toISOString(), level, message, times }
  })
}
