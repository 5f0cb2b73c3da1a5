import { type Block, countingJob, type EntryFields, encodeBlock, OWNER_FIELD } from '../../core/event/block.ts'
import { packOutcomes } from '../../core/event/outcomes.ts'
import { LANES, type Lane } from '../../core/pipeline/lane.ts'
import {
  type BrokenEntry,
  type Delivered,
  type Entry,
  type GroupReader,
  outcomesOf,
  type Settlement,
  type SettleResult,
} from '../../runner/ports.ts'
import type { RedisClient } from '../connect.ts'
import { counterFields, keys, progressFields } from '../keys.ts'
import { replyCode } from '../reply-error.ts'
import { brokenEntryFields, deadLetterFields } from './dead-letter.ts'
import { GROUP_FIELD, outcomeSource, type RawEntry, type RawStreams, readEntry } from './entries.ts'
import { claimOf } from './seen-store.ts'
import { bury, passOver, SettlementWriter } from './settlement-writer.ts'

export interface GroupReaderOptions {
  /** For blocking reads only; not shared. */
  readonly blocking: RedisClient
  /** For everything else; may be shared. */
  readonly client: RedisClient
  readonly partition: number
  readonly group: string
  readonly consumer: string
  readonly from: string
  readonly to: string
  /** The stream that takes the outcomes of events that leave here; undefined: nothing does. */
  readonly outcomesTo: string | undefined
  /** Entries that their consumer did not finish for this long are taken over. */
  readonly claimIdleMs: number
  /** Entries of one read. */
  readonly entriesMax: Readonly<Record<Lane, number>>
  /** Whether what leaves here is finished for its batch job. */
  readonly countsJobs: boolean
  readonly dedupWindowMs: number
  /** Makes the group; called when Redis says that it is gone. */
  readonly ensureGroups: () => Promise<void>
}

/** How long a read waits for entries. It bounds how long a stop takes. */
const BLOCK_MS = 1_000

/** A consumer group's reader of one partition, on Redis Streams. */
export class StreamGroupReader implements GroupReader {
  readonly partition: number
  readonly #options: GroupReaderOptions
  readonly #streams: Readonly<Record<Lane, string>>
  #recovering = false
  #nextClaimAt = 0

  constructor(options: GroupReaderOptions) {
    this.#options = options
    this.partition = options.partition
    this.#streams = {
      live: keys.stream(options.partition, options.from, 'live'),
      batch: keys.stream(options.partition, options.from, 'batch'),
    }
  }

  recover(): void {
    this.#recovering = true
  }

  async next(): Promise<Delivered> {
    try {
      if (this.#recovering) {
        const pending = await this.#ownPending()
        if (pending.length > 0) return split(pending)
        this.#recovering = false
      }
      if (Date.now() >= this.#nextClaimAt) {
        this.#nextClaimAt = Date.now() + this.#options.claimIdleMs / 2
        const claimed = await this.#claim()
        if (claimed.length > 0) return split(claimed)
      }
      return split(await this.#fresh())
    } catch (error) {
      if (replyCode(error) === 'NOGROUP') await this.#options.ensureGroups()
      throw error
    }
  }

  async #fresh(): Promise<(Entry | BrokenEntry)[]> {
    const { client, entriesMax } = this.#options
    const live = await this.#read(client, [this.#streams.live], entriesMax.live)
    if (live.length > 0) return live
    const batch = await this.#read(client, [this.#streams.batch], entriesMax.batch)
    if (batch.length > 0) return batch
    return this.#read(this.#options.blocking, [this.#streams.live, this.#streams.batch], 1, BLOCK_MS)
  }

  async #read(client: RedisClient, streams: readonly string[], count: number, blockMs?: number) {
    const { group, consumer } = this.#options
    const block = blockMs === undefined ? [] : ['BLOCK', blockMs]
    const ids = streams.map(() => '>')
    const reply = (await client.callBuffer(
      'XREADGROUP',
      ...['GROUP', group, consumer, 'COUNT', count, ...block, 'STREAMS', ...streams, ...ids],
    )) as RawStreams
    const found: (Entry | BrokenEntry)[] = []
    for (const [key, entries] of reply ?? []) {
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
      // There may be more behind those of other groups.
      if (raw.length > 0) return this.#ownPending()
    }
    return []
  }

  /** Takes over what other consumers, most likely dead, left pending. */
  async #claim(): Promise<(Entry | BrokenEntry)[]> {
    const { client, group, consumer, claimIdleMs, entriesMax } = this.#options
    for (const lane of LANES) {
      const [, raw, deleted] = (await client.callBuffer(
        'XAUTOCLAIM',
        ...[this.#streams[lane], group, consumer, claimIdleMs, '0-0', 'COUNT', entriesMax.live],
      )) as [Buffer, RawEntry[], Buffer[]]
      const gone = (deleted ?? []).map((id) => ({ id: id.toString('latin1'), lane, reason: 'deleted while pending' }))
      if (raw.length > 0 || gone.length > 0) {
        this.#nextClaimAt = 0
        return [...(await this.#withDeliveries(lane, await this.#own(lane, raw))), ...gone]
      }
    }
    return []
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

  async settle(entry: Entry, settlement: Settlement): Promise<SettleResult> {
    const { from, to, outcomesTo, group, dedupWindowMs } = this.#options
    const writer = new SettlementWriter(this.#streams[entry.lane], keys.counters(this.partition))
    writer.count(counterFields.done(group, from, entry.lane, 'entries'), 1)
    writer.count(counterFields.done(group, from, entry.lane, 'events'), entry.block.count)
    for (const [outcome, events] of outcomesOf(settlement)) writer.count(counterFields.outcome(group, outcome), events)
    if (this.#options.countsJobs) this.#progress(writer, countingJob(entry.block), settlement)
    if (settlement.output !== undefined) this.#add(writer, to, entry.lane, settlement.output)
    // Other groups that read the stream have, or get, the whole.
    const backTo: EntryFields = [OWNER_FIELD, entry.owner, GROUP_FIELD, group]
    for (const block of settlement.again) this.#add(writer, from, entry.lane, block, backTo)
    if (outcomesTo !== undefined && settlement.outcomes.size > 0) {
      const source = outcomeSource(group, entry)
      this.#add(writer, outcomesTo, entry.lane, packOutcomes([[source, settlement.outcomes]]))
    }
    for (const letter of settlement.dead) {
      const owner = letter.keepsOwner ? entry.owner : undefined
      const origin = { group, stream: from, lane: entry.lane, owner }
      writer.add(keys.dead(this.partition), deadLetterFields(origin, letter))
    }
    for (const identity of settlement.unclaimed) writer.demandUnclaimed(claimOf(identity, entry, dedupWindowMs))
    return writer.run(this.#options.client, group, [entry.id], entry.repeated ? 'repeated' : 'first')
  }

  #progress(writer: SettlementWriter, job: string | undefined, { dropped, dead, counts }: Settlement): void {
    if (job === undefined) return
    const key = keys.jobProgress(this.partition, job)
    for (const [reason, events] of dropped) writer.progress(key, reason, events)
    for (const [name, events] of counts) writer.progress(key, progressFields.count(name), events)
    if (dead.length > 0) writer.progress(key, progressFields.dead, dead.length)
  }

  #add(writer: SettlementWriter, stream: string, lane: Lane, block: Block, more: EntryFields = []): void {
    writer.add(keys.stream(this.partition, stream, lane), [...encodeBlock(block), ...more])
    writer.count(counterFields.added(stream, lane, 'entries'), 1)
    writer.count(counterFields.added(stream, lane, 'events'), block.count)
  }

  async bury(entry: BrokenEntry): Promise<void> {
    const { client, group, from } = this.#options
    const stream = { partition: this.partition, lane: entry.lane }
    const raw = (await client.callBuffer('XRANGE', this.#streams[entry.lane], entry.id, entry.id)) as RawEntry[]
    const fields = brokenEntryFields({ group, stream: from, lane: entry.lane }, entry.reason, raw[0])
    await bury(client, group, from, stream, entry.id, fields)
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
