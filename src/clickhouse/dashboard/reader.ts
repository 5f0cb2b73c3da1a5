import { type ClickHouseClient, ClickHouseError } from '@clickhouse/client'
import { UnavailableError } from '../../core/run/errors.ts'
import { NO_TABLE_CODES } from '../stored-events.ts'

/** Values of a query, by name. */
export type Parameters = Readonly<Record<string, string | number | readonly string[]>>

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

const RESULT_ROWS_MAX = 20_000
const EXPORT_SECONDS_MAX = 300

/** Asks ClickHouse for a page of the dashboard: with parameters only, and within limits. */
export class DashboardReader {
  readonly #client: ClickHouseClient | undefined

  /** @param client of the database `ipid`, read-only; undefined: this process knows of none, and every call says so */
  constructor(client: ClickHouseClient | undefined) {
    this.#client = client
  }

  /** @throws UnavailableError when there is none */
  get client(): ClickHouseClient {
    if (this.#client === undefined)
      throw new UnavailableError('the dashboard was not told where ClickHouse is: set CLICKHOUSE_URL')
    return this.#client
  }

  /** Rejects with `UnavailableError`; where no sink has ever run there are no rows. */
  async find<T>(query: string, parameters: Parameters): Promise<Found<T>> {
    const { client } = this
    const asked = async () => {
      const result = await client.query({
        query,
        query_params: { ...parameters },
        format: 'JSON',
        clickhouse_settings: { ...SETTINGS, max_result_rows: String(RESULT_ROWS_MAX) },
      })
      const { data, rows_before_limit_at_least } = await result.json<T>()
      return { rows: data, total: rows_before_limit_at_least ?? data.length }
    }
    return await answered(asked(), { rows: [], total: 0 })
  }

  /** The rows of `find`. */
  async rows<T>(query: string, parameters: Parameters): Promise<readonly T[]> {
    return (await this.find<T>(query, parameters)).rows
  }

  /** Rows as they come, without a limit of their number. */
  async *stream<T>(query: string, parameters: Parameters): AsyncGenerator<readonly T[]> {
    const { client } = this
    try {
      const result = await client.query({
        query,
        query_params: { ...parameters },
        format: 'JSONEachRow',
        clickhouse_settings: { ...SETTINGS, max_execution_time: EXPORT_SECONDS_MAX },
      })
      for await (const rows of result.stream<T>()) yield rows.map((row) => row.json<T>())
    } catch (error) {
      if (isNoTable(error)) return
      throw unavailable(error)
    }
  }
}

/** What a text of a list takes in the address of a request. */
export function encodedChars(text: string): number {
  // Half a surrogate pair has no encoding, and is replaced.
  return encodeURIComponent(Buffer.from(text.replace(/[\\'\n\t]/g, '\\\\$&')).toString()).length + 12
}

/** An answer of ClickHouse; where no sink has ever run, `nothing`. Rejects with `UnavailableError`. */
export async function answered<T>(asked: Promise<T>, nothing: T): Promise<T> {
  try {
    return await asked
  } catch (error) {
    if (isNoTable(error)) return nothing
    throw unavailable(error)
  }
}

function isNoTable(error: unknown): boolean {
  return error instanceof ClickHouseError && NO_TABLE_CODES.has(error.code)
}

function unavailable(error: unknown): UnavailableError {
  return new UnavailableError('the tables did not answer in time: try a shorter span of days', { cause: error })
}
