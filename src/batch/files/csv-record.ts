/** How a CSV file separates and quotes. */
export interface CsvDialect {
  readonly delimiter: string
  readonly quote: string
}

/**
 * The fields of one record of a CSV file. A quote that is not at the start of a field, or closes before its end, is text,
 * as in `5" screen`. Not with the `csv-parse` package: behind a quote that nobody closes it gives up the rest of the file.
 * @param text one line, or several while the record is `open`
 * @returns `open` when a quoted field goes on in the next line; `broken` when lines do not belong together
 */
export function splitRecord(text: string, { delimiter, quote }: CsvDialect): string[] | 'open' | 'broken' {
  if (!text.includes(quote)) return text.split(delimiter)
  const fields: string[] = []
  for (let at = 0; ; ) {
    const start = skipSpaces(text, at, delimiter)
    if (text[start] === quote) {
      const close = closingQuote(text, start + 1, quote)
      if (close < 0) return 'open'
      const next = skipSpaces(text, close + 1, delimiter)
      if (next === text.length || text[next] === delimiter) {
        fields.push(text.slice(start + 1, close).replaceAll(quote + quote, quote))
        if (next === text.length) return fields
        at = next + 1
        continue
      }
    }
    const end = text.indexOf(delimiter, at)
    const field = end < 0 ? text.slice(at) : text.slice(at, end)
    if (field.includes('\n')) return 'broken'
    fields.push(field)
    if (end < 0) return fields
    at = end + 1
  }
}

function closingQuote(text: string, from: number, quote: string): number {
  let at = text.indexOf(quote, from)
  while (at >= 0 && text[at + 1] === quote) at = text.indexOf(quote, at + 2)
  return at
}

/** Spaces that separate are not skipped. */
function skipSpaces(text: string, from: number, delimiter: string): number {
  let at = from
  while (delimiter !== ' ' && text[at] === ' ') at++
  return at
}

const DELIMITERS = [',', ';', '\t', '|']

/** The dialect of a file, by its first lines. Excel may name the delimiter in a line `sep=;` of its own. */
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

/** Undefined when the line is no such line. */
export function namedDelimiter(line: string): string | undefined {
  return /^sep=(.)$/.exec(line)?.[1]
}

function mostUsed(header: string): string {
  const bare = header.replace(/"[^"]*"/g, '')
  const uses = DELIMITERS.map((delimiter) => bare.split(delimiter).length)
  return DELIMITERS[uses.indexOf(Math.max(...uses))]!
}
