import type { RedisClient } from '../../stores/redis/connect.ts'
import { counterFields, keys, progressFields } from '../../stores/redis/keys.ts'
import { Together } from '../../stores/redis/together.ts'
import type { Lane } from '../declaration/lane.ts'
import { type Block, countingJob, type EntryFields, encodeBlock, joinBlocks, OWNER_FIELD } from '../event/block.ts'
import { packOutcomes } from '../event/outcomes.ts'
import { type Entry, outcomesOf, type Settlement, type SettleResult } from '../runner/ports.ts'
import { deadLetterFields } from './dead-letter.ts'
import { GROUP_FIELD, outcomeSource } from './entries.ts'
import { claimOf } from './seen-store.ts'
import { SettlementWriter } from './settlement-writer.ts'

export interface SettlementsOptions {
  readonly client: RedisClient
  readonly partition: number
  readonly group: string
  readonly from: string
  readonly to: string
  /** Whether only sinks read `to`: what several entries put out may then be one entry. A step has to tell entries apart. */
  readonly joinsOutput: boolean
  /** The stream that takes the outcomes of events that leave here; undefined: nothing does. */
  readonly outcomesTo: string | undefined
  /** Whether what leaves here is finished for its batch job. */
  readonly countsJobs: boolean
  readonly dedupWindowMs: number
}

interface Settling {
  readonly entry: Entry
  readonly settlement: Settlement
}

/** An entry that joins others has at most so many events, or so many bytes of rows, together with theirs. */
const JOINED_EVENTS_MAX = 1_000
const JOINED_BYTES_MAX = 262_144

/**
 * Writes settlements of one partition. Those of one turn that are as plain as most are, of live entries that were delivered
 * for the first time and have no dead letters, are written together. Redis writes them only when each entry is pending, and
 * was delivered to nobody else meanwhile; otherwise each is written alone, and comes out as if it had always been.
 */
export class Settlements {
  readonly #options: SettlementsOptions
  readonly #together = new Together<Settling, SettleResult>((all) => this.#settleAll(all))

  constructor(options: SettlementsOptions) {
    this.#options = options
  }

  settle(entry: Entry, settlement: Settlement): Promise<SettleResult> {
    const settling = { entry, settlement }
    return isPlain(settling) ? this.#together.add(settling) : this.#write([settling])
  }

  #settleAll(all: readonly Settling[]): Promise<SettleResult>[] {
    const results = new Map<Settling, Promise<SettleResult>>()
    for (const batch of batchesOf(all)) {
      const written = this.#write(batch)
      for (const settling of batch) {
        const alone = (result: SettleResult) => (result === 'written' ? result : this.#write([settling]))
        results.set(settling, batch.length === 1 ? written : written.then(alone))
      }
    }
    return all.map((settling) => results.get(settling)!)
  }

  /** @param all of one lane; several only when they are plain */
  #write(all: readonly Settling[]): Promise<SettleResult> {
    const { from, to, outcomesTo, group, partition } = this.#options
    const { entry: first } = all[0]!
    const { lane } = first
    const writer = new SettlementWriter(keys.stream(partition, from, lane), keys.counters(partition))
    writer.count(counterFields.done(group, from, lane, 'entries'), all.length)
    const events = all.reduce((sum, { entry }) => sum + entry.block.count, 0)
    writer.count(counterFields.done(group, from, lane, 'events'), events)
    for (const [outcome, count] of sumOf(all)) writer.count(counterFields.outcome(group, outcome), count)
    for (const block of this.#outputsOf(all)) this.#add(writer, to, lane, block)
    const left = all.filter(({ settlement }) => settlement.outcomes.size > 0)
    if (outcomesTo !== undefined && left.length > 0) {
      const parts = left.map(({ entry, settlement }) => [outcomeSource(group, entry), settlement.outcomes] as const)
      this.#add(writer, outcomesTo, lane, packOutcomes(parts))
    }
    for (const settling of all) this.#addRest(writer, settling)
    const ids = all.map(({ entry }) => entry.id)
    return writer.run(this.#options.client, group, ids, first.repeated ? 'repeated' : 'first')
  }

  #outputsOf(all: readonly Settling[]): readonly Block[] {
    const outputs = all.flatMap(({ settlement: { output } }) => (output === undefined ? [] : [output]))
    return this.#options.joinsOutput && outputs.length > 1 ? [joinBlocks(outputs)] : outputs
  }

  /** What a plain settlement has not. */
  #addRest(writer: SettlementWriter, { entry, settlement }: Settling): void {
    const { from, group, partition, countsJobs, dedupWindowMs } = this.#options
    if (countsJobs) addProgress(writer, partition, countingJob(entry.block), settlement)
    // Other groups that read the stream have, or get, the whole.
    const backTo: EntryFields = [OWNER_FIELD, entry.owner, GROUP_FIELD, group]
    for (const block of settlement.again) this.#add(writer, from, entry.lane, block, backTo)
    for (const letter of settlement.dead) {
      const owner = letter.keepsOwner ? entry.owner : undefined
      const origin = { group, stream: from, lane: entry.lane, owner }
      writer.add(keys.dead(partition), deadLetterFields(origin, letter))
    }
    for (const identity of settlement.unclaimed) writer.demandUnclaimed(claimOf(identity, entry, dedupWindowMs))
  }

  #add(writer: SettlementWriter, stream: string, lane: Lane, block: Block, more: EntryFields = []): void {
    writer.add(keys.stream(this.#options.partition, stream, lane), [...encodeBlock(block), ...more])
    writer.count(counterFields.added(stream, lane, 'entries'), 1)
    writer.count(counterFields.added(stream, lane, 'events'), block.count)
  }
}

function addProgress(
  writer: SettlementWriter,
  partition: number,
  job: string | undefined,
  { dropped, dead, counts }: Settlement,
): void {
  if (job === undefined) return
  const key = keys.jobProgress(partition, job)
  for (const [reason, events] of dropped) writer.progress(key, reason, events)
  for (const [name, events] of counts) writer.progress(key, progressFields.count(name), events)
  if (dead.length > 0) writer.progress(key, progressFields.dead, dead.length)
}

function isPlain({ entry, settlement }: Settling): boolean {
  const { dead, again, unclaimed } = settlement
  const isFirst = !entry.repeated && entry.deliveries === 1
  const isAlive = dead.length === 0 && again.length === 0 && unclaimed.length === 0
  return isFirst && isAlive && entry.lane === 'live' && entry.block.job === undefined
}

/** What is written together, entries ascending. */
function batchesOf(all: readonly Settling[]): Settling[][] {
  const ordered = all
    .map((settling) => ({ settling, id: settling.entry.id.split('-').map(Number) as [number, number] }))
    .sort((a, b) => a.id[0] - b.id[0] || a.id[1] - b.id[1])
  const batches: Settling[][] = []
  let events = 0
  let bytes = 0
  for (const { settling } of ordered) {
    const { output } = settling.settlement
    events += output?.count ?? 0
    bytes += output?.rows.length ?? 0
    const last = batches.at(-1)
    if (last !== undefined && events <= JOINED_EVENTS_MAX && bytes <= JOINED_BYTES_MAX) {
      last.push(settling)
    } else {
      batches.push([settling])
      events = output?.count ?? 0
      bytes = output?.rows.length ?? 0
    }
  }
  return batches
}

function sumOf(all: readonly Settling[]): Map<string, number> {
  const sums = new Map<string, number>()
  for (const { settlement } of all) {
    for (const [outcome, events] of outcomesOf(settlement)) sums.set(outcome, (sums.get(outcome) ?? 0) + events)
  }
  return sums
}
