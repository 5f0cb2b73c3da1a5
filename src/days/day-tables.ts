import type { ClickHouseClient, ClickHouseSettings } from '@clickhouse/client'
import { DATABASE } from '../stores/clickhouse/client.ts'
import { BY_MAJORITY, read, shardsOf } from '../stores/clickhouse/cluster.ts'
import { everyReplica, everyShard, localOf, onCluster } from '../stores/clickhouse/cluster-form.ts'
import { type ClickHousePlace, HostConnections, onEach } from '../stores/clickhouse/hosts.ts'
import { quote } from '../stores/clickhouse/quote.ts'
import {
  DAY_TABLES,
  ENTITY_DAYS,
  EVENTS,
  PAGE_DAYS,
  UTC_DAY_TABLES,
  ZONE_DAY_TABLES,
  ZONE_DAYS,
  ZONE_PAGE_DAYS,
} from '../stores/clickhouse/tables.ts'

/**
 * Hash of all inputs of a stored day. `day_checks`, `valid_days`, `valid_page_days` and the builder have the same text: a build
 * that reads another column needs it here, or a change of that column would leave a wrong day valid.
 */
export const CHECK = 'cityHash64(account_id, company_id, ip, timestamp, page)'

/** Events that `page_days` counts. */
export const HAS_PAGE = "page > '' AND company_id > ''"

export type DayTable = (typeof DAY_TABLES)[number]

/** The view that names the builds of a table that count. */
const VALID: Readonly<Record<DayTable, string>> = {
  [ENTITY_DAYS]: 'valid_days',
  [PAGE_DAYS]: 'valid_page_days',
  [ZONE_DAYS]: 'valid_zone_days',
  [ZONE_PAGE_DAYS]: 'valid_zone_page_days',
}

/** Columns of a row apart from its build and its check, and the values of one that counts nothing; '': those of any row of the build. */
const COLUMNS: Readonly<Record<DayTable, Readonly<Record<string, string>>>> = {
  [ENTITY_DAYS]: { kind: '', entity: '', events: '0', visits: '0', visitors: '[]' },
  [PAGE_DAYS]: { page: '', company: '', events: '0', visits: '0', last: 'toDateTime64(0, 3)' },
  [ZONE_DAYS]: { zone: '', local_day: '', company: '', has_account: '', events: '0', visitors: '[]' },
  [ZONE_PAGE_DAYS]: {
    ...{ zone: '', local_day: '', page: '', company: '', events: '0', visitors: '[]' },
    last: 'toDateTime64(0, 3)',
  },
}

/** The time zones of tenants that are not in UTC, by tenant. */
export type TenantZones = ReadonlyMap<string, string>

/** A day of a tenant whose stored numbers do not prove themselves. */
export interface StaleDay {
  readonly tenantId: string
  /** UTC, for example `2026-11-22`. */
  readonly day: string
  /** IANA name of the time zone of the tenant; empty: UTC, which needs no cuts. */
  readonly zone: string
  /** Tables to build it in. */
  readonly tables: readonly DayTable[]
  /** Changes with each event that the day gets or loses, and with the zone. */
  readonly state: string
  /** Its newest build in any table; 0: none. */
  readonly builtMs: number
}

/** The newest stale days, and the number of all. */
export interface StaleDays {
  readonly newest: readonly StaleDay[]
  readonly total: number
}

/** A stored build of a day. */
export interface Build {
  /** Hash of tenant, day and build: the statement of a removal is kept in a file, which should name no tenant. */
  readonly id: string
  readonly day: string
  readonly rows: number
}

/** Builds that no query may choose any more, and the share of all rows that they have. */
export interface ReplacedBuilds {
  readonly builds: readonly Build[]
  readonly share: number
}

/** A change of all rows of events that has not ended. */
export interface OpenMutation {
  readonly command: string
  /** Why its last try failed; empty: it runs. */
  readonly failure: string
}

/** Query ids of builds begin with it, so that an erasure can wait for them. */
export const BUILD_ID = 'ipid-build-'

const STALE_MAX = 10_000
/** Builds that a statement names: its text stays below 256 KB, the limit of ClickHouse. */
export const BUILDS_MAX = 5_000
const STATEMENT_MS = 900_000
const MIB = 1_048_576

/** A build uses one core and little memory, also for a large day. */
const BUILDING: ClickHouseSettings = {
  max_threads: 1,
  max_insert_threads: '1',
  // Statements with a smaller number run first.
  priority: '10',
  max_memory_usage: String(512 * MIB),
  max_bytes_before_external_group_by: String(128 * MIB),
  min_insert_block_size_bytes: String(64 * MIB),
  max_execution_time: STATEMENT_MS / 1_000,
  // A build is never a repeat of another one.
  insert_deduplicate: 0,
}

const READING: ClickHouseSettings = { max_threads: 1, log_queries: 0, output_format_json_quote_64bit_integers: 0 }

const ENTITY_SQL = `
INSERT INTO ${ENTITY_DAYS} (tenant_id, day, kind, entity, entity_id, built, events, visits, visitors, check)
SELECT
  {tenant:String}, {day:Date32}, part.1, entity, entity_id, {built:UInt64}, part.2, length(part.3), part.3, part.4
FROM
(
  SELECT
    named.1 AS entity,
    any(named.2) AS entity_id,
    countIf(kind = 0) AS n0, groupUniqArrayIf(visitor, kind = 0) AS v0, sumIf(c, kind = 0) AS c0,
    countIf(kind = 1) AS n1, groupUniqArrayIf(visitor, kind = 1) AS v1, sumIf(c, kind = 1) AS c1,
    countIf(kind = 2) AS n2, groupUniqArrayIf(visitor, kind = 2) AS v2, sumIf(c, kind = 2) AS c2,
    if(n1 = 0 AND n2 = 0,
      [(0, n0, v0, c0)],
      arrayFilter(part -> part.2 > 0, [
        (1, n0 + n1, if(n0 = 0, v1, arrayDistinct(arrayConcat(v0, v1))), c0 + c1),
        (2, n0 + n2, if(n0 = 0, v2, arrayDistinct(arrayConcat(v0, v2))), c0 + c2)])) AS parts
  FROM
  (
    SELECT
      visitor,
      ${CHECK} AS c,
      arrayJoin(if(company_id = account_id,
        [(company, company_id, 0)],
        [(company, company_id, 1), (if(account_id = '', 0, sipHash64(account_id)), account_id, 2)])) AS named,
      named.3 AS kind
    FROM ${EVENTS.name}
    WHERE tenant_id = {tenant:String} AND toDate32(timestamp) = {day:Date32}
  )
  GROUP BY entity
)
ARRAY JOIN parts AS part`

const PAGE_SQL = `
INSERT INTO ${PAGE_DAYS} (tenant_id, day, page, company, built, events, visits, last, check)
SELECT
  {tenant:String}, {day:Date32}, page, company, {built:UInt64},
  count(), uniqExact(visitor), max(timestamp), sum(${CHECK})
FROM ${EVENTS.name}
WHERE tenant_id = {tenant:String} AND toDate32(timestamp) = {day:Date32} AND ${HAS_PAGE}
GROUP BY page, company`

/** Each row has a part of the UTC day that is on one day of the zone. */
const LOCAL_DAY = 'toDate32(timestamp, {zone:String})'

const ZONE_SQL = `
INSERT INTO ${ZONE_DAYS} (tenant_id, day, zone, local_day, company, has_account, built, events, visitors, check)
SELECT
  {tenant:String}, {day:Date32}, {zone:String}, ${LOCAL_DAY} AS local_day, company, account_id != '' AS has_account, {built:UInt64},
  count(), groupUniqArray(visitor), sum(${CHECK})
FROM ${EVENTS.name}
WHERE tenant_id = {tenant:String} AND toDate32(timestamp) = {day:Date32}
GROUP BY local_day, company, has_account`

const ZONE_PAGE_SQL = `
INSERT INTO ${ZONE_PAGE_DAYS} (tenant_id, day, zone, local_day, page, company, built, events, visitors, last, check)
SELECT
  {tenant:String}, {day:Date32}, {zone:String}, ${LOCAL_DAY} AS local_day, page, company, {built:UInt64},
  count(), groupUniqArray(visitor), max(timestamp), sum(${CHECK})
FROM ${EVENTS.name}
WHERE tenant_id = {tenant:String} AND toDate32(timestamp) = {day:Date32} AND ${HAS_PAGE}
GROUP BY local_day, page, company`

export const BUILD_SQL: Readonly<Record<DayTable, string>> = {
  [ENTITY_DAYS]: ENTITY_SQL,
  [PAGE_DAYS]: PAGE_SQL,
  [ZONE_DAYS]: ZONE_SQL,
  [ZONE_PAGE_DAYS]: ZONE_PAGE_SQL,
}

/** Projections of events that older rows lack, the most urgent first. */
const PROJECTIONS = ['company_sums', 'company_texts', 'company_touches', 'day_checks', 'page_names', 'named_days']
/** Those of earlier versions that these replace. ClickHouse refuses to drop one that a mutation still makes. */
const REPLACED = ['account_days', 'account_sums', 'company_list', 'stored_days']

/** The builds of all days, read from projections. */
const buildsOf = (tables: readonly DayTable[]) =>
  tables.map((table) => `SELECT tenant_id, day, built FROM ${table} GROUP BY tenant_id, day, built`).join(' UNION ALL ')

/** A set of (tenant_id, day) that a view proves. */
const proved = (table: DayTable) => `(SELECT tenant_id, day FROM ${VALID[table]})`

/** Whether the cuts of a day are missing. A build of 0 is right in every zone. */
const IS_UNCUT = `zone != '' AND (now.tenant_id, now.day, zone) GLOBAL NOT IN (SELECT tenant_id, day, zone FROM ${VALID[ZONE_DAYS]})`
const ARE_PAGES_UNCUT = `zone != ''
    AND (now.tenant_id, now.day, zone) GLOBAL NOT IN (SELECT tenant_id, day, zone FROM ${VALID[ZONE_PAGE_DAYS]})
    AND (now.tenant_id, now.day) GLOBAL NOT IN (SELECT tenant_id, day FROM ${VALID[ZONE_PAGE_DAYS]} WHERE built = 0)`

/** @param zones of tenants that are not in UTC */
function staleSql(zones: TenantZones): string {
  const list = (texts: Iterable<string>) => `[${[...texts].map(quote).join()}]`
  const isPlain = zones.size === 0
  const zone = isPlain ? "''" : `transform(now.tenant_id, ${list(zones.keys())}, ${list(zones.values())}, '')`
  return `
SELECT
  now.tenant_id, toString(now.day), n, toString(c),
  (now.tenant_id, now.day) GLOBAL NOT IN ${proved(ENTITY_DAYS)} AS entities,
  (now.tenant_id, now.day) GLOBAL NOT IN ${proved(PAGE_DAYS)} AS pages,
  ${zone} AS zone,
  ${isPlain ? '0' : IS_UNCUT} AS cuts,
  ${isPlain ? '0' : ARE_PAGES_UNCUT} AS page_cuts,
  last.built,
  count() OVER ()
FROM
(
  SELECT tenant_id, toDate32(timestamp) AS day, count() AS n, sum(${CHECK}) AS c
  FROM ${EVENTS.name}
  GROUP BY tenant_id, day
) AS now
LEFT JOIN
(
  SELECT tenant_id, day, max(built) AS built FROM (${buildsOf(isPlain ? UTC_DAY_TABLES : DAY_TABLES)}) GROUP BY tenant_id, day
) AS last ON last.tenant_id = now.tenant_id AND last.day = now.day
WHERE now.day < {today:Date32} AND (entities OR pages OR cuts OR page_cuts)
ORDER BY now.day DESC, now.tenant_id
LIMIT ${STALE_MAX}`
}

/** The text of a look names the zone of each tenant that has one. */
const LOOK_TEXT_MAX_BYTES = 16 * MIB

type StaleRow = [string, string, number, string, number, number, string, number, number, number, number]

/** The tables of days in ClickHouse. Every statement may be repeated. */
export class DayTables {
  readonly #place: ClickHousePlace
  readonly #connections: HostConnections

  constructor(place: ClickHousePlace) {
    this.#place = place
    const options = { requestTimeoutMs: STATEMENT_MS, connectionsMax: 1 }
    this.#connections = new HostConnections(place, { application: 'days', ...options })
  }

  async close(): Promise<void> {
    await this.#connections.close()
  }

  get #front(): ClickHouseClient {
    return this.#connections.front
  }

  /** Changes of events that make columns or projections which a check reads. Until they end, a check would read every row. */
  async openMutations(): Promise<OpenMutation[]> {
    const { cluster } = this.#place
    const list = cluster === undefined ? 'system.mutations' : everyReplica(cluster, 'system.mutations')
    const query = `
      SELECT command, latest_fail_reason FROM ${list}
      WHERE database = '${DATABASE}' AND table = ${quote(this.#holder(EVENTS.name))} AND NOT is_done
        AND command LIKE '%MATERIALIZE %'`
    return (await this.#read<[string, string]>(query)).map(([command, failure]) => ({ command, failure }))
  }

  /**
   * Makes the projections for existing rows of the newest month that lacks them: a check would read every row there. When none does, those
   * of earlier versions go. Call it only while no mutation is open.
   * @returns the month; undefined: none lacks them
   */
  async materialize(): Promise<string | undefined> {
    const { cluster } = this.#place
    const list = (name: string) => (cluster === undefined ? name : everyShard(cluster, name))
    const events = `database = '${DATABASE}' AND table = ${quote(this.#holder(EVENTS.name))} AND active`
    for (const projection of PROJECTIONS) {
      const query = `
        SELECT partition_id FROM ${list('system.parts')}
        WHERE ${events} AND rows > 0 AND (hostName(), tcpPort(), name) GLOBAL NOT IN (
          SELECT hostName(), tcpPort(), parent_name FROM ${list('system.projection_parts')} WHERE ${events} AND name = '${projection}')
        ORDER BY partition_id DESC LIMIT 1`
      const [row] = await this.#read<[string]>(query)
      if (row === undefined) continue
      await this.#alter(EVENTS.name, `MATERIALIZE PROJECTION ${projection} IN PARTITION ID ${quote(row[0])}`)
      return row[0]
    }
    const old = `name IN (${REPLACED.map(quote).join()})`
    const query = `SELECT DISTINCT name FROM ${list('system.projection_parts')} WHERE ${events} AND ${old}
      UNION DISTINCT SELECT name FROM ${list('system.projections')} WHERE database = '${DATABASE}' AND table = ${quote(this.#holder(EVENTS.name))} AND ${old}`
    const replaced = (await this.#read<[string]>(query)).map(([name]) => `DROP PROJECTION IF EXISTS ${name}`)
    if (replaced.length > 0) await this.#alter(EVENTS.name, replaced.join(', '))
    return undefined
  }

  /**
   * @param today UTC; it and later days are not built
   * @param zones of tenants that are not in UTC
   */
  async stale(today: string, zones: TenantZones = new Map()): Promise<StaleDays> {
    const rows = await this.#read<StaleRow>(staleSql(zones), { today }, { max_query_size: String(LOOK_TEXT_MAX_BYTES) })
    const newest = rows.map(([tenantId, day, n, c, entities, pages, zone, cuts, pageCuts, builtMs]) => {
      const stale = { [ENTITY_DAYS]: entities, [PAGE_DAYS]: pages, [ZONE_DAYS]: cuts, [ZONE_PAGE_DAYS]: pageCuts }
      const tables = DAY_TABLES.filter((table) => stale[table] === 1)
      return { tenantId, day, zone, tables, state: `${n} ${c} ${zone}`, builtMs }
    })
    return { newest, total: rows[0]?.[10] ?? 0 }
  }

  /**
   * Builds a day from its events.
   * @param built later than any build of the day
   */
  async build(
    { tenantId, day, zone, tables }: Pick<StaleDay, 'tenantId' | 'day' | 'zone' | 'tables'>,
    built: number,
    signal?: AbortSignal,
  ): Promise<void> {
    for (const table of tables) {
      signal?.throwIfAborted()
      await this.#front.command({
        query: BUILD_SQL[table],
        query_params: { tenant: tenantId, day, built, zone },
        query_id: `${BUILD_ID}${crypto.randomUUID()}`,
        clickhouse_settings: { ...BUILDING, ...(await this.#toShard(day)) },
        ...(signal && { abort_signal: signal }),
      })
    }
  }

  /**
   * Builds that a newer one has replaced, or that their events have left, and cuts of tenants that are in UTC now.
   * @param zones of tenants that are not in UTC; undefined: unknown, so all cuts stay
   */
  async replaced(table: DayTable, zones?: TenantZones): Promise<ReplacedBuilds> {
    const builds = await staleBuilds(this.#front, table, { zones })
    const [total = [0]] = await this.#read<[number]>(`SELECT count() FROM ${table}`)
    const rows = builds.reduce((sum, build) => sum + build.rows, 0)
    return { builds, share: total[0] === 0 ? 0 : rows / total[0] }
  }

  /**
   * Makes builds invalid for good, by a row that counts nothing and has a random check. Otherwise a change of events could make a build
   * valid again while it is removed.
   */
  async condemn(table: DayTable, builds: readonly Build[]): Promise<void> {
    const columns = Object.entries(COLUMNS[table])
    const query = `
      INSERT INTO ${table} (tenant_id, day, built, ${columns.map(([name]) => name).join()}, check)
      SELECT tenant_id, day, built, ${columns.map(([name, nothing]) => nothing || name).join()}, rand64()
      FROM ${table} WHERE ${isOneOf(builds)}
      LIMIT 1 BY tenant_id, day, built`
    await this.#front.command({
      query,
      clickhouse_settings: { ...BUILDING, ...(await this.#toShard('')) },
    })
  }

  /** Removes builds; ClickHouse does it in the background. Months of which nothing is left are dropped. */
  async remove(table: DayTable, builds: readonly Build[]): Promise<void> {
    const listed = new Set(builds.map(({ id }) => id))
    const all = await this.#read<BuildRow>(allBuilds(table))
    const kept = new Set(all.filter(([id]) => !listed.has(id)).map(([, day]) => monthOf(day)))
    const gone = new Set(builds.map(({ day }) => monthOf(day)).filter((month) => !kept.has(month)))
    for (const month of gone)
      await this.#alter(table, `DROP PARTITION ID '${month}' SETTINGS max_partition_size_to_drop = 0`)
    const rest = builds.filter(({ day }) => !gone.has(monthOf(day)))
    if (rest.length > 0) await this.#alter(table, `DELETE WHERE ${isOneOf(rest)}`)
  }

  /** Whether an earlier removal still runs. */
  async isRemoving(table: DayTable): Promise<boolean> {
    const { cluster } = this.#place
    const list = cluster === undefined ? 'system.mutations' : everyReplica(cluster, 'system.mutations')
    const query = `SELECT 1 FROM ${list} WHERE database = '${DATABASE}' AND table = '${this.#holder(table)}' AND NOT is_done LIMIT 1`
    return (await this.#read(query)).length > 0
  }

  #holder(table: string): string {
    return this.#place.cluster === undefined ? table : localOf(table)
  }

  async #alter(table: string, change: string): Promise<void> {
    const { cluster, hosts } = this.#place
    const isByHost = cluster === undefined || hosts !== undefined
    const clients = isByHost ? (await this.#connections.find()).writers.map(({ client }) => client) : [this.#front]
    const name = isByHost ? this.#holder(table) : `${DATABASE}.${localOf(table)} ${onCluster(cluster)}`
    const settings: ClickHouseSettings = { mutations_sync: '0' }
    await onEach(clients, (client) =>
      client.command({ query: `ALTER TABLE ${name} ${change}`, clickhouse_settings: settings }),
    )
  }

  /** On a cluster, all rows of a build go to one shard. */
  async #toShard(day: string): Promise<ClickHouseSettings> {
    const { cluster } = this.#place
    if (cluster === undefined) return {}
    const replicas = await shardsOf(this.#front, cluster)
    const shards = [...replicas.keys()]
    const shard = shards[Math.floor(Date.parse(day) / 86_400_000) % shards.length] ?? shards[0]!
    return {
      ...(replicas.get(shard) === 1 ? {} : BY_MAJORITY),
      insert_shard_id: String(shard),
      distributed_foreground_insert: 1,
      // Each shard would build from its own events.
      parallel_distributed_insert_select: '0',
    }
  }

  async #read<T>(
    query: string,
    query_params: Record<string, unknown> = {},
    settings: ClickHouseSettings = {},
  ): Promise<T[]> {
    const result = await this.#front.query({
      query,
      query_params,
      format: 'JSONCompactEachRow',
      clickhouse_settings: { ...READING, ...settings },
    })
    return await result.json<T>()
  }
}

function monthOf(day: string): string {
  return day.slice(0, 7).replace('-', '')
}

const isZoneTable = (table: DayTable) => ZONE_DAY_TABLES.some((one) => one === table)

/** Whether the tenant of a build needs no cuts any more. */
function isInUtc(zones: TenantZones): string {
  return zones.size === 0 ? '1' : `tenant_id NOT IN (${[...zones.keys()].map(quote).join()})`
}

const BUILD_ID_SQL = 'cityHash64(tenant_id, day, built)'

/** The condition for the rows of some builds. */
export function isOneOf(builds: readonly Build[]): string {
  return `${BUILD_ID_SQL} IN (${builds.map(({ id }) => id).join()})`
}

type BuildRow = [id: string, day: string, rows: number]

function allBuilds(table: DayTable, condition = ''): string {
  return `
    SELECT toString(${BUILD_ID_SQL}), toString(day), count() FROM ${table} ${condition} GROUP BY tenant_id, day, built`
}

/**
 * Builds that do not count: their numbers are not those of events, or a newer build has them too. At most 5,000.
 * @param client of the database `ipid`
 * @param of.tenantId undefined: of all tenants
 * @param of.zones as in `DayTables.replaced`
 */
export async function staleBuilds(
  client: ClickHouseClient,
  table: DayTable,
  { tenantId, zones }: { readonly tenantId?: string; readonly zones?: TenantZones | undefined },
): Promise<Build[]> {
  const condition = tenantId === undefined ? '' : `WHERE tenant_id = ${quote(tenantId)}`
  const query = `
    ${allBuilds(table, condition)}
    HAVING (tenant_id, day, built) GLOBAL NOT IN (SELECT tenant_id, day, built FROM ${VALID[table]} ${condition})
      ${isZoneTable(table) && zones !== undefined ? `OR ${isInUtc(zones)}` : ''}
    LIMIT ${BUILDS_MAX}`
  const rows = await read<BuildRow>(client, query, { max_query_size: String(LOOK_TEXT_MAX_BYTES) })
  return rows.map(([id, day, count]) => ({ id, day, rows: count }))
}
