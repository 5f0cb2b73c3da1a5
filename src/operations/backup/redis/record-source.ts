import type { LetterCopy, PullCopy, TenantCopy } from '../../../../schemas/backup.ts'
import type { Pipeline } from '../../../pipeline/declaration/pipeline.ts'
import { NO_IDENTITY } from '../../../pipeline/event/envelope.ts'
import { RedisFeederStore } from '../../../pipeline/sources/batch/redis/feeder-store.ts'
import { copyPulls } from '../../../pipeline/sources/pulls/redis/pull-copies.ts'
import { untilPassed } from '../../../pipeline/streams/barrier.ts'
import { claimIdMs, type RawEntry } from '../../../pipeline/streams/entries.ts'
import { findClaim } from '../../../pipeline/streams/seen-claims.ts'
import { partitionsOf, partitionsSince } from '../../../pipeline/streams/topology.ts'
import type { Clock } from '../../../run/clock.ts'
import { StartupError, UnavailableError } from '../../../run/errors.ts'
import { poll } from '../../../run/loop.ts'
import type { RedisClient } from '../../../stores/redis/connect.ts'
import { keys } from '../../../stores/redis/keys.ts'
import { TenantCopies } from '../../../tenants/redis/tenant-copies.ts'
import { positionOfGroup } from '../../dead-letters/dead-letters.ts'
import type { RecordSource } from '../ports.ts'
import { carriesEvents, letterOf } from './letter.ts'

const LOOK_EVERY_MS = 200
const LETTERS_PER_CALL = 100

/** Reads Redis for a backup. */
export class RedisRecordSource implements RecordSource {
  readonly #client: RedisClient
  readonly #pipeline: Pipeline
  readonly #tenants: TenantCopies
  /** The last letter that `letters` gave, by partition. */
  readonly #given = new Map<number, string>()

  constructor(client: RedisClient, pipeline: Pipeline, clock: Clock) {
    this.#client = client
    this.#pipeline = pipeline
    this.#tenants = new TenantCopies(client, clock)
  }

  async partitions(): Promise<number> {
    const partitions = await partitionsOf(this.#client)
    if (partitions === 0) throw new StartupError('there is nothing to back up: no ipid has run on this Redis')
    return partitions
  }

  partitionsSinceMs(): Promise<number> {
    return partitionsSince(this.#client)
  }

  async untilStored(waitMs: number): Promise<void> {
    const deadlineMs = performance.now() + waitMs
    const partitions = await this.partitions()
    await this.#untilFed(partitions, deadlineMs)
    await untilPassed(this.#client, this.#pipeline, partitions, deadlineMs)
  }

  /** Waits until all lines of answered uploads are in the pipeline. */
  async #untilFed(partitions: number, deadlineMs: number): Promise<void> {
    const store = new RedisFeederStore({ client: this.#client, pipeline: this.#pipeline, partitions })
    const unfed = async () => {
      const jobs = await store.openJobs()
      return jobs.filter(({ state, next, chunks }) => (state === 'queued' || state === 'running') && next <= chunks)
    }
    const waiting = new Set((await unfed()).map(({ id }) => id))
    const fed = async () => !(await unfed()).some(({ id }) => waiting.has(id)) || undefined
    if (await poll(fed, { everyMs: LOOK_EVERY_MS, deadlineMs })) return
    throw new UnavailableError('batch jobs did not finish in time: see ./ipid status, or give a longer --wait')
  }

  tenants(): AsyncIterable<TenantCopy> {
    return this.#tenants.all()
  }

  pulls(): AsyncIterable<PullCopy> {
    return copyPulls(this.#client)
  }

  async *letters(): AsyncGenerator<LetterCopy> {
    const partitions = await this.partitions()
    for (let partition = 0; partition < partitions; partition++) {
      for (;;) {
        const from = this.#given.has(partition) ? `(${this.#given.get(partition)}` : '-'
        const args = [keys.dead(partition), from, '+', 'COUNT', LETTERS_PER_CALL]
        const page = (await this.#client.callBuffer('XRANGE', ...args)) as RawEntry[]
        for (const [id, fields] of page) {
          this.#given.set(partition, id.toString('latin1'))
          const copy = { partition, id: id.toString('latin1'), fields: (fields ?? []).map((f) => f.toString('base64')) }
          yield { ...copy, claim: await this.#claimOf(copy) }
        }
        if (page.length < LETTERS_PER_CALL) break
      }
    }
  }

  /** The claim of the letter's event. After the step that claims, it belongs to an earlier entry. */
  async #claimOf(copy: Omit<LetterCopy, 'claim'>): Promise<string | null> {
    const { group, stream, block, claimId } = letterOf(copy)
    const position = positionOfGroup(this.#pipeline, group)
    if (block === undefined || claimId === undefined || !carriesEvents(this.#pipeline, stream)) return null
    if (position === 'before' || block.identities.toString('latin1') === NO_IDENTITY) return null
    const at = { partition: copy.partition, identity: block.identities, ms: claimIdMs(claimId) }
    const claim = await findClaim(this.#client, at, this.#pipeline.limits.dedupWindowMs)
    const isOwn = claim !== undefined && (position === 'after' || claim.equals(claimId))
    return isOwn ? claim.toString('base64') : null
  }
}
