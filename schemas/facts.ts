import { type Static, Type } from 'typebox'

/** Suggested statuses of companies. Any other word is allowed. */
export const STATUSES = ['customer', 'open deal', 'prospect', 'partner', 'competitor', 'past customer'] as const

/** Limits of facts about companies: what people know of them. */
export const FACT_LIMITS = {
  statusMaxChars: 50,
  /** Own columns of a tenant. */
  columns: 20,
  columnKeyMaxChars: 40,
  columnNameMaxChars: 60,
  /** A text in an own column. */
  textMaxChars: 300,
  /** Numbers from this size on, above or below zero, are refused. */
  numberMax: 1e15,
  /** Conditions on own columns of one filter. */
  terms: 20,
} as const

/** Types of own columns. */
export const OWN_TYPES = ['text', 'number', 'date'] as const
export type OwnType = (typeof OWN_TYPES)[number]

/** Letters and digits of any script, in lower case, joined by `_`. */
export const OWN_KEY = '^[\\p{L}\\p{N}]+(?:_[\\p{L}\\p{N}]+)*$'

/** Values of own columns by the key of the column, as texts: `1000000`, `12.5`, `2026-11-30`. Columns without a value are absent. */
export const OwnValues = Type.Record(Type.String(), Type.String(), {
  description:
    'Values of own columns by key, as texts: numbers such as `1000000`, dates such as `2026-11-30`. Columns without a value are absent',
})
export type OwnValues = Static<typeof OwnValues>

/** A column of a tenant's own. */
export const OwnColumn = Type.Object({
  /** Its name in filters: `own.KEY`. */
  key: Type.String(),
  /** As a person gave it. */
  name: Type.String(),
  type: Type.Enum([...OWN_TYPES]),
})
export type OwnColumn = Static<typeof OwnColumn>

/** An own column, and the companies that have a value in it. */
export const CountedColumn = Type.Object({ ...OwnColumn.properties, companies: Type.Integer() })
export type CountedColumn = Static<typeof CountedColumn>
