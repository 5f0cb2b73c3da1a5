/** Delimiter and quote of a CSV file. */
export interface CsvDialect {
  readonly delimiter: string
  readonly quote: string
}

/** How databases export NULL; an empty field is the same. */
const NULL = '\\N'

/**
 * Reads records of a CSV file line by line, each line once. A quote in the middle of a field is text, as in `5" screen`. A field that is
 * `\N` is empty, quoted or not. The
 * `csv-parse` package does not fit: after a quote that is never closed, it gives up the rest of the file.
 */
export class RecordReader {
  readonly #dialect: CsvDialect
  #fields: string[] = []
  /** Lines of the open quoted field; undefined when no record is open. */
  #quoted: string[] | undefined

  constructor(dialect: CsvDialect) {
    this.#dialect = dialect
  }

  /** Number of finished fields of the open record. */
  get openFields(): number {
    return this.#fields.length
  }

  /**
   * @returns the fields of a finished record; `open` when a quoted field continues in the next line; `broken` when the lines do
   * not form a record, and the reader starts over with the next line
   */
  push(line: string): string[] | 'open' | 'broken' {
    const { delimiter, quote } = this.#dialect
    if (this.#quoted === undefined) {
      if (!line.includes(quote)) return withoutNulls(line.split(delimiter))
      return this.#readFrom(line, 0)
    }
    const close = closingQuote(line, 0, quote)
    if (close < 0) {
      this.#quoted.push(line)
      return 'open'
    }
    const next = skipSpaces(line, close + 1, delimiter)
    if (next < line.length && line[next] !== delimiter) {
      this.reset()
      return 'broken'
    }
    const text = [...this.#quoted, line.slice(0, close)].join('\n')
    this.#quoted = undefined
    this.#fields.push(text.replaceAll(quote + quote, quote))
    return next === line.length ? this.#end() : this.#readFrom(line, next + 1)
  }

  /** Forgets the open record. */
  reset(): void {
    this.#fields = []
    this.#quoted = undefined
  }

  #readFrom(line: string, from: number): string[] | 'open' {
    const { delimiter, quote } = this.#dialect
    for (let at = from; ; ) {
      const start = skipSpaces(line, at, delimiter)
      if (line[start] === quote) {
        const close = closingQuote(line, start + 1, quote)
        if (close < 0) {
          this.#quoted = [line.slice(start + 1)]
          return 'open'
        }
        const next = skipSpaces(line, close + 1, delimiter)
        if (next === line.length || line[next] === delimiter) {
          this.#fields.push(line.slice(start + 1, close).replaceAll(quote + quote, quote))
          if (next === line.length) return this.#end()
          at = next + 1
          continue
        }
      }
      const end = line.indexOf(delimiter, at)
      this.#fields.push(end < 0 ? line.slice(at) : line.slice(at, end))
      if (end < 0) return this.#end()
      at = end + 1
    }
  }

  #end(): string[] {
    const fields = this.#fields
    this.#fields = []
    return withoutNulls(fields)
  }
}

function withoutNulls(fields: string[]): string[] {
  for (let i = 0; i < fields.length; i++) if (fields[i]!.trim() === NULL) fields[i] = ''
  return fields
}

function closingQuote(text: string, from: number, quote: string): number {
  const code = quote.charCodeAt(0)
  let at = text.indexOf(quote, from)
  while (at >= 0 && text.charCodeAt(at + 1) === code) {
    at += 2
    // Skip a run of quotes without a search for each.
    if (text.charCodeAt(at) !== code) at = text.indexOf(quote, at)
  }
  return at
}

/** Skips nothing when the space is the delimiter. */
function skipSpaces(text: string, from: number, delimiter: string): number {
  let at = from
  while (delimiter !== ' ' && text[at] === ' ') at++
  return at
}

const DELIMITERS = [',', ';', '\t', '|']

/** Detects the dialect from the first lines. Excel may name the delimiter in a first line `sep=;`. */
export function sniffDialect(lines: readonly string[]): CsvDialect {
  const named = namedDelimiter(lines[0] ?? '')
  const [header = '', ...rows] = named === undefined ? lines : lines.slice(1)
  const delimiter = named ?? mostUsed(header)
  const sample = [header, ...rows].join('\n')
  const edge = delimiter.replace(/[\\^$.*+?()[\]{}|]/, '\\$&')
  const space = delimiter === ' ' ? '' : ' *'
  const quoted = (quote: string) =>
    new RegExp(`(?:^|${edge})${space}${quote}[^${quote}\\n]*${quote}${space}(?:$|${edge})`, 'm')
  const isSingle = quoted("'").test(sample) && !quoted('"').test(sample)
  return { delimiter, quote: isSingle ? "'" : '"' }
}

/** The delimiter of a line `sep=;`; undefined for any other line. */
export function namedDelimiter(line: string): string | undefined {
  return /^sep=(.)$/.exec(line)?.[1]
}

function mostUsed(header: string): string {
  const bare = header.replace(/"[^"]*"/g, '')
  const uses = DELIMITERS.map((delimiter) => bare.split(delimiter).length)
  return DELIMITERS[uses.indexOf(Math.max(...uses))]!
}
