import { ROW_COLUMNS, type RowColumn } from '../../../schemas/row.ts'
import { LANES, type Lane } from '../../pipeline/declaration/lane.ts'
import { groupsOf, type Pipeline } from '../../pipeline/declaration/pipeline.ts'
import {
  type Block,
  CLAIM_ID_FIELD,
  decodeBlock,
  type EntryFields,
  encodeBlock,
  fieldOf,
} from '../../pipeline/event/block.ts'
import { packOutcomes } from '../../pipeline/event/outcomes.ts'
import { columnOf, fromTsvTime } from '../../pipeline/event/row.ts'
import { claimIdMs } from '../../pipeline/streams/claim-id.ts'
import { FIRST_ID_FIELD, OUTCOME_FIELD } from '../../pipeline/streams/dead-letter.ts'
import type { RawEntry } from '../../pipeline/streams/entries.ts'
import { CLAIM_GENERATIONS, claimKeys } from '../../pipeline/streams/seen-store.ts'
import { inOrder } from '../../run/in-order.ts'
import type { RedisClient } from '../../stores/redis/connect.ts'
import { counterFields, keys } from '../../stores/redis/keys.ts'
import { loadScript } from '../../stores/redis/scripts.ts'

/** Where a letter is among all of them. */
export interface LetterPosition {
  readonly partition: number
  /** When it was given up. */
  readonly atMs: number
  /** Among those of its partition and millisecond. */
  readonly number: number
}

/** A dead letter as it is kept. */
export interface StoredLetter extends LetterPosition {
  /** `PARTITION:MILLISECONDS-NUMBER` */
  readonly id: string
  /** The id under which it was given up. Another one when a restore changed the number of partitions since. */
  readonly firstId: string
  readonly group: string
  readonly stream: string
  readonly lane: Lane
  readonly reason: string
  /** The event; undefined for an entry that was no block. */
  readonly block: Block | undefined
  readonly claimId: Buffer | undefined
  /** The key under which the event was counted as dead; undefined when nothing counted it. */
  readonly outcome: string | undefined
}

/** Which letters; what is left out lets all through. */
export interface LetterFilter {
  /** Part of the reason. */
  readonly reason?: string
  readonly tenantId?: string
  readonly fromMs?: number
  /** The last millisecond. */
  readonly toMs?: number
}

export type LetterOrder = 'oldest first' | 'newest first'

/** What came of a retry or a discard: `gone` when somebody else was first. */
export type LetterResult = 'done' | 'gone'

const PAGE_ENTRIES = 100

const retryScript = loadScript(import.meta.url, './retryLetter-N.lua')
const discardScript = loadScript(import.meta.url, './discardLetter-N.lua')

/** The dead letters of all partitions. Every change of one is a single step in Redis. */
export class DeadLetters {
  readonly #client: RedisClient
  readonly #pipeline: Pipeline
  readonly #partitions: number

  constructor(client: RedisClient, pipeline: Pipeline, partitions: number) {
    this.#client = client
    this.#pipeline = pipeline
    this.#partitions = partitions
  }

  /** One letter; undefined when there is none of this id. */
  async find(id: string): Promise<StoredLetter | undefined> {
    const place = positionOf(id)
    if (place === undefined || place.partition >= this.#partitions) return undefined
    const entry = id.slice(id.indexOf(':') + 1)
    const [raw] = await this.#range(place.partition, entry, entry, 'oldest first')
    return raw === undefined ? undefined : readLetter(raw, place.partition)
  }

  /**
   * The letters that are there when it is called, over all partitions by time. Holds a page of each.
   * @param after goes on behind this place, whether or not there is a letter
   */
  async *letters(filter: LetterFilter, order: LetterOrder, after?: LetterPosition): AsyncGenerator<StoredLetter> {
    const sources = await Promise.all(
      Array.from({ length: this.#partitions }, async (_, partition) => {
        const [last] = await this.#range(partition, '-', '+', 'newest first', 1)
        return this.#ofPartition(partition, filter, order, last?.[0].toString('latin1') ?? '0-0', after)
      }),
    )
    yield* inOrder(sources, (a, b) => isBefore(a, b, order))
  }

  async *#ofPartition(
    partition: number,
    filter: LetterFilter,
    order: LetterOrder,
    last: string,
    after: LetterPosition | undefined,
  ): AsyncGenerator<StoredLetter, void> {
    const { fromMs = 0, toMs } = after === undefined ? filter : fromPosition(filter, order, after)
    let low = String(fromMs)
    let high = toMs === undefined || toMs >= Number(last.split('-')[0]) ? last : String(toMs)
    for (;;) {
      const page = await this.#range(partition, low, high, order)
      for (const raw of page) {
        const letter = readLetter(raw, partition)
        const isBehind = after === undefined || isBefore(after, letter, order)
        if (isBehind && matches(letter, filter)) yield letter
      }
      if (page.length < PAGE_ENTRIES) return
      const edge = `(${page.at(-1)![0].toString('latin1')}`
      if (order === 'oldest first') low = edge
      else high = edge
    }
  }

  async #range(partition: number, low: string, high: string, order: LetterOrder, count = PAGE_ENTRIES) {
    const [command, from, to] = order === 'oldest first' ? ['XRANGE', low, high] : ['XREVRANGE', high, low]
    const args = [keys.dead(partition), from!, to!, 'COUNT', count]
    return (await this.#client.callBuffer(command!, ...args)) as RawEntry[]
  }

  /** Why a letter cannot be put back; undefined when it can. */
  whyNot({ block, group, stream }: StoredLetter): string | undefined {
    if (block === undefined) return 'it holds no event'
    const isThere = groupsOf(this.#pipeline).some((declared) => declared.group === group && declared.from === stream)
    return isThere ? undefined : `the pipeline has no group ${group} on ${stream} any more`
  }

  /** Puts a letter back where it was, for its group alone: from there it goes the normal way. */
  async retry(letter: StoredLetter): Promise<LetterResult> {
    const { partition, stream, lane, group } = letter
    const block = letter.block!
    const outcomes = this.#pipeline.outcomes ?? stream
    const streams = [stream, outcomes].map((name) => keys.stream(partition, name, lane))
    const names = [keys.dead(partition), streams[0]!, keys.counters(partition), streams[1]!]
    if (letter.claimId !== undefined) names.push(...this.#claimKeys(letter, 1))
    const result = await retryScript.run(this.#client, names, [
      ...[entryOf(letter), group, counterFields.addedPrefix(stream, lane), counterFields.outcome(group, 'retried')],
      ...[block.identities, block.count, counterFields.addedPrefix(outcomes, lane), ...this.#takenBack(letter)],
    ])
    return result === 1 ? 'done' : 'gone'
  }

  /** Fields of an entry by which a letter counts as dead no more. */
  #takenBack({ firstId, block, outcome }: StoredLetter): EntryFields {
    if (outcome === undefined || this.#pipeline.outcomes === undefined) return []
    const source = `${block!.commit ?? ''}/retry:${firstId}`
    return encodeBlock(packOutcomes([[source, new Map([[outcome, -block!.count]])]]))
  }

  /** Gives an event up for good. One of the same id that comes later is a new event. */
  async discard(letter: StoredLetter): Promise<LetterResult> {
    const { partition, group, claimId, block } = letter
    const names = [keys.dead(partition), keys.counters(partition)]
    // A letter without a claim id has a twin that is kept, or another letter that stands for it.
    if (claimId !== undefined && block !== undefined) names.push(...this.#claimKeys(letter, CLAIM_GENERATIONS))
    const result = await discardScript.run(this.#client, names, [
      ...[entryOf(letter), counterFields.outcome(group, 'discarded'), block?.count ?? 0],
      ...[block?.identities ?? '', claimId ?? '', this.#isBehindClaims(group) ? 'before' : 'own'],
    ])
    return result === 1 ? 'done' : 'gone'
  }

  #claimKeys({ partition, claimId, block }: StoredLetter, generations: number): string[] {
    return claimKeys(
      block!.identities,
      { partition, ms: claimIdMs(claimId!) },
      this.#pipeline.limits.dedupWindowMs,
      generations,
    )
  }

  /** Behind the step that claims, the entry is another one than that in whose name the event was claimed. */
  #isBehindClaims(group: string): boolean {
    const { steps } = this.#pipeline
    const claiming = steps.findIndex(({ stages }) => stages.some(({ claims }) => claims))
    const at = steps.findIndex((step) => step.group === group)
    return claiming >= 0 && (at < 0 || at > claiming)
  }
}

function isBefore(a: LetterPosition, b: LetterPosition, order: LetterOrder): boolean {
  const byTime = a.atMs - b.atMs || a.number - b.number || a.partition - b.partition
  return order === 'oldest first' ? byTime < 0 : byTime > 0
}

/** The place that an id names; undefined when it is none. */
export function positionOf(id: string): LetterPosition | undefined {
  const [, partition, ms, number] = /^(\d{1,4}):(\d{1,15})-(\d{1,20})$/.exec(id) ?? []
  if (number === undefined) return undefined
  return { partition: Number(partition), atMs: Number(ms), number: Number(number) }
}

function fromPosition(filter: LetterFilter, order: LetterOrder, { atMs }: LetterPosition): LetterFilter {
  if (order === 'oldest first') return { ...filter, fromMs: Math.max(filter.fromMs ?? 0, atMs) }
  return { ...filter, toMs: Math.min(filter.toMs ?? atMs, atMs) }
}

function entryOf({ id }: StoredLetter): string {
  return id.slice(id.indexOf(':') + 1)
}

/** A letter as a stream of dead letters has it. */
export function readLetter([entry, raw]: RawEntry, partition: number): StoredLetter {
  const fields = raw ?? []
  const text = (name: string) => fieldOf(fields, name)?.toString('utf8') ?? ''
  const id = `${partition}:${entry.toString('latin1')}`
  return {
    ...positionOf(id)!,
    id,
    firstId: fieldOf(fields, FIRST_ID_FIELD)?.toString('latin1') ?? id,
    group: text('group'),
    stream: text('stream'),
    lane: LANES.find((lane) => lane === text('lane')) ?? 'live',
    reason: text('reason'),
    block: blockOf(fields),
    claimId: fieldOf(fields, CLAIM_ID_FIELD),
    outcome: fieldOf(fields, OUTCOME_FIELD)?.toString('utf8'),
  }
}

function blockOf(fields: readonly Buffer[]): Block | undefined {
  try {
    return decodeBlock(fields)
  } catch {
    return undefined
  }
}

function matches(letter: StoredLetter, { reason, tenantId }: LetterFilter): boolean {
  if (reason !== undefined && !letter.reason.includes(reason)) return false
  return tenantId === undefined || eventOf(letter).tenant_id === tenantId
}

const TIMES: readonly RowColumn[] = ['received_at', 'timestamp']
/** NULL of TabSeparated, as `columnOf` reads it; no number is written so. */
const NO_SESSION = 'N'

/** What is known of the letter's event, as the columns of its row. */
export function eventOf({ block }: StoredLetter): Partial<Record<RowColumn, string>> {
  const event: Partial<Record<RowColumn, string>> = {}
  if (block === undefined) return event
  for (const column of ROW_COLUMNS) {
    const value = columnOf(block, column)[0] ?? ''
    if (value === '' || (column === 'session_id' && value === NO_SESSION)) continue
    event[column] = TIMES.includes(column) ? fromTsvTime(value) : value
  }
  return event
}
