import { Gauge, type Registry } from 'prom-client'
import { LANES } from '../../pipeline/declaration/lane.ts'
import { groupsOf, type Pipeline } from '../../pipeline/declaration/pipeline.ts'
import type { PipelineStatus } from '../../pipeline/declaration/status.ts'
import type { DiskSpace } from '../../run/free-space.ts'
import { waitingOf } from './collect.ts'
import { sharedRead } from './shared-read.ts'
import type {
  ClickHouseStatus,
  DedupStatus,
  GroupWaiting,
  JobsStatus,
  RedisStatus,
  SystemStatus,
  Verdict,
} from './system-status.ts'

/** Reads values for a scrape. When a call rejects, its metrics are absent. */
export interface StoreReads {
  readonly pipeline: Pipeline
  /** May omit idle groups. */
  readonly waiting: () => Promise<PipelineStatus>
  readonly batchJobs: () => Promise<JobsStatus>
  readonly bulkJobs: () => Promise<JobsStatus>
  readonly redis: () => Promise<RedisStatus>
  readonly dedup: () => Promise<DedupStatus>
}

type Set = (labels: Readonly<Record<string, string>>, value: number) => void

/** A read that takes longer than `lateMs` must not cost a scrape the other metrics of the process. */
export const QUICK_READ = { freshMs: 1_000, lateMs: 500 }
/** For values that change slowly and are expensive to read: read them less often than Prometheus scrapes. */
const SLOW = { ...QUICK_READ, freshMs: 14_000 }

/**
 * Queue lengths and memory of Redis. All processes show the same values, so the aggregate takes the maximum. Values are summed
 * over partitions, so the number of series does not grow with them.
 */
export function createStoreMetrics(registry: Registry, reads: StoreReads): void {
  const gauge = gaugesOf(registry)
  const pipeline = sharedRead(reads.waiting, QUICK_READ)
  const everyGroup = (value: (group: GroupWaiting) => number) => async (set: Set) => {
    const { streams } = await pipeline()
    const waiting = waitingOf(streams)
    for (const { group, from: stream } of groupsOf(reads.pipeline)) {
      for (const lane of LANES) {
        const found = waiting.find((one) => one.group === group && one.lane === lane)
        set({ stream, lane, group }, found === undefined ? 0 : value(found))
      }
    }
  }
  const labels = ['stream', 'lane', 'group']
  gauge(
    ...(['ipid_stream_lag_entries', 'Entries not yet delivered to the group', labels] as const),
    everyGroup(({ lag_entries: entries }) => entries),
  )
  gauge(
    ...(['ipid_stream_pending_entries', 'Entries delivered and not yet acknowledged', labels] as const),
    everyGroup(({ pending_entries: entries }) => entries),
  )
  gauge(
    ...(['ipid_stream_waiting_events', 'Events in entries that are not acknowledged yet', labels] as const),
    everyGroup(({ events }) => events),
  )
  gauge(
    ...(['ipid_stream_oldest_seconds', 'Age of the oldest waiting entry', labels] as const),
    everyGroup(({ oldest_ms: ms }) => ms / 1_000),
  )
  gauge('ipid_dead_letters', 'Events that could not be processed and wait for retry or discard', [], async (set) => {
    set({}, (await pipeline()).dead_letters)
  })
  createJobMetrics(gauge, reads)
  const redis = sharedRead(reads.redis, QUICK_READ)
  gauge('ipid_redis_memory_bytes', 'Memory that Redis uses', [], async (set) => set({}, (await redis()).used_bytes))
  gauge('ipid_redis_memory_max_bytes', 'Memory that Redis may use; 0: no limit', [], async (set) => {
    set({}, (await redis()).max_bytes)
  })
  gauge('ipid_redis_memory_share', 'Share of its memory that the fullest Redis uses, 0 to 1', [], async (set) => {
    set({}, (await redis()).used_share)
  })
  const dedup = sharedRead(reads.dedup, SLOW)
  gauge('ipid_dedup_entries', 'Identities that the dedup window remembers', [], async (set) => {
    set({}, (await dedup()).entries)
  })
  gauge('ipid_dedup_bytes', 'Memory of the dedup window, estimated', [], async (set) => set({}, (await dedup()).bytes))
}

function createJobMetrics(gauge: ReturnType<typeof gaugesOf>, reads: StoreReads): void {
  const kinds = [
    ['batch', sharedRead(reads.batchJobs, QUICK_READ)] as const,
    ['bulk', sharedRead(reads.bulkJobs, QUICK_READ)] as const,
  ]
  const both = (set: (kind: string, jobs: JobsStatus) => void) => async () => {
    for (const [kind, read] of kinds) set(kind, await read())
  }
  gauge('ipid_jobs', 'Jobs that have not ended', ['kind', 'state'], (set) =>
    both((kind, jobs) => {
      for (const state of ['uploading', 'queued', 'running'] as const) set({ kind, state }, jobs[state])
    })(),
  )
  gauge('ipid_jobs_waiting_lines', 'Lines or addresses of jobs that no worker has taken yet', ['kind'], (set) =>
    both((kind, jobs) => set({ kind }, jobs.lines_waiting))(),
  )
  gauge('ipid_jobs_oldest_seconds', 'Time since the receipt of the oldest job that has not ended', ['kind'], (set) =>
    both((kind, jobs) => set({ kind }, jobs.oldest_ms / 1_000))(),
  )
}

/** Memory that ClickHouse reports. */
export function createClickHouseMetrics(registry: Registry, read: () => Promise<ClickHouseStatus>): void {
  const gauge = gaugesOf(registry)
  const memory = sharedRead(read, SLOW)
  gauge('ipid_clickhouse_memory_bytes', 'Memory that ClickHouse uses', [], async (set) => {
    set({}, (await memory()).memory_bytes)
  })
  gauge('ipid_clickhouse_memory_max_bytes', 'Memory that ClickHouse may use; 0: no limit', [], async (set) => {
    set({}, (await memory()).memory_max_bytes)
  })
}

/** Shares of sinks that this process holds. @param shared by group */
export function createShareMetrics(registry: Registry, shared: ReadonlyMap<string, { readonly held: number }>): void {
  gaugesOf(registry)('ipid_sink_shares', 'Shares of a sink that this process holds', ['group'], async (set) => {
    for (const [group, { held }] of shared) set({ group }, held)
  })
}

/** Whether the pipeline is stalled, and whether intake is closed. */
export function createIntakeMetrics(registry: Registry, isStalled: () => boolean, isClosed: () => boolean): void {
  const gauge = gaugesOf(registry)
  gauge('ipid_stalled', '1 while accepted events make no progress', [], async (set) => {
    set({}, isStalled() ? 1 : 0)
  })
  gauge('ipid_intake_closed', '1 while too many events wait, and intake answers 429', [], async (set) => {
    set({}, isClosed() ? 1 : 0)
  })
}

/** Reads values of the supervisor for a scrape. When a call rejects, its metrics are absent. */
interface HealthReads {
  readonly status: () => Promise<SystemStatus>
  readonly disk: () => Promise<DiskSpace & { readonly isFull: boolean }>
}

const LEVELS: readonly Verdict['level'][] = ['ok', 'warning', 'stalled']

/** Whether stores answer, take writes and agree about the time; the disk of DATA_DIR; and the verdict of a status. */
export function createHealthMetrics(registry: Registry, { status, disk }: HealthReads): void {
  const gauge = gaugesOf(registry)
  gauge('ipid_verdict', 'Verdict of ipid status: 0 ok, 1 warning, 2 stalled', [], async (set) => {
    set({}, LEVELS.indexOf((await status()).verdict.level))
  })
  gauge('ipid_store_up', '1 while the store answers', ['store'], async (set) => {
    const { redis, verdict } = await status()
    set({ store: 'redis' }, redis === null ? 0 : 1)
    set({ store: 'clickhouse' }, verdict.facts.some(({ name }) => name === 'clickhouse-down') ? 0 : 1)
  })
  gauge('ipid_redis_writable', '1 while Redis answers and takes writes', [], async (set) => {
    const { redis } = await status()
    set({}, redis !== null && redis.refuses_writes === null ? 1 : 0)
  })
  gauge(
    'ipid_clock_skew_seconds',
    'How far clocks of stores and machines are apart from that of Redis',
    [],
    async (set) => {
      const { clocks } = await status()
      set({}, Math.max(0, ...clocks.map(({ skew_ms: ms }) => Math.abs(ms))) / 1_000)
    },
  )
  gauge('ipid_disk_free_bytes', 'Free space on the disk of DATA_DIR', [], async (set) =>
    set({}, (await disk()).free_bytes),
  )
  gauge('ipid_disk_bytes', 'Size of the disk of DATA_DIR', [], async (set) => set({}, (await disk()).total_bytes))
  gauge(
    'ipid_disk_full',
    '1 while the disk of DATA_DIR lacks the space that ClickHouse keeps free',
    [],
    async (set) => {
      set({}, (await disk()).isFull ? 1 : 0)
    },
  )
  const startedS = Date.now() / 1_000
  gauge('ipid_started_timestamp_seconds', 'When ipid was started', [], async (set) => set({}, startedS))
}

/** Facts about a process, so that a rule can see that a version or a role is gone. */
export function createProcessMetrics(registry: Registry, version: string, roles: readonly string[]): void {
  const gauge = gaugesOf(registry)
  gauge('ipid_role', '1 for each role that a process of this machine has', ['role'], async (set) => {
    for (const role of roles) set({ role }, 1)
  })
  gauge('ipid_build_info', '1; the labels have the versions', ['version', 'node'], async (set) => {
    set({ version, node: process.version }, 1)
  })
}

/** Makes gauges that each scrape fills, and that are absent when this fails. The aggregate of all processes takes the maximum. */
export function gaugesOf(registry: Registry) {
  return (name: string, help: string, labelNames: readonly string[], fill: (set: Set) => Promise<void>) => {
    new Gauge({
      ...{ name, help, labelNames, aggregator: 'max', registers: [registry] },
      async collect() {
        this.reset()
        // An unreachable store has no value here; other metrics and the log show the failure.
        await fill((labels, value) => this.set(labels, value)).catch(() => {
          this.reset()
          if (labelNames.length === 0) this.remove()
        })
      },
    })
  }
}
