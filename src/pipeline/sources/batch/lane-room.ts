import type { ChunkCounts } from '../../declaration/source.ts'
import type { FeederStore, LaneLevel, OpenJob } from './feeder-ports.ts'

export interface LaneRoomOptions {
  readonly store: FeederStore
  /** Events of the batch lane that may be in the pipeline at the same time. */
  readonly waitingEventsMax: number
  /** Events of batch jobs that may wait for the archive. Above it, jobs of tenants with an archive wait. */
  readonly waitingPayloadsMax: number
}

/** One feeder's fraction of the lane, and of the archive's queue, from 0 to 1. */
export interface LaneFractions {
  readonly events: number
  readonly payloads: number
}

/**
 * Splits the lane between feeders so that every tenant gets an equal part of it.
 * @param ours the first job of each tenant of this feeder that has a chunk to feed
 * @param others the same for all other feeders
 */
export function laneFractions(ours: readonly OpenJob[], others: readonly OpenJob[]): LaneFractions {
  const fraction = (mine: number, theirs: number) => (theirs === 0 ? 1 : mine / (mine + theirs))
  const archived = (jobs: readonly OpenJob[]) => jobs.filter((job) => job.archived).length
  return { events: fraction(ours.length, others.length), payloads: fraction(archived(ours), archived(others)) }
}

/**
 * Bytes of a feeder's events that may be in the lane. A chunk waits compressed, and its events may be a thousand times as large, so
 * the number of events alone does not bound Redis' memory.
 */
const LANE_BYTES_MAX = 134_217_728
/** Bytes that a feeder adds before it checks the lane again. */
const GRANT_BYTES = LANE_BYTES_MAX / 8

/** How many events a feeder may add before it must check the lane again. The last chunk may go over the limits. */
export class LaneRoom {
  readonly #options: LaneRoomOptions
  readonly #inLane = { events: new OwnEvents(), payloads: new OwnEvents() }
  /** Above 0: a chunk may be added. A job with an archive needs both numbers above 0. */
  events = 0
  payloads = 0
  /** Bytes of events that may be added. Without room for bytes there is no room for events. */
  #bytes = 0

  constructor(options: LaneRoomOptions) {
    this.#options = options
  }

  /** Forgets the last check: it is out of date. */
  reset(): void {
    this.events = 0
    this.payloads = 0
  }

  /** Checks the lane. Every chunk taken before must be in it. @param archived whether payloads matter */
  async refresh(fractions: LaneFractions, archived: boolean): Promise<void> {
    const { store, waitingEventsMax, waitingPayloadsMax } = this.#options
    const [events, payloads] = await Promise.all([store.eventsInLane(), archived ? store.payloadsInLane() : undefined])
    const room = this.#inLane.events.room(events, waitingEventsMax, fractions.events)
    this.#bytes = Math.min(LANE_BYTES_MAX - this.#inLane.events.ownBytes, GRANT_BYTES)
    this.events = this.#bytes > 0 ? room : Math.min(room, 0)
    this.payloads =
      payloads === undefined
        ? fractions.payloads * waitingPayloadsMax
        : this.#inLane.payloads.room(payloads, waitingPayloadsMax, fractions.payloads)
  }

  /** Reserves room for a chunk. @param bytes size of its events in the lane */
  take({ fed, rejected, invalidIp }: ChunkCounts, archived: boolean, bytes = 0): void {
    this.events -= fed
    this.#bytes -= bytes
    if (this.#bytes <= 0) this.events = Math.min(this.events, 0)
    this.#inLane.events.take(fed, bytes)
    if (!archived) return
    const payloads = fed + rejected + invalidIp
    this.payloads -= payloads
    this.#inLane.payloads.take(payloads)
  }
}

/** Tracks how many events in a lane are ours. A lane is first in, first out. */
class OwnEvents {
  /** Events that we added, and the lane's `added` counter after them. */
  #own: { readonly events: number; readonly bytes: number; readonly upTo: number }[] = []
  #taken = 0
  #takenBytes = 0
  #added = 0

  /** Bytes of our events that were in the lane at the last check. */
  get ownBytes(): number {
    return this.#own.reduce((sum, { bytes }) => sum + bytes, 0)
  }

  take(events: number, bytes = 0): void {
    this.#taken += events
    this.#takenBytes += bytes
  }

  /**
   * With other feeders at work, our events may fill only our fraction of the limit: no tenant gets more of the pipeline than
   * another. We also take only our fraction of the free room, so that feeders that check at the same time do not overfill it.
   */
  room({ waiting, added }: LaneLevel, max: number, fraction: number): number {
    // The counter was reset, so the positions in `#own` mean nothing any more.
    if (added < this.#added) this.#own = []
    this.#added = added
    const left = added - waiting
    if (this.#taken > 0) this.#own.push({ events: this.#taken, bytes: this.#takenBytes, upTo: added })
    this.#taken = 0
    this.#takenBytes = 0
    this.#own = this.#own.filter(({ upTo }) => upTo > left)
    const free = max - waiting
    if (fraction === 1) return free
    const own = this.#own.reduce((sum, { events }) => sum + events, 0)
    return Math.min(fraction * free, fraction * max - own)
  }
}
