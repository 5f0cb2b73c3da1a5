import { ENRICHMENT_COLUMNS } from '../../../schemas/row.ts'
import { AGENT_KEYS, AGENT_PARENTS, KEY_END } from '../../enrichment/judge.ts'
import { inScope } from '../../enrichment/tenant-rules/rule-scope.ts'
import { quote } from '../../stores/clickhouse/quote.ts'
import { EVENTS, HIDDEN, HIDDEN_CHANGES, OUTCOMES } from '../../stores/clickhouse/tables.ts'
import type { BotAgents, Bucket, Portion, RowPlace, Selection, Slice } from './ports.ts'

/* SQL for reenrichment. Names of tables and columns are constants; values are parameters. */

/** The incomplete copy. */
export const BUILDING = 'reenrich_building'
/** The complete copy. A RENAME of the incomplete one creates it atomically. */
export const STAGED = 'reenrich_staged'
/** Changes of one bucket, by address and old values. */
export const CHANGES = 'reenrich_changes'

/** Which table on a host has the rows of one of ours: see `Hosts.holder`. */
type Holder = (table: string) => string

/** The tables with rows, by their public names. */
export const TABLE_OF: Readonly<Record<RowPlace, string>> = { events: EVENTS.name, hidden: HIDDEN }

/** Columns that only the copy has. */
export const RUN = 'reenrich_run'
/** The maker of the request. */
const BY = 'reenrich_by'
/** The `Place` that an event comes from, and the one that it goes to. */
const FROM = 'reenrich_from'
const TO = 'reenrich_to'
/** The reason why it is or was hidden, and its class as noise. */
const RULE = 'reenrich_rule'
const REASON = 'reenrich_reason'
const CLASS = 'reenrich_class'
/** Whether an event is removed, in a copy of an earlier version: it had neither places nor rules. */
const NOISE = 'reenrich_noise'
const OWN = [RUN, BY, FROM, TO, RULE, REASON, CLASS]
/** Columns that are not of `events`. */
export const OTHER_COLUMNS: readonly string[] = [...OWN, NOISE, 'hidden_rule', 'hidden_reason', 'hidden_class']
/** The columns of `CHANGES`. */
export const CHANGE_COLUMNS = ['ip', 'was', TO, RULE, REASON, CLASS, ...ENRICHMENT_COLUMNS] as const

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

/** ClickHouse returns the JSON of a value that is not a string. */
const NO_STRING = '^(?:[{[]|-?[0-9.eE+-]+$|true$|false$)'

const KEYS_PATTERN = AGENT_KEYS.join('|').replaceAll('$', String.raw`\$`)
const TEXT_PATTERN = String.raw`"(?:${KEYS_PATTERN})"\s*:\s*"((?:[^"\\]|\\.)*)"`

/** The texts of all user agents in a column, as JSON has them. */
const textsOf = (column: string) => `extractAll(${column}, ${quote(TEXT_PATTERN)})`

const mayHaveAgent = (column: string) => `position(${column}, '${KEY_END}') > 0`

/** The texts of all user agents, and their hashes for `Selection.botAgents`. */
export function agentsQuery(selection: Selection, from: RowPlace): string {
  return `
    SELECT arrayJoin(arrayConcat(${AGENT_COLUMNS.map(textsOf).join()})) AS text, toString(cityHash64(text))
    FROM ${TABLE_OF[from]}
    WHERE ${selected(selection, { from })} AND (${AGENT_COLUMNS.map(mayHaveAgent).join(' OR ')})
    GROUP BY text`
}

/** The user agent in a column; `''` unless it is a bot's. */
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

/** The reason why an event is hidden, as texts; nothing for one that is not hidden. */
const HIDING: Readonly<Record<RowPlace, readonly string[]>> = { events: [], hidden: ['hidden_rule', 'hidden_reason'] }

/** Hash of the enrichment columns, the user agents, and the reason why the event is hidden. @param table prefix with its dot */
const wasOf = (agents: readonly string[], from: RowPlace, table = '') =>
  `cityHash64(${[...[...ENRICHMENT_COLUMNS, ...HIDING[from]].map((column) => table + column), ...agents].join()})`

/** Identifies a row within a tenant and time span, in 16 bytes. */
export const KEY = 'sipHash128(event_id, received_at)'

/** Prefix of `outcomes.source` for events that a reenrichment filtered. Their key follows after a slash. */
export const REENRICHED = 'reenrich:'

interface Selected {
  readonly bucket?: Bucket
  /** Default: `events`. */
  readonly from?: RowPlace
  /** Prefix of columns with its dot. */
  readonly table?: string
}

export function selected(
  { job, scope, hiddenBy = [] }: Selection,
  { bucket, from = 'events', table = '' }: Selected = {},
): string {
  const isHidden = from === 'hidden' && hiddenBy.length > 0
  const hides = isHidden ? ` OR ${table}hidden_rule IN (${hiddenBy.map(quote).join()})` : ''
  return [
    `${table}tenant_id = {tenant:String}`,
    `${table}received_at >= toDateTime64({from:String}, 3, 'UTC')`,
    `${table}received_at < toDateTime64({to:String}, 3, 'UTC') + INTERVAL 1 DAY`,
    `${table}received_at <= fromUnixTimestamp64Milli({until:Int64}, 'UTC')`,
    ...(job === undefined ? [] : [`${table}job_id = {job:String}`]),
    ...(scope === undefined ? [] : [`(${inScope(scope, table)}${hides})`]),
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

export function groupsQuery({ selection, bucket, from }: Portion): string {
  const names = AGENT_COLUMNS.map((column) => `agent_in_${column}`)
  const agents = agentsOf(selection).map((agent, i) => `${agent} AS ${names[i]}`)
  return `
    SELECT ip, account_id, toString(${wasOf(names, from)}),
      ${ENRICHMENT_COLUMNS.map((column) => `toString(${column})`).join()}, ${[...names, ...HIDING[from]].join()}, count()
    FROM
    (
      SELECT ip, account_id, ${[COLUMNS, ...agents, ...HIDING[from]].join()}
      FROM ${TABLE_OF[from]} WHERE ${selected(selection, { bucket, from })}
    )
    GROUP BY ip, account_id, ${[COLUMNS, ...names, ...HIDING[from]].join()}`
}

/** An empty copy. @param columns of events */
export function createCopy(name: typeof BUILDING | typeof STAGED, columns: readonly string[], holder: Holder): string {
  return `
    CREATE TABLE ${name} ENGINE = MergeTree ORDER BY received_at
    AS SELECT ${columns.join()}, ${OWN.map((column) => `toLowCardinality('') AS ${column}`).join()}
    FROM ${holder(EVENTS.name)} LIMIT 0`
}

export function createChanges(holder: Holder): string {
  return `
    CREATE TABLE ${CHANGES} ENGINE = MergeTree ORDER BY (ip, was)
    AS SELECT ip, toUInt64(0) AS was, ${[TO, RULE, REASON, CLASS].map((column) => `toLowCardinality('') AS ${column}`).join()}, ${COLUMNS}
    FROM ${holder(EVENTS.name)} LIMIT 0`
}

/** Adds the columns of this version to a copy of an earlier one. Its noise is removed, as that version intended. */
export const UPGRADE_STAGED = `
  ALTER TABLE ${STAGED}
    ADD COLUMN IF NOT EXISTS source_id LowCardinality(String),
    ADD COLUMN IF NOT EXISTS ${REASON} LowCardinality(String),
    ADD COLUMN IF NOT EXISTS ${BY} LowCardinality(String),
    ADD COLUMN IF NOT EXISTS ${FROM} LowCardinality(String) DEFAULT 'events',
    ADD COLUMN IF NOT EXISTS ${TO} LowCardinality(String) DEFAULT if(${NOISE}, 'gone', 'events'),
    ADD COLUMN IF NOT EXISTS ${RULE} LowCardinality(String),
    ADD COLUMN IF NOT EXISTS ${CLASS} LowCardinality(String) DEFAULT classification`

/** Whether the copy lacks columns of this version. */
export const IS_OLD_STAGED = `
  SELECT count() = 0 FROM system.columns
  WHERE database = currentDatabase() AND table = '${STAGED}' AND name = '${TO}'`

/**
 * An account that was derived from the company changes with it. An account of the sender stays.
 * @param columns of events
 */
export function stageQuery(columns: readonly string[], { selection, bucket, from }: Portion, holder: Holder): string {
  const judged = new Set<string>(ENRICHMENT_COLUMNS)
  const values = columns.map((column) => {
    if (column === 'account_id') return 'if(e.account_id = e.company_id, c.company_id, e.account_id)'
    return judged.has(column) ? `c.${column}` : `e.${column}`
  })
  return `
    INSERT INTO ${BUILDING} (${[...columns, ...OWN].join()})
    SELECT ${values.join()}, {run:String}, {by:String}, '${from}', c.${TO}, c.${RULE}, c.${REASON}, c.${CLASS}
    FROM ${holder(TABLE_OF[from])} AS e
    INNER JOIN ${CHANGES} AS c ON e.ip = c.ip AND ${wasOf(agentsOf(selection, 'e.'), from, 'e.')} = c.was
    WHERE ${selected(selection, { bucket, from, table: 'e.' })}`
}

/** Visits of the copy, distinct pairs of an address and a UTC day: those that are hidden, those with other values, and those shown again. */
export function stagedVisitsQuery(copies: string): string {
  return `
    SELECT
      uniqExactIf((ip, toDate32(timestamp)), ${FROM} = 'events' AND ${TO} != 'events'),
      uniqExactIf((ip, toDate32(timestamp)), ${FROM} = 'events' AND ${TO} = 'events'),
      uniqExactIf((ip, toDate32(timestamp)), ${FROM} = 'hidden' AND ${TO} = 'events')
    FROM ${copies}`
}

/** Has values in its text, because ClickHouse stores the text of a mutation without parameters. */
export function removeQuery(slice: Slice, from: RowPlace, holder: Holder): string {
  return `ALTER TABLE ${holder(TABLE_OF[from])} DELETE WHERE ${inSlice(slice)} AND ${KEY} IN (SELECT ${KEY} FROM ${STAGED} WHERE ${span(slice)})`
}

/** @param columns common to the copy and `events` */
export function insertQuery(columns: readonly string[], slice: Slice, to: RowPlace, holder: Holder): string {
  const hiding = to === 'hidden' ? { hidden_rule: RULE, hidden_reason: REASON, hidden_class: CLASS } : {}
  const names = [...columns, ...Object.keys(hiding)].join()
  const values = [...columns, ...Object.values(hiding)].join()
  return `INSERT INTO ${holder(TABLE_OF[to])} (${names}) SELECT ${values} FROM ${STAGED} WHERE ${TO} = '${to}' AND ${span(slice)}`
}

/** Whether each place has the expected number of rows with keys of the slice. */
export function isInsertedQuery(slice: Slice, holder: Holder): string {
  const isRight = (place: RowPlace) => `
    (SELECT count() FROM ${holder(TABLE_OF[place])} WHERE ${inSlice(slice)} AND ${KEY} IN (SELECT ${KEY} FROM ${STAGED} WHERE ${span(slice)}))
    = (SELECT countIf(${TO} = '${place}') FROM ${STAGED} WHERE ${span(slice)})`
  return `SELECT ${isRight('events')} AND ${isRight('hidden')}`
}

/** Adds a row for each removed event, so that a replay can identify them. Skips rows of an earlier attempt. */
export function countFilteredQuery(status: string, holder: Holder): string {
  const outcomes = holder(OUTCOMES.name)
  return `
    INSERT INTO ${outcomes} (source, tenant_id, day, job_id, status, reason, classification, events, source_id)
    SELECT concat('${REENRICHED}', ${RUN}, '/', hex(${KEY})) AS source, tenant_id, toDate32(received_at) AS day, job_id,
      '${status}' AS status, ${REASON} AS reason, ${CLASS} AS classification, count() AS events, source_id
    FROM ${STAGED}
    WHERE ${TO} = 'gone' AND source NOT IN
      (SELECT source FROM ${outcomes} WHERE startsWith(source, '${REENRICHED}')
        AND substringIndex(source, '/', 1) IN (SELECT DISTINCT concat('${REENRICHED}', ${RUN}) FROM ${STAGED}))
    GROUP BY source, tenant_id, day, job_id, reason, classification, source_id`
}

/**
 * Adds to the log, by company and rule, the events that the run hid, showed and removed. Skips a run that is in it: the host that answers knows that.
 * @param copies of all shards
 */
export function logHidingQuery(copies: string): string {
  return `
    INSERT INTO ${HIDDEN_CHANGES} (tenant_id, company_id, at, run, by, action, rule, events, first_seen)
    SELECT
      tenant_id, company_id, now64(3, 'UTC'), ${RUN}, any(${BY}),
      multiIf(${TO} = 'gone', 'deleted', ${TO} = 'hidden', 'hidden', 'shown') AS action,
      ${RULE}, count(), ifNull(minOrNullIf(timestamp, timestamp <= received_at + toIntervalDay(1)), min(received_at))
    FROM ${copies}
    WHERE ${FROM} != ${TO} AND company_id > '' AND ${RUN} GLOBAL NOT IN (SELECT run FROM ${HIDDEN_CHANGES})
    GROUP BY tenant_id, company_id, ${RUN}, action, ${RULE}`
}

function inSlice(slice: Slice): string {
  return `tenant_id = ${quote(slice.tenantId)} AND ${span(slice)}`
}

function span({ fromMs, toMs }: Slice): string {
  const at = (ms: number) => `fromUnixTimestamp64Milli(toInt64(${ms}), 'UTC')`
  return `received_at >= ${at(fromMs)} AND received_at < ${at(toMs)}`
}
