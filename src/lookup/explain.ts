import type { Attribute } from '../../schemas/attributes.ts'
import { DOUBTFUL } from '../../schemas/classification.ts'
import { shellWord } from '../run/shell-word.ts'
import type { Lookup } from './lookup.ts'

interface ExplainedValue {
  readonly provider: string
  readonly network: string | null
  /** Only for a value that a word of the organisation's name states. */
  readonly word?: string
  readonly precision?: number
}

/** The source of each value, the rule of the classification, and the queried providers. */
export interface Explanation {
  readonly attributes: Readonly<Partial<Record<Attribute, ExplainedValue>>>
  readonly rule: string
  /** Why events from there have no account, where the names alone do not tell. */
  readonly no_account?: string
  readonly asked: readonly string[]
  readonly answered: readonly string[]
  readonly partial: readonly string[]
}

/** @param asked names of all providers */
export function explain(lookup: Lookup, asked: readonly string[]): Explanation {
  const attributes = Object.fromEntries(
    Object.entries(lookup.provenance).map(([attribute, { provider, network, ...derived }]) => [
      attribute,
      { provider, network: network ?? null, ...derived },
    ]),
  )
  const { rule, answered, partial } = lookup
  const reason = noAccountReason(lookup)
  return {
    ...{ attributes, rule },
    ...(reason !== undefined && { no_account: reason }),
    ...{ asked: askedOf(lookup, asked), answered, partial },
  }
}

/** Why kept events from an address have no account, and what to do; undefined when they have one, and for other reasons. */
export function noAccountReason({ noise, companyId, rule, data }: Lookup): string | undefined {
  if (noise || companyId !== '') return undefined
  if (rule === 'person') return 'a private person holds the network'
  if (!rule.startsWith(DOUBTFUL)) return undefined
  const { asn, business_name: name } = data
  const what = `doubtful name: share ${rule.slice(DOUBTFUL.length)} of noise`
  if (asn === undefined || name === undefined) return what
  return `${what}; make it a company with ./ipid rules add TENANT is AS${asn} - ${shellWord(String(name))}`
}

/** The queried providers: none for a reserved address. */
export function askedOf({ classification }: Lookup, asked: readonly string[]): readonly string[] {
  return classification === 'reserved' ? [] : asked
}
