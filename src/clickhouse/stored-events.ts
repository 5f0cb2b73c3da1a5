import type { ClickHouseClient } from '@clickhouse/client'
import { outcomeKey } from '../core/event/outcomes.ts'
import { tsv } from '../core/event/row.ts'
import { UnavailableError } from '../core/run/errors.ts'
import type { CountedOutcome, StoredEvents, StoredRow } from '../replay/ports.ts'
import { connectClickHouse, DATABASE } from './client.ts'
import { EVENTS, OUTCOMES } from './tables.ts'

const NAMES_PER_QUERY = 20_000
const QUERY_BYTES_MAX = 67_108_864

/** What the tables say of archived events, for a replay. */
export class ClickHouseStoredEvents implements StoredEvents {
  readonly #client: ClickHouseClient

  constructor(url: string) {
    this.#client = connectClickHouse(url, { application: 'replay', database: DATABASE, requestTimeoutMs: 300_000 })
  }

  close(): Promise<void> {
    return this.#client.close()
  }

  async rowsOf(
    tenantId: string,
    eventIds: readonly string[],
    { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
  ): Promise<ReadonlyMap<string, readonly StoredRow[]>> {
    const found = new Map<string, StoredRow[]>()
    const query = (names: string) => `
      SELECT event_id, toUnixTimestamp64Milli(received_at), job_id FROM ${EVENTS.name}
      WHERE tenant_id = {tenant:String}
        AND received_at >= fromUnixTimestamp64Milli({from:Int64}) AND received_at <= fromUnixTimestamp64Milli({to:Int64})
        AND event_id IN (SELECT name FROM ${names})
      ORDER BY received_at`
    const params = { tenant: tenantId, from: Math.floor(fromMs), to: Math.ceil(toMs) }
    await this.#ask<[string, number, string]>(eventIds, query, params, ([eventId, receivedAtMs, jobId]) => {
      push(found, eventId, { receivedAtMs, jobId })
    })
    return found
  }

  async outcomesOf(
    tenantId: string,
    commits: readonly string[],
    days: readonly string[],
  ): Promise<ReadonlyMap<string, readonly CountedOutcome[]>> {
    const found = new Map<string, CountedOutcome[]>()
    const query = (names: string) => `
      SELECT
        substringIndex(source, '/', 1) AS brought, substring(source, length(brought) + 2) AS left_with,
        toString(day), job_id, status, reason, classification, toInt64(sum(events))
      FROM ${OUTCOMES.name}
      WHERE tenant_id = {tenant:String} AND day IN (SELECT arrayJoin({days:Array(Date32)}))
        AND brought IN (SELECT name FROM ${names})
      GROUP BY brought, left_with, day, job_id, status, reason, classification`
    type Row = [string, string, string, string, string, string, string, number]
    await this.#ask<Row>(commits, query, { tenant: tenantId, days: [...days] }, (row) => {
      const [commit, leftWith, day, jobId, status, reason, classification, events] = row
      const job = jobId === '' ? undefined : jobId
      const key = outcomeKey({ tenantId, day, job, status, reason, classification })
      push(found, commit, { commit, leftWith, day, job, status, reason, key, events })
    })
    return found
  }

  /** @param query of which the names are `name` of a table */
  async #ask<Row>(
    names: readonly string[],
    query: (names: string) => string,
    params: Record<string, unknown>,
    onRow: (row: Row) => void,
  ): Promise<void> {
    for (let at = 0; at < names.length; at += NAMES_PER_QUERY) {
      const lines = names.slice(at, at + NAMES_PER_QUERY).map(tsv)
      const literal = `'${lines.join('\n').replace(/[\\']/g, '\\$&')}'`
      try {
        const result = await this.#client.query({
          query: query(`format(TabSeparated, 'name String', ${literal})`),
          query_params: params,
          format: 'JSONCompactEachRow',
          clickhouse_settings: {
            max_query_size: String(QUERY_BYTES_MAX),
            output_format_json_quote_64bit_integers: 0,
          },
        })
        for (const row of await result.json<Row>()) onRow(row)
      } catch (error) {
        throw new UnavailableError(`ClickHouse did not answer: ${(error as Error).message}`, { cause: error })
      }
    }
  }
}

function push<T>(lists: Map<string, T[]>, name: string, value: T): void {
  const list = lists.get(name)
  if (list === undefined) lists.set(name, [value])
  else list.push(value)
}
