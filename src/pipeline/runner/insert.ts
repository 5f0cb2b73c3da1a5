import { type Inserter, RefusedRowsError, UnclearRefusalError } from '../declaration/destination.ts'
import { rowAt, rowEnds } from '../event/block.ts'
import type { RefusedEvent, SinkEntry, SinkIntent } from './sink-ports.ts'

/** Inserts entries under a token. Returns the rows that the destination refuses for good. */
type Insert = (
  inserter: Inserter,
  entries: readonly SinkEntry[],
  token: string,
  refusals: UnclearRefusals,
) => Promise<RefusedEvent[]>

/**
 * Repeats an insert that may have been cut off. The destination may know the token and still lack rows. So this also asks which
 * rows are absent, and inserts those under a new token, until none is.
 */
export const repeatInsert: Insert = async (inserter, entries, token, refusals) => {
  const refused = await insertBisecting(inserter, entries, token, refusals)
  return await insertAbsent(inserter, entries, token, refusals, refused)
}

/**
 * Inserts only the rows that are not stored yet. Others may have been stored under another token.
 * @param refused rows to leave out; they are returned together with newly refused rows
 */
export async function insertAbsent(
  inserter: Inserter,
  entries: readonly SinkEntry[],
  token: string,
  refusals: UnclearRefusals,
  refused: readonly RefusedEvent[] = [],
): Promise<RefusedEvent[]> {
  const found = [...refused]
  let rows = allRows(entries).filter(
    ({ entry, index }) => !refused.some((event) => event.entry === entry && event.index === index),
  )
  for (let round = 1; ; round++) {
    const lines = new Set((await inserter.absent(rows.map(({ line }) => line))).map(asKey))
    if (lines.size === 0) return found
    const absent = rows.filter(({ line }) => lines.has(asKey(line)))
    const more = await insertRows(inserter, absent, `${token}${ABSENT}${round}`, refusals)
    found.push(...more)
    rows = rows.filter(({ entry, index }) => !more.some((event) => event.entry === entry && event.index === index))
  }
}

/**
 * Inserts entries under a token. If the destination refuses them for their data, inserts each half under its own token, and so
 * on down to single rows. Returns the refused rows. Every repeat divides the same entries in the same way.
 */
export const insertBisecting: Insert = async (inserter, entries, token, refusals) => {
  const send = () => {
    const rows = entries.map((entry) => entry.block.rows)
    return inserter.insert(rows, token, entries)
  }
  const refused = await insertPart(send, () => allRows(entries), inserter, token, refusals)
  refusals.assertProven()
  return refused
}

async function insertRows(inserter: Inserter, rows: readonly Row[], token: string, refusals: UnclearRefusals) {
  const send = () => {
    const lines = rows.map(({ line }) => line)
    return inserter.insert(lines, token)
  }
  const refused = await insertPart(send, () => rows, inserter, token, refusals)
  refusals.assertProven()
  return refused
}

interface Row {
  readonly entry: SinkEntry
  readonly index: number
  /** With its line feed. */
  readonly line: Buffer
}

/** After an unclear refusal, a part of at most this many rows is sent row by row: each halving costs a write of the intent. */
const ALONE_MAX = 64

async function insertPart(
  send: () => Promise<void>,
  rowsOf: () => readonly Row[],
  inserter: Inserter,
  token: string,
  refusals: UnclearRefusals,
  absent?: ReadonlySet<Row>,
): Promise<RefusedEvent[]> {
  if (!refusals.isDivided(token)) {
    try {
      await send()
      refusals.took()
      return []
    } catch (error) {
      if (error instanceof UnclearRefusalError) await refusals.divide(token, error)
      else if (error instanceof RefusedRowsError) await refusals.noteDivided(token)
      else throw error
    }
  }
  return await bisect(inserter, rowsOf(), token, refusals, absent)
}

/** @param absent rows that were not stored when the first division began; undefined: not known yet */
async function bisect(
  inserter: Inserter,
  rows: readonly Row[],
  token: string,
  refusals: UnclearRefusals,
  absent?: ReadonlySet<Row>,
): Promise<RefusedEvent[]> {
  const toInsert = absent ?? (await absentAmong(inserter, rows, refusals))
  const refused: RefusedEvent[] = []
  const isAlone = rows.length <= ALONE_MAX && refusals.isDivided(token)
  const parts = isAlone ? rows.map((row) => [row]) : halvesOf(rows)
  for (const [number, part] of parts.entries()) {
    const count = part.filter((row) => toInsert.has(row)).length
    if (count === 0) continue
    const partToken = isAlone ? `${token}.r${number}` : `${token}.${number}`
    const send = () => {
      const lines = part.map(({ line }) => line)
      return inserter.insert(lines, partToken)
    }
    if (count < part.length) refused.push(...(await bisect(inserter, part, partToken, refusals, toInsert)))
    else if (part.length === 1) refused.push(...(await insertAlone(send, part[0]!, refusals)))
    else refused.push(...(await insertPart(send, () => part, inserter, partToken, refusals, toInsert)))
  }
  return refused
}

async function absentAmong(
  inserter: Inserter,
  rows: readonly Row[],
  refusals: UnclearRefusals,
): Promise<ReadonlySet<Row>> {
  if (!refusals.mayBeStored) return new Set(rows)
  const lines = new Set((await inserter.absent(rows.map(({ line }) => line))).map(asKey))
  const absent = new Set(rows.filter(({ line }) => lines.has(asKey(line))))
  if (absent.size < rows.length) refusals.took()
  return absent
}

async function insertAlone(send: () => Promise<void>, row: Row, refusals: UnclearRefusals): Promise<RefusedEvent[]> {
  const { entry, index } = row
  try {
    await send()
    refusals.took()
    return []
  } catch (error) {
    if (error instanceof UnclearRefusalError) {
      await refusals.giveUp(`${entry.partition} ${entry.lane} ${entry.id} ${index}`, error)
    } else if (!(error instanceof RefusedRowsError)) throw error
    return [{ entry, index, reason: error.message, kind: error.kind }]
  }
}

function halvesOf(rows: readonly Row[]): (readonly Row[])[] {
  const middle = Math.ceil(rows.length / 2)
  return [rows.slice(0, middle), rows.slice(middle)].filter((part) => part.length > 0)
}

function allRows(entries: readonly SinkEntry[]): Row[] {
  return entries.flatMap((entry) => {
    const ends = rowEnds(entry.block)
    return Array.from({ length: entry.block.count }, (_, index) => {
      const line = Buffer.concat([rowAt(entry.block, ends, index), Buffer.from('\n')])
      return { entry, index, line }
    })
  })
}

function asKey(line: Buffer): string {
  return line.toString('latin1')
}

/** Suffix of the token under which absent rows are inserted; a number follows. */
const ABSENT = '.absent'
/** Unclear refusals of an intent before it is divided. */
const TRIES_MAX = 5
/** Unclear refusals before rows are given up although the destination took none: about 2 minutes. */
const TRIES_WITHOUT_PROOF_MAX = 40
/** Rows refused alone, in one try, while the destination has taken none. More of them would prove nothing. */
const ALONE_WITHOUT_PROOF_MAX = 50

/**
 * Decides what to do when a refusal does not say whether the rows or the destination are at fault. At first it blames the
 * destination, and the sink tries the same intent again. Later, if the destination is open, it blames the rows, and the sink sends
 * them in smaller parts. A row is given up once it was refused alone twice, some time apart and for the same reason, and the
 * destination has taken other rows of the intent, or a long time has passed.
 *
 * Two rules keep rows from being stored twice. The intent notes each division before the parts are sent, because a divided part must
 * never be sent as a whole again. And after the first division no stored row is sent, because an earlier try of the whole may have
 * succeeded and lost its answer.
 */
export class UnclearRefusals {
  readonly #inserter: Inserter
  readonly #write: (intent: SinkIntent) => Promise<void>
  readonly #confirmAfterMs: number
  /** Rows that were refused alone: the reason, and the time of the first refusal (`performance.now()`). */
  readonly #refusedAlone = new Map<string, { readonly kind: string; readonly atMs: number }>()
  #intent: SinkIntent = { token: '', ranges: [] }
  #tries = 0
  #isProven = false
  #alone = 0
  #last: UnclearRefusalError | undefined
  #unconfirmed: UnclearRefusalError | undefined

  /**
   * @param write makes an intent durable
   * @param confirmAfterMs a row may be given up this long after it was first refused alone
   */
  constructor(inserter: Inserter, write: (intent: SinkIntent) => Promise<void>, confirmAfterMs: number) {
    this.#inserter = inserter
    this.#write = write
    this.#confirmAfterMs = confirmAfterMs
  }

  /** The intent as it was last written. */
  get intent(): SinkIntent {
    return this.#intent
  }

  /** Call it before each try of an intent. */
  begin(intent: SinkIntent): void {
    if (intent.token !== this.#intent.token) {
      this.#tries = 0
      this.#isProven = false
      this.#refusedAlone.clear()
    }
    this.#intent = intent
    this.#alone = 0
    this.#last = undefined
    this.#unconfirmed = undefined
  }

  /** Call it when a try has failed. */
  failed(error: unknown): void {
    if (error instanceof UnclearRefusalError) this.#tries++
  }

  /** Whether the part with this token was divided. */
  isDivided(token: string): boolean {
    return this.#intent.divided?.includes(this.#partOf(token)) ?? false
  }

  /** Whether the intent itself was divided. Its parts then keep their tokens. */
  get isInParts(): boolean {
    return this.#intent.divided?.some((part) => !part.startsWith(ABSENT)) ?? false
  }

  /** Whether rows may be stored under another token, and the destination would store them twice. */
  get mayBeStored(): boolean {
    const { mayBeStored, divided } = this.#intent
    return this.#inserter.receivedAt !== undefined && (mayBeStored === true || divided !== undefined)
  }

  /** Call it when rows of the intent are stored: the destination works. */
  took(): void {
    this.#isProven = true
  }

  /** Notes that a refused part is divided. @throws the refusal, while it is too early for that */
  async divide(token: string, refusal: UnclearRefusalError): Promise<void> {
    await this.#assertMayDivide(refusal)
    await this.#writeDivided(token)
  }

  /** Call it before dividing a part that was clearly refused. Only the first division is noted: it sets `mayBeStored`. */
  async noteDivided(token: string): Promise<void> {
    if (this.#intent.divided === undefined) await this.#writeDivided(token)
  }

  async #writeDivided(token: string): Promise<void> {
    const divided = [...(this.#intent.divided ?? []), this.#partOf(token)]
    this.#intent = { ...this.#intent, divided, ...(this.#inserter.receivedAt !== undefined && { mayBeStored: true }) }
    await this.#write(this.#intent)
  }

  /**
   * Notes that a row was refused alone. It may be given up if `assertProven` does not throw.
   * @param row a name for the row
   * @throws the refusal, when no row may be given up yet
   */
  async giveUp(row: string, refusal: UnclearRefusalError): Promise<void> {
    await this.#assertMayDivide(refusal)
    this.#last = refusal
    const known = this.#refusedAlone.get(row)
    const first = known?.kind === refusal.kind ? known : { kind: refusal.kind, atMs: performance.now() }
    this.#refusedAlone.set(row, first)
    if (first !== known || performance.now() - first.atMs < this.#confirmAfterMs) this.#unconfirmed = refusal
    if (++this.#alone >= ALONE_WITHOUT_PROOF_MAX) this.#assertOthersTaken(refusal)
  }

  /** @throws a refusal, if a row was refused for the first time, or nothing proves that the destination takes other rows */
  assertProven(): void {
    if (this.#unconfirmed !== undefined) throw this.#unconfirmed
    if (this.#last !== undefined) this.#assertOthersTaken(this.#last)
  }

  #assertOthersTaken(refusal: UnclearRefusalError): void {
    if (!this.#isProven && this.#tries < TRIES_WITHOUT_PROOF_MAX) throw refusal
  }

  async #assertMayDivide(refusal: UnclearRefusalError): Promise<void> {
    if (this.#tries < TRIES_MAX && this.#intent.divided === undefined) throw refusal
    await this.#inserter.assertOpen?.()
  }

  #partOf(token: string): string {
    return token.slice(this.#intent.token.length)
  }
}
