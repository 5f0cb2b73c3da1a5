import type { Logger } from 'pino'
import { BATCH_LIMITS, type BatchSummary } from '../../../../../schemas/api/batch.ts'
import { NO_PAGE, withOthers } from '../../../../../schemas/filtered.ts'
import type { Addresses } from '../../../../../schemas/tenant.ts'
import type { TenantRules } from '../../../../../schemas/tenant-rules.ts'
import type { RedisClient } from '../../../../stores/redis/connect.ts'
import { assertSameConnection, lossesOf } from '../../../../stores/redis/connection-losses.ts'
import { keys } from '../../../../stores/redis/keys.ts'
import { Membership, shareOf } from '../../../../stores/redis/membership.ts'
import type { Caller } from '../../../../stores/redis/pipelined-calls.ts'
import { loadScript } from '../../../../stores/redis/scripts.ts'
import { tenantOf } from '../../../../tenants/redis/tenant-store.ts'
import { proxiedOf, proxiedRemedy, proxiedText } from '../../../../tenants/sources/proxied.ts'
import type { Lane } from '../../../declaration/lane.ts'
import { entryOfJobs, groupsOfJobs, type Pipeline, readersOf, reasonsOfJobs } from '../../../declaration/pipeline.ts'
import type { ChunkCounts, ChunkReading, LineChunk, RejectedPart } from '../../../declaration/source.ts'
import { FILTERED_COUNT, IDENTIFIED } from '../../../declaration/stage.ts'
import type { Block } from '../../../event/block.ts'
import { packOutcomes } from '../../../event/outcomes.ts'
import type { AddressMask } from '../../../event/pseudonym.ts'
import { appendBlocks, type BlockAppend, blockAppend } from '../../../streams/append.ts'
import type { RawEntry } from '../../../streams/entries.ts'
import { levelOf } from '../../../streams/status.ts'
import type { FeederStore, LaneLevel, OpenJob } from '../feeder-ports.ts'
import { countedAtFeed, freeJob, RECORD_TTL_MS, readProgress } from './job-record.ts'
import { packLines, unpackLines } from './packed-lines.ts'
import { rejectedReasons } from './rejected-reasons.ts'
import { parseLineNumbers } from './upload-spool.ts'

interface RedisFeederStoreOptions {
  readonly client: RedisClient
  /** Default: `client`. */
  readonly leases?: Caller
  readonly pipeline: Pipeline
  readonly partitions: number
  /** Number of shares that tenants are divided into. One feeder at a time holds a share. Default 1. */
  readonly shares?: number
  /** See `MembershipOptions`. */
  readonly processName?: string | undefined
  readonly log?: Logger
}

const OTHERS_EVERY_MS = 1_000
const LANE: Lane = 'batch'

const advanceJobScript = loadScript(import.meta.url, './advanceJob-5.lua')
/** Looking at all tenants takes some milliseconds of Redis when there are thousands. */
const REJECTED_SWEEP_MS = 10_000
const reserveRejectedScript = loadScript(import.meta.url, './reserveRejected-4.lua')
const endJobScript = loadScript(import.meta.url, './endJob-1.lua')

export class RedisFeederStore implements FeederStore {
  readonly #options: RedisFeederStoreOptions
  readonly #membership: Membership
  /** A cache of other feeders' jobs. It may be stale: it only serves to count their tenants. */
  readonly #others = new Map<string, OpenJob>()
  #othersUntilMs = 0
  /** `lossesOf` the client before the first list of jobs. */
  #losses: number

  constructor(options: RedisFeederStoreOptions) {
    const { leases: client = options.client, processName, shares = 1, log } = options
    this.#options = options
    this.#losses = lossesOf(options.client)
    this.#membership = new Membership({ client, name: 'feeder', shares, processName, setting: 'FEEDER_SHARES', log })
  }

  async acquire(signal: AbortSignal): Promise<boolean> {
    const isHeld = await this.#membership.acquireAny(signal)
    this.#losses = lossesOf(this.#options.client)
    return isHeld
  }

  /**
   * Every write depends on a list of jobs and on the writes before. A next master may lack the last chunk, and would refuse it after
   * the one that follows; or a whole job whose upload had no answer; or the last progress of a job.
   */
  #assertSameConnection(): void {
    assertSameConnection(this.#options.client, this.#losses)
  }

  assertHeld(): void {
    this.#membership.assertHeld()
  }

  hasSpare(): boolean {
    return this.#membership.hasSpare
  }

  giveBack(): Promise<void> {
    return this.#membership.giveBack()
  }

  release(): Promise<void> {
    return this.#membership.release()
  }

  async openJobs(): Promise<OpenJob[]> {
    const { client, shares = 1 } = this.#options
    const open = await client.hgetall(keys.openJobs())
    const nowMs = performance.now()
    if (shares === 1 || nowMs >= this.#othersUntilMs) {
      this.#others.clear()
      this.#othersUntilMs = nowMs + OTHERS_EVERY_MS
    }
    const read = ([id, tenantId]: [string, string]) => {
      // Check this before reading the record: the former holder has finished its writes by the time the share is ours.
      const isOurs = this.#membership.has(shareOf(tenantId, shares))
      return (!isOurs && this.#others.get(id)) || this.#openJob(id, tenantId, isOurs)
    }
    const jobs = await Promise.all(Object.entries(open).map(read))
    // An upload is not cached: it can become a job at any moment.
    for (const job of jobs) if (!job.isOurs && job.state !== 'uploading') this.#others.set(job.id, job)
    return jobs
  }

  async #openJob(id: string, tenantId: string, isOurs: boolean): Promise<OpenJob> {
    const { client } = this.#options
    // One script deletes the upload's key and writes the record. In this order, at least one of the two is found.
    const uploading = await client.exists(keys.upload(id))
    const record = await client.hgetall(keys.job(id))
    return {
      id,
      tenantId,
      isOurs,
      state: stateOf(record.status, uploading === 1),
      receivedAtMs: Number(record.received_at ?? 0),
      archived: record.archived === '1',
      addresses: (record.addresses ?? 'full') as Addresses,
      received: Number(record.received ?? 0),
      chunks: Number(record.chunks ?? 0),
      next: Number(record.next ?? 0),
      source: record.source,
      sourceId: record.source_id,
    }
  }

  eventsInLane(): Promise<LaneLevel> {
    const { client, pipeline, partitions } = this.#options
    const { to } = entryOfJobs(pipeline)
    // Other sinks do not count: a slow one must not hold up jobs, and high water bounds its queue.
    const scope = { lanes: [LANE], groups: groupsOfJobs(pipeline), stream: to }
    return levelOf(client, pipeline, partitions, scope)
  }

  async payloadsInLane(): Promise<LaneLevel> {
    const { client, pipeline, partitions } = this.#options
    const { raw } = entryOfJobs(pipeline)
    if (raw === undefined) return { waiting: 0, added: 0 }
    const scope = { lanes: [LANE], groups: readersOf(pipeline, raw), stream: raw }
    return levelOf(client, pipeline, partitions, scope)
  }

  async readChunk(job: OpenJob): Promise<LineChunk | undefined> {
    const { client } = this.#options
    const id = `${job.next}-0`
    const [entries, lines] = await Promise.all([
      client.callBuffer('XRANGE', keys.chunks(job.id), id, id) as Promise<RawEntry[]>,
      client.getBuffer(keys.chunk(job.id, job.next)),
    ])
    const fields = entries[0]?.[1]
    const bytes = lines ?? fields?.[3]
    if (fields == null || bytes === undefined) return undefined
    const { isPacked, ...numbers } = parseLineNumbers(fields[1]!.toString('latin1'))
    return { ...numbers, bytes: isPacked ? await unpackLines(bytes) : bytes }
  }

  async addressMask({ tenantId, addresses }: OpenJob): Promise<AddressMask | undefined> {
    const json = await this.#options.client.hget(keys.tenants(), tenantId)
    const { addressKey } = json === null ? {} : tenantOf(tenantId, json)
    if (addresses === 'full' || addressKey === undefined) return undefined
    return { keep: addresses, key: addressKey }
  }

  async tenantRules({ tenantId }: OpenJob): Promise<TenantRules> {
    const json = await this.#options.client.hget(keys.tenants(), tenantId)
    return json === null ? {} : tenantOf(tenantId, json)
  }

  async feed(job: OpenJob, { blocks, payloads, outcomes }: ChunkReading): Promise<void> {
    const { client, pipeline, partitions } = this.#options
    const { to, raw } = entryOfJobs(pipeline)
    const commit = `${job.id}:${job.next}`
    const counted =
      pipeline.outcomes !== undefined && outcomes.size > 0 ? packOutcomes([[commit, outcomes]]) : undefined
    const home = job.next % partitions
    this.#assertSameConnection()
    // Each job is a producer, and the chunk's number its sequence number. So each stream takes a chunk once.
    const append = async (partition: number) => {
      const appended: BlockAppend[] = []
      const add = (stream: string | undefined, producer: string, block: Block | undefined) => {
        if (stream !== undefined && block !== undefined)
          appended.push(blockAppend({ partition, stream, lane: LANE, producer }, block))
      }
      const withCommit = (block: Block | undefined) => block && { ...block, commit }
      add(to, keys.producer(partition, job.id), withCommit(blocks.get(partition)))
      add(raw, keys.producer(partition, job.id, raw), withCommit(payloads.get(partition)))
      add(
        pipeline.outcomes,
        keys.producer(partition, job.id, pipeline.outcomes),
        partition === home ? counted : undefined,
      )
      const options = { sequence: job.next, producerTtlMs: RECORD_TTL_MS, aboveMaxmemory: true }
      await appendBlocks(client, appended, options)
    }
    const homes = counted === undefined ? [] : [home]
    await Promise.all([...new Set([...blocks.keys(), ...payloads.keys(), ...homes])].map(append))
  }

  async advance(job: OpenJob, counts: ChunkCounts): Promise<boolean> {
    const { fed, rejected, invalidIp, noPage = 0, errors, reasons, lines = [] } = counts
    const { errorsMax, reasonsMax, reasonLinesMax, rejectedLinesMax } = BATCH_LIMITS
    const counters = Object.entries({ fed, rejected, invalid_ip: invalidIp, ...(noPage > 0 && { no_page: noPage }) })
    const groups = reasons.map(({ reason, count, lines }) => [reason, count, lines.join()])
    const packed = async ({ lines: count, text }: RejectedPart) => [count, await packLines(Buffer.from(text))] as const
    const parts = await Promise.all(lines.map(packed))
    const bytesMax = await this.#reserveRejected(job, parts)
    const ofChunks = [keys.chunks(job.id), keys.jobErrors(job.id), keys.chunk(job.id, job.next)]
    this.#assertSameConnection()
    const result = await advanceJobScript.run(
      this.#options.client,
      [keys.job(job.id), ...ofChunks, keys.jobRejected(job.id)],
      [
        ...[job.next, errorsMax, reasonsMax, reasonLinesMax, rejectedLinesMax, bytesMax, RECORD_TTL_MS],
        ...[counters.length, ...counters.flat()],
        ...[groups.length, ...groups.flat()],
        ...[parts.length, ...parts.flat()],
        ...errors.map((error) => JSON.stringify(error)),
      ],
    )
    return result !== -1
  }

  /** How many bytes of rejected lines the job may have with these parts. Earlier chunks have advanced, so their bytes are in the record. */
  async #reserveRejected({ id, tenantId }: OpenJob, parts: readonly (readonly [number, Buffer])[]): Promise<number> {
    const { rejectedBytesMax, rejectedAllBytesMax } = BATCH_LIMITS
    if (parts.length === 0) return 0
    const { client } = this.#options
    const before = Number((await client.hget(keys.job(id), 'kept_bytes')) ?? 0)
    const bytes = parts.reduce((sum, [, part]) => sum + part.length, before)
    this.#assertSameConnection()
    const ofTenant = [keys.rejectedBytesOf(tenantId), keys.rejectedUntil(tenantId), keys.openJobsOf(tenantId)]
    const args = [
      ...[id, Math.min(bytes, rejectedBytesMax), rejectedAllBytesMax, RECORD_TTL_MS, tenantId],
      ...[REJECTED_SWEEP_MS, keys.rejectedBytesOf(''), keys.rejectedUntil('')],
    ]
    return Number(await reserveRejectedScript.run(client, [...ofTenant, keys.rejectedBytes()], args))
  }

  async summaryIfFinished(job: OpenJob): Promise<BatchSummary | undefined> {
    const { client, pipeline, partitions } = this.#options
    const record = await client.hgetall(keys.job(job.id))
    const fed = Number(record.fed ?? 0)
    const { finished, byReason, counts } = await readProgress(client, partitions, job.id)
    if (finished < fed) return undefined
    const errors = await client.lrange(keys.jobErrors(job.id), 0, -1)
    const { dead = 0, stored: _, ...dropped } = Object.fromEntries(byReason)
    const own = {
      processed: job.received,
      valid_ips: fed,
      identified_ips: counts.get(IDENTIFIED) ?? 0,
      rejected: Number(record.rejected ?? 0) + dead,
      invalid_ip: Number(record.invalid_ip ?? 0),
    }
    const none = Object.fromEntries(reasonsOfJobs(pipeline).map((reason) => [reason, 0]))
    const lists = { errors: errors.map((error) => JSON.parse(error)), rejected_reasons: rejectedReasons(record, dead) }
    const reasons = [...counts].flatMap(([name, events]) =>
      name.startsWith(FILTERED_COUNT) ? [[name.slice(FILTERED_COUNT.length), events]] : [],
    )
    const filtered = withOthers(Object.fromEntries(reasons), dropped.filtered ?? 0)
    const proxied = proxiedOf(filtered, finished - (dropped.duplicates ?? 0))
    const noPage = Number(record.no_page ?? 0)
    const all = (dropped.filtered ?? 0) + noPage
    const noise = {
      ...(proxied && { warning: `${proxiedText(proxied)} ${proxiedRemedy(proxied)}` }),
      ...(all > 0 && { filtered: all, filtered_reasons: { ...filtered, ...(noPage > 0 && { [NO_PAGE]: noPage }) } }),
    }
    // `own` comes twice: first for the order of the keys, then so that no undeclared drop reason can replace one of them.
    const summary = { ...own, ...none, ...dropped, ...own, ...lists, ...noise }
    return summary as unknown as BatchSummary
  }

  complete(job: OpenJob, summary: BatchSummary): Promise<boolean> {
    return this.#end(job, '', { status: 'completed', summary: JSON.stringify(summary) })
  }

  async fail(job: OpenJob, reason: string): Promise<boolean> {
    const { client, partitions } = this.#options
    const record = await client.hgetall(keys.job(job.id))
    const { finished } = await readProgress(client, partitions, job.id)
    const current = countedAtFeed(record) + finished
    return this.#end(job, job.next, { status: 'failed', failure: reason, current: String(current) })
  }

  async #end(job: OpenJob, next: number | '', fields: Record<string, string>): Promise<boolean> {
    const args = [RECORD_TTL_MS, next, ...Object.entries(fields).flat()]
    this.#assertSameConnection()
    return (await endJobScript.run(this.#options.client, [keys.job(job.id)], args)) === 1
  }

  async cleanUp(job: OpenJob): Promise<void> {
    const { client, partitions } = this.#options
    this.#assertSameConnection()
    await freeJob(client, partitions, job, job.state === 'gone' ? 'no job' : 'a job')
  }
}

function stateOf(status: string | undefined, uploading: boolean): OpenJob['state'] {
  if (status === undefined) return uploading ? 'uploading' : 'gone'
  return status === 'queued' || status === 'running' ? status : 'ended'
}
