import { ENRICHMENT_COLUMNS } from '../../../schemas/row.ts'
import type { Enrichment } from './enrichment.ts'

/*
 * A row is one line of ClickHouse's TabSeparated format, without the line feed: the columns of an event as it came, and
 * behind them those that enrichment adds. A row that is not enriched yet ends with the caller's `account_id`.
 */

const SPECIAL = /[\\\t\n\r\0\b\f]/
const SPECIAL_ALL = /[\\\t\n\r\0\b\f]/g
const ESCAPES: Readonly<Record<string, string>> = {
  '\\': '\\\\',
  '\t': '\\t',
  '\n': '\\n',
  '\r': '\\r',
  '\0': '\\0',
  '\b': '\\b',
  '\f': '\\f',
}

/** A string as TabSeparated wants it. */
export function tsv(text: string): string {
  return SPECIAL.test(text) ? text.replace(SPECIAL_ALL, (char) => ESCAPES[char]!) : text
}

/** Milliseconds since the epoch as DateTime64(3) reads them: as a number only with 9 or 10 digits of seconds. */
export function tsvTime(ms: number): string {
  if (ms < 1e11 || ms >= 1e13) return new Date(ms).toISOString().slice(0, 23).replace('T', ' ')
  const digits = String(ms)
  return `${digits.slice(0, -3)}.${digits.slice(-3)}`
}

/** The enrichment columns as text; `Enrichment.columns` holds the result, so it is made once per distinct answer. */
export function enrichmentColumns(
  enrichment: Pick<Enrichment, 'companyId' | 'classification' | 'quality' | 'data'>,
): string {
  const { data } = enrichment
  return ENRICHMENT_COLUMNS.map((column) => {
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
  }).join('\t')
}

/** Completes a row: the account is the caller's, or else the organisation's. */
export function enrichRow(row: string, enrichment: Enrichment): string {
  const account = row.endsWith('\t') ? tsv(enrichment.companyId) : ''
  return `${row}${account}\t${enrichment.columns}`
}

/** The address of a row: its first column, which never needs escapes. */
export function rowAddress(row: string): string {
  return row.slice(0, row.indexOf('\t'))
}
