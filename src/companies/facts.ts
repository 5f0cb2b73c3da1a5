import { FACT_LIMITS, type OwnColumn, type OwnType, STATUSES } from '../../schemas/facts.ts'
import { type DateOrder, readTime } from '../pipeline/sources/batch/files/timestamps.ts'
import { readDisplayName } from '../run/display-name.ts'
import { InputError } from '../run/errors.ts'
import type { Parameters } from '../stores/clickhouse/reader.ts'
import { CORRECTIONS } from '../stores/clickhouse/tables.ts'
import { isDay, isNumber, type OwnTerm, parseOwnTerm } from './own-term.ts'

/*
 * Facts: what people know of a company, besides what its visits say. They are owner, tags, status, and values in columns of the tenant's own.
 * Facts are fields of the log of corrections (corrections/README.md), so they have its history, undo and merges. The log keeps them under the
 * id of a company, which is its domain in most cases: a fact may be older than the first visit.
 *
 * The row of a company has them as `owner`, `tags`, `status` and `own` (`ClickHouseCompanies`, `GET /v1/companies`, the view `companies`).
 * `CompanyCorrections` writes them: `correct` for a few companies, `../imports` for lists.
 */

/** In the log, the field of an own column begins with it. The row without a company defines the column. */
export const OWN = 'own:'

export const ownField = (key: string) => `${OWN}${key}`

/** Words of a key. Marks stay: without them, `Größe` (size) is the word for large, and some scripts lose their vowels. */
const KEY_WORDS = /[\p{L}\p{N}][\p{L}\p{N}\p{M}]*/gu

/**
 * The key of an own column, from a name that a person gives: `Account manager (EU)` is `account_manager_eu`. Composed and decomposed letters
 * have one key (Unicode NFKC).
 */
export function ownKeyOf(name: string): string {
  const words = name.normalize('NFKC').toLowerCase().replace(/['’]/g, '').match(KEY_WORDS) ?? []
  return words
    .join('_')
    .slice(0, FACT_LIMITS.columnKeyMaxChars)
    .replace(/[_\p{Cs}]$/u, '')
}

/** The definition of a column as it is in the log. */
export function formatColumn({ name, type }: Pick<OwnColumn, 'name' | 'type'>): string {
  return `${type} ${name}`
}

/** Definitions of the own columns of a tenant, for `readColumns`. */
export const OWN_COLUMNS_SQL = `
  SELECT field, argMax(log.value, (log.at, log.change_id)) AS held
  FROM ${CORRECTIONS} AS log
  WHERE tenant_id = {tenant:String} AND company_id = '' AND startsWith(field, '${OWN}')
  GROUP BY field
  HAVING held != ''
  ORDER BY field`

/** The own columns in rows of `OWN_COLUMNS_SQL`: the inverse of `formatColumn`. */
export function readColumns(rows: readonly DefinitionRow[]): OwnColumn[] {
  return rows.map(({ field, held }) => {
    const at = held.indexOf(' ')
    return { key: field.slice(OWN.length), name: held.slice(at + 1), type: held.slice(0, at) as OwnType }
  })
}

/** A row of `OWN_COLUMNS_SQL`. */
export interface DefinitionRow {
  readonly field: string
  readonly held: string
}

/**
 * Reads the name of a new own column.
 * @throws InputError when it has no letter or digit, or is too long
 */
export function readColumnName(text: string): string {
  const name = readDisplayName(text.replace(/\s+/g, ' '), 'the name of a column', FACT_LIMITS.columnNameMaxChars)
  if (ownKeyOf(name) === '')
    throw new InputError(`the name of a column, ${JSON.stringify(name)}, needs a letter or a digit`)
  return name
}

/** Reads a status. A suggested one is in lower case. @throws InputError when it is not one visible line */
export function readStatus(text: string): string {
  if (text.trim() === '') return ''
  const status = readDisplayName(text, 'a status', FACT_LIMITS.statusMaxChars)
  return STATUSES.find((suggested) => suggested === status.toLowerCase()) ?? status
}

export interface ValueForm {
  /** The mark before decimals where `1,234` and `1.234` may be two numbers. Default: a point. */
  readonly decimal?: '.' | ','
  /** How to read 01/02/2026. Default: such a date is refused. */
  readonly dateOrder?: DateOrder | undefined
}

/**
 * Reads a value of an own column, and returns it as it is kept: `1234.5`, `2026-11-30`, or the text. Numbers may have a currency, a percent
 * sign, and marks between thousands. Empty: no value.
 * @throws InputError that says what is wrong with it
 */
export function readOwnValue(type: OwnType, text: string, form: ValueForm = {}): string {
  const given = text.trim()
  if (given === '') return ''
  if (type === 'text') return readDisplayName(given.replace(/\s+/g, ' '), 'a value', FACT_LIMITS.textMaxChars)
  if (type === 'number') return readNumber(given, form.decimal ?? '.')
  const read = /^\d+$/.test(given) ? ({ problem: 'unknown' } as const) : readTime(given, form.dateOrder)
  if ('time' in read) return new Date(read.time).toISOString().slice(0, 10)
  throw new InputError(
    read.problem === 'ambiguous' ? `${shown(given)} may be day or month first` : `${shown(given)} is no date`,
  )
}

/** A currency before or after a number, or a percent sign. */
const SIGN = /^(?:\p{Sc}|[A-Z]{3}(?=[\d-]))|(?:[\p{Sc}%]|[A-Z]{3})$/gu
const SPACES = /[\s\u00a0\u202f'’]/g

function readNumber(text: string, decimal: '.' | ','): string {
  const bare = text.replace(SPACES, '').replace(SIGN, '')
  const plain = withPoint(bare, decimal)
  const value = /^[+-]?\d+(?:\.\d+)?$/.test(plain) ? Number(plain) : Number.NaN
  if (Number.isNaN(value)) throw new InputError(`${shown(text)} is no number`)
  if (Math.abs(value) >= FACT_LIMITS.numberMax) throw new InputError(`${shown(text)} is too large`)
  // A small number would be written with an exponent.
  return Math.abs(value) < 1e-6 ? '0' : String(value)
}

const GROUPS = { ',': /^[+-]?\d{1,3}(?:,\d{3})+$/, '.': /^[+-]?\d{1,3}(?:\.\d{3})+$/ } as const

/** A number without marks between thousands, and with a point before its decimals. */
function withPoint(text: string, decimal: '.' | ','): string {
  const [comma, point] = [text.lastIndexOf(','), text.lastIndexOf('.')]
  if (comma < 0 && point < 0) return text
  const last = comma > point ? ',' : '.'
  const other = last === ',' ? '.' : ','
  const hasBoth = comma >= 0 && point >= 0
  const isRepeated = text.indexOf(last) !== text.lastIndexOf(last)
  const isGrouped = GROUPS[last].test(text)
  // Alone, `1,234` is a thousand where the decimal mark is a point, and 1.234 where it is a comma.
  if (!hasBoth && isGrouped && (isRepeated || last !== decimal)) return text.replaceAll(last, '')
  if (isRepeated) return 'no number'
  const whole = text.slice(0, text.lastIndexOf(last))
  if (hasBoth && !GROUPS[other].test(whole)) return 'no number'
  return `${whole.replaceAll(other, '')}.${text.slice(text.lastIndexOf(last) + 1)}`
}

const TEXT_SHOWN_CHARS = 60

function shown(text: string): string {
  return `“${text.length > TEXT_SHOWN_CHARS ? `${text.slice(0, TEXT_SHOWN_CHARS)}…` : text}”`
}

/** Reads a condition of `CompanyFilter.own`. @throws InputError that says what is wrong */
export function readOwnTerm(text: string): OwnTerm {
  const term = parseOwnTerm(text)
  if (typeof term === 'string') throw new InputError(term)
  return term
}

/** The companies of a tenant whose value of the parameter's field, named `held`, meets a condition. */
const companiesWith = (field: string, condition: string) => `
    SELECT company_id
    FROM (SELECT company_id, argMax(log.value, (log.at, log.change_id)) AS held FROM ${CORRECTIONS} AS log
      WHERE tenant_id = {tenant:String} AND company_id != '' AND field = {${field}:String} GROUP BY company_id)
    WHERE held != '' AND ${condition}`

/**
 * Conditions on `company_id`, and their parameters, for the conditions of a filter on own columns. They read the log for their columns only,
 * which is several times as fast as a map of all values.
 */
export function ownConditions(terms: readonly string[]): {
  readonly conditions: readonly string[]
  readonly parameters: Parameters
} {
  const conditions: string[] = []
  const parameters: Record<string, string | number | readonly string[]> = {}
  const add = (
    key: string,
    isIn: boolean,
    condition: string,
    name?: string,
    value?: string | number | readonly string[],
  ) => {
    const field = `own_field_${conditions.length}`
    parameters[field] = ownField(key)
    if (name !== undefined) parameters[name] = value!
    conditions.push(`company_id ${isIn ? '' : 'NOT '}IN (${companiesWith(field, condition)})`)
  }
  const equal = new Map<string, string[]>()
  for (const { key, operator, value } of terms.map(readOwnTerm)) {
    const name = `own_${conditions.length}`
    if (operator === '=') {
      equal.set(key, [...(equal.get(key) ?? []), value])
    } else if (operator === '!=') {
      if (value === '-') add(key, true, '1')
      else add(key, false, `held IN {${name}:Array(String)}`, name, formsOf(value))
    } else if (operator === '~') {
      add(key, true, `positionCaseInsensitiveUTF8(held, {${name}:String}) > 0`, name, value)
    } else if (isDay(value)) {
      add(key, true, `toDate32OrNull(held) ${operator} {${name}:Date32}`, name, value)
    } else {
      add(key, true, `toFloat64OrNull(held) ${operator} {${name}:Float64}`, name, Number(value))
    }
  }
  for (const [key, values] of equal) {
    const name = `own_${conditions.length}`
    const wanted = values.filter((value) => value !== '-').flatMap(formsOf)
    if (!values.includes('-')) add(key, true, `held IN {${name}:Array(String)}`, name, wanted)
    // No value, or one of these: not another one.
    else add(key, false, `held NOT IN {${name}:Array(String)}`, name, wanted)
  }
  return { conditions, parameters }
}

/** A value as a person writes it, and as numbers are kept. */
function formsOf(value: string): string[] {
  return isNumber(value) ? [...new Set([value, String(Number(value))])] : [value]
}
