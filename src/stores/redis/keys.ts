import type { Lane } from '../../pipeline/declaration/lane.ts'

/**
 * All Redis keys of the product. Keys with the same hash tag share a slot, so one script may use them together on Redis Cluster too.
 * `{pN}` tags the keys of partition N.
 */

const partition = (n: number) => `{p${n}}`
/** Hash tag of a lease, for all its keys. */
const leased = (name: string, share?: number) => (share === undefined ? `{lease:${name}}` : `{lease:${name}}:${share}`)

export const keys = {
  /** String: the number of partitions, written at the first start. */
  partitions: () => 'ipid:partitions',
  /** String: when a restore last changed that number, Unix milliseconds. */
  partitionsSince: () => 'ipid:partitions:since',

  /** Never exists: a write to it changes nothing, and fails as other writes do. @param n partition; undefined: without one */
  writeProbe: (n: number | undefined) => (n === undefined ? 'ipid:probe' : `${partition(n)}:probe`),

  /** Hash: `form`, the latest form of the data (`REDIS_FORM`), and `version`, the ipid that brought it. Absent: form 1. */
  form: () => 'ipid:form',

  /** String: JSON of an unfinished restore. While it exists, no role starts. */
  restore: () => 'ipid:restore',

  /** String: JSON of the progress of a replay of a tenant's archive; expires. */
  replay: (tenantId: string) => `ipid:replay:${tenantId}`,

  /** Set: names of the pipeline's streams. */
  streams: () => 'ipid:streams',

  /** Stream of blocks. The intake has the short names. */
  stream: (n: number, stream: string, lane: Lane) =>
    stream === 'intake' ? `${partition(n)}:${lane}` : `${partition(n)}:${stream}${lane === 'live' ? '' : `:${lane}`}`,
  /** String: the last sequence number of a producer. @param stream undefined: the intake */
  producer: (n: number, producer: string, stream?: string) =>
    `${partition(n)}:producer:${producer}${stream === undefined ? '' : `:${stream}`}`,
  /** Hash: entries and events added and finished, per stream, group and reason; see `counterFields`. */
  counters: (n: number) => `${partition(n)}:counters`,
  /** Prefix of the dedup hashes of a generation, identity → claim id; the bucket number follows. */
  seen: (n: number, generation: number) => `${partition(n)}:seen:${generation}:`,
  /** Sorted set: the prefixes of existing generations, by their end, Unix milliseconds. */
  seenGenerations: (n: number) => `${partition(n)}:seen`,
  /** String: about how many identities a generation holds. */
  seenCount: (n: number, generation: number) => `${partition(n)}:seen:${generation}:n`,
  /** Stream of dead letters. */
  dead: (n: number) => `${partition(n)}:dead`,
  /** Stream: dead letters that will replace the current ones. */
  deadCopy: (n: number) => `${partition(n)}:dead:copy`,

  /** String: the number of shares in force, see `membership.ts`. With `share`: its holder, as an earlier version wrote it. */
  lease: (name: string, share?: number) => `${leased(name, share)}:owner`,
  /** Sorted set: the members that divide the shares of a lease, by the end of their own leases, milliseconds. */
  leaseMembers: (name: string) => `${leased(name)}:members`,
  /** Hash: share of a lease → the member that holds it. */
  leaseShares: (name: string) => `${leased(name)}:shares`,
  /** String: the batch job of a file, by the file's SHA-256; expires. */
  uploadedFile: (tenantId: string, digest: string) => `{tenant:${tenantId}}:file:${digest}`,
  /** String: the job of the request with this `Idempotency-Key`, by the SHA-256 of the key; expires. */
  idempotencyKey: (tenantId: string, of: 'batch' | 'bulk', digest: string) =>
    `{tenant:${tenantId}}:idempotency:${of}:${digest}`,
  /** Hash: process → its last report: milliseconds, then JSON. */
  reports: () => 'ipid:reports',
  /** Hash: store → JSON of when old events were last removed. */
  retention: () => 'ipid:retention',
  /** String: the last findings of the builder of days, as JSON. */
  days: () => 'ipid:days',
  /** String: exists while a process removes a store's old events, and for a short time after; expires. */
  retentionTurn: (store: string) => `ipid:retention:${store}`,
  /** Stream of bulk lookup jobs that wait for a worker. */
  bulkJobs: () => '{bulk}:jobs',
  /** Hash: a bulk lookup job with its addresses and options, and later its results. */
  bulkJob: (jobId: string) => `{bulk}:job:${jobId}`,
  /** Matches the hashes of all bulk lookup jobs. */
  bulkJobPattern: () => '{bulk}:job:*',
  /** Sorted set: the open bulk lookup jobs of a tenant. The score is when a reservation without a job ends, milliseconds. */
  openBulkJobsOf: (tenantId: string) => `{bulk}:open:${tenantId}`,
  /** Sorted set: the ended bulk lookup jobs of a tenant, `JOB BYTES`, by the time at which they expire, milliseconds; expires with the last. */
  endedBulkJobsOf: (tenantId: string) => `{bulk}:ended:${tenantId}`,
  /** String: the sum of these bytes; expires with them. An erased job counts until it would have expired. */
  bulkBytesOf: (tenantId: string) => `{bulk}:bytes:${tenantId}`,

  /** Hash: batch job that is being uploaded, queued or running → its tenant. */
  openJobs: () => '{batch}:open',
  /** Channel: a batch job was opened. */
  jobsOpened: () => 'ipid:batch:opened',
  /** Set: the open jobs of a tenant. */
  openJobsOf: (tenantId: string) => `{batch}:open:${tenantId}`,
  /** Hash: open job of a tenant → bytes of its chunks as they were spooled, fed ones included. */
  spooledBytesOf: (tenantId: string) => `{batch}:spooled:${tenantId}`,
  /** Sorted set: the jobs of a tenant by time of receipt, milliseconds, while their records may exist. */
  batchesOf: (tenantId: string) => `{batch}:of:${tenantId}`,
  /** Hash: job of a tenant → most bytes of its rejected lines, and `all`: their sum; expires. */
  rejectedBytesOf: (tenantId: string) => `{batch}:rejected:${tenantId}`,
  /** Sorted set: ended jobs of that hash, by the time at which their rejected lines expire, milliseconds; expires. */
  rejectedUntil: (tenantId: string) => `{batch}:rejected-until:${tenantId}`,
  /**
   * Hash: tenant → `all` of that hash, `*all`: their sum, and `*swept_at`: when what had expired of all tenants was last freed, milliseconds;
   * expires.
   */
  rejectedBytes: () => '{batch}:rejected-bytes',
  /** Sorted set: ended jobs, `TENANT JOB`, by the time at which their records expire, milliseconds. */
  endedBatches: () => '{batch}:ended',
  /** String: the number of chunks of a job that is being uploaded; expires after the upload has died. */
  upload: (jobId: string) => `{job:${jobId}}:upload`,
  /** Stream: the chunks of a job that are not fed yet, numbered from 1: positions of lines, after a `z` if they are compressed. */
  chunks: (jobId: string) => `{job:${jobId}}:chunks`,
  /** String: the lines of a chunk that is not fed yet; expires after the upload has died. */
  chunk: (jobId: string, number: number | '') => `{job:${jobId}}:chunk:${number}`,
  /** Hash: a job's record and the progress of its feeder. */
  job: (jobId: string) => `{job:${jobId}}`,
  /** String: exists from the creation of a pull's job until the pull has noted it. */
  jobReceipt: (jobId: string) => `{job:${jobId}}:receipt`,
  /** List: the first bad lines of a job, as JSON. */
  jobErrors: (jobId: string) => `{job:${jobId}}:errors`,
  /** List: rejected lines of a job, compressed NDJSON of `RejectedLine`; expires after the end of the job. */
  jobRejected: (jobId: string) => `{job:${jobId}}:rejected`,
  /** Hash: the progress of a job in a partition, see `progressFields`. */
  jobProgress: (n: number, jobId: string) => `${partition(n)}:job:${jobId}`,
  /** Matches the progress of all jobs in all partitions. */
  jobProgressPattern: () => '{p*}:job:*',
  /** String: exists for an hour after a process has removed progress without a job. */
  strayProgressTurn: () => '{batch}:stray-progress',

  /** String: JSON of the intent of a sink. @param share undefined: the sink has one share */
  sinkIntent: (name: string, share?: number) => `${leased(name, share)}:intent`,

  /** String: JSON of a pull's state, see `PullState`. */
  pullState: (sourceId: string) => `${leased('pulls')}:state:${sourceId}`,
  /** String: JSON of the job that a pull is about to create, and of its state after that. */
  pullIntent: (sourceId: string) => `${leased('pulls')}:intent:${sourceId}`,
  /** Sorted set: marks of recently fetched items of a pull, by the time when they were written, milliseconds. */
  pullMarks: (sourceId: string) => `${leased('pulls')}:marks:${sourceId}`,
  /** String: JSON of a person's request to a pull, see `PullAsk`. */
  pullAsk: (sourceId: string) => `${leased('pulls')}:ask:${sourceId}`,

  /** Hash: tenant → JSON of its running or last reenrichment job. All keys of these jobs are in the slot of the lease `rewrite`. */
  reenrichments: () => `${leased('rewrite')}:reenrichments`,
  /** Hash: tenant → JSON of the job that waits. */
  waitingReenrichments: () => `${leased('rewrite')}:reenrichments:waiting`,
  /** Sorted set: tenants with a waiting or running job, by the time of its request, milliseconds. */
  reenrichmentQueue: () => `${leased('rewrite')}:reenrichments:queue`,
  /** Hash: tenant → the running job that a person cancelled. */
  cancelledReenrichments: () => `${leased('rewrite')}:reenrichments:cancelled`,
  /** Hash: tenant → the run of its running job, once all its events are replaced. */
  replacedReenrichments: () => `${leased('rewrite')}:reenrichments:replaced`,

  /** Set: the tenants with an alert that is not paused. All keys of alerts share one slot. */
  alertingTenants: () => `${leased('alerts')}:tenants`,
  /** Hash: alert id → JSON of `AlertRecord`. */
  alertsOf: (tenantId: string) => `${leased('alerts')}:of:${tenantId}`,
  /** Sorted set: companies of a tenant with new visits, by the microsecond at which the sink last noted them. */
  touchedCompanies: (tenantId: string) => `${leased('alerts')}:touched:${tenantId}`,
  /** Hash: progress of the evaluation of an alert, see `AlertProgress`. */
  alertProgress: (alertId: string) => `${leased('alerts')}:progress:${alertId}`,
  /** Sorted set: keys of an alert's occurrences, or the companies of its segment, by the time of their record, milliseconds. */
  recordedOccurrences: (alertId: string) => `${leased('alerts')}:recorded:${alertId}`,
  /** List: JSON of the companies of an alert's next digest. */
  digestOf: (alertId: string) => `${leased('alerts')}:digest:${alertId}`,
  /** Hash: reported company → JSON of `ReportedFacts`. */
  reportedFacts: (tenantId: string) => `${leased('alerts')}:reported:${tenantId}`,
  /** Sorted set: the same companies by the time of their last report, milliseconds. */
  reportedTimes: (tenantId: string) => `${leased('alerts')}:reported-times:${tenantId}`,
  /** Hash: id of a message → JSON of `Delivery`. */
  deliveries: (tenantId: string) => `${leased('alerts')}:deliveries:${tenantId}`,
  /** Sorted set: the messages of a tenant by the time of their creation, milliseconds. */
  deliveryTimes: (tenantId: string) => `${leased('alerts')}:delivery-times:${tenantId}`,
  /** Sorted set: the delivered and failed messages of a tenant, by the time of their end, milliseconds. */
  finishedDeliveries: (tenantId: string) => `${leased('alerts')}:finished:${tenantId}`,
  /** Sorted set: waiting messages of an alert, by when they are due, milliseconds. @param queue see `QUEUES` */
  waitingDeliveries: (alertId: string, queue: string) => `${leased('alerts')}:waiting:${alertId}:${queue}`,
  /** Set: `TENANT ALERT QUEUE` of the queues that are not empty. */
  deliveryQueues: () => `${leased('alerts')}:queues`,
  /** Set: e-mail addresses of a tenant that are confirmed. */
  confirmedAddresses: (tenantId: string) => `${leased('alerts')}:confirmed:${tenantId}`,
  /**
   * Set: `KIND DIGEST` of addresses whose subscription of this kind ended by a link or with its person, and that have not confirmed one since. The
   * digest is that of `SecretBox.digest`.
   */
  optOuts: (tenantId: string) => `${leased('alerts')}:opt-outs:${tenantId}`,
  /** String: JSON of `TenantAddress`, which a link confirms; expires. */
  confirmation: (digest: string) => `${leased('alerts')}:confirmation:${digest}`,
  confirmationPattern: () => `${leased('alerts')}:confirmation:*`,
  /** String: messages that people requested lately; expires. @param of owner of the limit, see `TestLimit` */
  alertTests: (tenantId: string, of: string) => `${leased('alerts')}:tests:${tenantId}:${of}`,

  /** Set: the tenants that have exports. All keys of exports share one slot. */
  exportingTenants: () => `${leased('exports')}:tenants`,
  /** Hash: export id → JSON of `ExportRecord`. */
  exportsOf: (tenantId: string) => `${leased('exports')}:of:${tenantId}`,
  /** String: JSON of `ExportState`. */
  exportState: (exportId: string) => `${leased('exports')}:state:${exportId}`,
  /** String: when a person last requested a file, milliseconds. */
  exportRequest: (exportId: string) => `${leased('exports')}:request:${exportId}`,
  /** String: JSON of the file that is being written, see `ExportAttempt`. */
  exportAttempt: () => `${leased('exports')}:attempt`,

  /** Hash: tenant → JSON of `CrmRecord`. All keys of CRMs share one slot. */
  crmConnections: () => `${leased('crm')}:connections`,
  /** Hash: tenant → JSON of `CrmState`. */
  crmStates: () => `${leased('crm')}:states`,
  /** Hash: tenant → when a person last requested a run, milliseconds. */
  crmRequests: () => `${leased('crm')}:requests`,

  /** String: JSON of `ScheduleState`; absent: scheduled backups are off. */
  backupSchedule: () => `${leased('backups')}:schedule`,
  /** String: the random name of this instance in the place of its backups. No backup has it: a restored instance is another one. */
  backupInstance: () => 'ipid:backups:instance',

  /** Hash: damaged parts of tables, `table/part` → JSON. */
  damagedParts: () => 'ipid:damaged-parts',

  /** String: JSON of the run ids of the Redis servers that a sink has met, and since when. With `share`: of an earlier version. */
  sinkRunIds: (name: string, share?: number) => `${leased(name, share)}:lives`,

  /** Hash: tenant id → JSON of the tenant. All keys of tenants share one slot, because they are small and rarely read. */
  tenants: () => '{tenants}:tenants',
  /** Hash: SHA-256 of a key in hex → JSON of the key. */
  apiKeys: () => '{tenants}:keys',
  /** Hash: prefix of a key → its SHA-256. */
  apiKeyPrefixes: () => '{tenants}:prefixes',
  /** List: the SHA-256 of a tenant's keys in the order of their creation. */
  apiKeysOf: (tenantId: string) => `{tenants}:keys-of:${tenantId}`,
  /** List: the SHA-256 of the keys of a tenant's sources in the order of their creation. */
  sourceKeysOf: (tenantId: string) => `{tenants}:sources-of:${tenantId}`,
  /** Set: the ids of the sources of all tenants that ipid pulls, revoked ones too. */
  pulledSources: () => '{tenants}:pulled',
  /** Hash: segment id → JSON of `SegmentRecord`. */
  segmentsOf: (tenantId: string) => `{tenants}:segments:${tenantId}`,
  /** Hash: SHA-256 of a key → milliseconds of its last use. */
  apiKeyUses: () => '{tenants}:uses',
  /** Channel: tenants or keys changed. */
  tenantChanges: () => 'ipid:tenants:changed',
  /** Channel: the `tenantKey` of tenants whose live view is open in a dashboard. */
  liveWanted: () => 'ipid:live:wanted',
  /** Channel: a sample of a tenant's events as they arrive, as JSON. */
  liveEvents: (tenant: string) => `ipid:live:events:${tenant}`,
  /** Matches the counters of a tenant. */
  countsPattern: (tenantId: string) => `{tenant:${tenantId}}:*`,
  /**
   * String: tokens of a limit, then their reservations, see `src/tenants/limits/redis/`; expires.
   * @param key the key that has this counter alone; undefined: keys of the tenant share it
   * @param window undefined: a bucket
   */
  tokens: (tenantId: string, counter: string, key?: string, window?: string) =>
    `{tenant:${tenantId}}:${counter}${key === undefined ? '' : `:${key}`}${window === undefined ? '' : `:${window}`}`,

  /** String: JSON of the rights of a sign-in link, by the SHA-256 of its secret; expires. */
  signInLink: (digest: string) => `ipid:dashboard:link:${digest}`,
  /** String: JSON of a session of the dashboard, by the SHA-256 of its secret; expires. */
  session: (digest: string) => `ipid:dashboard:session:${digest}`,
  /** Sorted set: `link:` or `session:` and the digest, by the end, Unix milliseconds; expires. @param tenantId undefined: operators */
  signIns: (tenantId: string | undefined) =>
    tenantId === undefined ? '{tenants}:sign-ins' : `{tenants}:sign-ins-of:${tenantId}`,
  /** Hash: id of a person → JSON of a tenant's member. */
  people: (tenantId: string) => `{tenants}:people-of:${tenantId}`,
  /** Hash: SHA-256 of the secret of a shared link → JSON of the link. */
  sharedLinks: (tenantId: string) => `{tenants}:shared-links-of:${tenantId}`,
  /** Hash: the same digest → milliseconds of the last use of the link. */
  sharedLinkUses: (tenantId: string) => `{tenants}:shared-link-uses-of:${tenantId}`,
}

/** Fields of a job's progress. Every other field is a reason of drops. */
export const progressFields = {
  stored: 'stored',
  dead: 'dead',
  /** A count of a stage. Its events may not be finished. */
  count: (name: string) => `count:${name}`,
}

/** Fields of the counters hash. The events of a stream that wait for a group: `added` minus `done`. */
export const counterFields = {
  /** For scripts that add the unit themselves. */
  addedPrefix: (stream: string, lane: Lane) => `added:${stream}:${lane}`,
  added: (stream: string, lane: Lane, unit: 'entries' | 'events') => `added:${stream}:${lane}:${unit}`,
  donePrefix: (group: string, stream: string, lane: Lane) => `done:${group}:${stream}:${lane}`,
  done: (group: string, stream: string, lane: Lane, unit: 'entries' | 'events') =>
    `done:${group}:${stream}:${lane}:${unit}`,
  outcome: (group: string, outcome: string) => `outcome:${group}:${outcome}`,
}
