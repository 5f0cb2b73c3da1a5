import type { Attribute } from '../../../schemas/attributes.ts'
import { askedOf, type Explanation, explain, noAccountReason } from '../../lookup/explain.ts'
import type { Lookup, Provenance } from '../../lookup/lookup.ts'
import { visible } from '../../run/visible-text.ts'

/** One address and its lookup. */
export interface Found {
  readonly ip: string
  /** Undefined when `ip` is not an address. */
  readonly lookup: Lookup | undefined
  /** The tenant's rule that decided, or null for none; undefined without a tenant. */
  readonly rule?: string | null
}

/** @param asked names of the providers to explain; undefined without `--explain` */
type PrintAddress = (found: Found, asked: readonly string[] | undefined) => string

/** For text that is not an address. */
const NOT_ASKED: Explanation = { attributes: {}, rule: 'invalid_ip', asked: [], answered: [], partial: [] }

/** One line of JSON: status, quality and data as in answers of ingest, and the account that an event would get. */
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

/** A list of names and values, followed by a blank line. */
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
      const reason = noAccountReason(lookup)
      if (reason !== undefined) rows.push(['no account', reason, ''])
      rows.push(['rule', lookup.rule, ''], ['asked', askedOf(lookup, asked).join(', ') || '-', ''])
      rows.push(['answered', lookup.answered.join(', ') || '-', ''])
    }
    if (lookup.partial.length > 0) rows.push(['partial', lookup.partial.join(', '), ''])
  }
  return `${aligned(asked === undefined ? rows.map(([name, value]) => [name, value]) : rows)}\n`
}

/** The account and company of an event without an account of its own; undefined when the event is filtered. */
function accountOf(lookup: Lookup | undefined): string | undefined {
  return lookup === undefined || lookup.noise ? undefined : lookup.companyId || undefined
}

/** The status that ingest would answer for an event with this address. */
function statusOf(lookup: Lookup | undefined): 'ok' | 'filtered' | 'invalid_ip' {
  if (lookup === undefined) return 'invalid_ip'
  return lookup.noise ? 'filtered' : 'ok'
}

function sourceOf({ provenance, rule }: Lookup, attribute: Attribute): string {
  const source = provenance[attribute]
  if (source === undefined) return ''
  if (attribute === 'classification') return `${source.provider} (${rule})`
  if (source.word !== undefined) return `${source.provider} (word "${source.word}", right in ${percent(source)})`
  return source.network === undefined ? source.provider : `${source.provider} ${source.network}`
}

function percent({ precision }: Provenance): string {
  return `${Math.round((precision ?? 0) * 100)} %`
}

/** Pads all columns but the last one, whose values may be long. */
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
  return row.filter((cell) => cell !== '').map(visible)
}

/** A date as `2026-06-19`. */
export function day(date: Date | undefined): string | null {
  return date?.toISOString().slice(0, 10) ?? null
}
