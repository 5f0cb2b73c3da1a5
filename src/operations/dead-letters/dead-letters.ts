import type { RowColumn } from '../../../schemas/row.ts'
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
import { readRow } from '../../pipeline/event/read-rows.ts'
import { FIRST_ID_FIELD, OUTCOME_FIELD } from '../../pipeline/streams/dead-letter.ts'
import { claimIdMs, type RawEntry } from '../../pipeline/streams/entries.ts'
import { CLAIM_GENERATIONS, claimKeys } from '../../pipeline/streams/seen-store.ts'
import type { RedisClient } from '../../stores/redis/connect.ts'
import { counterFields, keys } from '../../stores/redis/keys.ts'
import { loadScript } from '../../stores/redis/scripts.ts'

/** Position of a letter in the order of all letters. */
export interface LetterPosition {
  readonly partition: number
  /** When the event became a dead letter. */
  readonly atMs: number
  /** Number within its partition and millisecond. */
  readonly number: number
}

/** A dead letter. */
export interface StoredLetter extends LetterPosition {
  /** `PARTITION:MILLISECONDS-NUMBER` */
  readonly id: string
  /** Its first id. A restore that changes the number of partitions also changes ids. */
  readonly firstId: string
  readonly group: string
  readonly stream: string
  readonly lane: Lane
  readonly reason: string
  /** The event; undefined when the entry was not a block. */
  readonly block: Block | undefined
  readonly claimId: Buffer | undefined
  /** Outcome key of the event; undefined when it was not counted. */
  readonly outcome: string | undefined
}

/** Selects letters. An absent field matches all. */
export interface LetterFilter {
  /** Part of the reason. */
  readonly reason?: string
  readonly tenantId?: string
  readonly fromMs?: number
  /** Inclusive. */
  readonly toMs?: number
}

type LetterOrder = 'oldest first' | 'newest first'

/** Result of a retry or discard: `gone` when another process was first. */
type LetterResult = 'done' | 'gone'

const PAGE_ENTRIES = 100

const retryScript = loadScript(import.meta.url, './retryLetter-N.lua')
const discardScript = loadScript(import.meta.url, './discardLetter-N.lua')

/** The dead letters of all partitions. Each change of a letter is atomic. */
export class DeadLetters {
  readonly #client: RedisClient
  readonly #pipeline: Pipeline
  readonly #partitions: number

  constructor(client: RedisClient, pipeline: Pipeline, partitions: number) {
    this.#client = client
    this.#pipeline = pipeline
    this.#partitions = partitions
  }

  /** The letter with this id, if it exists. */
  async find(id: string): Promise<StoredLetter | undefined> {
    const { partition = Number.POSITIVE_INFINITY } = positionOf(id) ?? {}
    if (partition >= this.#partitions) return undefined
    const entry = id.slice(id.indexOf(':') + 1)
    const [raw] = await this.#range(partition, entry, entry, 'oldest first')
    return raw === undefined ? undefined : readLetter(raw, partition)
  }

  /**
   * The letters that exist at the call, merged over all partitions by time. Holds a page of each partition in memory.
   * @param after starts after this position; it need not be a letter
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
        const isAfter = after === undefined || isBefore(after, letter, order)
        if (isAfter && matches(letter, filter)) yield letter
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

  /** Why a letter cannot be retried; undefined when it can. */
  whyNot({ block, group, stream }: StoredLetter): string | undefined {
    if (block === undefined) return 'it holds no event'
    const exists = groupsOf(this.#pipeline).some((declared) => declared.group === group && declared.from === stream)
    return exists ? undefined : `the pipeline no longer has the group ${group} on ${stream}`
  }

  /** Returns a letter to its stream, for its own group only. The group processes it like any entry. */
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

  /** Fields of an entry that undoes the count of the dead letter. */
  #takenBack({ firstId, block, outcome }: StoredLetter): EntryFields {
    if (outcome === undefined || this.#pipeline.outcomes === undefined) return []
    const source = `${block!.commit ?? ''}/retry:${firstId}`
    return encodeBlock(packOutcomes([[source, new Map([[outcome, -block!.count]])]]))
  }

  /** Deletes a letter for good. A later event with the same id is new. */
  async discard(letter: StoredLetter): Promise<LetterResult> {
    const { partition, group, claimId, block } = letter
    const names = [keys.dead(partition), keys.counters(partition)]
    // Without a claim id, another event or letter holds the claim.
    if (claimId !== undefined && block !== undefined) names.push(...this.#claimKeys(letter, CLAIM_GENERATIONS))
    const result = await discardScript.run(this.#client, names, [
      ...[entryOf(letter), counterFields.outcome(group, 'discarded'), block?.count ?? 0],
      ...[
        block?.identities ?? '',
        claimId ?? '',
        positionOfGroup(this.#pipeline, group) === 'after' ? 'before' : 'own',
      ],
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
}

/**
 * Position of a group relative to the step that claims events for dedup. After that step, the claim of an event belongs to an
 * earlier entry than the letter.
 */
export function positionOfGroup({ steps }: Pipeline, group: string): 'before' | 'claims' | 'after' {
  const claiming = steps.findIndex(({ stages }) => stages.some(({ claims }) => claims))
  const at = steps.findIndex((step) => step.group === group)
  if (claiming < 0 || (at >= 0 && at < claiming)) return 'before'
  return at === claiming ? 'claims' : 'after'
}

function isBefore(a: LetterPosition, b: LetterPosition, order: LetterOrder): boolean {
  const byTime = a.atMs - b.atMs || a.number - b.number || a.partition - b.partition
  return order === 'oldest first' ? byTime < 0 : byTime > 0
}

/** The position of an id; undefined when the text is not an id. */
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

/** Reads a letter from an entry of a dead-letter stream. */
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

/** The non-empty columns of the letter's event, as text. */
export function eventOf({ block }: StoredLetter): Partial<Record<RowColumn, string>> {
  if (block === undefined) return {}
  const values = Object.entries(readRow(block.rows.subarray(0, block.rows.indexOf('\n'))))
  const given = values.filter(([, value]) => value !== '' && value !== null)
  return Object.fromEntries(given.map(([column, value]) => [column, String(value)]))
}

/**
 * Merges sorted sources into one sorted sequence. Holds one value of each source.
 * @param isBefore whether a value comes before another
 */
export async function* inOrder<T>(
  sources: readonly AsyncIterator<T, void>[],
  isBefore: (a: T, b: T) => boolean,
): AsyncGenerator<T, void> {
  const heads = await Promise.all(sources.map(async (source) => ({ source, next: await source.next() })))
  for (;;) {
    let first: { readonly head: (typeof heads)[number]; readonly value: T } | undefined
    for (const head of heads) {
      if (head.next.done) continue
      const { value } = head.next
      if (first === undefined || isBefore(value, first.value)) first = { head, value }
    }
    if (first === undefined) return
    yield first.value
    first.head.next = await first.head.source.next()
  }
}
