import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import { ingest } from '../pipelines/ingest.ts'
import { EventEnvelope } from '../schemas/api/event.ts'
import { Feeder } from './batch/feeder.ts'
import { connectClickHouse, DATABASE } from './clickhouse/client.ts'
import { EventInserter } from './clickhouse/insert.ts'
import { migrate } from './clickhouse/migrate.ts'
import { ClickHouseSink } from './clickhouse/sink.ts'
import type { Config, Role } from './config/config.ts'
import { compileValidator } from './core/event/validator.ts'
import { type SinkSegment, type StageSegment, validatePipeline } from './core/pipeline/pipeline.ts'
import type { Stage } from './core/pipeline/stage.ts'
import type { Clock } from './core/run/clock.ts'
import { StartupError } from './core/run/errors.ts'
import { type Service, ServiceGroup } from './core/run/service.ts'
import { EnrichmentEngine } from './enrichment/engine.ts'
import { DataLookups } from './enrichment/lookup-service.ts'
import { ReverseDns } from './enrichment/providers/rdns/reverse-dns.ts'
import { createRoutes as createHttpRoutes } from './http/api/routes.ts'
import { createHttpServer, type HttpServer } from './http/api/server.ts'
import { BulkWorker } from './lookup/bulk-worker.ts'
import { RedisFeederStore } from './redis/batch/feeder-store.ts'
import { RedisBatchJobs } from './redis/batch/jobs.ts'
import { RedisBulkJobs } from './redis/bulk/jobs.ts'
import { RedisBulkQueue } from './redis/bulk/queue.ts'
import { type ConnectionUse, connectRedis, type RedisClient } from './redis/connect.ts'
import { GroupCommit } from './redis/streams/group-commit.ts'
import { StreamGroupReader } from './redis/streams/group-reader.ts'
import { IntakeGate } from './redis/streams/intake-gate.ts'
import { Janitor } from './redis/streams/janitor.ts'
import { RedisSeenStore } from './redis/streams/seen-store.ts'
import { SinkStreams } from './redis/streams/sink-streams.ts'
import { readStatus } from './redis/streams/status.ts'
import { agreeOnPartitions, createGroups } from './redis/streams/topology.ts'
import { RedisDailyQuota } from './redis/tenants/daily-quota.ts'
import { RedisTokenBuckets } from './redis/tenants/rate-bucket.ts'
import { RedisTenantChanges, RedisTenantStore } from './redis/tenants/tenant-store.ts'
import { SegmentWorker } from './runner/segment-worker.ts'
import { dedup } from './stages/dedup.ts'
import { enrich } from './stages/enrich.ts'
import { filterNoise } from './stages/filter-noise.ts'
import { createBacklogMetrics, createWorkMetrics, type WorkMetrics } from './telemetry/pipeline-metrics.ts'
import { CachedAuthenticator } from './tenants/authenticator.ts'
import { SharedRateLimiter } from './tenants/rate-limiter.ts'

/** The settings of a process, and where its stores are. */
export interface AppConfig extends Config {
  readonly redisUrl: string
  readonly clickhouseUrl: string
}

/** What every part is given to tell of itself. */
export interface Telemetry {
  readonly log: Logger
  readonly metrics: Registry
  readonly clock: Clock
}

/** The parts of a process, ready to start. */
export interface App {
  /** Resolves when every role does its work. `url` is where the API listens, when this process has that role. */
  start(): Promise<{ url?: string }>
  stop(): Promise<void>
}

const STAGES = ['dedup', 'enrich', 'filter-noise']
const SINKS = ['clickhouse']

/** A background command without an answer for this long counts as lost, milliseconds. */
const LOOP_TIMEOUT_MS = 10_000
/** A request waits no longer than this for one answer of Redis, milliseconds. */
const REQUEST_TIMEOUT_MS = 1_000
/** How long a start waits for Redis, milliseconds. */
const REDIS_START_MS = 60_000
const REDIS_RETRY_MS = 200
/** Envelopes of one ingress that may wait for Redis. */
const INTAKE_WAITING_MAX = 100_000
/** Bulk lookup jobs that a tenant may have queued or running. */
const BULK_JOBS_MAX = 10
/** Events of the batch lane in the pipeline at once: enough for full inserts, little enough to stay behind live ones. */
const BATCH_WAITING_EVENTS_MAX = 60_000

/**
 * Builds what a process with these roles consists of. Does no I/O but opening connections, which wait for their servers.
 * @throws StartupError when a declaration in pipelines/ does not hold together
 */
export async function createRoles(config: AppConfig, roles: readonly Role[], telemetry: Telemetry): Promise<App> {
  const problems = validatePipeline(ingest, STAGES, SINKS)
  if (problems.length > 0) throw new StartupError(`pipelines/ingest.ts: ${problems.join('; ')}`)
  const parts = new Parts(config, telemetry)
  const services: Service[] = [parts.topology(), parts.reverseDns, parts.enrichment]
  if (roles.includes('sink')) services.push(...parts.sinks())
  if (roles.includes('process')) services.push(...parts.workers(), parts.janitor())
  if (roles.includes('batch')) services.push(parts.feeder(), parts.bulkWorker())
  const http = roles.includes('ingress') ? parts.ingress(services) : undefined
  const group = new ServiceGroup('roles', services)
  return {
    async start() {
      await group.start()
      return http === undefined ? {} : { url: http.url }
    },
    async stop() {
      await group.stop()
      parts.disconnect()
    },
  }
}

/** Makes parts that share connections, and closes those at the end. */
class Parts {
  readonly #config: AppConfig
  readonly #telemetry: Telemetry
  readonly #clients: RedisClient[] = []
  readonly #shared: RedisClient
  readonly #metrics: WorkMetrics
  readonly reverseDns: ReverseDns
  readonly #lookups: DataLookups
  readonly enrichment: EnrichmentEngine

  constructor(config: AppConfig, telemetry: Telemetry) {
    this.#config = config
    this.#telemetry = telemetry
    this.#shared = this.#connect({ name: 'worker', kind: 'loop', timeoutMs: LOOP_TIMEOUT_MS })
    this.#metrics = createWorkMetrics(telemetry.metrics)
    const { log, metrics, clock } = telemetry
    this.reverseDns = new ReverseDns({
      servers: config.rdnsServers,
      clock,
      metrics,
      limits: { deadlineMs: config.rdnsDeadlineMs, concurrencyMax: config.rdnsConcurrency },
    })
    const hostnames = config.rdns === 'on' ? this.reverseDns : undefined
    this.enrichment = new EnrichmentEngine({ dir: config.enrichDir, hostnames, log, metrics })
    this.#lookups = new DataLookups({ engine: this.enrichment, reverseDns: this.reverseDns })
  }

  /** Closes the connections that parts share. */
  disconnect(): void {
    for (const client of this.#clients) client.disconnect()
  }

  /** Partitions and consumer groups are there before anything reads or writes. */
  topology(): Service {
    return {
      name: 'topology',
      start: async () => {
        await this.#untilRedisAnswers()
        await agreeOnPartitions(this.#shared, this.#config.partitions)
        await this.#createGroups()
      },
      stop: async () => {},
    }
  }

  /** A Redis of somebody else's may still be starting, as everything may after a power cut. */
  async #untilRedisAnswers(): Promise<void> {
    const deadline = performance.now() + REDIS_START_MS
    for (;;) {
      try {
        await this.#shared.ping()
        return
      } catch (error) {
        if (performance.now() > deadline) {
          throw new StartupError(`Redis does not answer (REDIS_URL): ${(error as Error).message}`)
        }
        await sleep(REDIS_RETRY_MS)
      }
    }
  }

  workers(): Service[] {
    const status = () => readStatus(this.#shared, ingest)
    createBacklogMetrics(this.#telemetry.metrics, status)
    return ingest.segments.filter((segment) => 'stages' in segment).map((segment) => this.#worker(segment))
  }

  #worker(segment: StageSegment): SegmentWorker {
    const { partitions, claimIdleMs, deliveriesMax } = this.#config
    const consumer = `${hostname()}-${randomUUID().slice(0, 8)}`
    const readers = Array.from(
      { length: partitions },
      (_, partition) =>
        new StreamGroupReader({
          blocking: this.#connectBlocking(`${segment.group}-${partition}`),
          client: this.#shared,
          partition,
          group: segment.group,
          consumer,
          from: segment.from,
          to: segment.to,
          claimIdleMs,
          ensureGroups: () => this.#createGroups(),
        }),
    )
    return new SegmentWorker({
      group: segment.group,
      stages: segment.stages.map((name) => this.#stage(name)),
      readers,
      deliveriesMax,
      log: this.#telemetry.log,
      onFinished: (outcomes) => this.#metrics.finished(segment.group, outcomes),
    })
  }

  #stage(name: string): Stage {
    switch (name) {
      case 'dedup':
        return dedup(new RedisSeenStore(this.#shared, this.#telemetry.clock)) as Stage
      case 'enrich':
        return enrich(this.enrichment)
      case 'filter-noise':
        return filterNoise()
      default:
        throw new StartupError(`there is no stage ${name}`)
    }
  }

  janitor(): Service {
    const { partitions } = this.#config
    return new Janitor({ client: this.#shared, pipeline: ingest, partitions, log: this.#telemetry.log })
  }

  sinks(): Service[] {
    return ingest.segments.filter((segment) => 'sink' in segment).map((segment) => this.#sink(segment))
  }

  /** Ready when the tables are there, so that an analyst can ask from the first moment on. */
  #sink(segment: SinkSegment): Service {
    const { clickhouseUrl, partitions, sinkRowsMax, sinkLingerMs, redisUrl } = this.#config
    const { log } = this.#telemetry
    const client = connectClickHouse(clickhouseUrl, { application: segment.group, database: DATABASE })
    const sink = new ClickHouseSink({
      source: new SinkStreams({
        blocking: this.#connectBlocking(segment.group),
        client: this.#connect({ name: segment.group, kind: 'loop', timeoutMs: LOOP_TIMEOUT_MS }),
        cluster: isCluster(redisUrl),
        partitions,
        group: segment.group,
        from: segment.from,
        lease: segment.group,
        ensureGroups: () => this.#createGroups(),
      }),
      inserter: new EventInserter(client),
      migrate: () => migrate(clickhouseUrl, log),
      rowsMax: sinkRowsMax,
      lingerMs: sinkLingerMs,
      log,
      onInserted: (rows, durationMs) => this.#metrics.inserted(rows, durationMs),
    })
    return {
      name: sink.name,
      start: async () => {
        await sink.start()
        await sink.ready
      },
      stop: async () => {
        await sink.stop()
        await client.close()
      },
    }
  }

  feeder(): Service {
    const { partitions } = this.#config
    const store = new RedisFeederStore({ client: this.#shared, pipeline: ingest, partitions })
    return new Feeder({
      store,
      enricher: this.enrichment,
      validate: compileValidator(EventEnvelope),
      partitions,
      waitingEventsMax: BATCH_WAITING_EVENTS_MAX,
      log: this.#telemetry.log,
    })
  }

  bulkWorker(): Service {
    const { claimIdleMs, deliveriesMax } = this.#config
    const blocking = this.#connectBlocking('bulk')
    return new BulkWorker({
      queue: new RedisBulkQueue({ blocking, client: this.#shared, claimIdleMs }),
      lookups: this.#lookups,
      aliveEveryMs: claimIdleMs / 5,
      deliveriesMax,
      log: this.#telemetry.log,
    })
  }

  /** Adds what the API consists of to the services, the listener last, and returns the listener. */
  ingress(services: Service[]): HttpServer {
    const { host, port, plans, partitions, batchQueueLimit, writeDeadlineMs } = this.#config
    const { log, metrics, clock } = this.#telemetry
    const requests = this.#connect({ name: 'requests', kind: 'request', timeoutMs: REQUEST_TIMEOUT_MS })
    const uploads = this.#connect({ name: 'uploads', kind: 'request', timeoutMs: LOOP_TIMEOUT_MS })
    const changes = new RedisTenantChanges(this.#connect({ name: 'changes', kind: 'loop' }))
    const authenticator = new CachedAuthenticator({ store: new RedisTenantStore(requests), changes, plans, clock, log })
    const gate = this.#intakeGate()
    const intake = this.#groupCommit(gate)
    const jobs = new RedisBatchJobs({
      client: uploads,
      partitions,
      openMax: batchQueueLimit,
      deadlineMs: writeDeadlineMs,
      clock,
      closedBecause: () => gate.closedBecause,
    })
    const readiness = { problems: async () => ((await requests.ping()) === 'PONG' ? [] : ['Redis does not answer']) }
    const routes = createHttpRoutes({
      intake,
      enricher: this.enrichment,
      hostnames: this.#config.rdns === 'on' ? this.reverseDns : undefined,
      readiness,
      clock,
      jobs,
      lookups: this.#lookups,
      quota: new RedisDailyQuota(requests, clock),
      bulkJobs: new RedisBulkJobs({ client: requests, openMax: BULK_JOBS_MAX }),
    })
    const limiter = new SharedRateLimiter(new RedisTokenBuckets(requests))
    const http = createHttpServer({ host, port, routes, authenticator, limiter, log, metrics })
    services.push(authenticator, gate, intake, http)
    return http
  }

  #intakeGate(): IntakeGate {
    const { partitions, intakeHighWaterEvents } = this.#config
    return new IntakeGate({
      client: this.#shared,
      pipeline: ingest,
      partitions,
      waitingEventsMax: intakeHighWaterEvents,
      log: this.#telemetry.log,
    })
  }

  #groupCommit(gate: IntakeGate): GroupCommit {
    const { partitions, commitLingerMs, writeDeadlineMs, redisUrl } = this.#config
    return new GroupCommit({
      client: this.#connect({ name: 'intake', kind: 'request', timeoutMs: writeDeadlineMs }),
      partitions,
      stream: ingest.intake,
      lane: 'live',
      cluster: isCluster(redisUrl),
      lingerMs: commitLingerMs,
      deadlineMs: writeDeadlineMs,
      waitingMax: INTAKE_WAITING_MAX,
      closedBecause: () => gate.closedBecause,
      log: this.#telemetry.log,
    })
  }

  #createGroups(): Promise<void> {
    return createGroups(this.#shared, ingest, this.#config.partitions)
  }

  /** A blocking read waits a second; without an answer for much longer its connection is dead. */
  #connectBlocking(name: string): RedisClient {
    return this.#connect({ name: `${name}-blocking`, kind: 'loop', timeoutMs: LOOP_TIMEOUT_MS })
  }

  #connect(use: ConnectionUse): RedisClient {
    const client = connectRedis(this.#config.redisUrl, use)
    client.on('error', (error) => this.#telemetry.log.debug({ err: error, connection: use.name }, 'Redis connection'))
    this.#clients.push(client)
    return client
  }
}

function isCluster(redisUrl: string): boolean {
  return redisUrl.startsWith('redis-cluster://')
}
