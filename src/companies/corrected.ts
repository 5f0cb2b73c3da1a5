import { quote } from '../stores/clickhouse/quote.ts'

/*
 * Queries that follow what people corrected. Companies are numbers here (`events.company`), which are compared several times as fast as
 * texts. Corrections are few, so they are part of the text of a query: ClickHouse uses an index for constants, and for no subquery.
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

/** Condition that people did not hide a company. @param company the number of one that no other one is counted for */
export const isShown = ({ hidden }: Corrected, company: string) =>
  hidden.length === 0 ? '1' : `${company} NOT IN (${hidden.join()})`

/** Condition on events of known companies of the tenant, without hidden companies. */
export const ofShown = (corrected: Corrected) =>
  `tenant_id = {tenant:String} AND company != 0 AND ${isShown(corrected, targetOf(corrected))}`

/** Condition on a column with the number of a company. */
export type OfCompanies = (company: string) => string

export const OF_KNOWN: OfCompanies = (company) => `${company} != 0`

/** Condition on those that count together with others, targets too, or `NOT IN`: on all others. */
export function ofMerged({ merged }: Corrected, of: OfCompanies, those: 'IN' | 'NOT IN'): OfCompanies {
  const concerned = [...new Set(merged.flatMap(([, , source, target]) => [source, target]))]
  return (company) => `${of(company)} AND ${company} ${those} (${concerned.join()})`
}

/**
 * Condition on companies, and on those that are merged into them. A company that counts for another one is none itself.
 * @param ids theirs
 */
export function ofThese({ merged }: Corrected, ids: readonly string[]): OfCompanies {
  const wanted = new Set(ids)
  for (const [source] of merged) wanted.delete(source)
  const own = [...wanted].map((id) => `sipHash64(${quote(id)})`)
  return ofListed([...own, ...merged.flatMap(([, target, number]) => (wanted.has(target) ? [number] : []))])
}

/** The same by their numbers. */
export function ofNumbers({ merged }: Corrected, numbers: readonly string[]): OfCompanies {
  const wanted = new Set(numbers)
  return ofListed([...wanted, ...merged.flatMap(([, , number, target]) => (wanted.has(target) ? [number] : []))])
}

/** A list without a value is refused, and 0 is no company. */
const ofListed =
  (listed: readonly string[]): OfCompanies =>
  (company) =>
    `${company} IN (${['0', ...listed].join()}) AND ${company} != 0`
