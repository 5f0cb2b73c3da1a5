import type { Attribute } from '../../schemas/attributes.ts'
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
  return { attributes, rule, asked: askedOf(lookup, asked), answered, partial }
}

/** The queried providers: none for a reserved address. */
export function askedOf({ classification }: Lookup, asked: readonly string[]): readonly string[] {
  return classification === 'reserved' ? [] : asked
}
