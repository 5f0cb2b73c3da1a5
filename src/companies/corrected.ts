/*
 * Queries that follow what people corrected. Companies are numbers here (`events.company`), which are compared several times as fast as
 * texts. ClickHouse folds the scalar subquery to a constant, so that a query that groups by `targetOf` still reads projections of `events`.
 */

/** Whether the tenant has corrections of these kinds: without them, a query has no part that follows them. */
export interface Corrected {
  /** Whether companies are merged into others. */
  readonly isMerged: boolean
  /** Whether companies are hidden. */
  readonly isHidden: boolean
}

const MERGES = "FROM corrected_companies WHERE tenant_id = {tenant:String} AND counts_for != ''"
const NUMBERS = `(SELECT (groupArray(sipHash64(company_id)), groupArray(sipHash64(counts_for))) ${MERGES})`
const IDS = `(SELECT (groupArray(company_id), groupArray(counts_for)) ${MERGES})`

/** The number of the company that a number counts for. A list without a value is refused, so each has one that changes nothing. */
export const targetOf = ({ isMerged }: Corrected, company = 'company') =>
  isMerged
    ? `transform(${company}, arrayPushBack(${NUMBERS}.1, 0), arrayPushBack(${NUMBERS}.2, 0), ${company})`
    : company

/** The same for ids. */
export const targetIdOf = ({ isMerged }: Corrected, id = 'company_id') =>
  isMerged ? `transform(${id}, arrayPushBack(${IDS}.1, ''), arrayPushBack(${IDS}.2, ''), ${id})` : id

/** Companies that are merged into others, and those. */
export const MERGED_NUMBERS = `(SELECT arrayJoin([sipHash64(company_id), sipHash64(counts_for)]) ${MERGES})`

/** Condition that people did not hide a company. @param company the number of one that no other one is counted for */
export const isShown = ({ isHidden }: Corrected, company: string) =>
  isHidden
    ? `${company} NOT IN (SELECT sipHash64(company_id) FROM corrected_companies WHERE tenant_id = {tenant:String} AND is_hidden)`
    : '1'

/** Condition on events of known companies of the tenant, without hidden companies. */
export const ofShown = (corrected: Corrected) =>
  `tenant_id = {tenant:String} AND company != 0 AND ${isShown(corrected, targetOf(corrected))}`

/** Condition on a column with the number of a company. */
export type OfCompanies = (company: string) => string

export const OF_KNOWN: OfCompanies = (company) => `${company} != 0`

/** The numbers of the companies in the parameter `companies`, and those in the parameter `numbers`. */
const NAMED = 'SELECT sipHash64(arrayJoin({companies:Array(String)}))'
export const NUMBERED = 'SELECT toUInt64(arrayJoin({numbers:Array(String)}))'

/** Condition on some companies, and on those that are merged into them. */
export function ofThese(corrected: Corrected, these = NAMED): OfCompanies {
  if (!corrected.isMerged) return (company) => `${company} IN (${these})`
  const merged = `SELECT sipHash64(company_id) ${MERGES} AND sipHash64(counts_for) IN (${these})`
  return (company) => `${company} IN (${these} UNION ALL ${merged}) AND ${targetOf(corrected, company)} IN (${these})`
}

/** Condition on the company of the parameter `company`, and on those that are merged into it. */
export function ofOne({ isMerged }: Corrected): OfCompanies {
  const one = 'sipHash64({company:String})'
  const merged = `SELECT sipHash64(company_id) ${MERGES} AND counts_for = {company:String}`
  return (company) => (isMerged ? `${company} IN (SELECT ${one} UNION ALL ${merged})` : `${company} = ${one}`)
}
