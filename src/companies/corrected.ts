/*
 * Queries of `events` that follow what people corrected (schemas/clickhouse/0015_corrections.sql). ClickHouse folds the scalar subquery to
 * a constant, so that the projections of `events` still serve a query that groups by `COMPANY`.
 */

/** Companies that are merged, and those that they count for. */
const MERGED = `
    SELECT (groupArray(company_id), groupArray(counts_for))
    FROM corrected_companies
    WHERE tenant_id = {tenant:String} AND counts_for != ''`

const countsFor = (merged: string, id = 'company_id') =>
  `transform(${id}, arrayPushBack(${merged}.1, ''), arrayPushBack(${merged}.2, ''), ${id})`

/** Begins a query that uses `COMPANY`. */
export const WITH_MERGED = `
  WITH (${MERGED}
  ) AS merged`

/** The company that an event counts for. A list without a value is refused, so each has one that changes nothing. */
export const COMPANY = countsFor('merged')

/** `sipHash64` of it: for many rows, numbers are compared several times as fast. */
export const COMPANY_HASH = `transform(
    sipHash64(company_id) AS company_hash,
    arrayPushBack(arrayMap(merged_id -> sipHash64(merged_id), merged.1), 0),
    arrayPushBack(arrayMap(merged_id -> sipHash64(merged_id), merged.2), 0),
    company_hash
  )`

/** The same for a query that is part of another one. @param id the column with the company of the event */
export const countsForOf = (id: string) => countsFor(`(${MERGED})`, id)
export const COUNTS_FOR = countsForOf('company_id')

/**
 * Condition on the events of the parameter `companies`, and of those that are merged into them. ClickHouse finds an id in a set faster than
 * what it counts for.
 */
export const IN_COMPANIES = `company_id IN (
    SELECT arrayJoin({companies:Array(String)})
    UNION ALL
    SELECT company_id FROM corrected_companies WHERE tenant_id = {tenant:String} AND counts_for IN {companies:Array(String)}
  )`

/** Whether people hid the company that an event counts for. */
export const IS_HIDDEN = `${COMPANY} IN
    (SELECT company_id FROM corrected_companies WHERE tenant_id = {tenant:String} AND is_hidden)`

/** Condition on events of known companies of the tenant, without hidden companies. */
export const OF_SHOWN = `tenant_id = {tenant:String} AND company_id > '' AND NOT ${IS_HIDDEN}`

/** Condition on the events of the parameter `company`, with those of the companies that are merged into it. */
export const OF_COMPANY = `tenant_id = {tenant:String} AND company_id IN (
    SELECT {company:String}
    UNION ALL
    SELECT company_id FROM corrected_companies WHERE tenant_id = {tenant:String} AND counts_for = {company:String}
  )`
