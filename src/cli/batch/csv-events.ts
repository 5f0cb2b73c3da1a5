import { InputError } from '../../core/run/errors.ts'
import type { BadRows } from './bad-rows.ts'
import { EVENT_KEYS, type KeyMap, type LineConverter, missingAddress, type ReadOptions } from './conversion.ts'
import { type CsvDialect, namedDelimiter, splitRecord } from './csv-record.ts'
import type { BadLine } from './lines.ts'
import { type DateOrder, readTime } from './timestamps.ts'

/** Columns that are not text in an event. */
const JSON_COLUMNS = new Set(['properties', 'user_properties'])
/** Space around these means nothing. */
const TRIMMED_COLUMNS = new Set(['ip', 'timestamp', 'session_id'])

/** Behind so many lines, or characters, a quote that is open counts as one that nobody closes. */
const RECORD_LINES_MAX = 1_000
const RECORD_CHARS_MAX = 1_048_576

/**
 * Turns the lines of a CSV file into NDJSON events: the header gives the keys, empty fields are left out, `session_id` is a
 * number, `properties` and `user_properties` are JSON where they can be read as such and text where they cannot. A bad row
 * costs no other one.
 */
export class CsvConverter implements LineConverter {
  readonly #dialect: CsvDialect
  readonly #map: KeyMap
  readonly #dateOrder: DateOrder | undefined
  readonly #bad: BadRows
  #header: readonly string[] | undefined
  #line = 0
  /** Lines of a record whose quote is open. */
  #open: string[] = []
  #openChars = 0

  constructor(dialect: CsvDialect, { map, dateOrder }: ReadOptions, bad: BadRows) {
    this.#dialect = dialect
    this.#map = map
    this.#dateOrder = dateOrder
    this.#bad = bad
  }

  push(line: string | BadLine, emit: (line: string) => void): void {
    if (typeof line !== 'string') {
      this.#giveUpOpen(emit)
      this.#reject(line.problem, emit)
      return
    }
    if (this.#open.length === 0) {
      this.#read(line, emit)
      return
    }
    this.#open.push(line)
    this.#openChars += line.length
    if (line.includes(this.#dialect.quote)) this.#readOpen(emit)
    else if (this.#open.length > RECORD_LINES_MAX || this.#openChars > RECORD_CHARS_MAX) this.#retryOpen(emit)
  }

  end(emit: (line: string) => void): void {
    this.#giveUpOpen(emit)
  }

  #read(line: string, emit: (line: string) => void): void {
    const fields = splitRecord(line, this.#dialect)
    if (fields === 'open' || fields === 'broken') {
      this.#open = [line]
      this.#openChars = line.length
    } else {
      this.#line++
      emit(this.#event(fields, this.#line))
    }
  }

  #readOpen(emit: (line: string) => void): void {
    const fields = splitRecord(this.#open.join('\n'), this.#dialect)
    if (fields === 'open') return
    if (fields === 'broken' || (this.#header !== undefined && fields.length > this.#header.length)) {
      this.#retryOpen(emit)
      return
    }
    emit(this.#event(fields, this.#line + 1))
    for (let i = 1; i < this.#open.length; i++) emit('')
    this.#line += this.#open.length
    this.#open = []
  }

  /** The first of the open lines is bad; those behind it are read anew. */
  #retryOpen(emit: (line: string) => void): void {
    const [, ...rest] = this.#open
    this.#open = []
    this.#reject('has a quote that is not closed', emit)
    for (const line of rest) this.push(line, emit)
  }

  #giveUpOpen(emit: (line: string) => void): void {
    while (this.#open.length > 0) this.#retryOpen(emit)
  }

  #reject(problem: string, emit: (line: string) => void): void {
    this.#line++
    if (this.#header === undefined) throw new InputError(`the CSV header, line ${this.#line}, ${problem}`)
    this.#bad.add(this.#line, problem)
    emit('')
  }

  /** `''` when there is none. */
  #event(fields: readonly string[], line: number): string {
    if (fields.every((field) => field.trim() === '')) return ''
    if (this.#header === undefined) {
      // One-time lines that some programs put before the header.
      if (line === 1 && namedDelimiter(fields.join(this.#dialect.delimiter)) !== undefined) return ''
      this.#header = headerOf(fields, this.#map)
      return ''
    }
    const event = eventOf(this.#header, fields, this.#dateOrder)
    if (typeof event !== 'string') return JSON.stringify(event)
    this.#bad.add(line, event)
    return ''
  }
}

/** The keys of the columns; `''` for one that has no name. */
function headerOf(names: readonly string[], map: KeyMap): readonly string[] {
  const header = names.map((name) => keyOf(name.trim(), map))
  const columns = names.map((name) => name.trim()).filter((name) => name !== '')
  const unknown = [...map.keys()].find((from) => !columns.some((name) => sameName(name, from)))
  if (unknown !== undefined) {
    throw new InputError(`--map names a column ${JSON.stringify(unknown)}; the CSV header has ${columns.join(', ')}`)
  }
  const repeated = header.find((name, i) => name !== '' && header.indexOf(name) !== i)
  if (repeated !== undefined) throw new InputError(`the CSV header names ${JSON.stringify(repeated)} twice`)
  if (!header.includes('ip')) throw new InputError(`the CSV header has no column "ip"${missingAddress(columns)}`)
  return header
}

/** Keys of events are found whatever the case of the header, and whatever stands for `_` in it. */
function keyOf(name: string, map: KeyMap): string {
  for (const [from, to] of map) if (sameName(from, name)) return to
  return EVENT_KEYS.find((key) => sameName(key, name)) ?? name
}

function sameName(a: string, b: string): boolean {
  const plain = (name: string) => name.toLowerCase().replace(/[\s-]+/g, '_')
  return plain(a) === plain(b)
}

/** The event, or what is wrong with the row. */
function eventOf(
  header: readonly string[],
  fields: readonly string[],
  order: DateOrder | undefined,
): Record<string, unknown> | string {
  const extra = fields.slice(header.length).some((field) => field.trim() !== '')
  if (extra) return `has ${fields.length} fields, and the header ${header.length}`
  const event: Record<string, unknown> = {}
  for (const [i, name] of header.entries()) {
    const field = fields[i] ?? ''
    const text = TRIMMED_COLUMNS.has(name) ? field.trim() : field
    if (text === '' || name === '') continue
    if (name === 'timestamp') {
      const read = readTime(text, order)
      if ('problem' in read) return read.problem
      event[name] = read.time
    } else if (name === 'session_id' && /^-?\d{1,16}$/.test(text)) event[name] = Number(text)
    else if (JSON_COLUMNS.has(name)) event[name] = jsonOrText(text)
    else event[name] = text
  }
  return event
}

function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
