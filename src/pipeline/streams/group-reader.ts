import { pause, untilTick, untilTurn } from '../../run/loop.ts'
import type { RedisClient } from '../../stores/redis/connect.ts'
import { replyCode } from '../../stores/redis/errors.ts'
import { keys } from '../../stores/redis/keys.ts'
import type { Caller } from '../../stores/redis/pipelined-calls.ts'
import { LANES, type Lane } from '../declaration/lane.ts'
import type { BrokenEntry, Delivered, Entry, GroupReader, Settlement, SettleResult } from '../runner/ports.ts'
import { readBlocking } from './blocking-read.ts'
import { brokenEntryFields } from './dead-letter.ts'
import { type RawEntry, type RawStreams, readEntry } from './entries.ts'
import { bury, passOver, Settlements, type SettlementsOptions } from './settlement.ts'

/** `client` may be shared. It serves everything except blocking reads. */
interface GroupReaderOptions extends SettlementsOptions {
  /** For blocking reads only; not shared. */
  readonly blocking: RedisClient
  readonly consumer: string
  /** For XAUTOCLAIM: calls of several partitions go out in one write. Default: `client`. */
  readonly claims?: Caller
  /** Takes over entries that their consumer did not finish for this long. */
  readonly claimIdleMs: number
  /** Offset of this partition's waits for live entries, 0 to 1, so that partitions take turns; see `untilTurn`. Default: 0. */
  readonly turn?: number
  /** Entries per read. */
  readonly entriesMax: Readonly<Record<Lane, number>>
  /** Creates the group again; called when Redis does not know it. */
  readonly ensureGroups: () => Promise<void>
}

/** How long a read waits for entries. An idle reader waits until the next XAUTOCLAIM. */
const BLOCK_MS = 1_000
/** Pause between two reads of live entries, unless the first left some: entries gather, and share the cost of a read. */
const GATHER_MS = 25
/** The same after a read of several entries. */
const FLOW_GATHER_MS = 100
/** A read may exceed `entriesMax` while entries are small: up to about this many events, and this many entries. */
const READ_EVENTS = 1_000
const SMALL_ENTRIES_MAX = 128

/** Reads one partition for a consumer group of Redis Streams. */
export class StreamGroupReader implements GroupReader {
  readonly partition: number
  readonly #options: GroupReaderOptions
  readonly #streams: Readonly<Record<Lane, string>>
  readonly #settlements: Settlements
  #recovering = false
  /** The last wait found nothing, so the next read waits at once. */
  #isAtRest = false
  #nextClaimAt = 0
  /** Deleted entries. Redis names them only once, so they are returned until `bury` was called. */
  #gone: BrokenEntry[] = []
  /** Entries of the second lane that were taken over. They are returned separately, so that live entries do not wait for them. */
  #claimed: (Entry | BrokenEntry)[] = []
  #nextLiveAtMs = 0
  /** Running mean. */
  #eventsPerEntry = READ_EVENTS

  constructor(options: GroupReaderOptions) {
    this.#options = options
    this.partition = options.partition
    this.#settlements = new Settlements(options)
    this.#streams = {
      live: keys.stream(options.partition, options.from, 'live'),
      batch: keys.stream(options.partition, options.from, 'batch'),
    }
  }

  recover(): void {
    this.#recovering = true
    // These are pending, so they are read again.
    this.#claimed = []
  }

  async next(waits = true, signal?: AbortSignal): Promise<Delivered> {
    try {
      const found = await (waits ? this.#next(signal) : this.#fresh(false))
      return split([...found, ...this.#gone])
    } catch (error) {
      if (replyCode(error) === 'NOGROUP') await this.#options.ensureGroups()
      throw error
    }
  }

  async #next(signal: AbortSignal | undefined): Promise<(Entry | BrokenEntry)[]> {
    if (this.#recovering) {
      const pending = await this.#ownPending()
      if (pending.length > 0) return pending
      this.#recovering = false
    }
    const claimed = await this.#takenOver()
    return claimed.length > 0 || this.#gone.length > 0 ? claimed : this.#fresh(true, signal)
  }

  async #takenOver(): Promise<(Entry | BrokenEntry)[]> {
    const claimed = this.#claimed
    this.#claimed = []
    if (claimed.length > 0) return claimed
    if (this.#untilClaimMs() <= 0) {
      // At a tick, so that it coincides with the other partitions.
      this.#nextClaimAt = Date.now() + untilTick(this.#options.claimIdleMs / 2, Date.now())
      return this.#claim()
    }
    return []
  }

  #untilClaimMs(): number {
    const leftMs = this.#nextClaimAt - Date.now()
    // The clock may have been set back.
    return leftMs > this.#options.claimIdleMs / 2 ? 0 : leftMs
  }

  async #fresh(waits: boolean, signal?: AbortSignal): Promise<(Entry | BrokenEntry)[]> {
    if (this.#isAtRest && waits) return this.#waitForAny(signal)
    const earlyMs = this.#nextLiveAtMs - performance.now()
    if (earlyMs >= 1) {
      const batch = await this.#readBatch()
      if (batch.length > 0 || !waits) return batch
      await pause(earlyMs)
    }
    const live = await this.#readLive()
    if (live.length > 0) return live
    const batch = await this.#readBatch()
    return batch.length > 0 || !waits ? batch : this.#waitForAny(signal)
  }

  async #readLive(): Promise<(Entry | BrokenEntry)[]> {
    const { client, entriesMax } = this.#options
    const startedAtMs = performance.now()
    const small = Math.min(SMALL_ENTRIES_MAX, Math.floor(READ_EVENTS / this.#eventsPerEntry))
    const count = Math.max(entriesMax.live, small)
    const live = await this.#read(client, [this.#streams.live], count)
    this.#learnSize(live)
    const gatherMs = live.length > 1 ? FLOW_GATHER_MS : GATHER_MS
    this.#nextLiveAtMs = live.length >= count ? 0 : startedAtMs + untilTurn(gatherMs, startedAtMs, this.#options.turn)
    return live
  }

  #readBatch(): Promise<(Entry | BrokenEntry)[]> {
    const { client, entriesMax } = this.#options
    return this.#read(client, [this.#streams.batch], entriesMax.batch)
  }

  async #waitForAny(signal: AbortSignal | undefined): Promise<(Entry | BrokenEntry)[]> {
    const { blocking, client, group, consumer } = this.#options
    const streams = [this.#streams.live, this.#streams.batch]
    const restMs = Math.max(BLOCK_MS, untilTick(this.#untilClaimMs(), Date.now()))
    const wait = this.#isAtRest ? { blockMs: restMs, signal } : { blockMs: BLOCK_MS }
    const found = await this.#found(
      await readBlocking({ blocking, client, group, consumer, count: 1, streams, ...wait }),
    )
    this.#isAtRest = found.length === 0
    return found
  }

  #learnSize(entries: readonly (Entry | BrokenEntry)[]): void {
    for (const entry of entries) {
      if ('block' in entry) this.#eventsPerEntry += (entry.block.count - this.#eventsPerEntry) / 8
    }
  }

  async #read(client: RedisClient, streams: readonly string[], count: number): Promise<(Entry | BrokenEntry)[]> {
    const { group, consumer } = this.#options
    const ids = streams.map(() => '>')
    const reply = (await client.callBuffer(
      'XREADGROUP',
      ...['GROUP', group, consumer, 'COUNT', count, 'STREAMS', ...streams, ...ids],
    )) as RawStreams
    return this.#found(reply ?? [])
  }

  async #found(reply: NonNullable<RawStreams>): Promise<(Entry | BrokenEntry)[]> {
    const found: (Entry | BrokenEntry)[] = []
    for (const [key, entries] of reply) {
      const lane = key.toString('latin1') === this.#streams.live ? 'live' : 'batch'
      for (const raw of await this.#own(lane, entries)) found.push(readEntry(raw, lane, this.partition, 1))
    }
    return found
  }

  #own(lane: Lane, raw: readonly RawEntry[]): Promise<readonly RawEntry[]> {
    const { client, group, from } = this.#options
    return passOver(client, group, from, { partition: this.partition, lane }, raw)
  }

  async #ownPending(): Promise<(Entry | BrokenEntry)[]> {
    const { client, group, consumer, entriesMax } = this.#options
    for (const lane of LANES) {
      const stream = this.#streams[lane]
      const reply = (await client.callBuffer(
        'XREADGROUP',
        ...['GROUP', group, consumer, 'COUNT', entriesMax.live, 'STREAMS', stream, '0'],
      )) as RawStreams
      const raw = reply?.[0]?.[1] ?? []
      const own = await this.#own(lane, raw)
      if (own.length > 0) return this.#withDeliveries(lane, own)
      // All were entries of other groups, and are acknowledged now. More may follow.
      if (raw.length > 0) return this.#ownPending()
    }
    return []
  }

  /** Takes over entries that other consumers, most likely dead, left pending. Returns those of one lane. */
  async #claim(): Promise<(Entry | BrokenEntry)[]> {
    const { client, claims = client, group, consumer, claimIdleMs, entriesMax } = this.#options
    const calls = LANES.map((lane) => {
      const args = [this.#streams[lane], group, consumer, claimIdleMs, '0-0', 'COUNT', entriesMax.live]
      return claims.callBuffer('XAUTOCLAIM', ...args) as Promise<[Buffer, RawEntry[], Buffer[]]>
    })
    const replies = await Promise.allSettled(calls)
    // First of all, because Redis names deleted entries only once.
    for (const [i, reply] of replies.entries()) {
      const deleted = reply.status === 'fulfilled' ? (reply.value[2] ?? []) : []
      const facts = { lane: LANES[i]!, reason: 'deleted while pending', isGone: true }
      this.#gone.push(...deleted.map((id) => ({ ...facts, id: id.toString('latin1') })))
    }
    const found: (Entry | BrokenEntry)[][] = []
    for (const [i, reply] of replies.entries()) {
      if (reply.status === 'rejected') throw reply.reason
      const [, raw] = reply.value
      if (raw.length > 0) found.push(await this.#withDeliveries(LANES[i]!, await this.#own(LANES[i]!, raw)))
    }
    if (found.length > 0 || this.#gone.length > 0) this.#nextClaimAt = 0
    const [first = [], second = []] = found.filter((entries) => entries.length > 0)
    this.#claimed = second
    return first
  }

  async #withDeliveries(lane: Lane, raw: readonly RawEntry[]): Promise<(Entry | BrokenEntry)[]> {
    if (raw.length === 0) return []
    const { client, group, consumer } = this.#options
    const first = raw[0]![0].toString('latin1')
    const last = raw[raw.length - 1]![0].toString('latin1')
    const pending = (await client.callBuffer(
      'XPENDING',
      ...[this.#streams[lane], group, first, last, raw.length, consumer],
    )) as [id: Buffer, consumer: Buffer, idleMs: number, deliveries: number][]
    const deliveries = new Map(pending.map((entry) => [entry[0].toString('latin1'), Number(entry[3])]))
    return raw.map((entry) => readEntry(entry, lane, this.partition, deliveries.get(entry[0].toString('latin1')) ?? 2))
  }

  settle(entry: Entry, settlement: Settlement): Promise<SettleResult> {
    return this.#settlements.settle(entry, settlement)
  }

  async bury(entry: BrokenEntry): Promise<void> {
    const { client, group, from } = this.#options
    // Before the call: if its reply is lost, a second call could write a second letter.
    this.#gone = this.#gone.filter(({ lane, id }) => lane !== entry.lane || id !== entry.id)
    const stream = { partition: this.partition, lane: entry.lane }
    const raw = (await client.callBuffer('XRANGE', this.#streams[entry.lane], entry.id, entry.id)) as RawEntry[]
    const fields = brokenEntryFields({ group, stream: from, lane: entry.lane }, entry.reason, raw[0])
    await bury(client, group, from, stream, entry.id, fields, entry.isGone ? 'gone' : '')
  }

  async close(): Promise<void> {
    this.#options.blocking.disconnect()
  }
}

function split(mixed: readonly (Entry | BrokenEntry)[]): Delivered {
  return {
    entries: mixed.filter((entry): entry is Entry => 'block' in entry),
    broken: mixed.filter((entry): entry is BrokenEntry => !('block' in entry)),
  }
}
