import { type CompanyFilter, FIT_LEVELS, NOT_KNOWN } from '../../schemas/companies.ts'
import { FIT_LIMITS, type FitLine } from '../../schemas/dashboard/fit.ts'
import { InputError } from '../run/errors.ts'
import { quote } from '../stores/clickhouse/quote.ts'
import type { Parameters } from '../stores/clickhouse/reader.ts'
import { leavesOf } from './condition.ts'
import type { Corrected } from './corrected.ts'
import { ATTRIBUTE_COLUMNS, assertFilter, conditionsOf, parametersOf, resolveFilter } from './filter.ts'
import { formatWhere, parseCondition, parseWhere, writtenTerms } from './where.ts'

/*
 * Fit: how well a company is what a tenant says about good ones (README.md, Fit). A sign, as people know it, is a line here: the lines of a tenant are one text in the log of
 * corrections, for example `good industry=Software`, and become an expression over the columns of `companiesSql`: fit reads no event. Their values
 * are literals in the query, because the values of a filter fill the URL already.
 */

/** Fields of a filter that say what a company is, and not what it did. */
const FIELDS: ReadonlySet<string> = new Set<keyof CompanyFilter>([
  ...(['industry', 'category', 'country', 'classification', 'tag', 'owner', 'status'] as const),
  ...(['industry_not', 'category_not', 'country_not', 'classification_not', 'tag_not', 'owner_not'] as const),
  ...(['status_not', 'own', 'condition'] as const),
])

/**
 * Reads the condition of a line.
 * @throws InputError that says what is wrong
 */
function readLineFilter(where: string): CompanyFilter {
  const filter = parseWhere(where)
  if (Object.keys(filter).length === 0) throw new InputError('name a condition, such as industry=Software')
  const leaves = filter.condition === undefined ? [] : leavesOf(parseCondition(filter.condition))
  for (const part of [filter, ...leaves]) {
    const other = Object.keys(part).find((field) => !FIELDS.has(field))
    if (other === undefined) continue
    throw new InputError(
      `${other}: fit is about what a company is, not about what it did: use industry, category, country, classification, tag, status, owner or own.COLUMN`,
    )
  }
  assertFilter(filter)
  return filter
}

/**
 * The lines of a tenant as they are kept, in one spelling.
 * @throws InputError that names the wrong line, or says that there are too many terms
 */
export function formatFit(lines: readonly FitLine[]): string {
  const read = lines.map(({ is, where }, i) => {
    try {
      if (/\p{Cc}/u.test(where)) throw new InputError('write it in one line')
      const filter = readLineFilter(where)
      return { filter, text: `${is} ${formatWhere(filter)}` }
    } catch (error) {
      if (!(error instanceof InputError)) throw error
      throw new InputError(`sign ${i + 1}: ${error.message}`)
    }
  })
  const terms = read.reduce((sum, { filter }) => sum + termsIn(filter), 0)
  if (terms > FIT_LIMITS.terms) throw new InputError(`all signs together have at most ${FIT_LIMITS.terms} terms`)
  return [...new Set(read.map(({ text }) => text))].join('\n')
}

function termsIn({ condition, ...filter }: CompanyFilter): number {
  const leaves = condition === undefined ? [] : leavesOf(parseCondition(condition))
  return [filter, ...leaves].reduce((sum, part) => sum + writtenTerms(part).length, 0)
}

/** A line, and its words. */
export interface NamedLine extends FitLine {
  /** `Germany or Austria`, `employees at least 50` */
  readonly label: string
}

interface ReadLine extends NamedLine {
  readonly filter: CompanyFilter
}

/** The lines of a tenant. Leaves out a line that cannot be read, for example one of a later version. */
function readLines({ fit = '' }: Pick<Corrected, 'fit'>): ReadLine[] {
  return fit.split('\n').flatMap((text): ReadLine[] => {
    const [, is, where] = /^(good|poor) (.+)$/.exec(text) ?? []
    if (is === undefined || where === undefined) return []
    try {
      const filter = readLineFilter(where)
      return [{ is: is as FitLine['is'], where, label: labelOf(filter), filter }]
    } catch (error) {
      if (error instanceof InputError) return []
      throw error
    }
  })
}

/** The lines of a tenant, in their order. */
export function fitLinesOf(corrected: Pick<Corrected, 'fit'>): NamedLine[] {
  return readLines(corrected).map(({ is, where, label }) => ({ is, where, label }))
}

const NO_FIT = "'' AS fit, CAST([], 'Array(String)') AS fit_reasons"
/** The order of fits: the best one is the greatest. */
export const FIT_RANK = `indexOf([${[...FIT_LEVELS].reverse().map(quote).join()}], fit)`

/** The best fits first, in their order otherwise. */
export function bestFirst<T>(rows: readonly T[], fitOf: (row: T) => string): T[] {
  const levels: readonly string[] = [...FIT_LEVELS, '']
  const rank = (row: T) => levels.indexOf(fitOf(row))
  return rows.toSorted((a, b) => rank(a) - rank(b))
}

/**
 * Columns over rows of `companiesSql`: `fit`, a level or empty without lines, and `fit_reasons`, the words of the lines that decide.
 * A company that meets a line against it is a poor fit. One that meets more than half of the good lines is a good fit, one that meets any of
 * them an OK one, and one that meets none a poor one.
 */
export function fitColumns(corrected: Corrected): string {
  const lines = readLines(corrected)
  if (lines.length === 0) return NO_FIT
  const of = (is: FitLine['is']) => lines.filter((line) => line.is === is)
  const metBy = (some: readonly ReadLine[]) =>
    some.length === 0
      ? "CAST([], 'Array(String)')"
      : `arrayFilter((label, met) -> met, [${some.map(reasonOf).join()}], [${some.map(conditionOf).join()}])`
  const good = of('good')
  // Without good lines every company that no line speaks against is OK.
  const level =
    good.length === 0
      ? "'ok'"
      : `multiIf(length(fit_met) * 2 > ${good.length}, 'good', notEmpty(fit_met), 'ok', 'poor')`
  return `
    ${metBy(good)} AS fit_met,
    ${metBy(of('poor'))} AS fit_against,
    if(notEmpty(fit_against), 'poor', ${level}) AS fit,
    if(notEmpty(fit_against), fit_against, fit_met) AS fit_reasons`
}

/** SQL of a preview: the companies of each fit, and those that meet each line. @param rows of `companiesSql` */
export function fitPreviewSql(corrected: Corrected, rows: string): string {
  const met = readLines(corrected).map((line) => `countIf(${conditionOf(line)})`)
  return `
    SELECT ${FIT_LEVELS.map((level) => `countIf(fit = ${quote(level)}) AS ${level}`).join()},
      ${met.length === 0 ? "CAST([], 'Array(UInt64)')" : `[${met.join()}]`} AS met
    FROM (${rows})
    WHERE NOT hidden`
}

/** A line as a reason of a row: of several values the one that the company has. */
function reasonOf({ filter, label }: ReadLine): string {
  const [field, ...others] = Object.keys(filter)
  const column = others.length === 0 ? ATTRIBUTE_COLUMNS[field as keyof typeof ATTRIBUTE_COLUMNS] : undefined
  if (column === undefined) return quote(label)
  const values = filter[field as keyof typeof ATTRIBUTE_COLUMNS]!
  const held = values.map((value) => quote(value === NOT_KNOWN ? '' : value))
  const words = values.map((value) => quote(labelOf({ [field!]: [value] })))
  return `transform(${column}, [${held.join()}], [${words.join()}], ${quote(label)})`
}

/** The condition of a line on a row of `companiesSql`, 0 or 1. */
function conditionOf({ filter }: ReadLine): string {
  // No field of a line depends on the time.
  const resolved = resolveFilter(filter, 0, [])
  const { facets, others } = conditionsOf({ ...resolved, hidden: 'with' })
  return `toUInt8(${literal([...facets.values(), ...others].join(' AND '), parametersOf(resolved))})`
}

/** SQL with literals in place of its parameters; those without a value stay. */
function literal(sql: string, parameters: Parameters): string {
  return sql.replace(/\{(\w+):(\w+(?:\(\w+\))?)\}/g, (parameter, name: string, type: string) => {
    const value = parameters[name]
    if (value === undefined) return parameter
    const text = Array.isArray(value) ? `[${value.map((each) => quote(String(each))).join()}]` : quote(String(value))
    return `CAST(${text}, '${type}')`
  })
}

const COMPARED: Readonly<Record<string, string>> = {
  '>=': 'at least',
  '>': 'above',
  '<=': 'at most',
  '<': 'below',
  '~': 'contains',
}
const COUNTRIES = new Intl.DisplayNames('en', { type: 'region', fallback: 'code' })

/** A condition in words, as a reason: its values, with the key of an own column before them. */
function labelOf({ condition, ...fields }: CompanyFilter): string {
  const values = new Map<string, string[]>()
  for (const { key, operator, value } of writtenTerms(fields)) {
    const own = key.startsWith('own.') ? `${key.slice('own.'.length).replaceAll('_', ' ')} ` : ''
    const what = value === NOT_KNOWN ? `no ${own === '' ? key : own.trim()}` : wordOf(key, value)
    const text =
      operator === '!='
        ? `not ${own}${what}`
        : operator === '='
          ? `${value === NOT_KNOWN ? '' : own}${what}`
          : `${own}${COMPARED[operator]} ${what}`
    const group = `${operator} ${key}`
    values.set(group, [...(values.get(group) ?? []), text])
  }
  const all = [...values].map(([group, texts]) => texts.join(group.startsWith('= ') ? ' or ' : ' and '))
  return [...all, ...(condition === undefined ? [] : [condition])].join(', ')
}

function wordOf(key: string, value: string): string {
  return key === 'country' && /^[A-Z]{2}$/.test(value) ? (COUNTRIES.of(value) ?? value) : value
}
