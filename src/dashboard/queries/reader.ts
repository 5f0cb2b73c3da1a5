import { type ClickHouseClient, ClickHouseError } from '@clickhouse/client'
import { UnavailableError } from '../../run/errors.ts'
import { TenantSlots } from '../../run/tenant-slots.ts'
import { connectClickHouse, DATABASE, givenUp } from '../../stores/clickhouse/client.ts'
import { unavailable } from '../../stores/clickhouse/failures.ts'
import { CONNECTIONS_MAX, QUESTIONS, STATEMENT_LIMITS } from '../server/read-limits.ts'
import { Questions } from './questions.ts'

/** Values of a query, by name. */
export type Parameters = Readonly<Record<string, string | number | readonly string[]>>

/** Of a query, which filters by the tenant. */
export type OfTenant = Parameters & { readonly tenant: string }

/** Rows of a query, and how many there were before its LIMIT. */
export interface Found<T> {
  readonly rows: readonly T[]
  readonly total: number
}

const SETTINGS = {
  max_bytes_before_external_group_by: '134217728',
  max_bytes_before_external_sort: '134217728',
  output_format_json_quote_64bit_integers: 0,
  date_time_output_format: 'iso',
  result_overflow_mode: 'throw',
} as const

/**
 * The client of all that the dashboard reads: nothing can be written with it, and every statement ends in time.
 * @throws InputError when `url` is none
 */
export function connectReading(url: string, database = DATABASE): ClickHouseClient {
  const { seconds, exportSeconds, threads } = STATEMENT_LIMITS
  return connectClickHouse(url, {
    application: 'dashboard',
    database,
    // An export may take its time before its first row.
    requestTimeoutMs: exportSeconds * 1_000,
    connectionsMax: CONNECTIONS_MAX,
    settings: { readonly: '1', max_execution_time: seconds, timeout_overflow_mode: 'throw', max_threads: threads },
  })
}

/** Asks ClickHouse for a page of the dashboard: with parameters only, within limits, and within what a tenant may take of them. */
export class DashboardReader {
  readonly #client: ClickHouseClient | undefined
  readonly #questions: Questions

  /** @param client of `connectReading`; undefined: this process knows of none, and every call says so */
  constructor(client: ClickHouseClient | undefined, slots = new TenantSlots(QUESTIONS)) {
    this.#client = client
    this.#questions = new Questions(slots)
  }

  /** @throws UnavailableError when there is none */
  get client(): ClickHouseClient {
    if (this.#client === undefined)
      throw new UnavailableError('the dashboard was not told where ClickHouse is: set CLICKHOUSE_URL')
    return this.#client
  }

  /** Rejects with `UnavailableError`, also when a table is missing, or with `BackpressureError`. */
  async find<T>(query: string, parameters: OfTenant): Promise<Found<T>> {
    return await this.ask(parameters.tenant, JSON.stringify([query, parameters]), async () => {
      const { seconds, rows } = STATEMENT_LIMITS
      const result = await this.client.query({
        query,
        query_params: { ...parameters },
        format: 'JSON',
        abort_signal: givenUp(seconds),
        clickhouse_settings: { ...SETTINGS, max_result_rows: String(rows) },
      })
      const { data, rows_before_limit_at_least } = await result.json<T>()
      return { rows: data, total: rows_before_limit_at_least ?? data.length }
    })
  }

  /** The rows of `find`. */
  async rows<T>(query: string, parameters: OfTenant): Promise<readonly T[]> {
    return (await this.find<T>(query, parameters)).rows
  }

  /**
   * Asks in a slot of the tenant, and fails as `find` does.
   * @param question all that is asked, as a text
   */
  ask<T>(tenantId: string, question: string, ask: () => Promise<T>): Promise<T> {
    return this.#questions.ask(tenantId, question, async () => {
      try {
        return await ask()
      } catch (error) {
        throw failureOf(error)
      }
    })
  }

  /**
   * Rows as they come, without a limit of their number. The caller holds a slot for it.
   * @param left breaks it off: nobody waits for more
   */
  async *stream<T>(query: string, parameters: OfTenant, left: AbortSignal): AsyncGenerator<readonly T[]> {
    const { client } = this
    try {
      left.throwIfAborted()
      const result = await client.query({
        query,
        query_params: { ...parameters },
        format: 'JSONEachRow',
        abort_signal: left,
        clickhouse_settings: { ...SETTINGS, max_execution_time: STATEMENT_LIMITS.exportSeconds },
      })
      // The client's own signal is worth nothing behind the head of the answer.
      left.addEventListener('abort', () => result.close())
      for await (const rows of result.stream<T>()) yield rows.map((row) => row.json<T>())
    } catch (error) {
      throw failureOf(error)
    }
  }
}

/** What a text of a list takes in the address of a request. */
export function encodedChars(text: string): number {
  // Half a surrogate pair has no encoding, and is replaced.
  return encodeURIComponent(Buffer.from(text.replace(/[\\'\n\t]/g, '\\\\$&')).toString()).length + 12
}

const TOO_MUCH: ReadonlySet<string | undefined> = new Set(['TIMEOUT_EXCEEDED', 'MEMORY_LIMIT_EXCEEDED'])

function failureOf(error: unknown): UnavailableError {
  if (error instanceof ClickHouseError && TOO_MUCH.has(error.type)) {
    const message =
      'there is too much to count for a page: choose fewer days, or another order than visits and unique IPs'
    return new UnavailableError(message, { cause: error, retryAfterSeconds: STATEMENT_LIMITS.seconds })
  }
  return unavailable(error)
}
