import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import {
  archiveLocationOf,
  type Config,
  defaultDataDirOf,
  enrichCacheOf,
  fetchedDirOf,
  packedDataDirOf,
} from '../config/config.ts'
import { isClusterUrl } from '../config/redis-url.ts'
import { EnrichmentEngine } from '../enrichment/engine.ts'
import { DataLookups } from '../enrichment/lookup-service.ts'
import { ReverseDns } from '../enrichment/providers/rdns/reverse-dns.ts'
import type { LookupService } from '../lookup/lookup.ts'
import { RedisRetentionRecords } from '../operations/retention/redis/records.ts'
import { RecentWork } from '../operations/status/recent.ts'
import type { ArchiveLocation } from '../pipeline/declaration/destination.ts'
import type { Pipeline, PipelineLimits } from '../pipeline/declaration/pipeline.ts'
import type { Hostnames } from '../pipeline/event/enrichment.ts'
import { BLOCK_MS_MAX } from '../pipeline/streams/blocking-read.ts'
import { createGroups } from '../pipeline/streams/topology.ts'
import type { Clock } from '../run/clock.ts'
import { type Service, ServiceGroup } from '../run/service.ts'
import { type ConnectionUse, connectRedis, type RedisClient } from '../stores/redis/connect.ts'
import { type Caller, pipelinedCalls } from '../stores/redis/pipelined-calls.ts'
import { createWorkMetrics, type WorkMetrics } from '../telemetry/pipeline-metrics.ts'
import type { RecentProblems } from '../telemetry/problems.ts'
import { TenantOrigins } from '../tenants/origins.ts'
import { RedisOriginCounts } from '../tenants/redis/origin-counts.ts'

/** The settings of a process, with the URLs of its stores. */
export interface AppConfig extends Config {
  readonly redisUrl: string
  readonly clickhouseUrl: string
  /** A restarted process has the same name as the ended one that it replaces; undefined: unknown. */
  readonly processName?: string
}

/** Logger, metrics and clock, which every part gets. */
export interface Telemetry {
  readonly log: Logger
  readonly metrics: Registry
  readonly clock: Clock
  /** Recent warnings and errors of `log`; undefined: not collected. */
  readonly problems?: RecentProblems
}

/** Enrichment of addresses in this process. */
interface EnrichmentServices {
  readonly engine: EnrichmentEngine
  readonly lookups: LookupService
  readonly reverseDns: ReverseDns
  /** Undefined: events are enriched without reverse DNS. */
  readonly hostnames: Hostnames | undefined
}

/**
 * Everything that the roles of one process share. Creates a part when a role first asks for it, so that a process holds only what its
 * roles need. `services` are the created parts that must be started and stopped.
 */
export class ProcessContext {
  readonly config: AppConfig
  readonly telemetry: Telemetry
  readonly pipeline: Pipeline
  readonly services: Service[] = []
  /** The work of this process in the last minute. */
  readonly recent: RecentWork
  readonly #clients: RedisClient[] = []
  #shared: RedisClient | undefined
  #leases: Caller | undefined
  #enrichment: EnrichmentServices | undefined
  #workMetrics: WorkMetrics | undefined
  #origins: TenantOrigins | undefined

  constructor(config: AppConfig, telemetry: Telemetry, pipeline: Pipeline) {
    this.config = config
    this.telemetry = telemetry
    this.pipeline = pipeline
    this.recent = new RecentWork(telemetry.clock)
  }

  /** The limits of the settings, or else of the pipeline. */
  get limits(): PipelineLimits {
    const { limits } = this.pipeline
    const { intakeHighWaterEvents: waitingEventsMax, deliveriesMax } = this.config
    return {
      ...limits,
      waitingEventsMax: waitingEventsMax ?? limits.waitingEventsMax,
      deliveriesMax: deliveriesMax ?? limits.deliveriesMax,
    }
  }

  /** Whether Redis is a cluster, so that one call must stay within one hash slot. */
  get isCluster(): boolean {
    return isClusterUrl(this.config.redisUrl)
  }

  get archiveLocation(): ArchiveLocation {
    return archiveLocationOf(this.config)
  }

  /** The shared connection of all background loops, for commands that do not block. */
  get shared(): RedisClient {
    this.#shared ??= this.connectLoop('worker')
    return this.#shared
  }

  /** For leases. Renewals of one moment go out in one write. */
  get leases(): Caller {
    this.#leases ??= pipelinedCalls(this.connectLoop('leases'))
    return this.#leases
  }

  get enrichment(): EnrichmentServices {
    this.#enrichment ??= this.#createEnrichment()
    return this.#enrichment
  }

  /** Whether a role has asked for enrichment data. */
  get hasEnrichment(): boolean {
    return this.#enrichment !== undefined
  }

  get workMetrics(): WorkMetrics {
    this.#workMetrics ??= createWorkMetrics(this.telemetry.metrics, this.recent)
    return this.#workMetrics
  }

  /** Counts the origins of events, per tenant. */
  get origins(): TenantOrigins {
    if (this.#origins === undefined) {
      const { log, metrics, clock } = this.telemetry
      this.#origins = new TenantOrigins({ store: new RedisOriginCounts(this.shared, clock), log, metrics })
      this.services.push(this.#origins)
    }
    return this.#origins
  }

  get retentionRecords(): RedisRetentionRecords {
    return new RedisRetentionRecords(this.shared, this.config.retentionDays)
  }

  /** A connection of its own for a background loop. */
  connectLoop(name: string): RedisClient {
    return this.connect({ name, kind: 'loop', timeoutMs: this.config.redisLoopMs })
  }

  /** A connection of its own for the blocking reads of a background loop. */
  connectBlocking(name: string): RedisClient {
    const timeoutMs = Math.max(this.config.redisLoopMs, 2 * BLOCK_MS_MAX)
    return this.connect({ name: `${name}-blocking`, kind: 'loop', timeoutMs })
  }

  connect(use: ConnectionUse): RedisClient {
    const client = connectRedis(this.config.redisUrl, use)
    client.on('error', (error) => this.telemetry.log.debug({ err: error, connection: use.name }, 'Redis connection'))
    this.#clients.push(client)
    return client
  }

  createGroups(): Promise<void> {
    return createGroups(this.shared, this.pipeline, this.config.partitions)
  }

  /** Closes all connections. Call it last. */
  disconnect(): void {
    for (const client of this.#clients) client.disconnect()
  }

  #createEnrichment(): EnrichmentServices {
    const { enrichDir, rdns, rdnsServers, rdnsDeadlineMs, rdnsConcurrency } = this.config
    const { log, metrics, clock } = this.telemetry
    const limits = { deadlineMs: rdnsDeadlineMs, concurrencyMax: rdnsConcurrency }
    const reverseDns = new ReverseDns({ servers: rdnsServers, clock, metrics, log, limits })
    const hostnames = rdns === 'on' ? reverseDns : undefined
    const compiledDir = enrichCacheOf(this.config)
    const data = { dir: enrichDir, defaultsDir: defaultDataDirOf(this.config), fetchedDir: fetchedDirOf(this.config) }
    const packedDir = packedDataDirOf(this.config)
    const engine = new EnrichmentEngine({ ...data, compiledDir, packedDir, hostnames, log, metrics })
    this.services.push(new ServiceGroup('enrichment', [reverseDns, engine]))
    const lookups = new DataLookups({ engine, reverseDns, asksAlways: rdns === 'on' })
    return { engine, lookups, reverseDns, hostnames }
  }
}
