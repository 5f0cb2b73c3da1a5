import { type Envelope, type EnvelopeState, IDENTITY_BYTES } from './envelope.ts'

/**
 * The envelopes of one stream entry, packed so that a stage touches only what it needs: identities and states side by
 * side, rows as one run of lines. Blocks are never changed; a stage makes a new one of what it keeps.
 */
export interface Block {
  readonly count: number
  /** 16 bytes each. */
  readonly identities: Buffer
  /** One `EnvelopeState` each. */
  readonly states: Uint8Array
  /** Lines of UTF-8, each ended by a line feed. */
  readonly rows: Buffer
  /** The batch job that the events came with; undefined for live events. */
  readonly job: string | undefined
  /** That job has counted the events, and does not count them again: they were dead letters, and are retried. */
  readonly jobCounted?: boolean | undefined
  /**
   * The commit that brought the events into Redis, `producer:number`; undefined for what is no event, or from before, and
   * where there are several.
   */
  readonly commit?: string | undefined
  /** The commits that brought the events, in their order, when there are several; see `joinBlocks`. */
  readonly commits?: readonly CommitRun[] | undefined
}

/** So many events, one behind the other, that came with one commit. */
export interface CommitRun {
  readonly commit: string | undefined
  readonly count: number
}

/**
 * Text of rows that is gathered before it becomes bytes. A text that is put together is a tree of its parts to V8, and trees
 * that wait are copied by each collection of its young generation: with 64 requests of 100 events on their way that was a
 * third of the time of an ingress.
 */
const GATHERED_CHARS = 16_384

/** Takes envelopes one by one, without an object for each. */
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
    if (this.#lastRows.length >= GATHERED_CHARS) this.#write()
  }

  #write(): void {
    this.#identities.push(Buffer.from(this.#lastIdentities, 'latin1'))
    this.#rows.push(Buffer.from(this.#lastRows, 'utf8'))
    this.#lastIdentities = ''
    this.#lastRows = ''
  }

  /** Behind the first envelope; once. */
  pack(job?: string, commit?: string): Block {
    if (this.#lastRows !== '') this.#write()
    const states = new Uint8Array(this.#states)
    return { count: states.length, identities: joined(this.#identities), states, rows: joined(this.#rows), job, commit }
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

/** The commit that brought an event. */
export function commitAt({ commit, commits }: Block, index: number): string | undefined {
  let behind = 0
  for (const run of commits ?? []) {
    behind += run.count
    if (index < behind) return run.commit
  }
  return commit
}

/** One block of the events of several, in their order. @param blocks 1 or more, all of one job, or of none */
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
    jobCounted: first.jobCounted,
    ...packRuns(runs),
  }
}

/** Neighbours of one commit become one run, and a single run is the block's commit. */
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

/** Where each row ends, behind its line feed. */
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

/** What becomes of an event's state and row, which has no line feed. */
export interface RowChange {
  readonly state: EnvelopeState
  readonly row: Buffer
}

const LINE_END = Buffer.from('\n')

/**
 * The block of the events at `keep`, in that order, with `changes` applied.
 * @param keep strictly ascending positions
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
  const { job, jobCounted, commit, commits } = block
  const brought =
    commits === undefined ? { commit } : packRuns(keep.map((i) => ({ commit: commitAt(block, i), count: 1 })))
  return { count: keep.length, identities, states, rows: Buffer.concat(rows), job, jobCounted, ...brought }
}

/** The batch job whose progress the events of a block move. */
export function countingJob({ job, jobCounted }: Block): string | undefined {
  return jobCounted ? undefined : job
}

/** Fields of a stream entry, as names and values in turn. */
export type EntryFields = (string | Buffer)[]

/** Field of an entry that carries on the claim id of an earlier one, see `Delivery`. */
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
  ]
  if (block.job !== undefined) fields.push('j', block.job)
  if (block.jobCounted) fields.push('d', '1')
  if (block.commit !== undefined) fields.push('c', block.commit)
  if (block.commits !== undefined) fields.push('m', encodeRuns(block.commits))
  return fields
}

/** The value of a field; undefined when there is none. @param name of one-byte characters */
export function fieldOf(fields: readonly Buffer[], name: string): Buffer | undefined {
  for (let i = 0; i + 1 < fields.length; i += 2) if (isNamed(fields[i]!, name)) return fields[i + 1]
  return undefined
}

/** Without a string for each name: an entry of a few events has more names than events. */
function isNamed(field: Buffer, name: string): boolean {
  if (field.length !== name.length) return false
  for (let i = 0; i < field.length; i++) if (field[i] !== name.charCodeAt(i)) return false
  return true
}

/** @throws when the fields are not those of a block */
export function decodeBlock(fields: readonly Buffer[]): Block {
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
  const block = { count, identities, states, rows, job: text('j'), jobCounted }
  const runs = fieldOf(fields, 'm')
  return runs === undefined ? { ...block, commit: text('c') } : withRuns(block, runs)
}

/** Only who takes a block apart asks for its runs. */
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
