import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import fs from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import type { Redis } from 'ioredis'
import { Registry } from 'prom-client'
import { ingest } from '../../pipelines/ingest.ts'
import { DEFAULT_PLANS } from '../../schemas/plans.ts'
import { Evaluator } from '../../src/alerts/evaluation/evaluator.ts'
import { ClickHouseVisits } from '../../src/alerts/evaluation/visits.ts'
import { RedisAlerts } from '../../src/alerts/redis/alert-store.ts'
import { RedisDeliveries } from '../../src/alerts/redis/delivery-store.ts'
import { RedisOccurrences } from '../../src/alerts/redis/occurrence-store.ts'
import { Sender } from '../../src/alerts/sender.ts'
import { Segments } from '../../src/companies/segments/segments.ts'
import { RedisCrm } from '../../src/crm/redis/crm-store.ts'
import { CrmSyncer } from '../../src/crm/syncer.ts'
import { RedisTailWire } from '../../src/dashboard/redis/live.ts'
import type { People } from '../../src/dashboard/server/people.ts'
import { createDashboard } from '../../src/dashboard/server/server.ts'
import { type SessionStore, Sessions } from '../../src/dashboard/server/sessions.ts'
import { DaysBuilder } from '../../src/days/builder.ts'
import type { DayTables } from '../../src/days/day-tables.ts'
import { RedisDaysRecords } from '../../src/days/redis/records.ts'
import { EnrichmentEngine } from '../../src/enrichment/engine.ts'
import { ReverseDns } from '../../src/enrichment/providers/rdns/reverse-dns.ts'
import { Exporter } from '../../src/exports/exporter.ts'
import { RedisExports } from '../../src/exports/redis/export-store.ts'
import { createHttpServer } from '../../src/http/api/server.ts'
import { createServer } from '../../src/http/engine/server.ts'
import { RedisBulkQueue } from '../../src/lookup/bulk/queue.ts'
import { BulkWorker } from '../../src/lookup/bulk-worker.ts'
import { SampleRemoval } from '../../src/operations/demo/sample-removal.ts'
import { ClickHouseReenrichment } from '../../src/operations/reenrich/clickhouse.ts'
import { ReenrichJobs } from '../../src/operations/reenrich/jobs/job-store.ts'
import { ReenrichJobRunner } from '../../src/operations/replay/job-runner.ts'
import type { StoredEvents as ReplayedEvents } from '../../src/operations/replay/ports.ts'
import type { AgedStore } from '../../src/operations/retention/ports.ts'
import { RedisRetentionRecords } from '../../src/operations/retention/redis/records.ts'
import { Retention } from '../../src/operations/retention/service.ts'
import { type DamageStore, DamageWatch } from '../../src/operations/status/damage-watch.ts'
import { RecentWork } from '../../src/operations/status/recent.ts'
import { readBatchJobs } from '../../src/operations/status/redis/jobs.ts'
import { RedisReports } from '../../src/operations/status/redis/reports.ts'
import { Reporter } from '../../src/operations/status/reporter.ts'
import { StallWatch } from '../../src/operations/status/stall-watch.ts'
import type { Step } from '../../src/pipeline/declaration/pipeline.ts'
import { SinkWorker } from '../../src/pipeline/runner/sink-worker.ts'
import { StepWorker } from '../../src/pipeline/runner/step-worker.ts'
import { TableInserter } from '../../src/pipeline/sinks/clickhouse/inserter.ts'
import { Feeder } from '../../src/pipeline/sources/batch/feeder.ts'
import { readChunk } from '../../src/pipeline/sources/batch/read-chunk.ts'
import { EndedJobs } from '../../src/pipeline/sources/batch/redis/ended-jobs.ts'
import { RedisFeederStore } from '../../src/pipeline/sources/batch/redis/feeder-store.ts'
import { RedisBatchJobs } from '../../src/pipeline/sources/batch/redis/jobs.ts'
import { strayProgress } from '../../src/pipeline/sources/batch/redis/stray-progress.ts'
import { EventTail } from '../../src/pipeline/sources/live/tail.ts'
import { Puller } from '../../src/pipeline/sources/pulls/puller.ts'
import { RedisPullStore } from '../../src/pipeline/sources/pulls/redis/pull-store.ts'
import { GroupCommit } from '../../src/pipeline/streams/group-commit.ts'
import { StreamGroupReader } from '../../src/pipeline/streams/group-reader.ts'
import { IntakeGate } from '../../src/pipeline/streams/intake-gate.ts'
import { Janitor } from '../../src/pipeline/streams/janitor.ts'
import { SinkStreams } from '../../src/pipeline/streams/sink-streams.ts'
import { readStatus } from '../../src/pipeline/streams/status.ts'
import { agreeOnPartitions, createGroups } from '../../src/pipeline/streams/topology.ts'
import { systemClock } from '../../src/run/clock.ts'
import { LeasedService } from '../../src/run/leased-service.ts'
import { Loop } from '../../src/run/loop.ts'
import { type Service, ServiceGroup } from '../../src/run/service.ts'
import { SecretBox } from '../../src/secrets/secret-box.ts'
import { connectClickHouse, DATABASE } from '../../src/stores/clickhouse/client.ts'
import { QuestionReader } from '../../src/stores/clickhouse/reader.ts'
import { EVENTS } from '../../src/stores/clickhouse/tables.ts'
import { FolderStore } from '../../src/stores/objects/folder-store.ts'
import { connectRedis, type RedisClient } from '../../src/stores/redis/connect.ts'
import { Membership } from '../../src/stores/redis/membership.ts'
import { rewriteLease } from '../../src/stores/redis/rewrite-lease.ts'
import { MetricsServer } from '../../src/telemetry/metrics-server.ts'
import { TenantAdmin } from '../../src/tenants/admin.ts'
import { CachedAuthenticator, KeyUses } from '../../src/tenants/authenticator.ts'
import { DAILY_LOOKUPS, SharedLimit } from '../../src/tenants/limits/limits.ts'
import { RedisTokenCounters } from '../../src/tenants/limits/redis/token-counters.ts'
import { QuotaWatch } from '../../src/tenants/quota-watch.ts'
import { RedisTenantChanges, RedisTenantStore } from '../../src/tenants/redis/tenant-store.ts'
import { ProxiedWatch } from '../../src/tenants/sources/proxied-senders.ts'
import { startTestClickHouse } from './clickhouse.ts'
import { noData, noLimit, oneKey } from './http.ts'
import { TestLookups } from './lookups.ts'
import { quiet, silent, sinkNamed } from './pipeline.ts'
import { startTestRedis } from './redis.ts'
import { scheduledBackups } from './scheduled-backups.ts'
import { handClock } from './tenants.ts'

const PARTITIONS = 1

/** Calls of a service to others. */
export class Calls {
  begun = 0
  release: () => void = () => {}
  readonly released = new Promise<void>((resolve) => {
    this.release = resolve
  })

  /** Counts a call and holds it. */
  async hold(): Promise<void> {
    this.begun++
    await this.released
  }
}

interface Subject {
  readonly service: Service
  /** Closes the dependencies of a service, which it does not own. */
  readonly close?: () => unknown
}

export interface ServiceCase {
  /** Its start does nothing: it acts on calls. */
  readonly idle?: boolean
  /** Its contract says so. */
  readonly startsAgain?: boolean
  make(calls: Calls): Promise<Subject> | Subject
}

const [redis, clickhouse] = await Promise.all([startTestRedis(), startTestClickHouse()])
/** A folder that services use. */
export const dataDir = mkdtempSync(join(tmpdir(), 'ipid-services-'))
after(() => rmSync(dataDir, { recursive: true }))

const admin = quiet(connectRedis(redis.url, { name: 'test', kind: 'loop' }))
await agreeOnPartitions(admin, PARTITIONS)
await createGroups(admin, ingest, PARTITIONS)
await admin.quit()

/** A connection to the real Redis on which every command is held. */
async function connect(calls: Calls): Promise<RedisClient> {
  const client = quiet(connectRedis(redis.url, { name: 'test', kind: 'loop', timeoutMs: 5_000 }) as Redis)
  await once(client, 'ready')
  const send = client.sendCommand.bind(client)
  client.sendCommand = (command, stream) => {
    void calls.hold().then(() => void send(command, stream))
    return command.promise
  }
  return client
}

/** Makes a service with one connection, which it does not own. */
function onRedis(make: (client: RedisClient, blocking: RedisClient) => Service): ServiceCase['make'] {
  return async (calls) => {
    const [client, blocking] = await Promise.all([connect(calls), connect(calls)])
    const close = () => {
      for (const one of [client, blocking]) one.disconnect()
    }
    return { service: make(client, blocking), close }
  }
}

const onPipeline = { pipeline: ingest, partitions: PARTITIONS, log: silent }
const [step] = ingest.steps as [Step]
const sink = sinkNamed('clickhouse')

/** Every service, and how to make a counting one. */
export const SERVICES: Readonly<Record<string, ServiceCase>> = {
  Loop: {
    make: (calls) => {
      const round = () => calls.hold().then(() => 1)
      return { service: new Loop({ name: 'loop', round, failed() {}, delay: { minMs: 1, maxMs: 1 } }) }
    },
  },
  LeasedService: {
    make: onRedis((client) => {
      class Leased extends LeasedService {
        protected override round = async () => 1
      }
      const lease = new Membership({ client, name: 'test' }).share(0)
      return new Leased({ name: 'leased', lease, delay: { minMs: 1, maxMs: 1 }, problem: 'waits', log: silent })
    }),
  },
  ServiceGroup: {
    make: (calls) => {
      const member = (name: string) => ({ name, start: async () => void calls.begun++, stop: async () => {} })
      return {
        service: new ServiceGroup('group', [
          member('a'),
          new ServiceGroup('inner', [member('b'), member('c')], { atOnce: true }),
        ]),
      }
    },
  },
  Janitor: { make: onRedis((client) => new Janitor({ client, ...onPipeline })) },
  strayProgress: { make: onRedis((client) => strayProgress(client, silent)) },
  Retention: {
    make: onRedis((client) => {
      const store: AgedStore = { name: 'tables', removeAged: async () => 0, close: async () => {} }
      const records = new RedisRetentionRecords(client, 30)
      return new Retention({ store, records, clock: systemClock, log: silent })
    }),
  },
  DaysBuilder: {
    make: onRedis((client) => {
      const lease = new Membership({ client, name: 'days' }).share(0)
      const tables = { openMutations: async () => [], stale: async () => ({ newest: [], total: 0 }) }
      const records = new RedisDaysRecords(client)
      return new DaysBuilder({
        lease,
        tables: tables as unknown as DayTables,
        records,
        clock: systemClock,
        log: silent,
      })
    }),
  },
  IntakeGate: { make: onRedis((client) => new IntakeGate({ client, ...onPipeline, waitingEventsMax: 10 })) },
  Reporter: {
    make: onRedis(
      (client) =>
        new Reporter({
          store: new RedisReports(client),
          process: { roles: ['ingress'], host: 'here', pid: 1, version: '0' },
          recent: new RecentWork(systemClock),
          data: undefined,
          problems: () => [],
          clock: systemClock,
        }),
    ),
  },
  EventTail: {
    make: onRedis((client, listening) => {
      return new EventTail({ wire: new RedisTailWire(listening, client), clock: systemClock })
    }),
  },
  DamageWatch: {
    make: (calls) => {
      const store: DamageStore = { detached: () => calls.hold().then(() => []), close: async () => {} }
      const records = { read: async () => [], add: async () => {}, remove: async () => {} }
      const watch = { store, records, clock: systemClock, metrics: new Registry(), log: silent }
      return { service: new DamageWatch(watch), close: () => calls.release() }
    },
  },
  QuotaWatch: {
    make: onRedis((client) => {
      const store = {
        tenants: async () => {
          await client.ping()
          return []
        },
        accounts: async () => new Map<string, number>(),
        passedAt: async () => null,
      }
      return new QuotaWatch({ store, clock: systemClock, metrics: new Registry(), log: silent })
    }),
  },
  StallWatch: {
    make: onRedis(
      (client) =>
        new StallWatch({
          pipeline: () => readStatus(client, onPipeline.pipeline, { onlyWaiting: true }),
          batchJobs: () => readBatchJobs(client),
          reports: () => new RedisReports(client).read(),
          limits: { stallMs: 1_000, slackMs: {} },
          onChange: () => {},
        }),
    ),
  },
  GroupCommit: {
    idle: true,
    make: onRedis(
      (client) =>
        new GroupCommit({
          client,
          partitions: PARTITIONS,
          outcomesTo: 'outcomes',
          blockEventsMax: 10,
          blockBytesMax: 1_000,
          stream: 'intake',
          rawTo: undefined,
          lane: 'live',
          cluster: false,
          lingerMs: 1,
          deadlineMs: 100,
          waitingMax: 10,
          closedBecause: () => undefined,
          log: silent,
        }),
    ),
  },
  StepWorker: {
    make: onRedis((client, blocking) => {
      const { group, from, to } = step
      const { readEntriesMax: entriesMax, dedupWindowMs } = ingest.limits
      const streams = { from, to, joinsOutput: true, outcomesTo: 'outcomes' }
      const place = { partition: 0, group, consumer: 'test', ...streams, countsJobs: true, entriesMax, dedupWindowMs }
      const reader = new StreamGroupReader({
        ...{ client, blocking, ...place, claimIdleMs: 1_000 },
        ensureGroups: async () => {},
      })
      const tools = { enricher: noData, hostnames: undefined, seen: { claim: async () => [], held: async () => [] } }
      return new StepWorker({ group, stages: [], tools, readers: [reader], deliveriesMax: 1, log: silent })
    }),
  },
  SinkWorker: {
    make: async (calls) => {
      const [client, blocking] = await Promise.all([connect(calls), connect(calls)])
      const database = connectClickHouse(clickhouse.url, { application: 'test', database: DATABASE })
      const { group, from } = sink
      const place = { partitions: PARTITIONS, group, from, completesJobs: true, outcomesTo: 'outcomes' }
      const streams = { client, blocking, cluster: false, ...place, log: silent }
      // Its start waits for the destination, so that one is ready at once.
      const inserter = new TableInserter(EVENTS, database, async () => void calls.begun++)
      const service = new SinkWorker({
        group,
        source: new SinkStreams({ ...streams, ensureGroups: async () => {} }),
        inserter,
        startsReady: true,
        rowsMax: 10,
        lingerMs: 10,
        log: silent,
      })
      const close = () => {
        for (const one of [client, blocking]) one.disconnect()
        return database.close()
      }
      return { service, close }
    },
  },
  Feeder: {
    make: onRedis((client) => {
      const store = new RedisFeederStore({ client, pipeline: ingest, partitions: PARTITIONS })
      const limits = { partitions: PARTITIONS, waitingEventsMax: 10, waitingPayloadsMax: 10 }
      const work = { readerOf: () => readChunk, check: () => [], enricher: noData, hostnames: undefined, ...limits }
      const clock = systemClock
      return new Feeder({ store, ...work, clock, log: silent })
    }),
  },
  Puller: {
    make: onRedis((client) => {
      const lease = new Membership({ client, name: 'pulls' }).share(0)
      const store = new RedisPullStore(client, lease)
      const parts = { lease, store, tenants: new RedisTenantStore(client), pullOf: () => undefined }
      const place = { secrets: new SecretBox({ dataDir }), tempDir: join(dataDir, 'pulls') }
      const jobs = new RedisBatchJobs({
        ...{ client, partitions: PARTITIONS, openMax: 1, deadlineMs: 100, clock: systemClock },
        closedBecause: () => undefined,
      })
      return new Puller({ ...parts, ...place, jobs, clock: systemClock, log: silent })
    }),
  },
  Evaluator: {
    make: onRedis((client) => {
      const lease = new Membership({ client, name: 'alerts' }).share(0)
      return new Evaluator({
        ...{ lease, alerts: new RedisAlerts(client), occurrences: new RedisOccurrences(client, lease) },
        visits: new ClickHouseVisits(new QuestionReader(undefined), async () => [], systemClock),
        jobs: new EndedJobs(client, 1, systemClock),
        readWeek: async () => assert.fail('there is no digest'),
        ...{ exports: new RedisExports(client), waiting: async () => 0 },
        segments: new Segments(client, systemClock),
        getTenant: (id) => new RedisTenantStore(client).getTenant(id),
        ...{ retentionDays: undefined, dashboardUrl: 'http://127.0.0.1', settleMs: 0, clock: systemClock, log: silent },
      })
    }),
  },
  ReenrichJobRunner: {
    make: onRedis((client) => {
      const lease = rewriteLease({ client })
      return new ReenrichJobRunner({
        ...{ lease, jobs: new ReenrichJobs(client), events: new ClickHouseReenrichment(clickhouse.url) },
        stored: {} as ReplayedEvents,
        archive: { parts: async () => [], read: async () => [] },
        openLane: async () => assert.fail('there is no job'),
        withData: async () => assert.fail('there is no job'),
        getTenant: async () => undefined,
        ...{ retentionDays: undefined, windowMs: 1, persisted: async () => {}, clock: systemClock, log: silent },
      })
    }),
  },
  Exporter: {
    make: onRedis((client) => {
      const [exports, segments] = [new RedisExports(client), new Segments(client, systemClock)]
      return new Exporter({
        ...{ exports, segments, clock: systemClock, log: silent },
        lease: new Membership({ client, name: 'exports' }).share(0),
        rows: async function* () {},
        ownColumns: async () => [],
        ...{ store: new FolderStore(dataDir), spoolDir: join(dataDir, 'export-spool') },
        getTenant: (id) => new RedisTenantStore(client).getTenant(id),
      })
    }),
  },
  CrmSyncer: {
    make: onRedis((client) => {
      return new CrmSyncer({
        ...{ crm: new RedisCrm(client), clock: systemClock, log: silent },
        lease: new Membership({ client, name: 'crm' }).share(0),
        outgoing: {
          of: async () => assert.fail('there is no connection'),
          withPages: async () => assert.fail('there is no connection'),
        },
        corrections: { bring: async () => 0 },
        open: () => assert.fail('there is no connection'),
        getTenant: (id) => new RedisTenantStore(client).getTenant(id),
      })
    }),
  },
  noScheduledBackups: {
    make: onRedis((client) => scheduledBackups({ client, folder: dataDir, clock: handClock(), on: false })),
  },
  ScheduledBackups: {
    make: onRedis((client) => scheduledBackups({ client, folder: dataDir, clock: handClock() })),
  },
  SampleRemoval: {
    make: onRedis((client) => {
      const admin = new TenantAdmin({ store: new RedisTenantStore(client), plans: new Map(), clock: systemClock })
      return new SampleRemoval({
        ...{ admin, lease: rewriteLease({ client }), clock: systemClock, log: silent },
        endCopies: async () => {},
        open: () => assert.fail('there are no sample data'),
      })
    }),
  },
  Sender: {
    make: onRedis((client) => {
      const lease = new Membership({ client, name: 'deliveries' }).share(0)
      const stores = { deliveries: new RedisDeliveries(client), alerts: new RedisAlerts(client) }
      const send = async () => ({ atMs: 0, tookMs: 0 })
      const tenants = async () => []
      return new Sender({ lease, ...stores, tenants, send, persisted: async () => {}, clock: systemClock, log: silent })
    }),
  },
  BulkWorker: {
    make: async (calls) => {
      const [client, blocking] = await Promise.all([connect(calls), connect(calls)])
      const queue = new RedisBulkQueue({ client, blocking, claimIdleMs: 1_000 })
      const lookups = new TestLookups()
      const work = { queue, lookupsOf: async () => lookups, aliveEveryMs: 100, deliveriesMax: 1 }
      return { service: new BulkWorker({ ...work, log: silent }), close: () => client.disconnect() }
    },
  },
  CachedAuthenticator: {
    make: async (calls) => {
      const [client, listening] = await Promise.all([connect(calls), connect(calls)])
      const parts = { store: new RedisTenantStore(client), changes: new RedisTenantChanges(listening) }
      const plans = new Map(Object.entries(DEFAULT_PLANS))
      const service = new CachedAuthenticator({ ...parts, plans, clock: systemClock, log: silent })
      return { service, close: () => client.disconnect() }
    },
  },
  SharedLimit: {
    idle: true,
    make: onRedis((client) => new SharedLimit(DAILY_LOOKUPS, new RedisTokenCounters(client), systemClock)),
  },
  KeyUses: {
    make: (calls) => {
      const service = new KeyUses({ store: { recordUses: () => calls.hold() }, log: silent })
      service.note('key', systemClock.now())
      return { service, close: () => calls.release() }
    },
  },
  ProxiedWatch: {
    make: (calls) => {
      const read = () => calls.hold().then(() => [])
      const service = new ProxiedWatch({ read, metrics: new Registry(), log: silent })
      return { service, close: () => calls.release() }
    },
  },
  EnrichmentEngine: {
    make: (calls) => {
      const { readdir } = fs
      fs.readdir = ((...args: Parameters<typeof readdir>) => {
        calls.begun++
        return readdir(...args)
      }) as typeof readdir
      syncBuiltinESMExports()
      const close = () => {
        fs.readdir = readdir
        syncBuiltinESMExports()
      }
      const options = { dir: dataDir, pollIntervalMs: 60_000, log: silent, metrics: new Registry() }
      return { service: new EnrichmentEngine(options), close }
    },
  },
  ReverseDns: {
    idle: true,
    make: () => {
      const options = { servers: undefined, clock: systemClock, metrics: new Registry(), log: silent }
      return { service: new ReverseDns(options) }
    },
  },
  createServer: {
    startsAgain: true,
    make: (calls) => {
      const explain = () => ({ response: { status: 500, body: '' }, unexpected: true })
      const options = { host: '127.0.0.1', port: 0, targets: [], explain }
      const service = createServer({ ...options, log: countLines(calls), metrics: new Registry() })
      return { service, close: () => assert.rejects(fetch(service.url)) }
    },
  },
  createHttpServer: {
    startsAgain: true,
    make: (calls) => {
      const parts = { host: '127.0.0.1', port: 0, routes: [], authenticator: oneKey, limiter: noLimit }
      const service = createHttpServer({ ...parts, log: countLines(calls), metrics: new Registry() })
      return { service, close: () => assert.rejects(fetch(service.url)) }
    },
  },
  createDashboard: {
    startsAgain: true,
    make: async (calls) => {
      const sessions = new Sessions({} as SessionStore, systemClock)
      const place = { host: '127.0.0.1', port: 0, publicUrl: undefined, engine: 'auto' } as const
      const parts = {
        sessions,
        people: {} as People,
        addresses: { addressOf: async () => undefined, waitingFor: async () => [], confirm: async () => false },
        sharedPages: { open: async () => ({ status: 404, body: '' }) },
        digests: { subscriptionOfLink: async () => 'gone' as const, unsubscribe: async () => {} },
        routes: [],
        mails: undefined,
        oidc: undefined,
        findTenant: async () => undefined,
        clock: systemClock,
      }
      const service = await createDashboard({
        ...place,
        ...parts,
        persisted: async () => {},
        log: countLines(calls),
        metrics: new Registry(),
      })
      return { service, close: () => assert.rejects(fetch(service.url)) }
    },
  },
  MetricsServer: {
    make: (calls) => ({
      service: new MetricsServer({
        host: '127.0.0.1',
        port: 0,
        mayMove: false,
        gather: async () => [],
        problems: async () => [],
        verdict: async () => ({ isStalled: false, text: '' }),
        log: countLines(calls),
      }),
    }),
  },
}

/** A server reports once that it listens. */
function countLines(calls: Calls) {
  const log = silent.child({})
  log.info = () => void calls.begun++
  return log
}
