import type { EventReceipt } from '../../../schemas/api/receipt.ts'
import { LANES, type Lane } from '../../pipeline/declaration/lane.ts'
import { type Pipeline, rawStreamsOf, readersOf, streamsOf } from '../../pipeline/declaration/pipeline.ts'
import { identityOf, partitionOf } from '../../pipeline/event/envelope.ts'
import { claimIdMs } from '../../pipeline/streams/entries.ts'
import { deadReceipt, type HeldEvent, payloadReceipt, rowReceipt } from '../../pipeline/streams/moving-receipt.ts'
import { findClaim } from '../../pipeline/streams/seen-claims.ts'
import type { Clock } from '../../run/clock.ts'
import type { RedisClient } from '../../stores/redis/connect.ts'
import { orUnavailable } from '../../stores/redis/errors.ts'
import { keys } from '../../stores/redis/keys.ts'
import { loadScript } from '../../stores/redis/scripts.ts'
import type { EventKey, Found, MovingEvents } from '../receipts/ports.ts'

/** Limits of a search in one stream. A backlog may be longer. */
const ENTRIES_MAX = 8_192
const BYTES_MAX = 16_777_216
/** A page keeps Redis busy for about a millisecond. */
const PAGE_BYTES = 262_144
const PAGE_ENTRIES_FIRST = 8
const PAGE_ENTRIES_MAX = 512
/** A claim may be younger than the clock of this process. */
const CLOCK_SLACK_MS = 60_000
const NO_ANSWER = 'the event store did not answer'

const findScript = loadScript(import.meta.url, './findEvent-1.lua')

interface RedisMovingEventsOptions {
  readonly client: RedisClient
  readonly pipeline: Pipeline
  readonly partitions: number
  readonly clock: Clock
}

/** Finds events in the streams of a pipeline and in its dedup window. An event's entries are all in one partition. */
export class RedisMovingEvents implements MovingEvents {
  readonly #options: RedisMovingEventsOptions

  constructor(options: RedisMovingEventsOptions) {
    this.#options = options
  }

  waiting(key: EventKey): Promise<Found> {
    const { pipeline } = this.#options
    const others = [pipeline.outcomes, ...rawStreamsOf(pipeline.sources)]
    const streams = streamsOf(pipeline).filter((stream) => !others.includes(stream))
    return this.#searchStreams(key, streams, rowReceipt)
  }

  unarchived(key: EventKey): Promise<Found> {
    return this.#searchStreams(key, rawStreamsOf(this.#options.pipeline.sources), payloadReceipt)
  }

  async dead({ tenantId, eventId }: EventKey): Promise<Found> {
    const identity = identityOf(tenantId, eventId)
    const partition = partitionOf(identity, this.#options.partitions)
    const { events, complete } = await this.#search(keys.dead(partition), identity, partition, 'live', [])
    return { receipts: events.map(deadReceipt), complete }
  }

  async claimedAtMs({ tenantId, eventId }: EventKey): Promise<number | undefined> {
    const { client, pipeline, partitions, clock } = this.#options
    const identity = identityOf(tenantId, eventId)
    const claim = {
      partition: partitionOf(identity, partitions),
      identity: Buffer.from(identity, 'latin1'),
      ms: clock.now() + CLOCK_SLACK_MS,
    }
    const { dedupWindowMs } = pipeline.limits
    const claimId = await orUnavailable(findClaim(client, claim, dedupWindowMs), NO_ANSWER)
    if (claimId === undefined) return undefined
    const ms = claimIdMs(claimId)
    return ms > clock.now() - dedupWindowMs ? ms : undefined
  }

  async #searchStreams(
    { tenantId, eventId }: EventKey,
    streams: readonly string[],
    receiptOf: (event: HeldEvent) => EventReceipt,
  ): Promise<Found> {
    const { pipeline, partitions } = this.#options
    const identity = identityOf(tenantId, eventId)
    const partition = partitionOf(identity, partitions)
    const receipts: EventReceipt[] = []
    let isComplete = true
    for (const stream of streams) {
      const readers = readersOf(pipeline, stream)
      for (const lane of LANES) {
        const key = keys.stream(partition, stream, lane)
        const { events, complete } = await this.#search(key, identity, partition, lane, readers)
        receipts.push(...events.map(receiptOf))
        isComplete &&= complete
      }
    }
    return { receipts, complete: isComplete }
  }

  /** Reads newest entries first, in pages, so that Redis serves other clients in between. */
  async #search(stream: string, identity: string, partition: number, lane: Lane, readers: readonly string[]) {
    const { client } = this.#options
    const bytes = Buffer.from(identity, 'latin1')
    const events: HeldEvent[] = []
    let end = '+'
    let pageEntries = PAGE_ENTRIES_FIRST
    let entriesLeft = ENTRIES_MAX
    let bytesLeft = BYTES_MAX
    while (entriesLeft > 0 && bytesLeft > 0) {
      const args = [bytes, end, pageEntries, ...readers]
      const reply = (await orUnavailable(findScript.run(client, [stream], args), NO_ANSWER)) as [
        Buffer,
        number,
        number,
        ...Buffer[],
      ]
      const [last, entries, pageBytes, ...found] = reply
      for (let i = 0; i < found.length; i += 4) {
        const [entry, row, job, reason] = found.slice(i, i + 4) as [Buffer, Buffer, Buffer, Buffer]
        events.push({ partition, lane, entry: String(entry), row, job: String(job), reason: String(reason) })
      }
      if (last.length === 0) return { events, complete: true }
      end = `(${last}`
      entriesLeft -= entries
      bytesLeft -= pageBytes
      pageEntries = Math.min(PAGE_ENTRIES_MAX, Math.max(1, Math.floor((PAGE_BYTES * entries) / Math.max(1, pageBytes))))
    }
    return { events, complete: false }
  }
}
