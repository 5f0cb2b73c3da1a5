import { ClickHouseCompanies, namedSources } from '../../companies/companies.ts'
import { CompanyCorrections } from '../../companies/corrections/corrections.ts'
import { correctionsLock } from '../../companies/corrections/lock.ts'
import { CompanyImports } from '../../companies/imports/imports.ts'
import { Segments } from '../../companies/segments/segments.ts'
import { ownValues } from '../../config/setting.ts'
import { RedisTailWire } from '../../dashboard/redis/live.ts'
import { tenantEnricher } from '../../enrichment/judge.ts'
import { RedisBulkJobs } from '../../lookup/bulk/jobs.ts'
import { receiptsOf } from '../../operations/receipts/role.ts'
import { createIntakeMetrics } from '../../operations/status/metrics.ts'
import { readBatchJobs } from '../../operations/status/redis/jobs.ts'
import { RedisReports } from '../../operations/status/redis/reports.ts'
import { stallLimits } from '../../operations/status/role/sources.ts'
import { sharedRead } from '../../operations/status/shared-read.ts'
import { StallWatch } from '../../operations/status/stall-watch.ts'
import { intakeFacts } from '../../operations/status/verdict.ts'
import type { Lane } from '../../pipeline/declaration/lane.ts'
import type { SourceEntry } from '../../pipeline/declaration/source.ts'
import { eventsByStatus, type OutcomeCounts } from '../../pipeline/event/outcomes.ts'
import { keepEvents } from '../../pipeline/sources/live/keep.ts'
import { EventTail } from '../../pipeline/sources/live/tail.ts'
import { GroupCommit } from '../../pipeline/streams/group-commit.ts'
import type { IntakeGate } from '../../pipeline/streams/intake-gate.ts'
import { readStatus } from '../../pipeline/streams/status.ts'
import { batchJobs, intakeGate, uploadConnection } from '../../process/batch-jobs.ts'
import type { ProcessContext } from '../../process/context.ts'
import type { Service } from '../../run/service.ts'
import { TenantSlots } from '../../run/tenant-slots.ts'
import { SecretBox } from '../../secrets/secret-box.ts'
import { connectClickHouse, DATABASE } from '../../stores/clickhouse/client.ts'
import { API_QUESTIONS } from '../../stores/clickhouse/read-limits.ts'
import { connectReading, QuestionReader, writerOf } from '../../stores/clickhouse/reader.ts'
import type { RedisClient } from '../../stores/redis/connect.ts'
import { Reconnection } from '../../stores/redis/reconnection.ts'
import { writeRefusal } from '../../stores/redis/write-refusal.ts'
import { CachedAuthenticator } from '../../tenants/authenticator.ts'
import { sharedLimits } from '../../tenants/limits/limits.ts'
import { RedisTokenCounters } from '../../tenants/limits/redis/token-counters.ts'
import { RedisTenantChanges, RedisTenantStore } from '../../tenants/redis/tenant-store.ts'
import { createRoutes } from './routes.ts'
import { createHttpServer, type HttpServer } from './server.ts'
import { openSources } from './source-routes.ts'

const NONE: ReadonlyMap<string, number> = new Map()

/** The API. Its listener starts last, so that it accepts requests only when everything else is ready. */
interface IngressRole {
  readonly services: readonly Service[]
  readonly http: HttpServer
}

export function ingressRole(context: ProcessContext): IngressRole {
  const { config, telemetry, enrichment } = context
  const { log, metrics, clock } = telemetry
  const requests = context.connect({ name: 'requests', kind: 'request', timeoutMs: config.redisRequestMs })
  const changes = new RedisTenantChanges(context.connect({ name: 'changes', kind: 'loop' }))
  const reconnection = new Reconnection(requests, config.writeDeadlineMs)
  const store = new RedisTenantStore(requests, reconnection)
  const authenticator = new CachedAuthenticator({ store, changes, plans: config.plans, clock, log })
  const gate = intakeGate(context)
  const closedBecause = (archived: boolean) => gate.closedBecause(archived)
  const commits = new GroupCommits(context, closedBecause)
  const receipts = ingressReceipts(context)
  const companies = ingressCompanies(context, store)
  const stall = stallWatch(context)
  const wire = new RedisTailWire(context.connect({ name: 'tail', kind: 'loop' }), context.shared)
  const tail = new EventTail({ wire, clock })
  createIntakeMetrics(
    metrics,
    () => stall.reason !== undefined,
    () => gate.closedBecause(false) !== undefined,
  )
  const limits = sharedLimits(new RedisTokenCounters(requests, reconnection), clock)
  const keeping = {
    enricher: enrichment.engine,
    tenantEnricher,
    hostnames: enrichment.hostnames,
    clock,
    tail,
    browserEvents: limits.events,
    // On a Redis Cluster, events that a repeat could not recognise must be in one partition.
    colocateAmong: context.isCluster ? config.partitions : undefined,
  }
  const jobs = batchJobs(context, uploadConnection(context), gate)
  const secrets = new SecretBox(config)
  const sources = openSources(context.pipeline.sources, (source) => ({
    // Needed by sources that keep events themselves. The others need no connection for it.
    get keep() {
      return keepEvents({ ...keeping, intake: commits.of(source) })
    },
    jobs,
    settings: ownValues(source.from.settings, config.own),
    secrets,
  }))
  const routes = createRoutes({
    sources,
    readiness: { problems: readiness(requests) },
    lookups: enrichment.lookups,
    quota: limits.lookups,
    bulkJobs: new RedisBulkJobs({ client: requests, openMax: config.bulkQueueLimit }),
    receipts: receipts.receipts,
    companies: companies.companies,
    imports: companies.imports(requests),
    segments: new Segments(requests, clock),
  })
  const { host, port, httpEngine: engine, httpIdleSeconds: idleSeconds } = config
  const onResponse = (status: number) => {
    context.recent.did('requests', 1)
    if (status === 429) context.recent.did('refused', 1)
    else if (status >= 500 && status !== 503) context.recent.did('failed', 1)
  }
  const guards = {
    authenticator,
    limiter: limits.requests,
    trustedProxies: config.own.TRUSTED_PROXIES as readonly string[] | undefined,
    clock,
  }
  const http = createHttpServer({ host, port, engine, idleSeconds, routes, ...guards, log, metrics, onResponse })
  return {
    services: [authenticator, ...limits.services, gate, stall, ...commits.all, receipts, companies, tail, http],
    http,
  }
}

/** Frequent probes share one write. */
const PROBE = { freshMs: 500, lateMs: 1_000 }

/** Why this ingress cannot take and keep events. Whether accepted ones make progress is another question. */
function readiness(requests: RedisClient): () => Promise<readonly string[]> {
  const refusal = sharedRead(() => writeRefusal(requests).catch((error: Error) => error), PROBE)
  return async () => intakeFacts(await refusal().catch((error: Error) => error)).map(({ text }) => text)
}

const STALLED = 'accepted events are not processed: see ./ipid status'

function stallWatch({ shared, pipeline, config, telemetry }: ProcessContext): StallWatch {
  return new StallWatch({
    pipeline: () => readStatus(shared, pipeline, { onlyWaiting: true }),
    batchJobs: () => readBatchJobs(shared),
    reports: () => new RedisReports(shared).read(),
    limits: stallLimits(config, pipeline),
    onChange: (reason) => {
      if (reason !== undefined) return telemetry.log.error({ reason }, STALLED)
      telemetry.log.info('accepted events are processed again')
      telemetry.problems?.ended('error', STALLED)
    },
  })
}

/** Counts live events in Redis, including entries that are not envelopes. */
function counted({ recent, workMetrics }: ProcessContext): (envelopes: number, counts: OutcomeCounts) => void {
  const passed = workMetrics.stage('ingest', 'accept')
  return (envelopes, counts) => {
    const dropped = counts.size === 0 ? NONE : eventsByStatus(counts)
    let events = envelopes
    for (const sum of dropped.values()) events += sum
    recent.did('live_events', events)
    passed({ in: events, out: envelopes, dropped })
  }
}

/** All sources that write to the same streams share a group commit. */
class GroupCommits {
  readonly #context: ProcessContext
  readonly #closedBecause: IntakeGate['closedBecause']
  readonly #byPlace = new Map<string, GroupCommit>()

  constructor(context: ProcessContext, closedBecause: IntakeGate['closedBecause']) {
    this.#context = context
    this.#closedBecause = closedBecause
  }

  get all(): readonly GroupCommit[] {
    return [...this.#byPlace.values()]
  }

  of({ from: { lane }, to, raw }: SourceEntry): GroupCommit {
    const place = [lane, to, raw ?? ''].join(' ')
    let commit = this.#byPlace.get(place)
    if (commit === undefined) {
      commit = groupCommit(this.#context, { lane, to, raw }, this.#closedBecause)
      this.#byPlace.set(place, commit)
    }
    return commit
  }
}

interface CommitPlace {
  readonly lane: Lane
  readonly to: string
  readonly raw: string | undefined
}

function groupCommit(
  context: ProcessContext,
  { lane, to, raw }: CommitPlace,
  closedBecause: IntakeGate['closedBecause'],
): GroupCommit {
  const { config, pipeline, telemetry } = context
  const { commitLingerMs: lingerMs, writeDeadlineMs: deadlineMs, partitions } = config
  const { blockEventsMax, blockBytesMax, uncommittedEventsMax } = context.limits
  return new GroupCommit({
    client: context.connect({ name: 'intake', kind: 'request', timeoutMs: deadlineMs }),
    partitions,
    stream: to,
    outcomesTo: pipeline.outcomes,
    rawTo: raw,
    lane,
    cluster: context.isCluster,
    lingerMs,
    deadlineMs,
    blockEventsMax,
    blockBytesMax,
    waitingMax: uncommittedEventsMax,
    closedBecause,
    log: telemetry.log,
    onAppended: counted(context),
    onOutcomes: (counts) => context.workMetrics.settled('ingest', eventsByStatus(counts)),
  })
}

const RECEIPT_QUERY_MS = 8_000

/**
 * Uses connections of its own, so that queries for events do not delay ingest. An ingress without a sink in its process has
 * no ClickHouse unless CLICKHOUSE_URL names one.
 */
function ingressReceipts(context: ProcessContext): Service & ReturnType<typeof receiptsOf> {
  const { config, pipeline, telemetry, archiveLocation } = context
  const { clickhouseUrl } = config
  const options = { application: 'receipts', database: DATABASE, requestTimeoutMs: RECEIPT_QUERY_MS }
  const clickhouse = clickhouseUrl === '' ? undefined : connectClickHouse(clickhouseUrl, options)
  const found = receiptsOf({
    redis: context.connect({ name: 'receipts', kind: 'request', timeoutMs: config.redisRequestMs }),
    clickhouse,
    archiveLocation,
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

/** Reads companies with connections and slots of its own, so that pages of the dashboard do not wait for programs. */
function ingressCompanies(
  { config: { clickhouseUrl }, telemetry: { clock } }: ProcessContext,
  tenants: RedisTenantStore,
): Service & { readonly companies: ClickHouseCompanies; imports(redis: RedisClient): CompanyImports } {
  const client = clickhouseUrl === '' ? undefined : connectReading(clickhouseUrl, 'api')
  const writer = writerOf(clickhouseUrl, 'imports')
  const reader = new QuestionReader(client, new TenantSlots(API_QUESTIONS))
  return {
    companies: new ClickHouseCompanies(reader, clock, namedSources(tenants)),
    name: 'companies',
    start: async () => {},
    imports: (redis) =>
      new CompanyImports(writer.client, new CompanyCorrections(writer.client, clock, correctionsLock(redis))),
    stop: async () => {
      await Promise.all([client?.close(), writer.close()])
    },
  }
}
