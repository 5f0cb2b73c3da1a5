import type { SETTINGS_MAX } from '../../config/settings.ts'
import { BUCKETS, CLAIM_GENERATIONS } from '../../pipeline/streams/seen-store.ts'
import { COMPACT_MAX, claimBytes } from '../status/redis/dedup.ts'
import {
  ALLOCATED_SHARE,
  ARCHIVE_BYTES,
  CPU_US,
  DAY_BYTES,
  EVENT_BYTES,
  FILE_BYTES,
  HOME_CPU,
  MEASURED_TO,
  ONE_MACHINE_MEMORY,
  REWRITTEN_CLAIM_BYTES,
  SINK_EVENTS_PER_SECOND,
  WAITING_BYTES,
} from './constants.ts'

/** The traffic, and what is wanted of the installation. */
export interface Traffic {
  /** Events sent, noise too. */
  readonly eventsPerDay: number
  /** Share of events that are noise, 0 to 1: they are answered, and take neither a row nor a claim. */
  readonly noise: number
  /** 1 to 100. */
  readonly eventsPerRequest: number
  /** How long events are kept. */
  readonly retentionDays: number
  /** Hours that ClickHouse may be down while every event is still accepted. */
  readonly outageHours: number
  /** Whether payloads are archived on the same disk. */
  readonly isArchived: boolean
}

/** Limits that the program fixes. */
export interface Limits {
  /** Events that may wait by default: INTAKE_HIGH_WATER_EVENTS. */
  readonly waitingEventsMax: number
  readonly dedupWindowMs: number
  /** Share of `maxmemory` above which intake closes. */
  readonly memoryShareMax: number
  /** The largest values of the settings. */
  readonly settingsMax: typeof SETTINGS_MAX
  /** `maxmemory` of Redis in docker-compose.yml, bytes. No plan has less. */
  readonly composeRedisBytes: number
  /** Memory of ClickHouse in docker-compose.yml, bytes. No plan has less. */
  readonly composeClickhouseBytes: number
}

/** Needs of an installation with this traffic, in bytes, cores and seconds. */
export interface Plan {
  readonly traffic: Traffic
  readonly meanPerSecond: number
  readonly peakPerSecond: number
  readonly storedEvents: number
  /** Cores at the peak. */
  readonly cpu: {
    readonly ingress: number
    readonly worker: number
    readonly redis: number
    readonly clickhouse: number
    /** For merges, and while somebody reads pages. */
    readonly pages: number
  }
  readonly redis: {
    readonly claims: number
    readonly claimBytes: number
    readonly waitingBytes: number
    /** `maxmemory` that holds both, below the share at which intake closes. */
    readonly maxMemoryBytes: number
    readonly diskBytes: number
  }
  readonly clickhouse: { readonly memoryBytes: number; readonly diskBytes: number }
  readonly archiveBytes: number
  /** All of it on one machine. */
  readonly machine: { readonly cores: number; readonly memoryBytes: number; readonly diskBytes: number }
  /** How long Redis takes events while ClickHouse is down, seconds at the mean and the peak rate: by default (in Compose), and with `settings`. */
  readonly buffer: {
    readonly byDefault: Buffered
    readonly planned: Buffered
    /** Whether INTAKE_HIGH_WATER_EVENTS is at its largest value, which is less than the outage wants. */
    readonly isCapped: boolean
  }
  readonly settings: {
    readonly partitions: number
    readonly sinkShares: number
    readonly ingressProcesses: number
    readonly highWaterEvents: number
    readonly redisMaxMemoryBytes: number
    readonly redisMemoryBytes: number
    readonly clickhouseMemoryBytes: number
  }
  /** Why this is too much for one machine. Empty: one is enough. */
  readonly tooMuch: readonly string[]
  /** Which numbers lie beyond what was measured. */
  readonly beyond: readonly string[]
}

interface Buffered {
  readonly meanSeconds: number
  readonly peakSeconds: number
}

const MB = 2 ** 20
const GB = 2 ** 30
const DAY_SECONDS = 86_400
const DAY_MS = DAY_SECONDS * 1_000

/** The busiest minutes of a day against its mean: business hours of one part of the world, and a mailing. */
export const PEAK_FACTOR = 4
/** Cores are busy to this share at the peak. */
export const BUSY_SHARE = 0.6
/** For merges. */
const MERGE_CORES = 1
/** Cores for pages are as many as answer Home in this time. */
export const HOME_SECONDS = 2
const CORES_LEAST = 2
/** The disk has this share of ClickHouse's data free, for merges. */
export const MERGE_SHARE = 0.25
/** A mean bucket is filled to this share, because the fullest ones hold more. */
const BUCKET_FILL = 0.8
const PARTITIONS_LEAST = 4
/** `auto-aof-rewrite-min-size` of docker-compose.yml and the embedded Redis. */
const REWRITE_LEAST_BYTES = 512 * MB
/** Redis beside its data: clients, streams in work, counters. */
const REDIS_OTHER_BYTES = 64 * MB
/** The kernel's, and cached files of ClickHouse. */
const SYSTEM_BYTES = GB
/** Larger machines cost more than several. */
const MACHINE = { cores: 32, memoryBytes: 128 * GB, diskBytes: 8 * 1_024 * GB }

/** Computes what an installation needs. Pure. */
export function planFor(traffic: Traffic, limits: Limits): Plan {
  const { eventsPerDay, noise, outageHours, isArchived, retentionDays } = traffic
  const meanPerSecond = eventsPerDay / DAY_SECONDS
  const peakPerSecond = meanPerSecond * PEAK_FACTOR
  const keptPerDay = eventsPerDay * (1 - noise)
  const storedEvents = keptPerDay * retentionDays
  const cpu = { ...cpuAt(peakPerSecond, traffic.eventsPerRequest), pages: pageCores(keptPerDay) }
  const partitions = partitionsFor(keptPerDay, limits)
  const wanted = (keptPerDay / 24) * outageHours * OUTAGE_SPARE
  const waiting = Math.min(wanted, limits.settingsMax.intakeHighWaterEvents)
  const redis = redisFor(keptPerDay, partitions, waiting, limits)
  const clickhouse = {
    memoryBytes: clickhouseMemory(storedEvents, limits),
    diskBytes: storedEvents * (EVENT_BYTES + DAY_BYTES) * (1 + MERGE_SHARE),
  }
  const archiveBytes = isArchived ? eventsPerDay * retentionDays * ARCHIVE_BYTES : 0
  const together = cpu.ingress + cpu.worker + cpu.redis + cpu.clickhouse
  const redisMemoryBytes = memoryAround(redis.maxMemoryBytes)
  const machine = {
    cores: Math.max(CORES_LEAST, Math.ceil(together / BUSY_SHARE + cpu.pages)),
    memoryBytes: ONE_MACHINE_MEMORY.loadMb * MB + redisMemoryBytes + clickhouse.memoryBytes + SYSTEM_BYTES,
    diskBytes: redis.diskBytes + clickhouse.diskBytes + archiveBytes,
  }
  const highWaterEvents = Math.max(limits.waitingEventsMax, roundUp(waiting, 100_000))
  const buffered = (waitingMax: number, maxMemoryBytes: number, ofPartitions: number): Buffered => {
    const { bytes } = claimsOf(keptPerDay, ofPartitions, limits)
    const room = Math.max(0, maxMemoryBytes * limits.memoryShareMax - bytes - REDIS_OTHER_BYTES)
    const events = Math.min(waitingMax, room / WAITING_BYTES)
    const meanSeconds = events / (keptPerDay / DAY_SECONDS)
    return { meanSeconds, peakSeconds: meanSeconds / PEAK_FACTOR }
  }
  return {
    ...{ traffic, meanPerSecond, peakPerSecond, storedEvents, cpu, redis, clickhouse, archiveBytes, machine },
    buffer: {
      byDefault: buffered(limits.waitingEventsMax, limits.composeRedisBytes, PARTITIONS_LEAST),
      planned: buffered(highWaterEvents, redis.maxMemoryBytes, partitions),
      isCapped: waiting < wanted,
    },
    settings: {
      ...{ partitions, highWaterEvents, redisMemoryBytes },
      sinkShares: between(1, Math.ceil(peakPerSecond / SINK_EVENTS_PER_SECOND), limits.settingsMax.sinkShares),
      ingressProcesses: between(1, Math.ceil(cpu.ingress / BUSY_SHARE), limits.settingsMax.ingressProcesses),
      redisMaxMemoryBytes: redis.maxMemoryBytes,
      clickhouseMemoryBytes: clickhouse.memoryBytes,
    },
    tooMuch: reasonsToLeave(machine, cpu.redis),
    beyond: beyondOf(peakPerSecond, storedEvents),
  }
}

/** An outage may begin in the busy hours. */
const OUTAGE_SPARE = 1.5

/** A request costs the same whatever it holds, so an event costs a part of it. */
function cpuAt(perSecond: number, perRequest: number): Omit<Plan['cpu'], 'pages'> {
  const cores = ({ of1, of100 }: { readonly of1: number; readonly of100: number }) => {
    const ofRequest = ((of1 - of100) * 100) / 99
    return (perSecond * (of1 - ofRequest + ofRequest / perRequest)) / 1e6
  }
  const { ingress, worker, redis, clickhouse } = CPU_US
  return { ingress: cores(ingress), worker: cores(worker), redis: cores(redis), clickhouse: cores(clickhouse) }
}

/** Home reads the days of five weeks, so its CPU follows the events of a day. */
function pageCores(keptPerDay: number): number {
  return MERGE_CORES + Math.ceil((HOME_CPU.seconds * Math.max(1, keptPerDay / HOME_CPU.eventsPerDay)) / HOME_SECONDS)
}

/** Each generation is half a window. Its claims live until no event of a window can repeat one, so three of them are held at the most. */
function claimsOf(keptPerDay: number, partitions: number, limits: Limits) {
  const perGeneration = generationOf(keptPerDay, limits)
  const bytes = claimBytes(perGeneration / partitions) * partitions * CLAIM_GENERATIONS * ALLOCATED_SHARE
  return { claims: perGeneration * CLAIM_GENERATIONS, bytes }
}

function generationOf(keptPerDay: number, { dedupWindowMs }: Limits): number {
  return (keptPerDay * dedupWindowMs) / DAY_MS / 2
}

/** As few partitions as keep every hash of claims compact. */
function partitionsFor(keptPerDay: number, limits: Limits): number {
  const needed = roundUp(generationOf(keptPerDay, limits) / (BUCKETS * COMPACT_MAX * BUCKET_FILL), PARTITIONS_LEAST)
  return between(PARTITIONS_LEAST, needed, limits.settingsMax.partitions)
}

function redisFor(keptPerDay: number, partitions: number, waiting: number, limits: Limits): Plan['redis'] {
  const { claims, bytes } = claimsOf(keptPerDay, partitions, limits)
  const waitingBytes = waiting * WAITING_BYTES
  const needed = (bytes + waitingBytes + REDIS_OTHER_BYTES) / limits.memoryShareMax
  const rewritten = claims * REWRITTEN_CLAIM_BYTES
  return {
    ...{ claims, claimBytes: bytes, waitingBytes },
    maxMemoryBytes: Math.max(limits.composeRedisBytes, roundUp(needed, needed > 4 * GB ? GB : 256 * MB)),
    // The file grows to twice its size after the last rewrite, and the next one is beside it until it is complete.
    diskBytes: Math.max(REWRITE_LEAST_BYTES, 2 * rewritten) + rewritten + waiting * FILE_BYTES,
  }
}

/** As in docker-compose.yml, 2500m for 1gb: a rewrite of its file may copy all that Redis holds, and connections come on top. */
function memoryAround(maxMemoryBytes: number): number {
  return 2 * maxMemoryBytes + 452 * MB
}

/** 1 GiB was enough for the pages of 10 million events: bench/results.md. More was not measured: from two billion events on, it grows with them. */
function clickhouseMemory(storedEvents: number, { composeClickhouseBytes }: Limits): number {
  return between(composeClickhouseBytes, roundUp((2 * GB * storedEvents) / 1e9, 2 * GB), 32 * GB)
}

function reasonsToLeave({ cores, memoryBytes, diskBytes }: Plan['machine'], redisCores: number): string[] {
  const reasons: string[] = []
  if (redisCores > BUSY_SHARE) {
    const share = Math.round(BUSY_SHARE * 100)
    reasons.push(`Redis uses one core, which would be busy to more than ${share} % at the peak: use a Redis Cluster`)
  }
  if (cores > MACHINE.cores)
    reasons.push(`it needs ${cores} cores: put the roles and the stores on machines of their own`)
  if (memoryBytes > MACHINE.memoryBytes) {
    reasons.push('it needs more than 128 GB of memory: put Redis on machines of its own, or use a Redis Cluster')
  }
  if (diskBytes > MACHINE.diskBytes) {
    reasons.push('it needs more than 8 TB of disk: use a ClickHouse cluster, or keep events for fewer days')
  }
  return reasons
}

function beyondOf(peakPerSecond: number, storedEvents: number): string[] {
  const beyond: string[] = []
  if (peakPerSecond > MEASURED_TO.eventsPerSecond) beyond.push('CPU, above 110,000 events a second')
  if (storedEvents > MEASURED_TO.storedEvents) beyond.push('memory and time of pages, above 100 million stored events')
  return beyond
}

function between(least: number, value: number, most: number): number {
  return Math.min(most, Math.max(least, value))
}

function roundUp(value: number, step: number): number {
  return Math.ceil(value / step) * step
}
