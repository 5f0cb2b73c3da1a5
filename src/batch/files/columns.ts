import { parseAddress } from '../../core/event/address.ts'
import type { KeyMap } from './conversion.ts'
import { keysOfColumns } from './csv-events.ts'
import { type CsvDialect, namedDelimiter, splitRecord } from './csv-record.ts'
import { keysOf } from './ndjson-events.ts'
import { readTime } from './timestamps.ts'

/** A column of CSV, or a key of NDJSON. */
export interface NamedColumn {
  readonly name: string
  /** What it is in an event; `''`: it is left out. */
  readonly key: string
  /** Of the first rows. */
  readonly values: readonly string[]
}

const ROWS_MAX = 50
const HEADER_LINES_MAX = 20
const VALUE_MAX_CHARS = 200
const TIME_NAME = /time|date|when|^ts$|_at$|\bat$/i

/** The columns that the header names. @param lines whole ones, from the beginning of the file */
export function columnsOfCsv(lines: readonly string[], dialect: CsvDialect, map: KeyMap): NamedColumn[] {
  const [names, ...rows] = records(lines, dialect)
  if (names === undefined) return []
  const keys = keysOfColumns(names, map)
  return names.flatMap((name, i) => {
    if (name.trim() === '') return []
    return [{ name: name.trim(), key: keys[i]!, values: valuesOf(rows.map((row) => row[i] ?? '')) }]
  })
}

/** The first ones; of those that are broken nothing. */
function records(lines: readonly string[], dialect: CsvDialect): string[][] {
  const found: string[][] = []
  let open: string[] = []
  for (const line of lines) {
    open.push(line)
    const fields = splitRecord(open.join('\n'), dialect)
    if (fields === 'open' && open.length < HEADER_LINES_MAX) continue
    open = []
    if (typeof fields === 'string' || fields.every((field) => field.trim() === '')) continue
    if (found.length === 0 && namedDelimiter(line) !== undefined) continue
    found.push(fields)
    if (found.length > ROWS_MAX) break
  }
  return found
}

/** The keys of the first lines. */
export function columnsOfNdjson(lines: readonly string[], map: KeyMap): NamedColumn[] {
  const events = lines.slice(0, ROWS_MAX).map(objectOf)
  return keysOf(lines).map((name) => {
    const values = events.map((event) => event[name]).filter((value) => value !== undefined)
    const texts = values.map((value) => (typeof value === 'string' ? value : JSON.stringify(value)))
    return { name, key: map.get(name) ?? name, values: valuesOf(texts) }
  })
}

function objectOf(line: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(line)) as Record<string, unknown>
  } catch {
    return {}
  }
}

function valuesOf(texts: readonly string[]): string[] {
  return texts.map((text) => text.trim().slice(0, VALUE_MAX_CHARS)).filter((text) => text !== '')
}

/** Which columns are the address and the time, where none is by its name: by what is in them. For people to look at. */
export function guessedMap(columns: readonly NamedColumn[]): KeyMap {
  const map = new Map<string, string>()
  const isMissing = (key: string) => columns.every((column) => column.key !== key)
  const guess = (key: string, isLikely: (column: NamedColumn) => boolean) => {
    const found = isMissing(key) ? columns.find((column) => column.values.length > 0 && isLikely(column)) : undefined
    if (found !== undefined) map.set(found.name, key)
  }
  guess('ip', ({ values }) => share(values, (text) => parseAddress(text) !== undefined) >= 0.5)
  guess('timestamp', ({ name, values }) => TIME_NAME.test(name) && share(values, isTime) >= 0.5)
  return map
}

function isTime(text: string): boolean {
  const read = readTime(text, undefined)
  return 'time' in read || read.problem !== 'unknown'
}

function share(values: readonly string[], holds: (text: string) => boolean): number {
  return values.filter(holds).length / values.length
}
