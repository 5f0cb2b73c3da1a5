import { outcomeKey } from '../../pipeline/event/outcomes.ts'
import { tsv, tsvTime } from '../../pipeline/event/row.ts'
import { UnavailableError } from '../../run/errors.ts'
import { type ClickHousePlace, HostConnections } from '../../stores/clickhouse/hosts.ts'
import { quote } from '../../stores/clickhouse/quote.ts'
import { EVENTS, HIDDEN, OUTCOMES } from '../../stores/clickhouse/tables.ts'
import { KEY, REENRICHED } from '../reenrich/reenrich-sql.ts'
import { type ArchivedEvent, type CountedOutcome, eventKey, type StoredEvents, type StoredRow } from './ports.ts'

const LINES_PER_QUERY = 20_000
const QUERY_BYTES_MAX = 67_108_864

/** Finds archived events in the tables, for a replay. */
export class ReplayTables implements StoredEvents {
  readonly #connections: HostConnections

  constructor(place: ClickHousePlace | string) {
    this.#connections = new HostConnections(place, { application: 'replay', requestTimeoutMs: 300_000 })
  }

  close(): Promise<void> {
    return this.#connections.close()
  }

  async rowsOf(
    tenantId: string,
    eventIds: readonly string[],
    { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
  ): Promise<ReadonlyMap<string, readonly StoredRow[]>> {
    const found = new Map<string, StoredRow[]>()
    const query = (names: string) => `
      SELECT event_id, toUnixTimestamp64Milli(received_at), job_id
      FROM
      (
        SELECT tenant_id, event_id, received_at, job_id FROM ${EVENTS.name}
        UNION ALL SELECT tenant_id, event_id, received_at, job_id FROM ${HIDDEN}
      )
      WHERE tenant_id = {tenant:String}
        AND received_at >= fromUnixTimestamp64Milli({from:Int64}) AND received_at <= fromUnixTimestamp64Milli({to:Int64})
        AND event_id IN (SELECT name FROM ${names})
      ORDER BY received_at`
    const params = { tenant: tenantId, from: Math.floor(fromMs), to: Math.ceil(toMs) }
    await this.#forEachRow<[string, number, string]>(
      eventIds.map(tsv),
      'name String',
      query,
      params,
      ([eventId, receivedAtMs, jobId]) => {
        push(found, eventId, { receivedAtMs, jobId })
      },
    )
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
        toString(day), job_id, status, reason, classification, source_id, toInt64(sum(events))
      FROM ${OUTCOMES.name}
      WHERE tenant_id = {tenant:String} AND day IN (SELECT arrayJoin({days:Array(Date32)}))
        AND brought IN (SELECT name FROM ${names})
      GROUP BY brought, left_with, day, job_id, status, reason, classification, source_id`
    type Row = [string, string, string, string, string, string, string, string, number]
    await this.#forEachRow<Row>(
      commits.map(tsv),
      'name String',
      query,
      { tenant: tenantId, days: [...days] },
      (row) => {
        const [commit, leftWith, day, jobId, status, reason, classification, sourceId, events] = row
        const job = jobId === '' ? undefined : jobId
        const key = outcomeKey({ tenantId, day, job, status, reason, classification, sourceId })
        push(found, commit, { commit, leftWith, day, job, status, reason, sourceId, key, events })
      },
    )
    return found
  }

  async refilteredOf(
    tenantId: string,
    events: readonly Pick<ArchivedEvent, 'eventId' | 'receivedAtMs'>[],
    days: readonly string[],
  ): Promise<ReadonlyMap<string, string>> {
    const found = new Map<string, string>()
    const refiltered = `
      FROM ${OUTCOMES.name}
      WHERE tenant_id = {tenant:String} AND day IN (SELECT arrayJoin({days:Array(Date32)}))
        AND startsWith(source, '${REENRICHED}')`
    const params = { tenant: tenantId, days: [...days] }
    if ((await this.#rows<[number]>(`SELECT count() ${refiltered}`, params))[0]![0] === 0) return found
    const query = (wanted: string) => `
      SELECT event_id, toUnixTimestamp64Milli(received_at), toString(day), job_id, status, reason, classification, source_id
      FROM ${wanted} AS wanted
      INNER JOIN
        (SELECT substringIndex(source, '/', -1) AS key, day, job_id, status, reason, classification, source_id ${refiltered})
        AS counted ON hex(${KEY}) = counted.key`
    type Row = [string, number, string, string, string, string, string, string]
    const names = events.map(({ eventId, receivedAtMs }) => `${tsv(eventId)}\t${tsvTime(receivedAtMs)}`)
    await this.#forEachRow<Row>(names, "event_id String, received_at DateTime64(3, ''UTC'')", query, params, (row) => {
      const [eventId, receivedAtMs, day, jobId, status, reason, classification, sourceId] = row
      const job = jobId === '' ? undefined : jobId
      const key = outcomeKey({ tenantId, day, job, status, reason, classification, sourceId })
      found.set(eventKey(eventId, receivedAtMs), key)
    })
    return found
  }

  /**
   * Queries in portions of lines.
   * @param lines TabSeparated
   * @param structure of the lines, escaped for a literal
   * @param query makes the query for a table that holds a portion
   */
  async #forEachRow<Row>(
    lines: readonly string[],
    structure: string,
    query: (table: string) => string,
    params: Record<string, unknown>,
    onRow: (row: Row) => void,
  ): Promise<void> {
    // An event that is missing on a replica which lags would be stored again.
    await this.#connections.synchronised()
    for (let at = 0; at < lines.length; at += LINES_PER_QUERY) {
      const literal = quote(lines.slice(at, at + LINES_PER_QUERY).join('\n'))
      const table = `format(TabSeparated, '${structure}', ${literal})`
      for (const row of await this.#rows<Row>(query(table), params)) onRow(row)
    }
  }

  async #rows<Row>(query: string, params: Record<string, unknown>): Promise<Row[]> {
    try {
      const result = await this.#connections.front.query({
        query,
        query_params: params,
        format: 'JSONCompactEachRow',
        clickhouse_settings: {
          max_query_size: String(QUERY_BYTES_MAX),
          output_format_json_quote_64bit_integers: 0,
        },
      })
      return await result.json<Row>()
    } catch (error) {
      throw new UnavailableError(`ClickHouse did not answer: ${(error as Error).message}`, { cause: error })
    }
  }
}

function push<T>(lists: Map<string, T[]>, name: string, value: T): void {
  const list = lists.get(name)
  if (list === undefined) lists.set(name, [value])
  else list.push(value)
}
