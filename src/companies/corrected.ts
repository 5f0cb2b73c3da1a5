import { quote } from '../stores/clickhouse/quote.ts'

/*
 * Conditions of queries that follow corrections by people. Companies are numbers here (`events.company`), which are compared several times as
 * fast as texts. Corrections are constants in the text of a query, because ClickHouse chooses an index by constants and not by subqueries.
 */

/** What people merged and hid. Numbers are texts, since they have up to 20 digits. */
export interface Corrected {
  /** Merged companies, and the ones that they count for. */
  readonly merged: readonly Merged[]
  /** Numbers of hidden companies. */
  readonly hidden: readonly string[]
}

type Merged = readonly [id: string, target: string, number: string, targetNumber: string]

const numbers = (values: readonly string[]) => `CAST([${values.join()}], 'Array(UInt64)')`

/** The number of the company that a number counts for. */
export const targetOf = ({ merged }: Corrected, company = 'company') =>
  merged.length === 0
    ? company
    : `transform(${company}, ${numbers(merged.map(([, , number]) => number))}, ${numbers(merged.map(([, , , number]) => number))}, ${company})`

/** The same for ids. */
export const targetIdOf = ({ merged }: Corrected, id = 'company_id') =>
  merged.length === 0
    ? id
    : `transform(${id}, [${merged.map(([source]) => quote(source)).join()}], [${merged.map(([, target]) => quote(target)).join()}], ${id})`

/** Condition that people did not hide a company. @param company its number, after merges */
export const isVisible = ({ hidden }: Corrected, company: string) =>
  hidden.length === 0 ? '1' : `${company} NOT IN (${hidden.join()})`

/** Condition on events of the tenant's known companies that people did not hide. */
export const isVisibleEvent = (corrected: Corrected) =>
  `tenant_id = {tenant:String} AND company != 0 AND ${isVisible(corrected, targetOf(corrected))}`

/** Condition on a column with the number of a company. */
export type CompanyCondition = (company: string) => string

export const IS_KNOWN_COMPANY: CompanyCondition = (company) => `${company} != 0`

/** Numbers of merged companies and of their targets. */
const concernedBy = ({ merged }: Corrected) => new Set(merged.flatMap(([, , source, target]) => [source, target]))

/** Narrows a condition to companies that count together with others, targets too. There must be some. */
export const onlyMerged =
  (corrected: Corrected, companies: CompanyCondition): CompanyCondition =>
  (company) =>
    `${companies(company)} AND ${company} IN (${[...concernedBy(corrected)].join()})`

/** Narrows a condition to all other companies. */
export const withoutMerged =
  (corrected: Corrected, companies: CompanyCondition): CompanyCondition =>
  (company) =>
    `${companies(company)} AND ${company} NOT IN (${[...concernedBy(corrected)].join()})`

/**
 * Condition on companies by their ids. It includes the companies that are merged into them, and leaves out ids that are merged into others.
 */
export function inCompanyIds({ merged }: Corrected, ids: readonly string[]): CompanyCondition {
  const wanted = new Set(ids)
  for (const [source] of merged) wanted.delete(source)
  const own = [...wanted].map((id) => `sipHash64(${quote(id)})`)
  return inNumbers([...own, ...merged.flatMap(([, target, number]) => (wanted.has(target) ? [number] : []))])
}

/** The same by their numbers. */
export function inCompanyNumbers({ merged }: Corrected, numbers: readonly string[]): CompanyCondition {
  const wanted = new Set(numbers)
  return inNumbers([...wanted, ...merged.flatMap(([, , number, target]) => (wanted.has(target) ? [number] : []))])
}

/** ClickHouse refuses an empty list. The 0 in it is no company. */
const inNumbers =
  (listed: readonly string[]): CompanyCondition =>
  (company) =>
    `${company} IN (${['0', ...listed].join()}) AND ${company} != 0`
