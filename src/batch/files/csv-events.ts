import { InputError } from '../../core/run/errors.ts'
import {
  type BadRow,
  badTime,
  type Emit,
  EVENT_KEYS,
  type KeyMap,
  type LineConverter,
  missingAddress,
  type ReadOptions,
} from './conversion.ts'
import { type CsvDialect, namedDelimiter, splitRecord } from './csv-record.ts'
import type { BadLine } from './lines.ts'
import { readTime } from './timestamps.ts'

/** Columns that are not text in an event. */
const JSON_COLUMNS = new Set(['properties', 'user_properties'])
/** Space around these means nothing. */
const TRIMMED_COLUMNS = new Set(['ip', 'timestamp', 'session_id'])

/** Behind so many lines, or characters, a quote that is open counts as one that nobody closes. */
const RECORD_LINES_MAX = 1_000
const RECORD_CHARS_MAX = 1_048_576
/**
 * Characters that may be read again to find the end of a record, at once, and for each character of the file: without a
 * limit, quotes that nobody closes would cost the square of their lines.
 */
const REREAD_CHARS_MAX = 33_554_432
const REREADS_MAX = 64

/**
 * Turns the lines of a CSV file into NDJSON events: the header gives the keys, empty fields are left out, `session_id` is a
 * number, `properties` and `user_properties` are JSON where they can be read as such and text where they cannot. A bad row
 * costs no other one.
 */
export class CsvConverter implements LineConverter {
  readonly #dialect: CsvDialect
  readonly #options: ReadOptions
  #header: readonly string[] | undefined
  #line = 0
  /** Lines of a record whose quote is open. */
  #open: string[] = []
  #openChars = 0
  #rereadCharsLeft = REREAD_CHARS_MAX

  constructor(dialect: CsvDialect, options: ReadOptions) {
    this.#dialect = dialect
    this.#options = options
  }

  push(line: string | BadLine, emit: Emit): void {
    const chars = typeof line === 'string' ? line.length : 0
    this.#rereadCharsLeft = Math.min(REREAD_CHARS_MAX, this.#rereadCharsLeft + chars * REREADS_MAX)
    this.#take(line, emit)
  }

  #take(line: string | BadLine, emit: Emit): void {
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

  end(emit: Emit): void {
    this.#giveUpOpen(emit)
  }

  #read(line: string, emit: Emit): void {
    const fields = splitRecord(line, this.#dialect)
    if (fields === 'open' || fields === 'broken') {
      this.#open = [line]
      this.#openChars = line.length
    } else {
      this.#line++
      emit(this.#event(fields, this.#line))
    }
  }

  #readOpen(emit: Emit): void {
    this.#rereadCharsLeft -= this.#openChars
    if (this.#rereadCharsLeft < 0) {
      this.#retryOpen(emit)
      return
    }
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
  #retryOpen(emit: Emit): void {
    const [, ...rest] = this.#open
    this.#open = []
    this.#reject('has a quote that is not closed', emit)
    for (const line of rest) this.#take(line, emit)
  }

  #giveUpOpen(emit: Emit): void {
    while (this.#open.length > 0) this.#retryOpen(emit)
  }

  #reject(problem: string, emit: Emit): void {
    this.#line++
    if (this.#header === undefined) throw new InputError(`the CSV header, line ${this.#line}, ${problem}`)
    emit({ line: this.#line, reason: problem, detail: problem })
  }

  /** `''` when there is none. */
  #event(fields: readonly string[], line: number): string | BadRow {
    if (fields.every((field) => field.trim() === '')) return ''
    if (this.#header === undefined) {
      // One-time lines that some programs put before the header.
      if (line === 1 && namedDelimiter(fields.join(this.#dialect.delimiter)) !== undefined) return ''
      this.#header = headerOf(fields, this.#options)
      return ''
    }
    return eventOf(this.#header, fields, line, this.#options)
  }
}

/** The keys that columns stand for; `''` for those that are left out. */
export function keysOfColumns(names: readonly string[], map: KeyMap): string[] {
  const keys = new Map<string, string>()
  for (const [from, to] of [...map, ...EVENT_KEYS.map((key) => [key, key] as const)]) {
    const name = plainName(from)
    if (!keys.has(name)) keys.set(name, to)
  }
  return names.map((name) => keys.get(plainName(name.trim())) ?? name.trim())
}

/** @throws InputError when they are not those of events */
function headerOf(names: readonly string[], { map, advice }: ReadOptions): readonly string[] {
  const header = keysOfColumns(names, map)
  const columns = names.map((name) => name.trim()).filter((name) => name !== '')
  const known = new Set(columns.map(plainName))
  const unknown = [...map.keys()].find((from) => !known.has(plainName(from)))
  if (unknown !== undefined) {
    throw new InputError(
      `${advice.map} names a column ${JSON.stringify(unknown)}; the CSV header has ${columns.join(', ')}`,
    )
  }
  const seen = new Set<string>()
  const repeated = header.find((name) => {
    const isRepeated = name !== '' && seen.has(name)
    seen.add(name)
    return isRepeated
  })
  if (repeated !== undefined) throw new InputError(`the CSV header names ${JSON.stringify(repeated)} twice`)
  if (!header.includes('ip'))
    throw new InputError(`the CSV header has no column "ip"${missingAddress(columns, advice)}`)
  return header
}

/** Keys of events are found whatever the case of the header, and whatever stands for `_` in it. */
function plainName(name: string): string {
  return name.toLowerCase().replace(/[\s-]+/g, '_')
}

/** The event as JSON, or what is wrong with the row. */
function eventOf(
  header: readonly string[],
  fields: readonly string[],
  line: number,
  { dateOrder, advice }: ReadOptions,
): string | BadRow {
  const extra = fields.slice(header.length).some((field) => field.trim() !== '')
  if (extra) {
    const reason = `has ${fields.length} fields, and the header ${header.length}`
    return { line, reason, detail: reason }
  }
  const event: Record<string, unknown> = {}
  // A header may have many more columns than a row has fields.
  for (const [i, field] of fields.slice(0, header.length).entries()) {
    const name = header[i]!
    const text = TRIMMED_COLUMNS.has(name) ? field.trim() : field
    if (text === '' || name === '') continue
    if (name === 'timestamp') {
      const read = readTime(text, dateOrder)
      if ('problem' in read) return badTime(line, text, read.problem, advice)
      event[name] = read.time
    } else if (name === 'session_id' && /^-?\d{1,16}$/.test(text)) event[name] = Number(text)
    else if (JSON_COLUMNS.has(name)) event[name] = jsonOrText(text)
    else event[name] = text
  }
  return JSON.stringify(event)
}

function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
