import { FACT_LIMITS, OWN_KEY } from '../../schemas/facts.ts'

/* Conditions on own columns as texts. The pages import this file, so it imports schemas only. */

const OPERATORS = ['=', '!=', '~', '>=', '>', '<=', '<'] as const
type Operator = (typeof OPERATORS)[number]

/** A condition on an own column. */
export interface OwnTerm {
  readonly key: string
  readonly operator: Operator
  /** `-`: no value. */
  readonly value: string
}

const OPERATOR = /!=|>=|<=|=|>|<|~/
const KEY = new RegExp(OWN_KEY, 'u')
const DATE = /^\d{4}-\d{2}-\d{2}$/
const NUMBER = /^-?\d{1,15}(?:\.\d{1,10})?$/

/** Parses a condition of `CompanyFilter.own`, such as `revenue>=1000000`. @returns a text that says what is wrong, for an invalid one */
export function parseOwnTerm(text: string): OwnTerm | string {
  const found = OPERATOR.exec(text)
  const key = text.slice(0, found?.index).trim().normalize('NFKC').toLowerCase()
  if (found === null || !KEY.test(key) || key.length > FACT_LIMITS.columnKeyMaxChars) {
    return 'must be the key of an own column, an operator and a value, as in revenue>=1000000'
  }
  const operator = found[0] as Operator
  const term = { key, operator, value: text.slice(found.index + operator.length).trim() }
  if (term.value === '') return 'has no value; "-" is no value'
  if (isComparison(term.operator) && !isNumber(term.value) && !isDay(term.value)) {
    return `after "${operator}" comes a number, such as 1000000, or a date, such as 2026-11-30`
  }
  return term
}

export function formatOwnTerm({ key, operator, value }: OwnTerm): string {
  return `${key}${operator}${value}`
}

function isComparison(operator: Operator): boolean {
  return operator.startsWith('>') || operator.startsWith('<')
}

/** Whether a text is a date as own columns keep it: `2026-11-30`. */
export function isDay(text: string): boolean {
  const ms = DATE.test(text) ? Date.parse(text) : Number.NaN
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(text)
}

/** Whether a text is a number as conditions have it: `-1234.5`. */
export function isNumber(text: string): boolean {
  return NUMBER.test(text)
}
