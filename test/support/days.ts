import { DayTables, type StaleDay, type TenantZones } from '../../src/days/day-tables.ts'
import type { TestClickHouse } from './clickhouse.ts'

/** Numbers of a day from both sources. `live`: computed from events. */
const entitiesOf = (where: string) => `
  SELECT
    tenant_id, toDate32(timestamp) AS day, kind,
    if(kind = 1, company, if(account_id = '', 0, sipHash64(account_id))) AS entity,
    any(if(kind = 1, company_id, account_id)) AS entity_id,
    toUInt32(count()) AS events, toUInt32(uniqExact(visitor)) AS visits, arraySort(groupUniqArray(visitor)) AS visitors
  FROM events ARRAY JOIN [1, 2] AS kind
  WHERE ${where} GROUP BY tenant_id, day, kind, entity`

const pagesOf = (where: string) => `
  SELECT
    tenant_id, toDate32(timestamp) AS day, page, company,
    toUInt32(count()) AS events, toUInt32(uniqExact(visitor)) AS visits, max(timestamp) AS last
  FROM events
  WHERE page != '' AND company_id != '' AND ${where} GROUP BY tenant_id, day, page, company`

const HASHES = {
  entities: 'cityHash64(tenant_id, day, kind, entity, entity_id, events, visits, visitors)',
  pages: 'cityHash64(tenant_id, day, page, company, events, visits, last)',
}

/** All valid days of a view, found once: (tenant, day, build), and (tenant, day). */
const valid = (view: string) =>
  `WITH (SELECT (groupArray((tenant_id, day, built)), groupArray((tenant_id, day))) FROM ${view}) AS valid`
const IS_BUILT = '(tenant_id, day, built) IN (SELECT t.1, t.2, t.3 FROM (SELECT arrayJoin(valid.1) AS t))'
const IS_LIVE = '(tenant_id, toDate32(timestamp)) NOT IN (SELECT t.1, t.2 FROM (SELECT arrayJoin(valid.2) AS t))'

const sumOf = (rows: string, hash: string) =>
  `(SELECT (count(), sum(events), sum(visits), sum(${hash})) FROM (${rows}))`

/**
 * Stored days that count and live days, against all days computed from events. One row: whether all rows are equal, for each table, and how
 * many days were read from it.
 */
export const EXACTNESS = `
SELECT
  ${sumOf(entitiesOf('1'), HASHES.entities)} = ${sumOf(
    `${valid('valid_days')}
     SELECT tenant_id, day, one AS kind, entity, entity_id, events, visits, arraySort(visitors) AS visitors
     FROM entity_days ARRAY JOIN if(kind = 'both', [1, 2], [toUInt8(kind)]) AS one
     WHERE ${IS_BUILT}
     UNION ALL ${valid('valid_days')} ${entitiesOf(IS_LIVE)}`,
    HASHES.entities,
  )} AS entities,
  ${sumOf(pagesOf('1'), HASHES.pages)} = ${sumOf(
    `${valid('valid_page_days')}
     SELECT tenant_id, day, page, company, events, visits, last FROM page_days WHERE ${IS_BUILT}
     UNION ALL ${valid('valid_page_days')} ${pagesOf(IS_LIVE)}`,
    HASHES.pages,
  )} AS pages,
  (SELECT count() FROM valid_days) AS entity_days,
  (SELECT count() FROM valid_page_days) AS page_days`

export interface Exactness {
  readonly entities: number
  readonly pages: number
  readonly entity_days: number
  readonly page_days: number
}

/** Builds and compares days of a server. */
export class TestDays {
  readonly tables: DayTables
  zones: TenantZones = new Map()
  readonly #clickhouse: Pick<TestClickHouse, 'rows'>

  constructor(clickhouse: Pick<TestClickHouse, 'rows' | 'url'>) {
    this.#clickhouse = clickhouse
    this.tables = new DayTables({ url: clickhouse.url })
  }

  async exactness(): Promise<Exactness> {
    const [row] = await this.#clickhouse.rows<Exactness>(EXACTNESS)
    return row!
  }

  async stale(): Promise<readonly StaleDay[]> {
    return (await this.tables.stale('2299-01-01', this.zones)).newest
  }

  /** Builds all stale days, or some of them. */
  async build(days?: readonly StaleDay[]): Promise<void> {
    for (const day of days ?? (await this.stale())) await this.tables.build(day, Math.max(Date.now(), day.builtMs + 1))
  }
}

/**
 * Inserts events of 200 companies, one in 13 of none, on 5 days of a tenant. One in 10 has an account of its own, and most have a page. Equal
 * seeds make equal events.
 */
export function someEvents(events: number, seed: number, tenant = 'acme'): string {
  return `
    INSERT INTO events (ip, tenant_id, event_id, received_at, timestamp, event_type, account_id, company_id, business_name, quality, extra)
    SELECT
      concat('10.', toString(number % 97), '.', toString(cityHash64(number, ${seed}) % 30)), '${tenant}',
      toString(cityHash64(number, ${seed})),
      toDateTime64('2026-11-01 00:00:00', 3, 'UTC') + (cityHash64(number, ${seed}, 't') % (5 * 86400000)) / 1000 AS r, r,
      'page_view', if(number % 10 = 0, concat('sender-', toString(number % 50)), company_id),
      if(number % 13 = 0, '', concat('c', toString(cityHash64(number, ${seed}, 'c') % 200), '.example')) AS company_id, company_id, 50,
      if(number % 4 = 0, '', concat('{"url":"https://a.example/p', toString(number % 9), '"}'))
    FROM numbers(${events})`
}
