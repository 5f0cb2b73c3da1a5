import type { CompanyFilter } from '../../schemas/companies.ts'
import { InputError } from '../run/errors.ts'
import { readOwnTerm } from './facts.ts'
import { bothConditions } from './where.ts'

/** Lists of which a company has exactly one value. */
export const SINGLE_VALUED: readonly string[] = [
  ...['industry', 'category', 'country', 'classification', 'owner', 'status', 'fit'],
  ...['first_channel', 'last_channel', 'first_campaign', 'last_campaign'],
]
const SINGLE: ReadonlySet<string> = new Set(SINGLE_VALUED)
const DAYS = ['days', 'from', 'to'] as const

/**
 * A filter that keeps the companies of `base` that `further` keeps too.
 * @returns undefined when no company can be in both
 * @throws InputError when both have a field that one filter cannot combine
 */
export function narrowed(base: CompanyFilter, further: CompanyFilter): CompanyFilter | undefined {
  if (DAYS.some((name) => base[name] !== undefined) && DAYS.some((name) => further[name] !== undefined)) {
    throw new InputError('days: the segment has days already')
  }
  const all: Record<string, unknown> = { ...base }
  for (const [name, value] of Object.entries(further)) {
    const own = all[name]
    all[name] = own === undefined ? value : combined(name, own, value)
    if (SINGLE.has(name) && (all[name] as readonly string[]).length === 0) return undefined
  }
  return all as CompanyFilter
}

function combined(name: string, own: unknown, value: unknown): unknown {
  if (name.endsWith('_min')) return Math.max(own as number, value as number)
  if (name.endsWith('_max') || name === 'new_days') return Math.min(own as number, value as number)
  if (name === 'new_since') return Date.parse(own as string) > Date.parse(value as string) ? own : value
  if (Array.isArray(own) && Array.isArray(value)) {
    if (name.endsWith('_not')) return [...new Set([...own, ...value])]
    if (name === 'own' && !hasSameEqual(own, value)) return [...new Set([...own, ...value])]
    if (SINGLE.has(name)) return own.filter((one) => value.includes(one))
  }
  if (own === value) return own
  if (name === 'condition') return bothConditions(own as string, value as string)
  throw new InputError(`${name}: the segment has a filter on this already`)
}

/** Whether both want values of one own column: together they would mean any of them. */
function hasSameEqual(own: readonly string[], further: readonly string[]): boolean {
  const keysOf = (terms: readonly string[]) =>
    terms.map(readOwnTerm).flatMap(({ key, operator }) => (operator === '=' ? [key] : []))
  const keys = keysOf(own)
  return keysOf(further).some((key) => keys.includes(key))
}
