import { ENVELOPE_FORM } from '../../../schemas/forms.ts'
import { NewerDataError } from '../../run/errors.ts'
import { type Envelope, type EnvelopeState, IDENTITY_BYTES } from './envelope.ts'

/**
 * The envelopes of one stream entry in columns, so that a stage touches only what it needs. Blocks are immutable; a stage makes a
 * new one.
 */
export interface Block {
  readonly count: number
  /** 16 bytes each. */
  readonly identities: Buffer
  /** One `EnvelopeState` each. */
  readonly states: Uint8Array
  /** Lines of UTF-8, each ended by a line feed. */
  readonly rows: Buffer
  /** The batch job of the events; undefined for live events. */
  readonly job: string | undefined
  /** The source of the batch job; undefined when it has none, and for live events: their rows name it. */
  readonly sourceId?: string | undefined
  /** Whether the job has already counted the events: they are retried dead letters. */
  readonly jobCounted?: boolean | undefined
  /**
   * The commit that brought the events into Redis, `producer:number`. Undefined when there are several, for blocks that do not hold
   * events, and for blocks of earlier versions.
   */
  readonly commit?: string | undefined
  /** The commits of the events, in order, when there are several; see `joinBlocks`. */
  readonly commits?: readonly CommitRun[] | undefined
}

/** Number of consecutive events of the same commit. */
interface CommitRun {
  readonly commit: string | undefined
  readonly count: number
}

/**
 * Rows are encoded to bytes in pieces of this size. V8 represents concatenated text as a tree, and each minor garbage collection
 * copies the trees that wait: with 64 concurrent requests of 100 events, that took a third of an ingress' time.
 */
const ENCODED_CHARS = 16_384

/** Packs envelopes without an object for each. */
export class BlockPacker {
  readonly #states: EnvelopeState[] = []
  readonly #identities: Buffer[] = []
  readonly #rows: Buffer[] = []
  #lastIdentities = ''
  #lastRows = ''

  get count(): number {
    return this.#states.length
  }

  /** See `Envelope`. */
  add(identity: string, state: EnvelopeState, row: string): void {
    this.#states.push(state)
    this.#lastIdentities += identity
    this.#lastRows += `${row}\n`
    if (this.#lastRows.length >= ENCODED_CHARS) this.#write()
  }

  #write(): void {
    this.#identities.push(Buffer.from(this.#lastIdentities, 'latin1'))
    this.#rows.push(Buffer.from(this.#lastRows, 'utf8'))
    this.#lastIdentities = ''
    this.#lastRows = ''
  }

  /** Call it once, after at least one `add`. */
  pack(job?: string, commit?: string, sourceId?: string): Block {
    if (this.#lastRows !== '') this.#write()
    const states = new Uint8Array(this.#states)
    const [identities, rows] = [joined(this.#identities), joined(this.#rows)]
    return { count: states.length, identities, states, rows, job, commit, ...(sourceId !== undefined && { sourceId }) }
  }
}

/** @param parts 1 or more */
function joined(parts: readonly Buffer[]): Buffer {
  return parts.length === 1 ? parts[0]! : Buffer.concat(parts)
}

/** @param envelopes 1 or more */
export function packBlock(envelopes: readonly Envelope[], job?: string, commit?: string): Block {
  const packer = new BlockPacker()
  for (const { identity, state, row } of envelopes) packer.add(identity, state, row)
  return packer.pack(job, commit)
}

export function identityAt(block: Block, index: number): string {
  return block.identities.toString('latin1', index * IDENTITY_BYTES, (index + 1) * IDENTITY_BYTES)
}

export function stateAt(block: Block, index: number): EnvelopeState {
  return block.states[index] as EnvelopeState
}

export function commitAt({ commit, commits }: Block, index: number): string | undefined {
  let end = 0
  for (const run of commits ?? []) {
    end += run.count
    if (index < end) return run.commit
  }
  return commit
}

/** Joins blocks into one, in order. @param blocks 1 or more, all of the same job or without a job */
export function joinBlocks(blocks: readonly Block[]): Block {
  const [first] = blocks as [Block]
  if (blocks.length === 1) return first
  const runs = blocks.flatMap(({ commit, commits, count }) => commits ?? [{ commit, count }])
  return {
    count: blocks.reduce((sum, { count }) => sum + count, 0),
    identities: Buffer.concat(blocks.map(({ identities }) => identities)),
    states: Buffer.concat(blocks.map(({ states }) => states)),
    rows: Buffer.concat(blocks.map(({ rows }) => rows)),
    job: first.job,
    sourceId: first.sourceId,
    jobCounted: first.jobCounted,
    ...packRuns(runs),
  }
}

/** Merges consecutive runs of the same commit. A single run becomes `commit`. */
function packRuns(runs: readonly CommitRun[]): Pick<Block, 'commit' | 'commits'> {
  const packed: CommitRun[] = []
  for (const { commit, count } of runs) {
    const last = packed.at(-1)
    if (last !== undefined && last.commit === commit) packed[packed.length - 1] = { commit, count: last.count + count }
    else packed.push({ commit, count })
  }
  return packed.length === 1 ? { commit: packed[0]!.commit } : { commits: packed }
}

const LINE_FEED = 10

/** The end of each row, after its line feed. */
export function rowEnds(block: Block): Uint32Array {
  const ends = new Uint32Array(block.count)
  let at = 0
  for (let i = 0; i < block.count; i++) {
    at = block.rows.indexOf(LINE_FEED, at) + 1
    if (at === 0) throw new Error(`block of ${block.count} events has only ${i} rows`)
    ends[i] = at
  }
  return ends
}

export function rowAt(block: Block, ends: Uint32Array, index: number): Buffer {
  return block.rows.subarray(index === 0 ? 0 : ends[index - 1]!, ends[index]! - 1)
}

export interface RowChange {
  readonly state: EnvelopeState
  /** Without a line feed. */
  readonly row: Buffer
}

const LINE_END = Buffer.from('\n')

/**
 * Makes a block of some events, and applies changes.
 * @param keep positions, strictly ascending
 */
export function selectEvents(
  block: Block,
  keep: readonly number[],
  changes: ReadonlyMap<number, RowChange> = new Map(),
): Block {
  if (keep.length === block.count && changes.size === 0) return block
  const identities = Buffer.allocUnsafe(keep.length * IDENTITY_BYTES)
  const states = new Uint8Array(keep.length)
  const ends = rowEnds(block)
  const rows: Buffer[] = []
  for (let to = 0; to < keep.length; to++) {
    const from = keep[to]!
    const change = changes.get(from)
    block.identities.copy(identities, to * IDENTITY_BYTES, from * IDENTITY_BYTES, (from + 1) * IDENTITY_BYTES)
    states[to] = change?.state ?? block.states[from]!
    if (change === undefined) rows.push(block.rows.subarray(from === 0 ? 0 : ends[from - 1]!, ends[from]!))
    else rows.push(change.row, LINE_END)
  }
  const { job, sourceId, jobCounted, commit, commits } = block
  const brought =
    commits === undefined ? { commit } : packRuns(keep.map((i) => ({ commit: commitAt(block, i), count: 1 })))
  return { count: keep.length, identities, states, rows: Buffer.concat(rows), job, sourceId, jobCounted, ...brought }
}

/** The batch job that must count the events of a block. */
export function countingJob({ job, jobCounted }: Block): string | undefined {
  return jobCounted ? undefined : job
}

/** Fields of a stream entry: names and values alternate. */
export type EntryFields = (string | Buffer)[]

/** Field of an entry that has taken over the claim id of an earlier entry, see `Delivery`. */
export const CLAIM_ID_FIELD = 'o'

export function encodeBlock(block: Block): EntryFields {
  const fields: EntryFields = [
    'n',
    String(block.count),
    'i',
    block.identities,
    's',
    Buffer.from(block.states),
    'r',
    block.rows,
    'v',
    String(ENVELOPE_FORM),
  ]
  if (block.job !== undefined) fields.push('j', block.job)
  if (block.sourceId !== undefined) fields.push('w', block.sourceId)
  if (block.jobCounted) fields.push('d', '1')
  if (block.commit !== undefined) fields.push('c', block.commit)
  if (block.commits !== undefined) fields.push('m', encodeRuns(block.commits))
  return fields
}

/** The value of a field. @param name of one-byte characters */
export function fieldOf(fields: readonly Buffer[], name: string): Buffer | undefined {
  for (let i = 0; i + 1 < fields.length; i += 2) if (isNamed(fields[i]!, name)) return fields[i + 1]
  return undefined
}

/** Compares bytes, because converting the names of many small entries to strings is slow. */
function isNamed(field: Buffer, name: string): boolean {
  if (field.length !== name.length) return false
  for (let i = 0; i < field.length; i++) if (field[i] !== name.charCodeAt(i)) return false
  return true
}

/** @throws NewerDataError when a later version wrote them; another error when they are not those of a block */
export function decodeBlock(fields: readonly Buffer[]): Block {
  assertForm(formOf(fields))
  const count = Number(fieldOf(fields, 'n')?.toString('latin1'))
  const identities = fieldOf(fields, 'i')
  const states = fieldOf(fields, 's')
  const rows = fieldOf(fields, 'r')
  if (
    !Number.isInteger(count) ||
    identities?.length !== count * IDENTITY_BYTES ||
    states?.length !== count ||
    rows === undefined
  ) {
    const names = fields.filter((_, i) => i % 2 === 0).map((name) => name.toString('latin1'))
    throw new Error(`not a block: fields ${names.join(', ')}, count ${count}`)
  }
  const text = (name: string) => fieldOf(fields, name)?.toString('utf8')
  const jobCounted = fieldOf(fields, 'd') !== undefined
  const block = { count, identities, states, rows, job: text('j'), sourceId: text('w'), jobCounted }
  const runs = fieldOf(fields, 'm')
  return runs === undefined ? { ...block, commit: text('c') } : withRuns(block, runs)
}

/** The form of a block: 1 when it has no number, as of version 0.1.0. */
export function formOf(fields: readonly Buffer[]): number {
  const form = fieldOf(fields, 'v')
  return form === undefined ? 1 : Number(form.toString('latin1'))
}

function assertForm(form: number): void {
  if (form <= ENVELOPE_FORM) return
  throw new NewerDataError(
    `events in Redis have form ${form}, but this ipid reads up to form ${ENVELOPE_FORM}: end this process, and start the version that wrote them; they stay in Redis for it`,
  )
}

/** Decodes the runs only on demand: only splitting a block needs them. */
function withRuns(block: Block, packed: Buffer): Block {
  let runs: readonly CommitRun[] | undefined
  return {
    ...block,
    get commits() {
      runs ??= decodeRuns(packed.toString('utf8'))
      return runs
    },
  }
}

/** `3 COMMIT`, separated by commas. */
function encodeRuns(runs: readonly CommitRun[]): string {
  return runs.map(({ commit, count }) => `${count} ${commit ?? ''}`).join(',')
}

function decodeRuns(text: string): CommitRun[] {
  return text.split(',').map((run) => {
    const [count, commit] = run.split(' ')
    return { commit: commit || undefined, count: Number(count) }
  })
}
