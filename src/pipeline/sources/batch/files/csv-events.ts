import { BATCH_LIMITS } from '../../../../../schemas/api/batch.ts'
import { JSON_DEPTH_MAX } from '../../../../../schemas/api/event.ts'
import { InputError } from '../../../../run/errors.ts'
import { isTooDeep, TOO_DEEP } from '../../../event/json-depth.ts'
import { jsonOfClickHouse } from './clickhouse-text.ts'
import {
  type BadRow,
  badTime,
  type Emit,
  EVENT_KEYS,
  integerIn,
  type LineConverter,
  type ReadOptions,
  roundedId,
  tooLongRow,
} from './conversion.ts'
import { headerOf } from './csv-header.ts'
import { type CsvDialect, namedDelimiter, RecordReader } from './csv-record.ts'
import type { BadLine } from './lines.ts'
import { eachMemberOf } from './ndjson-events.ts'
import { readTime } from './timestamps.ts'

/** Columns that may contain JSON. */
const JSON_COLUMNS = new Set(['properties', 'user_properties'])
const TRIMMED_COLUMNS = new Set(['ip', 'timestamp', 'session_id'])
/** Ids that tell events, visits and accounts apart: a rounded one would make one of several. */
const ID_COLUMNS = new Set(['event_id', 'session_id', 'account_id'])
/** A number as spreadsheets write large ones, some with a decimal comma. They keep 15 of its digits at most, and show six. */
const ROUNDED = /^\s*-?\d(?:[.,]\d+e\+?|e\+)\d{1,3}\s*$/i
/** Column of the table `events` with all keys of an event that have no column. */
const EXTRA = 'extra'

/** After this many lines or characters, a quote counts as never closed. */
const RECORD_LINES_MAX = 1_000
const RECORD_CHARS_MAX = 1_048_576
/**
 * Budget for reading characters again after a quote that is never closed: in total, and per character of the file. Without a
 * limit, a hostile file would take time quadratic in its lines.
 */
const REREAD_CHARS_MAX = 1_048_576
const REREADS_MAX = 4

/** One less than for an event, since the event itself is a level. */
const FIELD_LEVELS_MAX = JSON_DEPTH_MAX - 1

const UNCLOSED = 'has a quote that is not closed'

/**
 * Turns the lines of a CSV file into NDJSON events. The header gives the keys, and empty fields are left out. `session_id` becomes
 * a number; `properties` and `user_properties` become JSON if they parse, else text. An export of the table `events` is read again: the
 * members of its column `extra` become keys of the event. A bad row does not affect other rows.
 */
export class CsvConverter implements LineConverter {
  readonly #options: ReadOptions
  readonly #records: RecordReader
  readonly #delimiter: string
  #header: Header | undefined
  #line = 0
  /** Lines of the record with the open quote. */
  #open: string[] = []
  #openChars = 0
  /** Lines to read, in reverse order. */
  readonly #todo: (string | BadLine)[] = []
  #rereadCharsLeft = REREAD_CHARS_MAX

  constructor(dialect: CsvDialect, options: ReadOptions) {
    this.#records = new RecordReader(dialect)
    this.#delimiter = dialect.delimiter
    this.#options = options
  }

  push(line: string | BadLine, emit: Emit): void {
    const chars = typeof line === 'string' ? line.length : 0
    this.#rereadCharsLeft = Math.min(REREAD_CHARS_MAX, this.#rereadCharsLeft + chars * REREADS_MAX)
    this.#todo.push(line)
    this.#readAll(emit)
  }

  end(emit: Emit): void {
    while (this.#open.length > 0) {
      this.#giveUpOpen(emit)
      this.#readAll(emit)
    }
  }

  #readAll(emit: Emit): void {
    for (;;) {
      const line = this.#todo.pop()
      if (line === undefined) return
      if (typeof line === 'string') {
        this.#read(line, emit)
      } else if (this.#open.length > 0) {
        this.#todo.push(line)
        this.#giveUpOpen(emit)
      } else {
        this.#reject(line.problem, emit)
      }
    }
  }

  #read(line: string, emit: Emit): void {
    this.#open.push(line)
    this.#openChars += line.length
    const fields = this.#records.push(line)
    const isOpen = fields === 'open'
    const count = isOpen ? this.#records.openFields + 1 : fields.length
    const lines = this.#open.length
    const hasTooMany = this.#header !== undefined && count > this.#header.columns.length && (isOpen || lines > 1)
    const isTooLong = lines > RECORD_LINES_MAX || this.#openChars > RECORD_CHARS_MAX
    if (fields === 'broken' || hasTooMany || (isOpen && isTooLong)) this.#giveUpOpen(emit)
    else if (!isOpen) this.#endRecord(fields, emit)
  }

  #endRecord(fields: readonly string[], emit: Emit): void {
    emit(this.#event(fields, this.#line + 1))
    for (let i = 1; i < this.#open.length; i++) emit('')
    this.#line += this.#open.length
    this.#open = []
    this.#openChars = 0
  }

  /** Rejects the first open line, and reads the others again while the budget lasts. */
  #giveUpOpen(emit: Emit): void {
    const [, ...rest] = this.#open
    this.#rereadCharsLeft -= this.#openChars
    this.#open = []
    this.#openChars = 0
    this.#records.reset()
    this.#reject(UNCLOSED, emit)
    if (this.#rereadCharsLeft >= 0) this.#todo.push(...rest.reverse())
    else for (let i = 0; i < rest.length; i++) this.#reject(UNCLOSED, emit)
  }

  #reject(problem: string, emit: Emit): void {
    this.#line++
    if (this.#header === undefined) throw new InputError(`the CSV header, line ${this.#line}, ${problem}`)
    emit({ line: this.#line, reason: problem, detail: problem })
  }

  /** `''` for a line without an event. */
  #event(fields: readonly string[], line: number): string | BadRow {
    if (fields.every((field) => field.trim() === '')) return ''
    if (this.#header === undefined) {
      // Excel may write `sep=;` before the header.
      if (line === 1 && namedDelimiter(fields.join(this.#delimiter)) !== undefined) return ''
      const names = headerOf(fields, line, this.#options)
      const columns = names.map((name) => ({ name, key: `${JSON.stringify(name)}:`, isId: ID_COLUMNS.has(name) }))
      this.#header = { columns, taken: new Set([...EVENT_KEYS, ...names]) }
      return ''
    }
    return eventOf(this.#header, fields, line, this.#options)
  }
}

interface Header {
  /** Each with its JSON key and colon. */
  readonly columns: readonly { readonly name: string; readonly key: string; readonly isId: boolean }[]
  /** Keys that the column `extra` of an export does not have. */
  readonly taken: ReadonlySet<string>
}

/** Builds the JSON of an event from text, because an object would lose digits and some names. */
function eventOf(
  { columns, taken }: Header,
  fields: readonly string[],
  line: number,
  { dateOrder, advice }: ReadOptions,
): string | BadRow {
  if (fields.slice(columns.length).some((field) => field.trim() !== '')) {
    const reason = `has ${fields.length} fields, and the header ${columns.length}`
    return { line, reason, detail: reason }
  }
  const members: string[] = []
  let chars = 0
  // A header may have many more columns than a row has fields.
  for (const [i, field] of fields.slice(0, columns.length).entries()) {
    const { name, key, isId } = columns[i]!
    const text = TRIMMED_COLUMNS.has(name) ? field.trim() : field
    if (text === '' || name === '') continue
    if (isId && ROUNDED.test(text)) return roundedId(line, name, text)
    let value: string | undefined
    if (name === 'timestamp') {
      const read = readTime(text, dateOrder)
      if ('problem' in read) return badTime(line, text, read.problem, advice)
      value = JSON.stringify(read.time)
    } else if (name === 'session_id') {
      value = integerIn(text)
    } else if (name === EXTRA) {
      value = restOf(text, taken)
    } else if (JSON_COLUMNS.has(name)) {
      value = jsonIn(text)
      if (value === TOO_DEEP) return { line, reason: TOO_DEEP, detail: TOO_DEEP }
    }
    if (value === '') continue
    const member = name === EXTRA && value !== undefined ? value : key + (value ?? JSON.stringify(text))
    chars += member.length + 1
    if (chars > BATCH_LIMITS.lineMaxBytes) return tooLongRow(line)
    members.push(member)
  }
  return `{${members.join()}}`
}

/** JSON, or an array or a map of ClickHouse as JSON; `TOO_DEEP`; undefined for other text. */
function jsonIn(text: string): string | undefined {
  const isNested = /^\s*[[{]/.test(text)
  if (isNested && isTooDeep(text, FIELD_LEVELS_MAX)) return TOO_DEEP
  // JSON has line breaks between tokens only.
  if (isJson(text)) return text.trim().replace(/[\r\n]/g, ' ')
  const json = isNested ? jsonOfClickHouse(text) : undefined
  return json !== undefined && !isTooDeep(json, FIELD_LEVELS_MAX) && isJson(json) ? json : undefined
}

/**
 * The members of the column `extra` of an export of `events`: keys of the event that have no column of their own.
 * @returns members without braces; undefined when the text is no JSON object, or has a key that is taken, so that it is not of an export
 */
function restOf(text: string, taken: ReadonlySet<string>): string | undefined {
  const members: string[] = []
  let isFree = true
  const isObject = eachMemberOf(text, (name, value) => {
    isFree &&= !taken.has(name)
    members.push(`${JSON.stringify(name)}:${value.replace(/[\r\n]/g, ' ')}`)
  })
  return isObject && isFree ? members.join() : undefined
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
