/*
 * Costs of an event and of a process: the only numbers that `ipid plan` and the page beside this file compute from.
 * Sizes: `node --import tsx bench/sizing.ts`, a million page views of 30 days with UUIDs as ids, 30 % of them noise, each role as a service of its own.
 * CPU: bench/results.md.
 */

/** Memory in megabytes of 2^20 bytes: what the processes of a role hold alone, and 50 for the program that they map. */
interface RoleMemory {
  /** A minute after its start, and before the first event. */
  readonly restMb: number
  /** The most of any phase: its start, requests of 100 events as fast as possible, an upload, catching up after an outage. */
  readonly loadMb: number
}

/** `bench/sizing.ts`: "at rest", and the largest of its other lines. Of Redis and ClickHouse the data are not in it. */
export const ROLE_MEMORY = {
  // 300 in `bench/sizing.ts`; 530 once it has seen 300,000 addresses: bench/results.md, "Others".
  ingress: { restMb: 160, loadMb: 530 },
  process: { restMb: 170, loadMb: 300 },
  sink: { restMb: 145, loadMb: 280 },
  batch: { restMb: 165, loadMb: 300 },
  archive: { restMb: 125, loadMb: 300 },
  dashboard: { restMb: 180, loadMb: 310 },
} as const satisfies Record<string, RoleMemory>

/**
 * `LAYOUT=one node --import tsx bench/sizing.ts`: main process, ingress, worker and dashboard of `npm start`, without the stores. Under load it was 720;
 * an ingress that has seen 300,000 addresses takes 380 more.
 */
export const ONE_MACHINE_MEMORY: RoleMemory = { restMb: 550, loadMb: 1_100 }

/** Memory of ClickHouse without the caches of its data: at rest; while events arrive and pages of a million events are read. */
export const CLICKHOUSE_MEMORY: RoleMemory = { restMb: 310, loadMb: 560 }

/**
 * CPU of an event, microseconds, in requests of 100 events, of one event, and as a line of an upload: bench/results.md, "Cost of an event".
 * Measured to 110,000 events a second, on two cores.
 */
export const CPU_US = {
  ingress: { of100: 4.0, of1: 24, line: 0.3 },
  worker: { of100: 2.2, of1: 5.1, line: 4.0 },
  redis: { of100: 5.0, of1: 8.0, line: 3.7 },
  clickhouse: { of100: 2.8, of1: 4.6, line: 2.7 },
} as const

/**
 * CPU of ClickHouse for Home, the page that costs most of those that people open often, seconds, where 100 million events of 90 days are stored, of one
 * tenant: bench/results.md, "Pages of the dashboard". With 10 million it is 1.0.
 */
export const HOME_CPU = { seconds: 1.8, eventsPerDay: 100_000_000 / 90 } as const

/**
 * Bytes on disk of a stored event in the table `events` with its projections: 104 in `bench/sizing.ts` (100 when merged), 102 with 10 million
 * events in bench/results.md, and 145 of 1.05 million events of other tools. A plan takes the largest.
 */
export const EVENT_BYTES = 145

/** Bytes on disk of the stored numbers of closed days, for each stored event: 22 in `bench/sizing.ts`, 33 with 10 million events in bench/results.md. */
export const DAY_BYTES = 33

/** Bytes of an event in the archive, compressed, for each event sent, noise too: `bench/sizing.ts`, payloads of 450 bytes. */
export const ARCHIVE_BYTES = 63

/** Bytes of Redis for an event of 450 bytes that waits for ClickHouse, with its claim: 596 in `bench/sizing.ts`, ClickHouse stopped, archive on. */
export const WAITING_BYTES = 600

/** Bytes of Redis' append-only file for an event until the next rewrite: bench/results.md, "How far it goes"; 384 in `bench/sizing.ts`. */
export const FILE_BYTES = 716

/** Bytes of a claim in the append-only file after a rewrite: `bench/sizing.ts`. */
export const REWRITTEN_CLAIM_BYTES = 34

/**
 * Ratio of the memory that Redis counts for claims to the sum of MEMORY USAGE, which `claimBytes` (src/operations/status/redis/dedup.ts) estimates: hashes of 1 to
 * 128 claims in a Redis of their own took 31.6 to 136 B a claim, at most 1.1 times the estimate; a million events, 49.4 instead of 48.6.
 */
export const ALLOCATED_SHARE = 1.1

/** Events/s and stored events up to which bench/results.md measured. Everything above is computed from the same numbers. */
export const MEASURED_TO = { eventsPerSecond: 110_000, storedEvents: 100_000_000 } as const

/** Events/s that one inserting sink can take: bench/results.md, "How far it goes" (computed there). */
export const SINK_EVENTS_PER_SECOND = 350_000
