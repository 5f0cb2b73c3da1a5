import type { Lane } from '../../pipeline/declaration/lane.ts'

/**
 * Every key name of the product. Keys with the same hash tag share a slot, so one script may use them together, on Redis
 * Cluster too: `{pN}` for all that belongs to partition N.
 */

const partition = (n: number) => `{p${n}}`
/** All keys of a lease and its shares are in one slot. */
const leased = (name: string, share?: number) => (share === undefined ? `{lease:${name}}` : `{lease:${name}}:${share}`)

export const keys = {
  /** String: the number of partitions, written at the first start. */
  partitions: () => 'ipid:partitions',
  /** String: when a restore changed that number last, milliseconds since 1970. */
  partitionsSince: () => 'ipid:partitions:since',

  /** String: JSON of a restore that was begun; while it is there, no role starts. */
  restore: () => 'ipid:restore',

  /** String: JSON of how far a replay of a tenant's archive came; expires. */
  replay: (tenantId: string) => `ipid:replay:${tenantId}`,

  /** Set: the names of the streams of the pipeline that was started last. */
  streams: () => 'ipid:streams',

  /** Stream of blocks. The intake has the short names. */
  stream: (n: number, stream: string, lane: Lane) =>
    stream === 'intake' ? `${partition(n)}:${lane}` : `${partition(n)}:${stream}${lane === 'live' ? '' : `:${lane}`}`,
  /** String: the last sequence number that a producer wrote, to the intake unless another stream is named. */
  producer: (n: number, producer: string, stream?: string) =>
    `${partition(n)}:producer:${producer}${stream === undefined ? '' : `:${stream}`}`,
  /** Hash: what was added and finished, in entries and events, per stream, group and reason. */
  counters: (n: number) => `${partition(n)}:counters`,
  /** Prefix of the hashes that hold the identities seen in one generation; the bucket number follows. */
  seen: (n: number, generation: number) => `${partition(n)}:seen:${generation}:`,
  /** Sorted set: the prefixes of the generations that have buckets, by the milliseconds at which they are over. */
  seenGenerations: (n: number) => `${partition(n)}:seen`,
  /** String: how many identities a generation holds, but for single ones that left again. */
  seenCount: (n: number, generation: number) => `${partition(n)}:seen:${generation}:n`,
  /** Stream of dead letters. */
  dead: (n: number) => `${partition(n)}:dead`,
  /** Stream: dead letters that are to take the place of those that are there. */
  deadCopy: (n: number) => `${partition(n)}:dead:copy`,

  /**
   * String: how many shares of a lease are in force, see `membership.ts`. With a share: its owner, as an earlier version wrote it.
   */
  lease: (name: string, share?: number) => `${leased(name, share)}:owner`,
  /** Sorted set: the members that divide the shares of a lease, by the milliseconds at which each one's lease ends. */
  leaseMembers: (name: string) => `${leased(name)}:members`,
  /** Hash: share of a lease → the member that holds it. */
  leaseShares: (name: string) => `${leased(name)}:shares`,
  /** String: addresses that a tenant looked up on a UTC day, `YYYY-MM-DD`, then reservations of that quota. */
  lookups: (tenantId: string, day: string) => `{tenant:${tenantId}}:lookups:${day}`,
  /** Hash: a tenant's events of a UTC day, and how many came from each network that no visitor uses. */
  origins: (tenantId: string, day: string) => `{tenant:${tenantId}}:origins:${day}`,
  /** String: the batch job that has a file, by the SHA-256 of the file; expires. */
  uploadedFile: (tenantId: string, digest: string) => `{tenant:${tenantId}}:file:${digest}`,
  /** Hash: process → what it told of itself last: milliseconds, then JSON. */
  reports: () => 'ipid:reports',
  /** Hash: store → JSON of when its old events were removed last. */
  retention: () => 'ipid:retention',
  /** String: somebody looks after a store's old events, or has done so a short time ago; expires. */
  retentionTurn: (store: string) => `ipid:retention:${store}`,
  /** Stream of bulk lookup jobs that wait for a worker. */
  bulkJobs: () => '{bulk}:jobs',
  /** Hash: a bulk lookup job, its addresses and options, and at the end its results. */
  bulkJob: (jobId: string) => `{bulk}:job:${jobId}`,
  /** Matches the hashes of all bulk lookup jobs. */
  bulkJobPattern: () => '{bulk}:job:*',
  /** Sorted set: the open bulk lookup jobs of a tenant; the score is when a mere reservation ends, milliseconds. */
  openBulkJobsOf: (tenantId: string) => `{bulk}:open:${tenantId}`,

  /** Hash: batch jobs that are being uploaded, queued or running, with their tenants. */
  openJobs: () => '{batch}:open',
  /** Channel: a batch job was opened. */
  jobsOpened: () => 'ipid:batch:opened',
  /** Set: the open jobs of a tenant. */
  openJobsOf: (tenantId: string) => `{batch}:open:${tenantId}`,
  /** Sorted set: the jobs of a tenant by milliseconds of receipt, as long as there may be a record of them. */
  batchesOf: (tenantId: string) => `{batch}:of:${tenantId}`,
  /** Sorted set: ended jobs, `TENANT JOB`, by the milliseconds at which there is no record any more. */
  endedBatches: () => '{batch}:ended',
  /** String: the number of chunks of a job that is being uploaded; expires when its upload died. */
  upload: (jobId: string) => `{job:${jobId}}:upload`,
  /** Stream: the chunks of a job that are not fed yet, numbered from 1: where their lines stand, of earlier versions also the lines. */
  chunks: (jobId: string) => `{job:${jobId}}:chunks`,
  /** String: the lines of a chunk that is not fed yet; expires when its upload died. */
  chunk: (jobId: string, number: number | '') => `{job:${jobId}}:chunk:${number}`,
  /** Hash: a job's record, and how far it is fed. */
  job: (jobId: string) => `{job:${jobId}}`,
  /** List: the first bad lines of a job, as JSON. */
  jobErrors: (jobId: string) => `{job:${jobId}}:errors`,
  /** Hash: the progress of a job in a partition, see `progressFields`. */
  jobProgress: (n: number, jobId: string) => `${partition(n)}:job:${jobId}`,

  /** String: the ranges that a sink is about to insert, as JSON. @param share undefined: the sink has one share */
  sinkIntent: (name: string, share?: number) => `${leased(name, share)}:intent`,

  /** Hash: damaged parts of tables, `table/part` → JSON. */
  damagedParts: () => 'ipid:damaged-parts',

  /**
   * String: the run ids of the Redis servers that a sink has met, and since when, as JSON. With a share: as an earlier version
   * wrote it.
   */
  sinkRunIds: (name: string, share?: number) => `${leased(name, share)}:lives`,

  /** Hash: tenant id → JSON of the tenant. All of tenants and keys shares one slot: it is small and seldom read. */
  tenants: () => '{tenants}:tenants',
  /** Hash: SHA-256 of a key in hex → JSON of the key. */
  apiKeys: () => '{tenants}:keys',
  /** Hash: prefix of a key → its SHA-256. */
  apiKeyPrefixes: () => '{tenants}:prefixes',
  /** List: the SHA-256 of a tenant's keys in the order of their creation. */
  apiKeysOf: (tenantId: string) => `{tenants}:keys-of:${tenantId}`,
  /** Hash: SHA-256 of a key → milliseconds of its last use. */
  apiKeyUses: () => '{tenants}:uses',
  /** Channel: tenants or keys changed. */
  tenantChanges: () => 'ipid:tenants:changed',
  /** Channel: the `tenantKey` of tenants at whose events somebody looks as they arrive. */
  liveWanted: () => 'ipid:live:wanted',
  /** Channel: some of a tenant's events as they arrive, as JSON. */
  liveEvents: (tenant: string) => `ipid:live:events:${tenant}`,
  /** Matches what is counted of a tenant. */
  countsPattern: (tenantId: string) => `{tenant:${tenantId}}:*`,
  /** String: the tokens in a tenant's bucket, then reservations of it; expires when it is full. */
  rateBucket: (tenantId: string) => `{tenant:${tenantId}}:bucket`,

  /** String: JSON of what a sign-in link gives, by the SHA-256 of its secret; expires. */
  signInLink: (digest: string) => `ipid:dashboard:link:${digest}`,
  /** String: JSON of a session of the dashboard, by the SHA-256 of its secret; expires. */
  session: (digest: string) => `ipid:dashboard:session:${digest}`,
}

/** Fields of a job's progress. Every other field is a reason for which so many of its events are finished. */
export const progressFields = {
  stored: 'stored',
  dead: 'dead',
  /** What a stage counted; says nothing of whether the event is finished. */
  count: (name: string) => `count:${name}`,
}

/** Fields of the counters hash. What was added to a stream, minus what a group has finished of it, still waits. */
export const counterFields = {
  /** For scripts that add the unit themselves. */
  addedPrefix: (stream: string, lane: Lane) => `added:${stream}:${lane}`,
  added: (stream: string, lane: Lane, unit: 'entries' | 'events') => `added:${stream}:${lane}:${unit}`,
  donePrefix: (group: string, stream: string, lane: Lane) => `done:${group}:${stream}:${lane}`,
  done: (group: string, stream: string, lane: Lane, unit: 'entries' | 'events') =>
    `done:${group}:${stream}:${lane}:${unit}`,
  outcome: (group: string, outcome: string) => `outcome:${group}:${outcome}`,
}
