import { type CompanyFilter, FILTER_PROPERTIES } from '../../schemas/companies.ts'

/*
 * Conditions with and, or, not. A leaf is a filter with one field. The rest of a filter, where all fields must hold, is beside its condition.
 */

/** @typeParam L of a leaf */
export type Condition<L = CompanyFilter> =
  | { readonly all: readonly Condition<L>[] }
  | { readonly any: readonly Condition<L>[] }
  | { readonly not: Condition<L> }
  | { readonly is: L }

export const CONDITION_LIMITS = {
  /** Parentheses in each other, and `not`. */
  depth: 8,
  /** Terms, counting each value. */
  terms: 100,
} as const

/** Fields of the whole filter: they say which events count, or need another field. */
export const WHOLE_FIELDS: ReadonlySet<string> = new Set<keyof CompanyFilter>([
  ...(['days', 'from', 'to', 'hidden', 'merged', 'page_visits_min', 'condition'] as const),
])

/** The field of a leaf, and its value. */
export function fieldOf(leaf: CompanyFilter): readonly [keyof CompanyFilter, unknown] {
  return Object.entries(leaf)[0] as [keyof CompanyFilter, unknown]
}

/** All leaves, from left to right. */
export function leavesOf<L>(condition: Condition<L> | undefined): readonly L[] {
  if (condition === undefined) return []
  if ('is' in condition) return [condition.is]
  return 'not' in condition ? leavesOf(condition.not) : partsOf(condition).flatMap(leavesOf)
}

/** The same condition with other leaves. */
export function mapLeaves<L, M>(condition: Condition<L>, map: (leaf: L) => M): Condition<M> {
  if ('is' in condition) return { is: map(condition.is) }
  if ('not' in condition) return { not: mapLeaves(condition.not, map) }
  return 'all' in condition
    ? { all: condition.all.map((part) => mapLeaves(part, map)) }
    : { any: condition.any.map((part) => mapLeaves(part, map)) }
}

/** A condition as SQL. @param sqlOf the SQL of a leaf */
export function conditionSql<L>(condition: Condition<L>, sqlOf: (leaf: L) => string): string {
  if ('is' in condition) return `(${sqlOf(condition.is)})`
  if ('not' in condition) return `(NOT ${conditionSql(condition.not, sqlOf)})`
  const parts = partsOf(condition).map((part) => conditionSql(part, sqlOf))
  return `(${parts.join('all' in condition ? ' AND ' : ' OR ')})`
}

function partsOf<L>(condition: { readonly all: readonly Condition<L>[] } | { readonly any: readonly Condition<L>[] }) {
  return 'all' in condition ? condition.all : condition.any
}

/** All of these. Joins lists of values that none may be. */
export function allOf(parts: readonly Condition[]): Condition {
  const flat = parts.flatMap((part) => ('all' in part ? part.all : [part]))
  const joined = joinedLists(flat, (field) => field.endsWith('_not'))
  return joined.length === 1 ? joined[0]! : { all: joined }
}

/** Any of these. Joins lists of values that one must be. */
export function anyOf(parts: readonly Condition[]): Condition {
  const flat = parts.flatMap((part) => ('any' in part ? part.any : [part]))
  const joined = joinedLists(flat, isPair)
  return joined.length === 1 ? joined[0]! : { any: joined }
}

/** The opposite. That of `country` is `country_not`. */
export function notOf(part: Condition): Condition {
  if ('not' in part) return part.not
  if (!('is' in part)) return { not: part }
  const [field, value] = fieldOf(part.is)
  if (field.endsWith('_not')) return { is: { [field.slice(0, -'_not'.length)]: value } }
  return isPair(field) ? { is: { [`${field}_not`]: value } } : { not: part }
}

/** Whether a list of values has a counterpart `…_not`. */
function isPair(field: string): boolean {
  return Object.hasOwn(FILTER_PROPERTIES, `${field}_not`)
}

/** Leaves of the same field as one, where `joins` allows it. Keeps the order of first fields. */
function joinedLists(parts: readonly Condition[], joins: (field: string) => boolean): Condition[] {
  const found: Condition[] = []
  const places = new Map<string, number>()
  for (const part of parts) {
    const [field, value] = 'is' in part ? fieldOf(part.is) : []
    if (field === undefined || !joins(field)) {
      found.push(part)
      continue
    }
    const place = places.get(field)
    if (place === undefined) {
      places.set(field, found.length)
      found.push(part)
      continue
    }
    const known = fieldOf((found[place] as { readonly is: CompanyFilter }).is)[1] as readonly string[]
    found[place] = { is: { [field]: [...new Set([...known, ...(value as readonly string[])])] } }
  }
  return found
}
