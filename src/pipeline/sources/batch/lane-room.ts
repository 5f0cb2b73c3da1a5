import type { ChunkCounts } from '../../declaration/source.ts'
import type { FeederStore, LaneLevel, OpenJob } from './feeder-store.ts'

export interface LaneRoomOptions {
  readonly store: FeederStore
  /** Events of the batch lane that may be in the pipeline at once. */
  readonly waitingEventsMax: number
  /** Events of batch jobs that may wait for the archive; above it the jobs of tenants with an archive wait. */
  readonly waitingPayloadsMax: number
}

/** How much of what may wait is one feeder's, from 0 to 1. */
export interface LaneFractions {
  readonly events: number
  readonly payloads: number
}

/**
 * Tenants have the same part of the lane, whoever feeds them.
 * @param ours the first job of each tenant that has something to feed and is ours
 * @param others those of other feeders
 */
export function laneFractions(ours: readonly OpenJob[], others: readonly OpenJob[]): LaneFractions {
  const part = (mine: number, theirs: number) => (theirs === 0 ? 1 : mine / (mine + theirs))
  const archived = (jobs: readonly OpenJob[]) => jobs.filter((job) => job.archived).length
  return { events: part(ours.length, others.length), payloads: part(archived(ours), archived(others)) }
}

/** What a feeder may add to the lane until it looks again: as much as is missing there, and the chunk that goes beyond it. */
export class LaneRoom {
  readonly #options: LaneRoomOptions
  readonly #inLane = { events: new OwnInLane(), payloads: new OwnInLane() }
  /** Above 0: a chunk may be added; one of a job with an archive only when both are. */
  events = 0
  payloads = 0

  constructor(options: LaneRoomOptions) {
    this.#options = options
  }

  /** What was seen is of earlier. */
  forget(): void {
    this.events = 0
    this.payloads = 0
  }

  /** Looks at the lane. All that was taken has to be in it. @param archived whether payloads matter */
  async look(fractions: LaneFractions, archived: boolean): Promise<void> {
    const { store, waitingEventsMax, waitingPayloadsMax } = this.#options
    const [events, payloads] = await Promise.all([store.eventsInLane(), archived ? store.payloadsInLane() : undefined])
    this.events = this.#inLane.events.room(events, waitingEventsMax, fractions.events)
    this.payloads =
      payloads === undefined
        ? fractions.payloads * waitingPayloadsMax
        : this.#inLane.payloads.room(payloads, waitingPayloadsMax, fractions.payloads)
  }

  /** Notes a chunk that goes into the lane. */
  took({ fed, rejected, invalidIp }: ChunkCounts, archived: boolean): void {
    this.events -= fed
    this.#inLane.events.took(fed)
    if (!archived) return
    const payloads = fed + rejected + invalidIp
    this.payloads -= payloads
    this.#inLane.payloads.took(payloads)
  }
}

/** Knows how much in a lane is our own: what comes first leaves first. */
class OwnInLane {
  /** What we added, and how much had come into the lane when it was in there. */
  #own: { readonly events: number; readonly upTo: number }[] = []
  #taken = 0
  #added = 0

  took(events: number): void {
    this.#taken += events
  }

  /**
   * With other feeders at work we have our part of all that may wait, so that our tenants get no more of the pipeline than
   * theirs; and only that part of what is free, so that several who look at once do not take the same room.
   */
  room({ waiting, added }: LaneLevel, max: number, part: number): number {
    // It was counted anew: nothing is known of the lane as it is now.
    if (added < this.#added) this.#own = []
    this.#added = added
    const left = added - waiting
    if (this.#taken > 0) this.#own.push({ events: this.#taken, upTo: added })
    this.#taken = 0
    this.#own = this.#own.filter(({ upTo }) => upTo > left)
    const free = max - waiting
    if (part === 1) return free
    const own = this.#own.reduce((sum, { events }) => sum + events, 0)
    return Math.min(part * free, part * max - own)
  }
}
