import { COMPANY_LIMITS, type CompanyFilter, NOT_KNOWN } from '../../schemas/companies.ts'
import { InputError } from '../run/errors.ts'
import { allOf, anyOf, CONDITION_LIMITS, type Condition, fieldOf, leavesOf, notOf, WHOLE_FIELDS } from './condition.ts'
import { readOwnTerm } from './facts.ts'
import { countryCodeOf } from './known-values.ts'
import { formatOwnTerm } from './own-term.ts'

/*
 * A filter as text: terms `KEY OPERATOR VALUE` between commas, such as `country=DE,visits>=3,page~/pricing`. A repeated key means any of
 * its values. A value with a comma or a quote is in double quotes, which are doubled inside. Conditions on own columns have the key
 * `own.COLUMN`.
 *
 * A term may also be an expression: `(country=DE or heat>=50) and not tag=customer`. In it, `not` binds closer than `and`, and `and` closer
 * than `or`. It begins with `(` or `not`, or has `and` or `or` before a key that exists; every other text is a value, as it always was.
 */

type Operator = '=' | '!=' | '>=' | '<=' | '>' | '<' | '~'
type Field = keyof CompanyFilter

/** Sets a field of a filter from the text of a value. */
interface Term {
  readonly field: Field
  readonly read: (text: string) => string | number
  readonly isList?: true
}

type Terms = Partial<Record<Operator, Term>>

const text = (field: Field): Term => ({ field, read: (value) => value })
const any = (field: Field, read = (value: string) => value): Term => ({ field, read, isList: true })
/** @param more added to the number, because `>2` is at least 3 */
const whole = (field: Field, more = 0): Term => ({
  field,
  read(value) {
    if (!/^\d{1,12}$/.test(value)) throw new InputError('must be a whole number')
    if (Number(value) + more < 0) throw new InputError('no count is below 0')
    return Number(value) + more
  },
})

const oneOf = (field: Field, values: readonly string[]): Term => ({
  field,
  read(value) {
    if (!values.includes(value)) throw new InputError(`must be ${values.join(' or ')}`)
    return value
  },
})

const list = (field: Field & `${string}`, read?: (value: string) => string): Terms => ({
  '=': any(field, read),
  '!=': any(`${field}_not` as Field, read),
})
const count = (name: 'visits' | 'events' | 'heat'): Terms => ({
  '>=': whole(`${name}_min`),
  '>': whole(`${name}_min`, 1),
  '<=': whole(`${name}_max`),
  '<': whole(`${name}_max`, -1),
})

/** The keys in the order of `formatWhere`. */
const KEYS: Readonly<Record<string, Terms>> = {
  search: { '=': text('search'), '~': text('search') },
  industry: list('industry'),
  category: list('category'),
  country: list('country', countryCodeOf),
  classification: list('classification', (value) => value.toLowerCase()),
  source: list('source'),
  campaign: list('campaign'),
  first_channel: list('first_channel'),
  last_channel: list('last_channel'),
  first_campaign: list('first_campaign'),
  last_campaign: list('last_campaign'),
  tag: list('tag'),
  owner: list('owner'),
  status: list('status'),
  fit: list('fit'),
  own: { '=': any('own', (value) => formatOwnTerm(readOwnTerm(value))) },
  page: { '=': any('page'), '~': any('page_contains') },
  page_visits: { '>=': whole('page_visits_min'), '>': whole('page_visits_min', 1) },
  visits: count('visits'),
  events: count('events'),
  heat: count('heat'),
  hidden: { '=': oneOf('hidden', ['without', 'only', 'with']) },
  merged: { '=': oneOf('merged', ['only']) },
  days: { '=': whole('days') },
  from: { '=': text('from') },
  to: { '=': text('to') },
  new_since: { '=': text('new_since') },
  new_days: { '=': whole('new_days') },
}

/** Names of fields are keys too, such as `visits_min=3`. */
const FIELDS: Readonly<Record<string, Terms>> = Object.fromEntries(
  Object.values(KEYS)
    .flatMap((terms) => [terms['='], terms['!='], terms['>='], terms['<='], terms['~']])
    .flatMap((term) => (term === undefined || Object.hasOwn(KEYS, term.field) ? [] : [[term.field, { '=': term }]])),
)

/** Names of all keys, for messages. */
export const WHERE_KEYS: readonly string[] = Object.keys(KEYS)

const OWN_COLUMN = 'own.'
const HEAD = /\s*(own\.[\p{L}\p{N}\p{M}_]+|[a-z_]+)\s*(!=|>=|<=|=|>|<|~)\s*/uy
const QUOTED = /"((?:[^"]|"")*)"\s*(?=,|$)/y
const PLAIN = /[^,]*/y

/**
 * Reads a filter from text. Does not check that dates exist, nor that fields go together: see `assertFilter`.
 * @throws InputError that names the wrong term, or its place in an expression
 */
export function parseWhere(where: string): CompanyFilter {
  assertLength(where)
  const terms: string[][] = []
  const expressions: Condition[] = []
  for (let at = 0; at < where.length; at++) {
    const start = at
    const rest = where.slice(at)
    const head = matchAt(HEAD, where, at)
    if (head !== undefined) at += head[0].length
    const quoted = head && matchAt(QUOTED, where, at)
    const plain = quoted === undefined ? matchAt(PLAIN, where, at)![0] : ''
    if (BEGINS_EXPRESSION.test(rest) || isConnected(plain)) {
      const reader = new ExpressionReader(where, start)
      expressions.push(reader.read())
      at = reader.at
      continue
    }
    if (head === undefined) throw wrong(firstTerm(rest), `must be KEY, an operator and a value. ${HELP}`)
    if (quoted === undefined && where[at] === '"') {
      throw wrong(firstTerm(rest), 'a value in quotes ends with a quote, and quotes inside are doubled')
    }
    at += quoted === undefined ? plain.length : quoted[0].length
    terms.push([head[1]!, head[2]!, quoted === undefined ? plain.trim() : unquoted(quoted[1]!)])
  }
  return combined(filterOf(terms), expressions)
}

/**
 * Reads a filter from terms that were separated before, such as the parameters of a query. Their commas are part of values. The parameter
 * `condition` is an expression.
 * @throws InputError that names the wrong term
 */
export function parseTerms(texts: readonly string[]): CompanyFilter {
  const expressions: Condition[] = []
  const terms = texts.flatMap((term) => {
    if (term.startsWith(CONDITION)) {
      expressions.push(readExpression(term.slice(CONDITION.length)))
      return []
    }
    if (BEGINS_EXPRESSION.test(term)) {
      expressions.push(readExpression(term))
      return []
    }
    const head = matchAt(HEAD, term, 0)
    if (head === undefined) throw wrong(term, `must be KEY, an operator and a value. ${HELP}`)
    const value = term.slice(head[0].length)
    const quoted = /^"(.*)"$/s.exec(value)
    return [[head[1]!, head[2]!, quoted === null ? value.trim() : unquoted(quoted[1]!)]]
  })
  return combined(filterOf(terms), expressions)
}

/** Reads the field `condition` of a filter. @throws InputError that names the place of the mistake */
export function parseCondition(text: string): Condition {
  const condition = readExpression(text)
  const whole = leavesOf(condition).find((leaf) => WHOLE_FIELDS.has(fieldOf(leaf)[0]))
  if (whole !== undefined) throw new InputError(`condition: ${wholeOnly(formatWhere(whole))}`)
  return condition
}

/** Both conditions. */
export function bothConditions(one: string, other: string): string {
  return formatCondition(allOf([parseCondition(one), parseCondition(other)]))
}

const CONDITION = 'condition='

function readExpression(text: string): Condition {
  assertLength(text)
  const reader = new ExpressionReader(text, 0)
  const condition = reader.read()
  if (reader.at < text.length) throw reader.wrong('an expression ends here, or goes on with and, or')
  return condition
}

function assertLength(where: string): void {
  const max = COMPANY_LIMITS.whereMaxChars
  if (where.length > max) throw new InputError(`a filter has at most ${max} characters`)
}

/** Terms that hold for the whole filter become its fields, where they fit. The rest becomes its condition. */
function combined(fields: CompanyFilter, expressions: readonly Condition[]): CompanyFilter {
  if (expressions.length === 0) return fields
  const filter: Record<string, unknown> = { ...fields }
  const rest: Condition[] = []
  const whole = allOf(expressions)
  for (const part of 'all' in whole ? whole.all : [whole]) {
    const [field, value] = 'is' in part ? fieldOf(part.is) : []
    if (field !== undefined && filter[field] === undefined) filter[field] = value
    else if (field !== undefined && WHOLE_FIELDS.has(field)) throw wrong(formatCondition(part), 'is given twice')
    else rest.push(part)
  }
  const inner = rest.flatMap(leavesOf).find((leaf) => WHOLE_FIELDS.has(fieldOf(leaf)[0]))
  if (inner !== undefined) throw new InputError(wholeOnly(formatWhere(inner)))
  return rest.length === 0 ? filter : { ...filter, condition: formatCondition(allOf(rest)) }
}

function wholeOnly(term: string): string {
  const key = /^[a-z_]+/.exec(term)![0]
  return `${JSON.stringify(term)}: "${key}" is about the whole filter. Write it outside of parentheses, or and not: ${term},(…)`
}

const BEGINS_EXPRESSION = /^\s*(?:\(|not[\s(])/i
const CONNECTION = /\s(?:and|or)[\s(]+(?:not[\s(]+)?([a-z_]+)(?:\.\S+?)?\s*(?:!=|>=|<=|=|>|<|~)/gi

/** Whether a text that may be a value has another term after `and` or `or`. */
function isConnected(text: string): boolean {
  for (const [, key] of text.matchAll(CONNECTION)) {
    if (Object.hasOwn(KEYS, key!) || Object.hasOwn(FIELDS, key!)) return true
  }
  return false
}

const SPACE = /\s*/y
const AND = /\s*and(?=[\s(),]|$)/iy
const OR = /\s*or(?=[\s(),]|$)/iy
const NOT = /\s*not(?=[\s(])/iy
const OPENS = /\s*\(/y
const CLOSES = /\s*\)/y
/** Without spaces after it, which are of the connection. */
const QUOTED_INSIDE = /"((?:[^"]|"")*)"/y
/** Bounded, so that a run of spaces is not read again for each of its characters. */
const PLAIN_INSIDE = /(?:(?!\s{1,9}(?:and|or)(?:[\s(),]|$))[^,()"])*/iy

/** Reads an expression. It ends at a comma outside of parentheses, or at the end of the text. */
class ExpressionReader {
  readonly #text: string
  at: number
  #depth = 0
  #terms = 0

  constructor(text: string, at: number) {
    this.#text = text
    this.at = at
  }

  /** @throws InputError that names the place */
  read(): Condition {
    const condition = this.#any()
    this.#take(SPACE)
    if (this.at < this.#text.length && this.#text[this.at] !== ',') {
      throw this.wrong('here comes and, or, a comma or the end; a value with parentheses or quotes is in double quotes')
    }
    return condition
  }

  wrong(what: string): InputError {
    this.#take(SPACE)
    const rest = this.#text.slice(this.at, this.at + PLACE_CHARS)
    const place = rest === '' ? 'at the end' : `at character ${this.at + 1}, ${JSON.stringify(rest)}`
    return new InputError(`${place}: ${what}`)
  }

  #any(): Condition {
    const parts = [this.#all()]
    while (this.#take(OR)) parts.push(this.#all())
    return anyOf(parts)
  }

  #all(): Condition {
    const parts = [this.#one()]
    while (this.#take(AND)) parts.push(this.#one())
    return allOf(parts)
  }

  #one(): Condition {
    const isNot = this.#take(NOT) !== undefined
    if (!isNot && this.#take(OPENS) === undefined) return this.#term()
    if (++this.#depth > CONDITION_LIMITS.depth) {
      throw this.wrong(`a filter has at most ${CONDITION_LIMITS.depth} levels of parentheses and not`)
    }
    const inner = isNot ? notOf(this.#one()) : this.#any()
    this.#depth--
    if (!isNot && this.#take(CLOSES) === undefined) throw this.wrong('here comes and, or, or a closing parenthesis')
    return inner
  }

  #term(): Condition {
    const start = this.at
    const head = this.#take(HEAD)
    if (head === undefined)
      throw this.wrong('here comes not, ( or a term, such as country=DE, heat>=50 or page~/pricing')
    const quoted = this.#take(QUOTED_INSIDE)
    const value = quoted === undefined ? this.#take(PLAIN_INSIDE)![0].trim() : unquoted(quoted[1]!)
    if (++this.#terms > CONDITION_LIMITS.terms) {
      throw this.wrong(`a filter has at most ${CONDITION_LIMITS.terms} terms between and and or`)
    }
    try {
      return { is: filterOf([[head[1]!, head[2]!, value]]) }
    } catch (error) {
      this.at = start
      throw this.wrong((error as Error).message)
    }
  }

  #take(pattern: RegExp): RegExpExecArray | undefined {
    const found = matchAt(pattern, this.#text, this.at)
    if (found !== undefined) this.at += found[0].length
    return found
  }
}

const PLACE_CHARS = 20

function unquoted(value: string): string {
  return value.replaceAll('""', '"')
}

/** The text of a condition, as `parseCondition` reads it. */
export function formatCondition(condition: Condition): string {
  if ('not' in condition) return `not (${formatCondition(condition.not)})`
  if ('is' in condition) {
    const isNot = fieldOf(condition.is)[0].endsWith('_not')
    return termsOf(condition.is, quoteInside).join(isNot ? ' and ' : ' or ')
  }
  const isAll = 'all' in condition
  const parts = isAll ? condition.all : condition.any
  return parts.map((part) => within(part, isAll)).join(isAll ? ' and ' : ' or ')
}

/** A part, in parentheses where it has the other connection. */
function within(part: Condition, isInAll: boolean): string {
  const text = formatCondition(part)
  const isList = 'is' in part && Array.isArray(fieldOf(part.is)[1]) && (fieldOf(part.is)[1] as []).length > 1
  const isAll = 'all' in part || (isList && fieldOf((part as { is: CompanyFilter }).is)[0].endsWith('_not'))
  const isAny = 'any' in part || (isList && !isAll)
  return (isInAll && isAny) || (!isInAll && isAll) ? `(${text})` : text
}

/** The text of a filter: the inverse of `parseWhere`. Omits empty fields. */
export function formatWhere(filter: CompanyFilter): string {
  const { condition, ...fields } = filter
  const terms = termsOf(fields, quote)
  return (condition === undefined || condition === '' ? terms : [...terms, `(${condition})`]).join()
}

/** @param quoted writes a value */
function termsOf(filter: CompanyFilter, quoted: (value: string) => string): string[] {
  return writtenTerms(filter).map(({ key, operator, value }) => `${key}${operator}${quoted(value)}`)
}

/** The terms of a filter, one for each value, as a person writes them. */
export function writtenTerms(filter: CompanyFilter): { key: string; operator: string; value: string }[] {
  const written = new Set<Field>()
  const terms: { key: string; operator: string; value: string }[] = []
  for (const [key, operators] of Object.entries(KEYS)) {
    for (const [operator, { field }] of Object.entries(operators)) {
      const value = filter[field]
      if (value === undefined || value === '' || written.has(field)) continue
      written.add(field)
      for (const item of Array.isArray(value) ? value : [value]) {
        terms.push(field === 'own' ? writtenOwnTerm(String(item)) : { key, operator, value: String(item) })
      }
    }
  }
  return terms
}

function writtenOwnTerm(text: string) {
  const { key, operator, value } = readOwnTerm(text)
  return { key: `${OWN_COLUMN}${key}`, operator, value }
}

function quote(value: string): string {
  const isPlain = value !== '' && !/[",]/.test(value) && value.trim() === value && !isConnected(value)
  return isPlain ? value : `"${value.replaceAll('"', '""')}"`
}

/** In an expression. */
function quoteInside(value: string): string {
  const isPlain =
    value !== '' && !/[",()]/.test(value) && value.trim() === value && !/\s(?:and|or)(?:\s|$)/i.test(value)
  return isPlain ? value : `"${value.replaceAll('"', '""')}"`
}

function filterOf(terms: readonly (readonly string[])[]): CompanyFilter {
  const filter: Record<string, string | number | string[]> = {}
  for (const [name, sign, text] of terms as readonly (readonly [string, Operator, string])[]) {
    const written = `${name}${sign}${text}`
    const [key, operator, value] = name.startsWith(OWN_COLUMN)
      ? (['own', '=', text === '' ? '' : written.slice(OWN_COLUMN.length)] as const)
      : ([name, sign, text] as const)
    const operators = Object.hasOwn(KEYS, key) ? KEYS[key]! : Object.hasOwn(FIELDS, key) ? FIELDS[key]! : undefined
    if (operators === undefined) throw wrong(written, `there is no filter "${key}". ${HELP}`)
    const term = operators[operator]
    if (term === undefined) throw wrong(written, `after "${key}" comes ${Object.keys(operators).join(' or ')}`)
    if (value === '') throw wrong(written, `has no value; "${NOT_KNOWN}" is an unknown one`)
    if (value.length > COMPANY_LIMITS.valueMaxChars) {
      throw wrong(written, `its value has more than ${COMPANY_LIMITS.valueMaxChars} characters`)
    }
    const known = filter[term.field]
    if (!term.isList && known !== undefined) throw wrong(written, `"${key}" is given twice`)
    const item = readValue(term, value, written)
    if (!term.isList) filter[term.field] = item
    else if (known === undefined) filter[term.field] = [String(item)]
    else if (!(known as string[]).includes(String(item))) (known as string[]).push(String(item))
  }
  return filter as CompanyFilter
}

function readValue({ read }: Term, value: string, written: string): string | number {
  try {
    return read(value)
  } catch (error) {
    throw wrong(written, (error as Error).message)
  }
}

const HELP = `Keys: ${Object.keys(KEYS).join(', ').replace(' own,', ' own.COLUMN,')}; for example industry=Software,visits>=3,page~/pricing`
const QUOTED_MAX_CHARS = 80

function wrong(term: string, what: string): InputError {
  return new InputError(`${JSON.stringify(term.trim().slice(0, QUOTED_MAX_CHARS))}: ${what}`)
}

function firstTerm(rest: string): string {
  return rest.split(',', 1)[0]!
}

function matchAt(pattern: RegExp, where: string, at: number): RegExpExecArray | undefined {
  pattern.lastIndex = at
  return pattern.exec(where) ?? undefined
}
