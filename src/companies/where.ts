import { COMPANY_LIMITS, type CompanyFilter, NOT_KNOWN } from '../../schemas/companies.ts'
import { InputError } from '../run/errors.ts'
import { formatOwnTerm, readOwnTerm } from './facts.ts'

/*
 * A filter as text: terms `KEY OPERATOR VALUE` between commas, such as `country=DE,visits>=3,page~/pricing`. A repeated key means any of
 * its values. A value with a comma or a quote is in double quotes, which are doubled inside. Conditions on own columns have the key
 * `own.COLUMN`.
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
const countryCode = (value: string) => (/^[a-z]{2}$/.test(value) ? value.toUpperCase() : value)

/** The keys in the order of `formatWhere`. */
const KEYS: Readonly<Record<string, Terms>> = {
  search: { '=': text('search'), '~': text('search') },
  industry: list('industry'),
  category: list('category'),
  country: list('country', countryCode),
  classification: list('classification'),
  source: list('source'),
  campaign: list('campaign'),
  tag: list('tag'),
  owner: list('owner'),
  status: list('status'),
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
const HEAD = /\s*(own\.[\p{L}\p{N}_]+|[a-z_]+)\s*(!=|>=|<=|=|>|<|~)\s*/uy
const QUOTED = /"((?:[^"]|"")*)"\s*(?=,|$)/y
const PLAIN = /[^,]*/y

/**
 * Reads a filter from text. Does not check that dates exist, nor that fields go together: see `assertFilter`.
 * @throws InputError that names the wrong term
 */
export function parseWhere(where: string): CompanyFilter {
  const max = COMPANY_LIMITS.whereMaxChars
  if (where.length > max) throw new InputError(`a filter has at most ${max} characters`)
  const terms: string[][] = []
  for (let at = 0; at < where.length; at++) {
    const rest = where.slice(at)
    const head = matchAt(HEAD, where, at)
    if (head === undefined) throw wrong(firstTerm(rest), `must be KEY, an operator and a value. ${HELP}`)
    at += head[0].length
    const quoted = matchAt(QUOTED, where, at)
    if (quoted === undefined && where[at] === '"') {
      throw wrong(firstTerm(rest), 'a value in quotes ends with a quote, and quotes inside are doubled')
    }
    const [all, value] = quoted ?? [...matchAt(PLAIN, where, at)!, undefined]
    at += all!.length
    terms.push([head[1]!, head[2]!, quoted === undefined ? all!.trim() : value!.replaceAll('""', '"')])
  }
  return filterOf(terms)
}

/**
 * Reads a filter from terms that were separated before, such as the parameters of a query. Their commas are part of values.
 * @throws InputError that names the wrong term
 */
export function parseTerms(texts: readonly string[]): CompanyFilter {
  return filterOf(
    texts.map((term) => {
      const head = matchAt(HEAD, term, 0)
      if (head === undefined) throw wrong(term, `must be KEY, an operator and a value. ${HELP}`)
      const value = term.slice(head[0].length)
      const quoted = /^"(.*)"$/s.exec(value)
      return [head[1]!, head[2]!, quoted === null ? value.trim() : quoted[1]!.replaceAll('""', '"')]
    }),
  )
}

/** The text of a filter: the inverse of `parseWhere`. Omits empty fields. */
export function formatWhere(filter: CompanyFilter): string {
  const written = new Set<Field>()
  const terms: string[] = []
  for (const [key, operators] of Object.entries(KEYS)) {
    for (const [operator, { field }] of Object.entries(operators)) {
      const value = filter[field]
      if (value === undefined || value === '' || written.has(field)) continue
      written.add(field)
      for (const item of Array.isArray(value) ? value : [value]) {
        terms.push(field === 'own' ? ownTerm(String(item)) : `${key}${operator}${quote(String(item))}`)
      }
    }
  }
  return terms.join()
}

function ownTerm(text: string): string {
  const { key, operator, value } = readOwnTerm(text)
  return `${OWN_COLUMN}${formatOwnTerm({ key, operator, value: quote(value) })}`
}

function quote(value: string): string {
  return value === '' || /[",]/.test(value) || value.trim() !== value ? `"${value.replaceAll('"', '""')}"` : value
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
