import type { ChunkCounts, ChunkReading } from '../../declaration/source.ts'
import type { FeederStore, OpenJob } from './feeder-store.ts'

/** A chunk that was read, and whose it is: the one that is the job's next. */
export interface ReadChunk {
  readonly job: OpenJob
  readonly reading: ChunkReading
}

const DONE: Promise<unknown> = Promise.resolve()

/**
 * Chunks on their way into the lane. They are fed one behind the other, in the order in which they come; while one is fed, the
 * job of the one before moves on. So there are never more than two, and the one who feeds can read the next one meanwhile.
 */
export class ChunksInHand {
  readonly #store: FeederStore
  readonly #onFed: (counts: ChunkCounts) => void
  #fed = DONE
  #advanced = DONE
  #advancedBefore = DONE
  /** The next chunk of jobs of which one is on its way. */
  readonly #onTheWay = new Map<string, number>()
  /** As `#onTheWay` was at the last `listing`, and has become since. */
  #unlisted = new Map<string, number>()
  /** Jobs that had ended when they were to move on, since the last `listing`, and since the one before. */
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

  /** Resolves when the jobs of all chunks have moved on. */
  get advanced(): Promise<unknown> {
    return this.#advanced
  }

  /**
   * Takes a chunk as soon as the one before is in the lane. A failure of one is told by what is called next.
   * @returns false when its job has ended: it is not fed
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
    this.#onTheWay.set(job.id, job.next + 1)
    this.#unlisted.set(job.id, job.next + 1)
    return true
  }

  async #advance(job: OpenJob, counts: ChunkCounts): Promise<void> {
    this.#onFed(counts)
    if (!(await this.#store.advance(job, counts))) this.#ended.add(job.id)
    if (this.#onTheWay.get(job.id) === job.next + 1) this.#onTheWay.delete(job.id)
  }

  /** The jobs are asked for now: of chunks that have arrived by then their records tell. */
  listing(): void {
    this.#unlisted = new Map(this.#onTheWay)
    this.#endedBefore = this.#ended
    this.#ended = new Set()
  }

  /** The chunk behind all that were taken, for a job as it was listed last. */
  nextOf({ id, next }: OpenJob): number {
    return Math.max(next, this.#unlisted.get(id) ?? 0)
  }

  /** Waits until none is on its way, and forgets those that failed: records say which chunk is next. */
  async settle(): Promise<void> {
    await Promise.allSettled([this.#fed, this.#advanced])
    this.#fed = DONE
    this.#advanced = DONE
    this.#advancedBefore = DONE
    this.#onTheWay.clear()
    this.listing()
  }
}
