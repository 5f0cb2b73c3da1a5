import { rowAt, rowEnds } from '../core/event/block.ts'
import { type Inserter, RefusedRowsError } from '../core/pipeline/destination.ts'
import type { RefusedEvent, SinkEntry } from './sink-ports.ts'

/**
 * Inserts entries whose insert may have been cut off before. A token alone need not say that its rows are stored. So they
 * are looked for, and what is absent is inserted under a token of its own, until nothing is.
 */
export async function repeatInsert(
  inserter: Inserter,
  entries: readonly SinkEntry[],
  token: string,
): Promise<RefusedEvent[]> {
  const refused = await insertBisecting(inserter, entries, token)
  const rows = allRows(entries)
    .filter(({ entry, index }) => !refused.some((event) => event.entry === entry && event.index === index))
    .map(({ line }) => line)
  for (let round = 1; ; round++) {
    const absent = await inserter.absent(rows)
    if (absent.length === 0) return refused
    await inserter.insert(absent, `${token}.absent${round}`)
  }
}

/**
 * Inserts entries under a token. When they are refused for their data, halves them, each half under a token of its
 * own, down to the rows at fault, which are returned. The same entries are halved the same way at every repeat.
 */
export async function insertBisecting(
  inserter: Inserter,
  entries: readonly SinkEntry[],
  token: string,
): Promise<RefusedEvent[]> {
  try {
    await inserter.insert(
      entries.map((entry) => entry.block.rows),
      token,
      entries,
    )
    return []
  } catch (error) {
    if (!(error instanceof RefusedRowsError)) throw error
    return bisect(inserter, allRows(entries), token)
  }
}

interface Row {
  readonly entry: SinkEntry
  readonly index: number
  readonly line: Buffer
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

async function bisect(inserter: Inserter, rows: readonly Row[], token: string): Promise<RefusedEvent[]> {
  const middle = Math.ceil(rows.length / 2)
  const refused: RefusedEvent[] = []
  for (const [half, part] of [rows.slice(0, middle), rows.slice(middle)].entries()) {
    if (part.length === 0) continue
    const partToken = `${token}.${half}`
    try {
      await inserter.insert(
        part.map((row) => row.line),
        partToken,
      )
    } catch (error) {
      if (!(error instanceof RefusedRowsError)) throw error
      if (part.length > 1) refused.push(...(await bisect(inserter, part, partToken)))
      else refused.push({ entry: part[0]!.entry, index: part[0]!.index, reason: error.message })
    }
  }
  return refused
}
