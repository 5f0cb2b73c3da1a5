import { quote } from '../stores/clickhouse/quote.ts'

/*
 * Conditions of queries that follow corrections by people. Companies are numbers here (`events.company`), which are compared several times as
 * fast as texts. Corrections are constants in the text of a query, because ClickHouse chooses an index by constants and not by subqueries.
 */

/** Merges, hidden companies and settings of a tenant. Numbers are texts, since they have up to 20 digits. */
export interface Corrected {
  /** Merged companies, and the ones that they count for. */
  readonly merged: readonly Merged[]
  /** Numbers of hidden companies. */
  readonly hidden: readonly string[]
  /** See `heatWeightsOf`. Empty: the default. */
  readonly heat_weights?: string
  /** See `fitLinesOf`. Empty: the tenant says nothing about good companies. */
  readonly fit?: string
}

/** No merges and no hidden companies. */
export const UNCORRECTED: Corrected = { merged: [], hidden: [] }

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

/** Condition on a column with the number of a company. */
export type NumberCondition = (company: string) => string

/**
 * Known companies of a tenant, as stored: events of merged companies have their own number. A query whose numbers do not add up in a merge
 * reads `unmerged` and `merged` by themselves.
 */
export interface CompanyCondition {
  readonly all: NumberCondition
  /** Companies without a merge; undefined: there are none. */
  readonly unmerged?: NumberCondition
  /** Merged ones, and those that they count for; undefined: there are none. */
  readonly merged?: NumberCondition
}

/** All known companies. */
export const knownCompanies = (corrected: Corrected) => byMerges(corrected, (company) => `${company} != 0`)

/** All known companies, and the number 0 of events without one. */
export const companiesAndUnknown = (corrected: Corrected) => byMerges(corrected, () => '1')

function byMerges({ merged }: Corrected, all: NumberCondition): CompanyCondition {
  if (merged.length === 0) return { all, unmerged: all }
  const concerned = [...new Set(merged.flatMap(([, , source, target]) => [source, target]))].join()
  return {
    all,
    unmerged: (company) => `${all(company)} AND ${company} NOT IN (${concerned})`,
    merged: (company) => `${company} IN (${concerned}) AND ${company} != 0`,
  }
}

/** Companies by their ids, with those that are merged into them, and without ids that are merged into others. */
export function inCompanyIds({ merged }: Corrected, ids: readonly string[]): CompanyCondition {
  return companiesIn(
    ids,
    merged,
    ([source]) => source,
    ([, target]) => target,
    (id) => `sipHash64(${quote(id)})`,
  )
}

/** The same by their numbers. */
export function inCompanyNumbers({ merged }: Corrected, numbers: readonly string[]): CompanyCondition {
  return companiesIn(
    numbers,
    merged,
    ([, , source]) => source,
    ([, , , target]) => target,
    (number) => number,
  )
}

function companiesIn(
  keys: readonly string[],
  merged: readonly Merged[],
  sourceOf: (merge: Merged) => string,
  targetOf: (merge: Merged) => string,
  numberOf: (key: string) => string,
): CompanyCondition {
  const wanted = new Set(keys)
  for (const merge of merged) wanted.delete(sourceOf(merge))
  const merges = merged.filter((merge) => wanted.has(targetOf(merge)))
  const together = new Set(merges.flatMap(([, , source, target]) => [source, target]))
  for (const merge of merges) wanted.delete(targetOf(merge))
  const others = [...wanted].map(numberOf)
  return {
    all: inNumbers([...others, ...together]),
    ...((others.length > 0 || together.size === 0) && { unmerged: inNumbers(others) }),
    ...(together.size > 0 && { merged: inNumbers([...together]) }),
  }
}

/** ClickHouse refuses an empty list. The 0 in it is no company. */
const inNumbers =
  (listed: readonly string[]): NumberCondition =>
  (company) =>
    `${company} IN (${['0', ...listed].join()}) AND ${company} != 0`
