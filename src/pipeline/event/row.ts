import { ENRICHMENT_COLUMNS, ROW_COLUMNS } from '../../../schemas/row.ts'
import type { Block } from './block.ts'
import type { Enrichment } from './enrichment.ts'

/*
 * A row is a line of ClickHouse's TabSeparated format without the line feed: first the columns of the event as sent, then those of
 * the enrichment. A row that is not enriched yet ends with the caller's `account_id`. `make-row.ts` makes rows.
 */

const CONTROL = /[\t\n\r\0\b\f]/
const CONTROLS = /[\t\n\r\0\b\f]/g
const ESCAPES: Readonly<Record<string, string>> = {
  '\t': '\\t',
  '\n': '\\n',
  '\r': '\\r',
  '\0': '\\0',
  '\b': '\\b',
  '\f': '\\f',
}

/** Escapes a string for TabSeparated. */
export function tsv(text: string): string {
  const escaped = text.includes('\\') ? text.replaceAll('\\', '\\\\') : text
  return CONTROL.test(escaped) ? escaped.replace(CONTROLS, (char) => ESCAPES[char]!) : escaped
}

const UNESCAPES: Readonly<Record<string, string>> = { t: '\t', n: '\n', r: '\r', '0': '\0', b: '\b', f: '\f' }

/** The reverse of `tsv`. */
export function fromTsv(text: string): string {
  return text.includes('\\') ? text.replace(/\\(.)/g, (_, char: string) => UNESCAPES[char] ?? char) : text
}

/** Formats milliseconds since the epoch for DateTime64(3). ClickHouse reads a number only with 9 or 10 digits of seconds. */
export function tsvTime(ms: number): string {
  if (ms < 1e11 || ms >= 1e13) return new Date(ms).toISOString().slice(0, 23).replace('T', ' ')
  const digits = String(ms)
  return `${digits.slice(0, -3)}.${digits.slice(-3)}`
}

/** The reverse of `tsvTime`, as an RFC 3339 date-time. */
export function fromTsvTime(text: string): string {
  return text.includes('-') ? `${text.replace(' ', 'T')}Z` : new Date(Math.round(Number(text) * 1_000)).toISOString()
}

/**
 * Joins text into one flat string. V8 represents text that was concatenated with `+` as a tree, and walks it again for each row
 * that contains it. Use this for text that many rows share.
 */
export function flatText(...parts: readonly string[]): string {
  return parts.join('')
}

/** Makes the enrichment columns as text. Called once per distinct answer. */
export function enrichmentColumns(
  enrichment: Pick<Enrichment, 'companyId' | 'classification' | 'quality' | 'data'>,
): Pick<Enrichment, 'columns' | 'accountColumns'> {
  const { data } = enrichment
  const values = ENRICHMENT_COLUMNS.map((column) => {
    switch (column) {
      case 'company_id':
        return tsv(enrichment.companyId)
      case 'classification':
        return enrichment.classification ?? ''
      case 'quality':
        return String(enrichment.quality)
      case 'asn':
        return String(data.asn ?? 0)
      default:
        return tsv(String(data[column] ?? ''))
    }
  })
  return { columns: values.join('\t'), accountColumns: [tsv(enrichment.companyId), ...values].join('\t') }
}

const TAB = 9
const LINE_FEED = 10

/** Reads a column of every row of a block, unescaped. `''` when the event or the row does not have it. */
export function columnOf({ rows }: Pick<Block, 'rows'>, column: (typeof ROW_COLUMNS)[number]): string[] {
  const index = ROW_COLUMNS.indexOf(column)
  const values: string[] = []
  for (let start = 0; start < rows.length; ) {
    const end = rows.indexOf(LINE_FEED, start)
    let from = start
    for (let i = 0; i < index && from <= end; i++) {
      const tab = rows.indexOf(TAB, from)
      from = tab < 0 ? end + 1 : tab + 1
    }
    const tab = rows.indexOf(TAB, from)
    const to = tab < 0 || tab > end ? end : tab
    values.push(from > end ? '' : fromTsv(rows.toString('utf8', from, to)))
    start = end + 1
  }
  return values
}
