import type { Logger } from 'pino'
import { RedisExports } from '../../../exports/redis/export-store.ts'
import { LANES } from '../../../pipeline/declaration/lane.ts'
import { type Pipeline, streamsOf } from '../../../pipeline/declaration/pipeline.ts'
import { identityOf, partitionOf } from '../../../pipeline/event/envelope.ts'
import { untilPassed } from '../../../pipeline/streams/barrier.ts'
import { Janitor } from '../../../pipeline/streams/janitor.ts'
import { byPartition, forgetClaims } from '../../../pipeline/streams/seen-claims.ts'
import { UnavailableError } from '../../../run/errors.ts'
import { poll } from '../../../run/loop.ts'
import type { RedisClient } from '../../../stores/redis/connect.ts'
import { keys } from '../../../stores/redis/keys.ts'
import { Membership, type ShareLease } from '../../../stores/redis/membership.ts'
import { DeadLetters, eventOf, type StoredLetter } from '../../dead-letters/dead-letters.ts'
import type { ErasableRecords, ErasureScope, RewrittenFiles } from '../ports.ts'
import { namesAddress, type Selector } from '../selector.ts'
import { renewLetters, untilNodesGone } from './deleted-entries.ts'
import { cancelJobs, removeBatchJobs, removeBulkJobs, removeQuotes } from './jobs.ts'
import { rewriteFiles } from './rewrite-files.ts'

interface RedisErasableRecordsOptions {
  readonly client: RedisClient
  readonly pipeline: Pipeline
  /** The number fixed on this Redis. */
  readonly partitions: number
  /** Folder of Redis' files, for an embedded Redis. */
  readonly folder: string | undefined
  readonly log: Logger
}

const LOOK_EVERY_MS = 100
/** The clock of Redis may be ahead of ours by this much. */
const CLOCK_SLACK_MS = 60_000

/** Event data in Redis, for an erasure. */
export class RedisErasableRecords implements ErasableRecords {
  readonly windowMs: number
  readonly #options: RedisErasableRecordsOptions
  readonly #lease: ShareLease

  constructor(options: RedisErasableRecordsOptions) {
    this.#options = options
    this.#lease = new Membership({ client: options.client, name: 'erasure' }).share(0)
    // A row may have been received before its entry was written, which is when it was first seen.
    this.windowMs = options.pipeline.limits.dedupWindowMs + CLOCK_SLACK_MS
  }

  async begin(deadlineMs: number): Promise<void> {
    const waitMs = Math.max(1, Math.ceil(deadlineMs - performance.now()))
    if (await this.#lease.acquire(AbortSignal.timeout(waitMs))) return
    throw new UnavailableError('another erasure is running')
  }

  end(): Promise<void> {
    return this.#lease.release()
  }

  async untilSettled(tenantId: string, deadlineMs: number): Promise<void> {
    await this.#untilJobsEnded(tenantId, deadlineMs, async () => {})
    await this.#untilPassed(deadlineMs)
  }

  async untilCancelled(tenantId: string, deadlineMs: number): Promise<void> {
    const { client } = this.#options
    // The feeder notices it after its current chunk, and then frees the job's slot.
    await this.#untilJobsEnded(tenantId, deadlineMs, (ids) => cancelJobs(client, tenantId, ids))
    await this.#untilExported(tenantId, deadlineMs)
    await this.#untilPassed(deadlineMs)
  }

  /** Waits for a file that is being written. Does not wait for an attempt whose process ended: its successor removes the file. */
  async #untilExported(tenantId: string, deadlineMs: number): Promise<void> {
    const { client } = this.#options
    const exports = new RedisExports(client)
    const hasEnded = async () => {
      if ((await exports.attempt())?.tenantId !== tenantId) return true
      return (await client.zcount(keys.leaseMembers('exports'), Date.now(), '+inf')) === 0 || undefined
    }
    if (await poll(hasEnded, { everyMs: LOOK_EVERY_MS, deadlineMs })) return
    throw new UnavailableError('an export of this tenant did not end in time')
  }

  async #untilPassed(deadlineMs: number): Promise<void> {
    const { client, pipeline, partitions, log } = this.#options
    await untilPassed(client, pipeline, partitions, deadlineMs)
    const janitor = new Janitor({ client, pipeline, partitions, log })
    const names = streamsOf(pipeline).flatMap((stream) =>
      LANES.flatMap((lane) => Array.from({ length: partitions }, (_, n) => keys.stream(n, stream, lane))),
    )
    await untilNodesGone(client, names, () => janitor.trim(), deadlineMs)
  }

  /** @param onOpen called with the open batch jobs at every check */
  async #untilJobsEnded(
    tenantId: string,
    deadlineMs: number,
    onOpen: (ids: readonly string[]) => Promise<void>,
  ): Promise<void> {
    const { client } = this.#options
    const open = async () => {
      const tenants = await client.hgetall(keys.openJobs())
      const batch = Object.keys(tenants).filter((id) => tenants[id] === tenantId)
      await onOpen(batch)
      return [...batch, ...(await client.zrangebyscore(keys.openBulkJobsOf(tenantId), Date.now(), '+inf'))]
    }
    const waiting = new Set(await open())
    const ended = async () => !(await open()).some((id) => waiting.has(id)) || undefined
    if (await poll(ended, { everyMs: LOOK_EVERY_MS, deadlineMs })) return
    throw new UnavailableError('jobs of this tenant did not end in time: see ipid status')
  }

  async removeLetters({ tenantId, selector, beforeMs }: ErasureScope, deadlineMs: number): Promise<number> {
    const { client, pipeline, partitions } = this.#options
    const letters = new DeadLetters(client, pipeline, partitions)
    let removed = 0
    for await (const letter of letters.letters({ tenantId }, 'oldest first')) {
      if (!isOf(letter, selector) || (selector !== undefined && receivedAt(letter) >= beforeMs)) continue
      if ((await letters.discard(letter)) === 'done') removed++
    }
    for (let partition = 0; partition < partitions; partition++) {
      await renewLetters(client, partition, deadlineMs, () => this.#lease.assertHeld())
    }
    return removed
  }

  removeQuotes(tenantId: string): Promise<number> {
    return removeQuotes(this.#options.client, tenantId)
  }

  removeBatchJobs(tenantId: string): Promise<number> {
    const { client, partitions } = this.#options
    return removeBatchJobs(client, tenantId, partitions)
  }

  async removeBulkJobs({ tenantId, selector }: ErasureScope): Promise<number> {
    const { client } = this.#options
    if (selector === undefined) {
      const removed = await removeBulkJobs(client, tenantId, () => true)
      await client.del(keys.endedBulkJobsOf(tenantId), keys.bulkBytesOf(tenantId))
      return removed
    }
    if (selector.kind !== 'ip') return 0
    return await removeBulkJobs(client, tenantId, (text) => namesAddress(text, selector.value))
  }

  async forget(tenantId: string, ids: readonly string[], beforeMs: number): Promise<number> {
    const { client, pipeline, partitions } = this.#options
    const claims = ids.map((id) => {
      const identity = identityOf(tenantId, id)
      return { partition: partitionOf(identity, partitions), identity }
    })
    let forgotten = 0
    for (const [partition, identities] of byPartition(claims)) {
      forgotten += await forgetClaims(client, { partition, identities, beforeMs }, pipeline.limits.dedupWindowMs)
    }
    return forgotten
  }

  rewriteFiles(deadlineMs: number): Promise<RewrittenFiles> {
    const { client, folder } = this.#options
    return rewriteFiles(client, folder, deadlineMs)
  }
}

function isOf(letter: StoredLetter, selector: Selector | undefined): boolean {
  if (selector === undefined) return true
  const { kind, value, maskedOn } = selector
  const event = eventOf(letter)
  const found = { ip: event.ip, account: event.account_id, event: event.event_id, source: event.source_id }
  if (found[kind] === value) return true
  const { ip = '', timestamp = '' } = event
  return maskedOn?.(timestamp.slice(0, 'YYYY-MM-DD'.length)).includes(ip) ?? false
}

function receivedAt(letter: StoredLetter): number {
  return Date.parse(eventOf(letter).received_at ?? '') || letter.atMs
}
