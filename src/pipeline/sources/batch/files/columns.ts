import { BATCH_LIMITS } from '../../../../../schemas/api/batch.ts'
import { cutText } from '../../../../run/cut-text.ts'
import { parseAddress } from '../../../event/address.ts'
import type { KeyMap } from './conversion.ts'
import { assertHeaderSize, isComment, keysOfColumns } from './csv-header.ts'
import { type CsvDialect, namedDelimiter, RecordReader } from './csv-record.ts'
import { eachMemberOf } from './ndjson-events.ts'
import { readTime } from './timestamps.ts'

/** A column of CSV, or a key of NDJSON. */
export interface NamedColumn {
  readonly name: string
  /** The key in an event; `''` leaves the column out. */
  readonly key: string
  /** Values of the first rows. */
  readonly values: readonly string[]
}

const ROWS_MAX = 50
const HEADER_LINES_MAX = 20
const VALUE_MAX_CHARS = 200
const TIME_NAME = /time|date|when|^ts$|_at$|\bat$/i

/**
 * The columns of the header.
 * @param lines whole lines, from the start of the file
 * @throws InputError when the header is too large
 */
export function columnsOfCsv(lines: readonly string[], dialect: CsvDialect, map: KeyMap): NamedColumn[] {
  const [names, ...rows] = records(lines, dialect)
  if (names === undefined) return []
  assertHeaderSize(names)
  const keys = keysOfColumns(names, map)
  return names.flatMap((name, i) => {
    if (name.trim() === '') return []
    return [{ name: name.trim(), key: keys[i]!, values: valuesOf(rows.map((row) => row[i] ?? '')) }]
  })
}

/** The first records, without broken ones. */
function records(lines: readonly string[], dialect: CsvDialect): string[][] {
  const found: string[][] = []
  const reader = new RecordReader(dialect)
  let openLines = 0
  for (const line of lines) {
    const fields = reader.push(line)
    if (fields === 'open' && ++openLines < HEADER_LINES_MAX) continue
    openLines = 0
    reader.reset()
    if (typeof fields === 'string' || fields.every((field) => field.trim() === '')) continue
    if (found.length === 0 && namedDelimiter(line) !== undefined) continue
    found.push(fields)
    if (found.length > ROWS_MAX) break
  }
  return found
}

/** The keys of the first lines, up to the limit of columns. */
export function columnsOfNdjson(lines: readonly string[], map: KeyMap): NamedColumn[] {
  const values = new Map<string, string[]>()
  for (const [i, line] of lines.entries()) {
    eachMemberOf(line, (name, value) => {
      const known = values.get(name) ?? []
      if (known.length > 0 || values.size < BATCH_LIMITS.columnsMax) values.set(name, known)
      if (i < ROWS_MAX) known.push(value)
    })
  }
  return [...values].map(([name, texts]) => ({ name, key: map.get(name) ?? name, values: valuesOf(texts.map(plain)) }))
}

/** The content of a JSON string; other JSON unchanged. */
function plain(json: string): string {
  return json.startsWith('"') ? (JSON.parse(json) as string) : json
}

function valuesOf(texts: readonly string[]): string[] {
  return texts.map((text) => cutText(text.trim(), VALUE_MAX_CHARS)).filter((text) => text !== '')
}

/** Guesses from the values which columns are the address and the time, if no name says so. A person checks the result. */
export function guessedMap(columns: readonly NamedColumn[]): KeyMap {
  const map = new Map<string, string>()
  const isMissing = (key: string) => columns.every((column) => column.key !== key)
  const guess = (key: string, isLikely: (column: NamedColumn) => boolean) => {
    const found =
      isMissing(key) && !isComment(columns[0]?.name)
        ? columns.find((column) => column.values.length > 0 && isLikely(column))
        : undefined
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

function share(values: readonly string[], matches: (text: string) => boolean): number {
  return values.filter(matches).length / values.length
}
