import { type Inserter, RefusedRowsError, UnclearRefusalError } from '../declaration/destination.ts'
import { rowAt, rowEnds } from '../event/block.ts'
import type { RefusedEvent, SinkEntry } from './sink-ports.ts'
import { ABSENT, type UnclearRefusals } from './unclear-refusals.ts'

/** Inserts entries under a token. Returns the rows that the destination refuses for good. */
export type Insert = (
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
