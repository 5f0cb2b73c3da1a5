import { ENRICHMENT_COLUMNS } from '../../../schemas/row.ts'
import { AGENT_KEYS, AGENT_PARENTS, KEY_END } from '../../enrichment/bots/claim.ts'
import { concerned } from '../../enrichment/tenant-rules/concern.ts'
import { quote } from '../../stores/clickhouse/quote.ts'
import type { BotAgents, Bucket, Selection, Slice } from './ports.ts'

/* SQL for reenrichment. Names of tables and columns are constants; values are parameters. */

/** The incomplete copy. */
export const BUILDING = 'reenrich_building'
/** The complete copy. A RENAME of the incomplete one creates it atomically. */
export const STAGED = 'reenrich_staged'
/** Changes of one bucket, by address and old values. */
export const CHANGES = 'reenrich_changes'

/** Columns that only the copy has. */
export const RUN = 'reenrich_run'
export const NOISE = 'reenrich_noise'
export const REASON = 'reenrich_reason'

const COLUMNS = ENRICHMENT_COLUMNS.join()

/** The columns in which `claimOf` looks for a user agent, in its order. */
export const AGENT_COLUMNS = ['properties', 'extra'] as const

const AGENT_TYPE = (() => {
  const names = AGENT_KEYS.map((key) => `\`${key}\` Nullable(String)`)
  const parents = AGENT_PARENTS.map(
    (parent) => `${parent} Tuple(${[...names, `context Tuple(${names.join()})`].join()})`,
  )
  return `Tuple(${[...names, ...parents].join()})`
})()

/** Elements of `AGENT_TYPE` in the order in which `claimOf` looks: the object, then each parent, then the context in it. */
const AGENT_PATHS = (() => {
  const keys = (before: string) => AGENT_KEYS.map((_, i) => `${before}.${i + 1}`)
  const parents = AGENT_PARENTS.flatMap((_, i) => {
    const parent = `found.${AGENT_KEYS.length + i + 1}`
    return [...keys(parent), ...keys(`${parent}.${AGENT_KEYS.length + 1}`)]
  })
  return [...keys('found'), ...parents]
})()

/** ClickHouse gives the JSON of a value that is no string. */
const NO_STRING = '^(?:[{[]|-?[0-9.eE+-]+$|true$|false$)'

const KEYS_PATTERN = AGENT_KEYS.join('|').replaceAll('$', String.raw`\$`)
const TEXT_PATTERN = String.raw`"(?:${KEYS_PATTERN})"\s*:\s*"((?:[^"\\]|\\.)*)"`

/** The texts of all user agents in a column, as JSON has them. */
const textsOf = (column: string) => `extractAll(${column}, ${quote(TEXT_PATTERN)})`

const mayHaveAgent = (column: string) => `position(${column}, '${KEY_END}') > 0`

/** The texts of all user agents, and their hashes for `Selection.botAgents`. */
export function agentsQuery(selection: Selection): string {
  return `
    SELECT arrayJoin(arrayConcat(${AGENT_COLUMNS.map(textsOf).join()})) AS text, toString(cityHash64(text))
    FROM events
    WHERE ${selected(selection)} AND (${AGENT_COLUMNS.map(mayHaveAgent).join(' OR ')})
    GROUP BY text`
}

/** The user agent in a column; `''` for one that is no bot's. */
function agentOf(column: string, bots: BotAgents): string {
  if (bots.length === 0) return "''"
  const isBot =
    bots === 'all' ? '' : ` AND arrayExists(text -> cityHash64(text) IN (${bots.join()}), ${textsOf(column)})`
  const found = `JSONExtract(${column}, ${quote(AGENT_TYPE)})`
  const texts = `arrayMap(found -> [${AGENT_PATHS.join()}], [${found}])[1]`
  const first = `ifNull(arrayFirst(text -> text IS NOT NULL AND NOT match(text, ${quote(NO_STRING)}), ${texts}), '')`
  return `if(${mayHaveAgent(column)}${isBot}, ${first}, '')`
}

const agentsOf = ({ botAgents = [] }: Selection, table = '') =>
  AGENT_COLUMNS.map((column) => agentOf(table + column, botAgents))

/** Hash of the enrichment columns and the user agents. @param table prefix with its dot */
const wasOf = (agents: readonly string[], table = '') =>
  `cityHash64(${[...ENRICHMENT_COLUMNS.map((column) => table + column), ...agents].join()})`

/** Identifies a row within a tenant and time span, in 16 bytes. */
export const KEY = 'sipHash128(event_id, received_at)'

/** Prefix of `outcomes.source` for events that a reenrichment filtered. Their key follows after a slash. */
export const REENRICHED = 'reenrich:'

export function selected({ job, concern }: Selection, bucket?: Bucket, table = ''): string {
  return [
    `${table}tenant_id = {tenant:String}`,
    `${table}received_at >= toDateTime64({from:String}, 3, 'UTC')`,
    `${table}received_at < toDateTime64({to:String}, 3, 'UTC') + INTERVAL 1 DAY`,
    `${table}received_at <= fromUnixTimestamp64Milli({until:Int64}, 'UTC')`,
    ...(job === undefined ? [] : [`${table}job_id = {job:String}`]),
    ...(concern === undefined ? [] : [concerned(concern, table)]),
    ...(bucket === undefined || bucket.of === 1 ? [] : [`sipHash64(${table}ip) % ${bucket.of} = ${bucket.index}`]),
  ].join(' AND ')
}

export function selectionParams({ tenantId, from, to, job, receivedUntilMs }: Selection): Record<string, unknown> {
  return {
    tenant: tenantId,
    from: `${from} 00:00:00`,
    to: `${to} 00:00:00`,
    until: receivedUntilMs,
    ...(job === undefined ? {} : { job }),
  }
}

export function groupsQuery(selection: Selection, bucket: Bucket): string {
  const names = AGENT_COLUMNS.map((column) => `agent_in_${column}`)
  const agents = agentsOf(selection).map((agent, i) => `${agent} AS ${names[i]}`)
  return `
    SELECT ip, account_id, toString(${wasOf(names)}),
      ${ENRICHMENT_COLUMNS.map((column) => `toString(${column})`).join()}, ${names.join()}, count()
    FROM (SELECT ip, account_id, ${COLUMNS}, ${agents.join()} FROM events WHERE ${selected(selection, bucket)})
    GROUP BY ip, account_id, ${COLUMNS}, ${names.join()}`
}

/** @param columns of events */
export function createBuilding(columns: readonly string[]): string {
  return `
    CREATE TABLE ${BUILDING} ENGINE = MergeTree ORDER BY received_at
    AS SELECT ${columns.join()}, toLowCardinality('') AS ${RUN}, false AS ${NOISE}, toLowCardinality('') AS ${REASON}
    FROM events LIMIT 0`
}

export const CREATE_CHANGES = `
  CREATE TABLE ${CHANGES} ENGINE = MergeTree ORDER BY (ip, was)
  AS SELECT ip, toUInt64(0) AS was, false AS ${NOISE}, toLowCardinality('') AS ${REASON}, ${COLUMNS} FROM events LIMIT 0`

/**
 * An account that was derived from the company changes with it. An account of the sender stays.
 * @param columns of events
 */
export function stageQuery(columns: readonly string[], selection: Selection, bucket: Bucket): string {
  const judged = new Set<string>(ENRICHMENT_COLUMNS)
  const values = columns.map((column) => {
    if (column === 'account_id') return 'if(e.account_id = e.company_id, c.company_id, e.account_id)'
    return judged.has(column) ? `c.${column}` : `e.${column}`
  })
  return `
    INSERT INTO ${BUILDING} (${[...columns, RUN, NOISE, REASON].join()})
    SELECT ${values.join()}, {run:String}, c.${NOISE}, c.${REASON}
    FROM events AS e
    INNER JOIN ${CHANGES} AS c ON e.ip = c.ip AND ${wasOf(agentsOf(selection, 'e.'), 'e.')} = c.was
    WHERE ${selected(selection, bucket, 'e.')}`
}

/** Has values in its text, because ClickHouse stores the text of a mutation without parameters. */
export function removeQuery(slice: Slice): string {
  return `ALTER TABLE events DELETE WHERE ${inSlice(slice)} AND ${KEY} IN (SELECT ${KEY} FROM ${STAGED} WHERE ${span(slice)})`
}

/** @param columns common to the copy and `events` */
export function insertQuery(columns: readonly string[], slice: Slice): string {
  const names = columns.join()
  return `INSERT INTO events (${names}) SELECT ${names} FROM ${STAGED} WHERE NOT ${NOISE} AND ${span(slice)}`
}

/** Whether `events` has the expected number of rows with keys of the slice. */
export function isInsertedQuery(slice: Slice): string {
  return `
    SELECT
      (SELECT count() FROM events WHERE ${inSlice(slice)} AND ${KEY} IN (SELECT ${KEY} FROM ${STAGED} WHERE ${span(slice)}))
      = (SELECT countIf(NOT ${NOISE}) FROM ${STAGED} WHERE ${span(slice)})`
}

/**
 * Adds a row for each event, so that a replay can identify them. Skips rows of an earlier attempt.
 * @param existing columns of the copy; that of an earlier version lacks some
 */
export function countFilteredQuery(status: string, existing: readonly string[]): string {
  const [reason, sourceId] = [REASON, 'source_id'].map((column) => (existing.includes(column) ? column : "''"))
  return `
    INSERT INTO outcomes (source, tenant_id, day, job_id, status, reason, classification, events, source_id)
    SELECT concat('${REENRICHED}', ${RUN}, '/', hex(${KEY})) AS source, tenant_id, toDate32(received_at) AS day, job_id,
      '${status}' AS status, ${reason} AS reason, classification, count() AS events, ${sourceId} AS source_id
    FROM ${STAGED}
    WHERE ${NOISE} AND source NOT IN
      (SELECT source FROM outcomes WHERE startsWith(source, '${REENRICHED}')
        AND substringIndex(source, '/', 1) IN (SELECT DISTINCT concat('${REENRICHED}', ${RUN}) FROM ${STAGED}))
    GROUP BY source, tenant_id, day, job_id, reason, classification, source_id`
}

function inSlice(slice: Slice): string {
  return `tenant_id = ${quote(slice.tenantId)} AND ${span(slice)}`
}

function span({ fromMs, toMs }: Slice): string {
  const at = (ms: number) => `fromUnixTimestamp64Milli(toInt64(${ms}), 'UTC')`
  return `received_at >= ${at(fromMs)} AND received_at < ${at(toMs)}`
}
