import { InputError } from '../run/errors.ts'
import { visible, widthOf } from '../run/visible-text.ts'
import { printMore } from '../terminal/print.ts'

/** ClickHouse's JSON lines: names and types first, then one line per row with each value as text. */
export const TABLE_FORMAT = 'JSONCompactStringsEachRowWithProgress'

/** Rows aligned with one another. Further rows start a new table, so that memory is bounded. */
const ROWS_MAX = 1_000
/** Characters (UTF-16 units) of the rows of one table. */
const TEXT_MAX = 4_194_304
/** Longest line in characters. One line, which is one row, is held at a time. */
const LINE_MAX = 67_108_864
/** Longer values exceed their column. */
const PADDED_MAX = 250
/** Shows rows with many columns one column a line, when they are few and do not fit the screen. */
const VERTICAL = { rowsMax: 10, columnsMin: 5, widthMin: 250 }
/** Headings are repeated below a long table. */
const FOOTER_ROWS_MIN = 50
/** Types whose values are aligned to the right. */
const RIGHT = /^(?:LowCardinality\()?(?:Nullable\()?(?:U?Int\d|B?Float\d|Decimal|Date|Interval)/

interface Column {
  readonly name: string
  readonly isRight: boolean
}
type Row = readonly string[]

/** A line of `TABLE_FORMAT` has one of these members. Lines with other members are not printed. */
interface Line {
  readonly meta?: readonly { readonly name: string; readonly type: string }[]
  readonly row?: Row
  readonly totals?: Row
  readonly min?: Row
  readonly max?: Row
}

/**
 * Prints a result in `TABLE_FORMAT` as tables. Control characters in values are escaped, and each value is on one line.
 * @throws InputError when a row is too long
 */
export async function printResult(body: AsyncIterable<Uint8Array>, out: NodeJS.WritableStream): Promise<void> {
  const write = (lines: readonly string[]) => printMore(out, `${lines.join('\n')}\n`)
  let columns: readonly Column[] | undefined
  let rows: Row[] = []
  let length = 0
  let shown = 0
  const flush = async () => {
    await write(drawn(columns ?? [], rows, shown))
    shown += rows.length
    rows = []
    length = 0
  }
  for await (const text of linesOf(body)) {
    const { meta, row, totals, min, max } = JSON.parse(text) as Line
    if (meta !== undefined) columns = meta.map(({ name, type }) => ({ name: visible(name), isRight: RIGHT.test(type) }))
    if (row !== undefined) {
      rows.push(row.map(visible))
      length += text.length
      if (rows.length >= ROWS_MAX || length >= TEXT_MAX) await flush()
    }
    for (const [title, extra] of [
      ['Totals', totals] as const,
      ['Minimums', min] as const,
      ['Maximums', max] as const,
    ]) {
      if (extra === undefined) continue
      if (rows.length > 0) await flush()
      await write(['', `${title}:`, ...drawn(columns ?? [], [extra.map(visible)], 0)])
    }
  }
  if (rows.length > 0) await flush()
  if (columns !== undefined && shown === 0) await write([...tableOf(columns, [], 0), '0 rows'])
}

function drawn(columns: readonly Column[], rows: readonly Row[], before: number): string[] {
  const widths = widthsOf(columns, rows)
  const width = widths.reduce((sum, one) => sum + one + 3, 1)
  const { rowsMax, columnsMin, widthMin } = VERTICAL
  const isVertical = before + rows.length <= rowsMax && columns.length >= columnsMin && width > widthMin
  return isVertical ? listOf(columns, rows, before) : tableOf(columns, rows, before)
}

function widthsOf(columns: readonly Column[], rows: readonly Row[]): number[] {
  return columns.map(({ name }, at) =>
    Math.min(
      PADDED_MAX,
      rows.reduce((most, row) => Math.max(most, widthOf(row[at] ?? '')), widthOf(name)),
    ),
  )
}

function tableOf(columns: readonly Column[], rows: readonly Row[], before: number): string[] {
  const widths = widthsOf(columns, rows)
  const margin = String(before + rows.length).length + 2
  const border = (texts: readonly string[], [left, between, right]: readonly [string, string, string]) => {
    const cells = texts.map((text, at) => {
      const line = '─'.repeat(Math.max(0, widths[at]! - widthOf(text)))
      return `─${columns[at]!.isRight ? line + text : text + line}─`
    })
    return `${' '.repeat(margin)}${left}${cells.join(between)}${right}`
  }
  const names = columns.map(({ name }) => name)
  const below = rows.length >= FOOTER_ROWS_MIN ? names : names.map(() => '')
  return [
    border(names, ['┌', '┬', '┐']),
    ...rows.map((row, index) => {
      const cells = row.map((text, at) => {
        const space = ' '.repeat(Math.max(0, widths[at]! - widthOf(text)))
        return columns[at]!.isRight ? space + text : text + space
      })
      return `${`${before + index + 1}. `.padStart(margin)}│ ${cells.join(' │ ')} │`
    }),
    border(below, ['└', '┴', '┘']),
  ]
}

function listOf(columns: readonly Column[], rows: readonly Row[], before: number): string[] {
  const width = Math.max(...columns.map(({ name }) => widthOf(name))) + 2
  return rows.flatMap((row, index) => {
    const title = `Row ${before + index + 1}:`
    const pairs = columns.map(({ name }, at) => `${name}:${' '.repeat(width - 1 - widthOf(name))}${row[at]}`)
    return [...(before + index > 0 ? [''] : []), title, '─'.repeat(title.length), ...pairs]
  })
}

/** Lines without their line feeds. Text after the last line feed is a line too. */
async function* linesOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let pieces: string[] = []
  let length = 0
  for await (const chunk of body) {
    const parts = decoder.decode(chunk, { stream: true }).split('\n')
    const rest = parts.pop()!
    for (const part of parts) {
      const line = pieces.join('') + part
      pieces = []
      length = 0
      if (line !== '') yield line
    }
    pieces.push(rest)
    length += rest.length
    if (length > LINE_MAX) throw new InputError('a row is too long for a table: end the statement with FORMAT TSV')
  }
  const line = pieces.join('') + decoder.decode()
  if (line !== '') yield line
}
