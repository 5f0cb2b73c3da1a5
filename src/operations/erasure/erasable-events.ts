import { randomUUID } from 'node:crypto'
import { removeAllBuilds, removeStaleBuilds } from '../../days/remove-builds.ts'
import { UnavailableError } from '../../run/errors.ts'
import { DATABASE } from '../../stores/clickhouse/client.ts'
import { type ClickHousePlace, HostConnections, type Hosts, onEach } from '../../stores/clickhouse/hosts.ts'
import { quote } from '../../stores/clickhouse/quote.ts'
import { dropErasing, ERASING, removeRows } from '../../stores/clickhouse/remove-rows.ts'
import { CORRECTIONS, HIDDEN, HIDDEN_CHANGES } from '../../stores/clickhouse/tables.ts'
import type { ErasableTables, ErasureScope, RemovedRows } from './ports.ts'

const COLUMNS = { ip: 'ip', account: 'account_id', event: 'event_id', source: 'source_id' } as const
/** Stored events, hidden ones too. */
const EVERYWHERE = `(
  SELECT tenant_id, event_id, received_at, timestamp, ip, account_id, source_id FROM events
  UNION ALL SELECT tenant_id, event_id, received_at, timestamp, ip, account_id, source_id FROM ${HIDDEN}
)`
const PORTION_IDS = 10_000
const QUERY_BYTES_MAX = 67_108_864
const STATEMENT_MS = 600_000
const NONE = { rows: 0, detachedParts: 0 } as const

/**
 * The tables, for an erasure. The search values are in a table in each server's memory, which statements refer to, so that
 * they are in no statement log, and not in the file of the mutation, which ClickHouse keeps.
 */
export class ClickHouseErasableEvents implements ErasableTables {
  readonly #connections: HostConnections
  /** Mutations of a killed erasure continue, and must not find the values of this one. */
  readonly #id = randomUUID()
  #scope: ErasureScope | undefined
  #hosts: Hosts | undefined

  constructor(place: ClickHousePlace | string) {
    this.#connections = new HostConnections(place, { application: 'erase', requestTimeoutMs: STATEMENT_MS })
  }

  async begin(scope: ErasureScope): Promise<void> {
    this.#hosts = await this.#connections.find()
    this.#scope = scope
    const create = `CREATE TABLE IF NOT EXISTS ${ERASING} (erasure UUID, value String) ENGINE = Memory`
    await onEach(this.#hosts.all, ({ client }) => client.command({ query: create }))
    const masked = await this.#masked(scope)
    const values = [scope.selector?.value ?? scope.tenantId, ...masked].map((value) => ({ erasure: this.#id, value }))
    await onEach(this.#hosts.all, ({ client }) => client.insert({ table: ERASING, values, format: 'JSONEachRow' }))
  }

  /** The masked forms of the address, on all days that have any. */
  async #masked({ tenantId, selector, beforeMs }: ErasureScope): Promise<string[]> {
    const maskedOn = selector?.maskedOn
    if (maskedOn === undefined) return []
    const result = await this.#connections.front.query({
      query: `
        SELECT DISTINCT toString(toDate32(timestamp)) FROM ${EVERYWHERE}
        WHERE tenant_id = ${quote(tenantId)} AND received_at < ${time(beforeMs)} AND position(ip, '#') > 0`,
      format: 'JSONCompactEachRow',
    })
    return (await result.json<[string]>()).flatMap(([day]) => maskedOn(day))
  }

  async *eventIds(sinceMs: number): AsyncGenerator<string[]> {
    const result = await this.#connections.front.query({
      query: `SELECT event_id FROM ${EVERYWHERE} WHERE ${this.#condition()} AND received_at >= ${time(sinceMs)}`,
      format: 'JSONCompactEachRow',
      clickhouse_settings: { max_threads: 1, max_result_bytes: '0', max_result_rows: '0' },
    })
    let portion: string[] = []
    for await (const rows of result.stream<[string]>()) {
      for (const row of rows) portion.push(row.json<[string]>()[0])
      if (portion.length < PORTION_IDS) continue
      yield portion
      portion = []
    }
    if (portion.length > 0) yield portion
  }

  async idsAmong(ids: readonly string[], fromMs: number, toMs: number): Promise<ReadonlySet<string>> {
    const result = await this.#connections.front.query({
      query: `
        SELECT DISTINCT event_id FROM ${EVERYWHERE}
        WHERE ${this.#condition()} AND received_at >= ${time(fromMs)} AND received_at <= ${time(toMs)}
          AND event_id IN (${ids.map(quote).join()})`,
      format: 'JSONCompactEachRow',
      clickhouse_settings: { max_query_size: String(QUERY_BYTES_MAX) },
    })
    return new Set((await result.json<[string]>()).map(([id]) => id))
  }

  async remove(deadlineMs: number): Promise<RemovedRows> {
    const { tenantId, selector } = this.#scope!
    const hosts = this.#hosts!
    await this.#assertValuesKept()
    const remove = (table: string, condition: string) => removeRows(hosts, table, condition, deadlineMs)
    const hasOutcomes = selector === undefined || selector.kind === 'source'
    const events = await remove('events', this.#condition())
    const outcomes = hasOutcomes ? await remove('outcomes', this.#outcomesCondition()) : NONE
    const hidden = await remove(HIDDEN, this.#condition())
    const logs = selector === undefined ? [CORRECTIONS, HIDDEN_CHANGES] : []
    const logged: Awaited<ReturnType<typeof remove>>[] = []
    for (const table of logs) logged.push(await remove(table, this.#condition()))
    // After the events, since days are built from them.
    const detachedDays =
      selector === undefined
        ? await removeAllBuilds(hosts, this.#condition(), deadlineMs)
        : await removeStaleBuilds(hosts, tenantId, deadlineMs)
    await this.#assertValuesKept()
    return {
      ...{ rows: events.rows + hidden.rows, outcomes: outcomes.rows, corrections: logged[0]?.rows ?? 0 },
      detachedParts: [events, hidden, outcomes, ...logged].reduce(
        (sum, { detachedParts }) => sum + detachedParts,
        detachedDays,
      ),
    }
  }

  /** A server that was killed and started again meanwhile has lost the values, so it found no row to remove. */
  async #assertValuesKept(): Promise<void> {
    const query = `SELECT count() FROM ${ERASING} WHERE erasure = '${this.#id}'`
    await onEach(this.#hosts!.all, async ({ client, name }) => {
      const result = await client.query({ query, format: 'TabSeparated' })
      if (Number(await result.text()) > 0) return
      throw new UnavailableError(`${name} was started again during the erasure: run the command again to finish it`)
    })
  }

  /** Counts have the day of their receipt, and no time. */
  #outcomesCondition(): string {
    const { tenantId, selector } = this.#scope!
    const tenant = selector === undefined ? this.#wanted() : `(${quote(tenantId)})`
    return `tenant_id IN ${tenant}${selector === undefined ? '' : ` AND source_id IN ${this.#wanted()}`}`
  }

  #wanted(): string {
    return `(SELECT value FROM ${DATABASE}.${ERASING} WHERE erasure = '${this.#id}')`
  }

  async end(): Promise<void> {
    try {
      if (this.#hosts !== undefined) await onEach(this.#hosts.all, ({ client }) => dropErasing(client))
    } finally {
      await this.#connections.close()
    }
  }

  #condition(): string {
    const { tenantId, selector, beforeMs } = this.#scope!
    const wanted = this.#wanted()
    if (selector === undefined) return `tenant_id IN ${wanted}`
    const column = COLUMNS[selector.kind]
    return `tenant_id = ${quote(tenantId)} AND received_at < ${time(beforeMs)} ` + `AND ${column} IN ${wanted}`
  }
}

function time(ms: number): string {
  return `fromUnixTimestamp64Milli(${Math.max(0, Math.floor(ms))}, 'UTC')`
}
