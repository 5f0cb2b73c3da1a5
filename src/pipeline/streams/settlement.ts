import { OUTCOME_STATUS } from '../../../schemas/outcome.ts'
import type { RedisClient } from '../../stores/redis/connect.ts'
import { counterFields, keys, progressFields } from '../../stores/redis/keys.ts'
import { TurnBatcher } from '../../stores/redis/pipelined-calls.ts'
import { type Addition, loadScript, type ScriptArgument } from '../../stores/redis/scripts.ts'
import type { Lane } from '../declaration/lane.ts'
import {
  type Block,
  CLAIM_ID_FIELD,
  commitAt,
  countingJob,
  type EntryFields,
  encodeBlock,
  fieldOf,
  joinBlocks,
  selectEvents,
} from '../event/block.ts'
import { BlockOutcomes, packOutcomes } from '../event/outcomes.ts'
import { type Entry, outcomesOf, type Settlement, type SettleResult } from '../runner/ports.ts'
import type { RefusedEvent, SinkEntry, SinkRun, SinkStream } from '../runner/sink-ports.ts'
import { deadLetterFields } from './dead-letter.ts'
import { GROUP_FIELD, isForOther, outcomeSource, type RawEntry } from './entries.ts'
import { type Claim, claimOf } from './seen-store.ts'

/*
 * A settlement is the result of an entry: output, dead letters, counters, progress of batch jobs. `SettlementWriter` writes it together
 * with the acknowledgement. Steps use `Settlements`, sinks use `settleRun`. Both use `bury` for entries that are not blocks, and
 * `passOver` for entries of other groups.
 */

const settleScript = loadScript(import.meta.url, './settle-N.lua', { using: '../../stores/redis/added-before.lua' })

/** Builds and makes one call of `settle-N.lua`. */
export class SettlementWriter {
  readonly #keys: string[]
  readonly #outputs: Addition[] = []
  readonly #counters: ScriptArgument[] = []
  readonly #claims: ScriptArgument[] = []

  constructor(source: string, counters: string) {
    this.#keys = [source, counters]
  }

  /** Adds to a counter of the partition. */
  count(field: string, by: number): void {
    this.#counters.push(2, field, by)
  }

  /** Adds to the progress of a batch job. */
  progress(key: string, field: string, by: number): void {
    this.#counters.push(this.#index(key), field, by)
  }

  /** Makes the settlement contested if this claim exists. */
  requireUnclaimed({ key, identity, claimId }: Claim): void {
    this.#claims.push(this.#index(key), identity, claimId)
  }

  /** Adds an entry to a stream of the same partition. */
  add(stream: string, fields: readonly (string | Buffer)[]): void {
    this.#outputs.push({ stream, fields })
  }

  #index(key: string): number {
    const at = this.#keys.indexOf(key)
    return at < 0 ? this.#keys.push(key) : at + 1
  }

  /** @param delivery see `settle-N.lua`; `repeated` and `gone` take one id only */
  async run(
    client: RedisClient,
    group: string,
    ids: readonly string[],
    delivery: '' | 'first' | 'repeated' | 'gone' = '',
  ): Promise<SettleResult> {
    const places = this.#outputs.map(({ stream }) => this.#index(stream))
    const head = [group, ids.length, ...ids, delivery, this.#claims.length / 3, ...this.#claims, places.length]
    const result = await settleScript.runAdding(client, this.#outputs, this.#keys, (parts) => [
      ...head,
      ...places.flatMap((place, i) => [place, ...parts[i]!]),
      ...this.#counters,
    ])
    if (Number(result) < 0) return 'contested'
    return Number(result) === 1 ? 'written' : 'settled before'
  }
}

/** Moves an entry that is not a block to the dead letters, and acknowledges it. */
export async function bury(
  client: RedisClient,
  group: string,
  from: string,
  at: { readonly partition: number; readonly lane: Lane },
  id: string,
  fields: readonly (string | Buffer)[],
  delivery: '' | 'gone' = '',
): Promise<void> {
  const writer = new SettlementWriter(keys.stream(at.partition, from, at.lane), keys.counters(at.partition))
  writer.count(counterFields.done(group, from, at.lane, 'entries'), 1)
  writer.count(counterFields.outcome(group, 'broken'), 1)
  writer.add(keys.dead(at.partition), fields)
  await writer.run(client, group, [id], delivery)
}

/** Acknowledges the entries that were put back for another group, and returns those that are for this one. */
export async function passOver(
  client: RedisClient,
  group: string,
  from: string,
  at: { readonly partition: number; readonly lane: Lane },
  raw: readonly RawEntry[],
): Promise<readonly RawEntry[]> {
  const others = raw.filter((entry) => isForOther(entry, group))
  if (others.length === 0) return raw
  const events = others.reduce((sum, [, fields]) => sum + Number(fieldOf(fields!, 'n') ?? 0), 0)
  const writer = new SettlementWriter(keys.stream(at.partition, from, at.lane), keys.counters(at.partition))
  writer.count(counterFields.done(group, from, at.lane, 'entries'), others.length)
  writer.count(counterFields.done(group, from, at.lane, 'events'), events)
  const ids = others.map(([id]) => id.toString('latin1'))
  await writer.run(client, group, ids)
  return raw.filter((entry) => !others.includes(entry))
}

export interface SettlementsOptions {
  readonly client: RedisClient
  readonly partition: number
  readonly group: string
  readonly from: string
  readonly to: string
  /** Whether outputs of several entries may become one entry. Only if no step reads `to`: a step needs them apart. */
  readonly joinsOutput: boolean
  /** The stream for outcomes of events that leave here; undefined: none. */
  readonly outcomesTo: string | undefined
  /** Whether events that leave here count as finished for their batch job. */
  readonly countsJobs: boolean
  readonly dedupWindowMs: number
}

interface Settling {
  readonly entry: Entry
  readonly settlement: Settlement
}

/** Limits of entries that are settled together: events, and bytes of rows. */
const JOINED_EVENTS_MAX = 1_000
const JOINED_BYTES_MAX = 262_144
/** Redis' Lua takes a few thousand arguments at once. */
const ACK_IDS_MAX = 1_000

/**
 * Writes settlements of one partition for a step. Plain settlements of one turn (live entries, delivered once, no dead letters)
 * are written together. Redis writes them only when each entry is pending and no other consumer received it meanwhile;
 * otherwise each is written alone.
 */
export class Settlements {
  readonly #options: SettlementsOptions
  readonly #together = new TurnBatcher<Settling, SettleResult>((all) => this.#settleAll(all))

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

  /** Adds the parts that a plain settlement does not have. */
  #addRest(writer: SettlementWriter, { entry, settlement }: Settling): void {
    const { from, group, partition, countsJobs, dedupWindowMs } = this.#options
    if (countsJobs) addProgress(writer, partition, countingJob(entry.block), settlement)
    // For this group only: the other groups of the stream process the original entry.
    const backTo: EntryFields = [CLAIM_ID_FIELD, entry.claimId, GROUP_FIELD, group]
    for (const block of settlement.again) this.#add(writer, from, entry.lane, block, backTo)
    for (const letter of settlement.dead) {
      const claimId = letter.keepsClaim ? entry.claimId : undefined
      const origin = { group, stream: from, lane: entry.lane, claimId }
      writer.add(keys.dead(partition), deadLetterFields(origin, letter))
    }
    for (const identity of settlement.unclaimed) writer.requireUnclaimed(claimOf(identity, entry, dedupWindowMs))
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

/** Groups settlements into calls, entries ascending. */
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

/** See `SinkStreamsOptions`. */
interface SinkSettling {
  readonly client: RedisClient
  readonly group: string
  readonly from: string
  readonly completesJobs: boolean
  readonly outcomesTo: string | undefined
}

/** Settles a run, see `SinkSource.acknowledge`. */
export async function settleRun(sink: SinkSettling, run: SinkRun, refused: readonly RefusedEvent[]): Promise<void> {
  for (let at = 0; at < run.entries.length; at += ACK_IDS_MAX) {
    await settlePart(sink, run, run.entries.slice(at, at + ACK_IDS_MAX), refused)
  }
}

async function settlePart(
  sink: SinkSettling,
  stream: SinkStream,
  entries: readonly SinkEntry[],
  refused: readonly RefusedEvent[],
): Promise<void> {
  const { client, group, from, completesJobs } = sink
  const { partition, lane } = stream
  const writer = new SettlementWriter(keys.stream(partition, from, lane), keys.counters(partition))
  const dead = refused.filter((event) => entries.includes(event.entry))
  const events = entries.reduce((sum, entry) => sum + entry.block.count, 0)
  writer.count(counterFields.done(group, from, lane, 'entries'), entries.length)
  writer.count(counterFields.done(group, from, lane, 'events'), events)
  writer.count(counterFields.outcome(group, 'stored'), events - dead.length)
  if (dead.length > 0) writer.count(counterFields.outcome(group, 'dead'), dead.length)
  const progress = (block: Block, field: string, by: number) => {
    const job = countingJob(block)
    if (completesJobs && job !== undefined) writer.progress(keys.jobProgress(partition, job), field, by)
  }
  for (const { block } of entries) progress(block, progressFields.stored, block.count)
  const outcomes = countRefused(sink, writer, stream, dead)
  for (const event of dead) {
    const { entry, index, reason } = event
    const block = selectEvents(entry.block, [index])
    progress(entry.block, progressFields.stored, -1)
    progress(entry.block, progressFields.dead, 1)
    const origin = { group, stream: from, lane, claimId: entry.claimId }
    writer.add(keys.dead(partition), deadLetterFields(origin, { reason, block, outcome: outcomes.get(event) }))
  }
  await writer.run(
    client,
    group,
    entries.map((entry) => entry.id),
  )
}

/** Counts refused events as dead. Returns the key of each count. */
function countRefused(
  { group, outcomesTo }: SinkSettling,
  writer: SettlementWriter,
  { partition, lane }: SinkStream,
  refused: readonly RefusedEvent[],
): Map<RefusedEvent, string | undefined> {
  const keyOf = new Map<RefusedEvent, string | undefined>()
  if (outcomesTo === undefined || refused.length === 0) return keyOf
  const bySource = new Map<string, BlockOutcomes>()
  for (const event of refused) {
    const { entry, index } = event
    const source = outcomeSource(group, { ...entry, partition, lane }, commitAt(entry.block, index))
    const outcomes = bySource.get(source) ?? new BlockOutcomes()
    keyOf.set(event, outcomes.add(entry.block, index, OUTCOME_STATUS.dead, group))
    bySource.set(source, outcomes)
  }
  const block = packOutcomes([...bySource].map(([source, { counts }]) => [source, counts] as const))
  writer.add(keys.stream(partition, outcomesTo, lane), encodeBlock(block))
  writer.count(counterFields.added(outcomesTo, lane, 'entries'), 1)
  writer.count(counterFields.added(outcomesTo, lane, 'events'), block.count)
  return keyOf
}
