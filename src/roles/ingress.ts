import { connectClickHouse, DATABASE } from '../clickhouse/client.ts'
import { eventsByStatus } from '../core/event/outcomes.ts'
import type { LiveSource } from '../core/pipeline/source.ts'
import type { Service } from '../core/run/service.ts'
import { tenantEnricher } from '../enrichment/tenant-rules/judge.ts'
import { createRoutes } from '../http/api/routes.ts'
import { createHttpServer, type HttpServer } from '../http/api/server.ts'
import { RedisBulkJobs } from '../redis/bulk/jobs.ts'
import { GroupCommit } from '../redis/streams/group-commit.ts'
import type { IntakeGate } from '../redis/streams/intake-gate.ts'
import { RedisDailyQuota } from '../redis/tenants/daily-quota.ts'
import { RedisTokenBuckets } from '../redis/tenants/rate-bucket.ts'
import { RedisTenantChanges, RedisTenantStore } from '../redis/tenants/tenant-store.ts'
import { CachedAuthenticator } from '../tenants/authenticator.ts'
import { SharedRateLimiter } from '../tenants/rate-limiter.ts'
import { batchJobs, intakeGate, uploadConnection } from './batch-jobs.ts'
import type { Parts } from './parts.ts'
import { receiptsOf } from './receipts.ts'

/** The API. Its listener is the last of the services: it accepts requests when all else is ready. */
export interface IngressRole {
  readonly services: readonly Service[]
  readonly http: HttpServer
}

export function ingressRole(parts: Parts): IngressRole {
  const { config, telemetry, enrichment, origins } = parts
  const { log, metrics, clock } = telemetry
  const requests = parts.connect({ name: 'requests', kind: 'request', timeoutMs: config.redisRequestMs })
  const changes = new RedisTenantChanges(parts.connect({ name: 'changes', kind: 'loop' }))
  const store = new RedisTenantStore(requests)
  const authenticator = new CachedAuthenticator({ store, changes, plans: config.plans, clock, log })
  const gate = intakeGate(parts)
  const closedBecause = (archived: boolean) => gate.closedBecause(archived)
  const intake = groupCommit(parts, closedBecause)
  const receipts = ingressReceipts(parts)
  const routes = createRoutes({
    accept: acceptOf(parts),
    intake,
    enricher: enrichment.engine,
    tenantEnricher: (enricher, tenant) => origins.counting(tenantEnricher(enricher, tenant), tenant.id),
    hostnames: enrichment.hostnames,
    readiness: { problems: async () => ((await requests.ping()) === 'PONG' ? [] : ['Redis does not answer']) },
    clock,
    jobs: batchJobs(parts, uploadConnection(parts), gate),
    lookups: enrichment.lookups,
    quota: new RedisDailyQuota(requests, clock),
    bulkJobs: new RedisBulkJobs({ client: requests, openMax: config.bulkQueueLimit }),
    receipts: receipts.receipts,
  })
  const limiter = new SharedRateLimiter(new RedisTokenBuckets(requests))
  const { host, port, httpEngine: engine } = config
  const http = createHttpServer({ host, port, engine, routes, authenticator, limiter, log, metrics })
  return { services: [authenticator, gate, intake, receipts, http], http }
}

/** A commit to a Redis Cluster needs the events that a repeat would not find together. */
function acceptOf({ config, pipeline, isCluster }: Parts): LiveSource['accept'] {
  const { accept } = pipeline.sources.live
  if (!isCluster) return accept
  const gatherAmong = config.partitions
  return (text, events, receipt, enricher) => accept(text, events, { ...receipt, gatherAmong }, enricher)
}

function groupCommit(parts: Parts, closedBecause: IntakeGate['closedBecause']): GroupCommit {
  const { config, pipeline, telemetry } = parts
  const { commitLingerMs: lingerMs, writeDeadlineMs: deadlineMs, partitions } = config
  const { blockEventsMax, blockBytesMax, uncommittedEventsMax } = parts.limits
  const { to, raw, lane } = pipeline.sources.live
  return new GroupCommit({
    client: parts.connect({ name: 'intake', kind: 'request', timeoutMs: deadlineMs }),
    partitions,
    stream: to,
    outcomesTo: pipeline.outcomes,
    rawTo: raw,
    lane,
    cluster: parts.isCluster,
    lingerMs,
    deadlineMs,
    blockEventsMax,
    blockBytesMax,
    waitingMax: uncommittedEventsMax,
    closedBecause,
    log: telemetry.log,
    onOutcomes: (counts) => parts.workMetrics.settled('ingest', eventsByStatus(counts)),
  })
}

const RECEIPT_QUERY_MS = 8_000

/**
 * Whoever asks for an event holds up nobody who sends some: connections of its own. An ingress apart from its sink knows of no
 * ClickHouse unless it is told of one.
 */
function ingressReceipts(parts: Parts): Service & ReturnType<typeof receiptsOf> {
  const { config, pipeline, telemetry, archivePlace } = parts
  const { clickhouseUrl } = config
  const options = { application: 'receipts', database: DATABASE, requestTimeoutMs: RECEIPT_QUERY_MS }
  const clickhouse = clickhouseUrl === '' ? undefined : connectClickHouse(clickhouseUrl, options)
  const found = receiptsOf({
    redis: parts.connect({ name: 'receipts', kind: 'request', timeoutMs: config.redisRequestMs }),
    clickhouse,
    archivePlace,
    pipeline,
    partitions: config.partitions,
    clock: telemetry.clock,
  })
  return {
    ...found,
    name: 'receipts',
    start: async () => {},
    stop: async () => {
      await found.close()
      await clickhouse?.close()
    },
  }
}
