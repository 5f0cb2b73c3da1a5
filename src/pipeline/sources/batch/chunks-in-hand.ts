import type { ChunkCounts, ChunkReading } from '../../declaration/source.ts'
import type { FeederStore, OpenJob } from './feeder-ports.ts'

/** The chunk `job.next` of a job, already read. */
export interface ReadChunk {
  readonly job: OpenJob
  readonly reading: ChunkReading
}

const DONE: Promise<unknown> = Promise.resolve()

/**
 * Chunks on their way into the lane, at most two. They are fed one after another in the order of arrival. While Redis takes one,
 * the job of the chunk before it advances, and the caller can read the next one.
 */
export class ChunksInHand {
  readonly #store: FeederStore
  readonly #onFed: (counts: ChunkCounts) => void
  #fed = DONE
  #advanced = DONE
  #advancedBefore = DONE
  /** For each job with a chunk in flight: the number of the chunk after it. */
  readonly #inFlight = new Map<string, number>()
  /** The same for chunks that the list from the last `listing` may not include. */
  #unlisted = new Map<string, number>()
  /** Jobs that turned out to have ended, since the last `listing` and since the one before. */
  #ended = new Set<string>()
  #endedBefore = new Set<string>()

  constructor(store: FeederStore, onFed: (counts: ChunkCounts) => void = () => {}) {
    this.#store = store
    this.#onFed = onFed
  }

  /** Resolves when the last chunk is in the lane. */
  get fed(): Promise<unknown> {
    return this.#fed
  }

  /** Resolves when the jobs of all chunks have advanced. */
  get advanced(): Promise<unknown> {
    return this.#advanced
  }

  /**
   * Starts to feed a chunk once the chunk before is in the lane. A failure rejects the next call.
   * @returns false when the job has ended and the chunk is not fed
   */
  async add({ job, reading }: ReadChunk): Promise<boolean> {
    await this.#fed
    await this.#advancedBefore
    if (this.#ended.has(job.id) || this.#endedBefore.has(job.id)) return false
    this.#store.assertHeld()
    this.#advancedBefore = this.#advanced
    this.#fed = this.#store.feed(job, reading)
    this.#advanced = Promise.all([this.#fed, this.#advanced]).then(() => this.#advance(job, reading.counts))
    for (const promise of [this.#fed, this.#advanced]) promise.catch(() => {})
    this.#inFlight.set(job.id, job.next + 1)
    this.#unlisted.set(job.id, job.next + 1)
    return true
  }

  async #advance(job: OpenJob, counts: ChunkCounts): Promise<void> {
    this.#onFed(counts)
    if (!(await this.#store.advance(job, counts))) this.#ended.add(job.id)
    if (this.#inFlight.get(job.id) === job.next + 1) this.#inFlight.delete(job.id)
  }

  /** Call this when the jobs are listed. Their records include every chunk that has advanced by then. */
  listing(): void {
    this.#unlisted = new Map(this.#inFlight)
    this.#endedBefore = this.#ended
    this.#ended = new Set()
  }

  /** The chunk to feed next, for a job of the last list. */
  nextOf({ id, next }: OpenJob): number {
    return Math.max(next, this.#unlisted.get(id) ?? 0)
  }

  /** Waits for all chunks in flight, and forgets failures: the records say which chunk is next. */
  async settle(): Promise<void> {
    await Promise.allSettled([this.#fed, this.#advanced])
    this.#fed = DONE
    this.#advanced = DONE
    this.#advancedBefore = DONE
    this.#inFlight.clear()
    this.listing()
  }
}
