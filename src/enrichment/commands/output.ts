import type { Attribute } from '../../../schemas/attributes.ts'
import { askedOf, type Explanation, explain } from '../../lookup/explain.ts'
import type { Lookup } from '../../lookup/lookup.ts'

/** What is printed of one address. */
export interface Found {
  readonly ip: string
  /** Undefined when it is no address. */
  readonly lookup: Lookup | undefined
  /** The tenant's rule that decided, null when none did; undefined: no tenant was named. */
  readonly rule?: string | null
}

/** @param asked names of the providers, when they are to be named */
export type PrintAddress = (found: Found, asked: readonly string[] | undefined) => string

/** Of what is no address. */
const NOT_ASKED: Explanation = { attributes: {}, rule: 'invalid_ip', asked: [], answered: [], partial: [] }

/** A line with one JSON object: status, quality and data as ingest answers them, and the account that an event would get. */
export const enrichedJson: PrintAddress = ({ ip, lookup, rule }, asked) => {
  const account = accountOf(lookup)
  const answer = {
    ip,
    status: statusOf(lookup),
    classification: lookup?.classification ?? null,
    quality: lookup?.quality ?? 0,
    data: lookup?.data ?? {},
    ...(account !== undefined && { account_id: account }),
    ...(rule !== undefined && { rule, company_id: account ?? null }),
  }
  return `${JSON.stringify(asked === undefined ? answer : { ...answer, explain: lookup === undefined ? NOT_ASKED : explain(lookup, asked) })}\n`
}

/** A list of names and values, with a blank line behind it. */
export const enrichedText: PrintAddress = ({ ip, lookup, rule }, asked) => {
  const rows: (readonly [name: string, value: string, source: string])[] = [
    ['ip', ip, ''],
    ['status', statusOf(lookup), ''],
  ]
  const account = accountOf(lookup)
  if (rule !== undefined) rows.push(['tenant rule', rule ?? '-', ''])
  if (account !== undefined || rule !== undefined) rows.push(['account_id', account ?? '-', ''])
  if (lookup !== undefined) {
    rows.push(['quality', String(lookup.quality), ''])
    for (const [attribute, value] of Object.entries(lookup.data)) {
      rows.push([attribute, String(value), sourceOf(lookup, attribute as Attribute)])
    }
    if (asked !== undefined) {
      rows.push(['rule', lookup.rule, ''], ['asked', askedOf(lookup, asked).join(', ') || '-', ''])
      rows.push(['answered', lookup.answered.join(', ') || '-', ''])
    }
    if (lookup.partial.length > 0) rows.push(['partial', lookup.partial.join(', '), ''])
  }
  return `${aligned(asked === undefined ? rows.map(([name, value]) => [name, value]) : rows)}\n`
}

/** The account, and the company, of an event that brings no account of its own; none when it is filtered. */
function accountOf(lookup: Lookup | undefined): string | undefined {
  return lookup === undefined || lookup.noise ? undefined : lookup.companyId || undefined
}

/** The answer's status, as of an event with this address. */
function statusOf(lookup: Lookup | undefined): 'ok' | 'filtered' | 'invalid_ip' {
  if (lookup === undefined) return 'invalid_ip'
  return lookup.noise ? 'filtered' : 'ok'
}

function sourceOf({ provenance, rule }: Lookup, attribute: Attribute): string {
  const source = provenance[attribute]
  if (source === undefined) return ''
  if (attribute === 'classification') return `${source.provider} (${rule})`
  return source.network === undefined ? source.provider : `${source.provider} ${source.network}`
}

/** The last column does not count: long values may stand in it. */
function aligned(rows: readonly (readonly string[])[]): string {
  const widths: number[] = []
  for (const row of rows.map(withoutBlanks)) {
    row.slice(0, -1).forEach((cell, column) => {
      widths[column] = Math.max(widths[column] ?? 0, [...cell].length)
    })
  }
  return rows
    .map((row) => {
      const cells = withoutBlanks(row)
      const padded = cells.map((cell, i) =>
        i === cells.length - 1 ? cell : cell + ' '.repeat(widths[i]! - [...cell].length),
      )
      return `${padded.join('   ')}\n`
    })
    .join('')
}

function withoutBlanks(row: readonly string[]): string[] {
  return row.filter((cell) => cell !== '')
}
