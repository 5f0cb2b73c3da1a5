import { type ClickHouseClient, ClickHouseError } from '@clickhouse/client'
import { callerLeft, forCaller } from '../../run/caller.ts'
import { TooMuchError, UnavailableError } from '../../run/errors.ts'
import { TenantSlots } from '../../run/tenant-slots.ts'
import { connectClickHouse, DATABASE, givenUp } from './client.ts'
import { unavailable } from './failures.ts'
import { CONNECTIONS_MAX, QUESTIONS, STATEMENT_LIMITS } from './read-limits.ts'

export type Parameters = Readonly<Record<string, string | number | readonly string[]>>

/** Parameters of a query that filters by tenant. */
export type OfTenant = Parameters & { readonly tenant: string }

/** Rows of a query, and their number before its LIMIT. */
export interface Found<T> {
  readonly rows: readonly T[]
  readonly total: number
}

const SETTINGS = {
  // Compiled aggregates compare times before 1970 as if they were after all others.
  compile_aggregate_expressions: 0,
  // A question has the builds of all days and the corrections of its tenant in its text.
  ...{ max_query_size: '16777216', max_ast_elements: '1000000', max_expanded_ast_elements: '1000000' },
  max_bytes_before_external_group_by: '268435456',
  max_bytes_before_external_sort: '134217728',
  output_format_json_quote_64bit_integers: 0,
  date_time_output_format: 'iso',
  result_overflow_mode: 'throw',
} as const

/**
 * A read-only client whose statements all have a time limit.
 * @param application the part of ipid, for ClickHouse's logs
 * @throws InputError when `url` is invalid
 */
export function connectReading(url: string, application: string, database = DATABASE): ClickHouseClient {
  const { seconds, exportSeconds, threads } = STATEMENT_LIMITS
  return connectClickHouse(url, {
    application,
    database,
    // An export may need a while for its first row.
    requestTimeoutMs: exportSeconds * 1_000,
    connectionsMax: CONNECTIONS_MAX,
    settings: {
      ...{ readonly: '1', max_execution_time: seconds, timeout_overflow_mode: 'throw', max_threads: threads },
      // When its caller leaves, a query ends with its connection.
      cancel_http_readonly_queries_on_client_close: 1,
    },
  })
}

/** A client that writes to the database `ipid`. @param url empty: CLICKHOUSE_URL is unknown */
export function writerOf(url: string, application: string) {
  const writing = url === '' ? undefined : connectClickHouse(url, { application, database: DATABASE })
  return {
    /** @throws UnavailableError when CLICKHOUSE_URL is unknown */
    client: () => known(writing),
    close: async () => await writing?.close(),
  }
}

function known(client: ClickHouseClient | undefined): ClickHouseClient {
  if (client === undefined) throw new UnavailableError('this process does not know ClickHouse: set CLICKHOUSE_URL')
  return client
}

/** Queries ClickHouse for people and programs outside. Uses parameters only, and limits each statement and each tenant. */
export class QuestionReader {
  readonly #client: ClickHouseClient | undefined
  readonly #questions: Questions

  /** @param client of `connectReading`; undefined: CLICKHOUSE_URL is unknown, and every call rejects */
  constructor(client: ClickHouseClient | undefined, slots = new TenantSlots(QUESTIONS)) {
    this.#client = client
    this.#questions = new Questions(slots)
  }

  /** @throws UnavailableError when it is unknown */
  get client(): ClickHouseClient {
    return known(this.#client)
  }

  /**
   * Rejects with `UnavailableError`, also when a table is missing, with its `TooMuchError` when the query takes too long, or with
   * `BackpressureError`.
   */
  async find<T>(query: string, parameters: OfTenant, seconds: number = STATEMENT_LIMITS.seconds): Promise<Found<T>> {
    return await this.ask(parameters.tenant, JSON.stringify([query, parameters, seconds]), async () => {
      const end = givenUp(seconds)
      try {
        const result = await this.client.query({
          query,
          query_params: { ...parameters },
          format: 'JSON',
          abort_signal: end,
          clickhouse_settings: {
            ...SETTINGS,
            max_execution_time: seconds,
            max_result_rows: String(STATEMENT_LIMITS.rows),
          },
        })
        const { data, rows_before_limit_at_least } = await result.json<T>()
        return { rows: data, total: rows_before_limit_at_least ?? data.length }
      } catch (error) {
        callerLeft()?.throwIfAborted()
        // A busy ClickHouse notices its own limit too late.
        if (end.aborted)
          throw new TooMuchError('ClickHouse does not answer in time: try again in a moment', { cause: error })
        throw error
      }
    })
  }

  /** The rows of `find`. */
  async rows<T>(query: string, parameters: OfTenant, seconds?: number): Promise<readonly T[]> {
    return (await this.find<T>(query, parameters, seconds)).rows
  }

  /**
   * Runs a query in a slot of the tenant. Rejects as `find` does. Ends when all callers have left: see `forCaller` and `givenUp`.
   * @param question identifies the query with all its parameters
   */
  ask<T>(tenantId: string, question: string, ask: () => Promise<T>): Promise<T> {
    return this.#questions.ask(tenantId, question, async () => {
      try {
        return await ask()
      } catch (error) {
        callerLeft()?.throwIfAborted()
        throw failureOf(error)
      }
    })
  }

  /**
   * Streams any number of rows. The caller must hold a slot.
   * @param left aborts when the reader has left
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
      // The client ignores its signal after the response headers.
      left.addEventListener('abort', () => result.close())
      for await (const rows of result.stream<T>()) yield rows.map((row) => row.json<T>())
    } catch (error) {
      throw failureOf(error)
    }
  }
}

/** Length of a list's text in a URL. */
export function encodedChars(text: string): number {
  // Replace an unpaired surrogate, which cannot be encoded.
  return encodeURIComponent(Buffer.from(text.replace(/[\\'\n\t]/g, '\\\\$&')).toString()).length + 12
}

const TOO_MUCH: ReadonlySet<string | undefined> = new Set(['TIMEOUT_EXCEEDED', 'MEMORY_LIMIT_EXCEEDED'])

function failureOf(error: unknown): UnavailableError {
  if (error instanceof ClickHouseError && TOO_MUCH.has(error.type)) return tooMuch(error)
  return unavailable(error)
}

function tooMuch(cause: unknown): TooMuchError {
  const message = 'too many events to count: choose fewer days, or sort by another column than visits and unique IPs'
  return new TooMuchError(message, { cause, retryAfterSeconds: STATEMENT_LIMITS.seconds })
}

/** A query that waits or runs, for one caller or several. */
interface Question<T> {
  readonly answer: Promise<T>
  /** Aborts when all callers have left. */
  readonly leaving: AbortController
  callers: number
}

/**
 * Runs queries of tenants in slots, and shares equal queries. While a query runs, equal ones share one that waits for it. So
 * every caller gets an answer that is newer than its call.
 */
class Questions {
  readonly #slots: TenantSlots
  readonly #waiting = new Map<string, Question<unknown>>()
  readonly #underWay = new Map<string, Question<unknown>>()

  constructor(slots: TenantSlots) {
    this.#slots = slots
  }

  /** @param question identifies the query with all its parameters and the tenant */
  async ask<T>(tenantId: string, question: string, ask: () => Promise<T>): Promise<T> {
    const left = callerLeft()
    left?.throwIfAborted()
    let asked = this.#waiting.get(question) as Question<T> | undefined
    if (asked === undefined) {
      const leaving = new AbortController()
      const answer = this.#answer(tenantId, question, () => forCaller(leaving.signal, ask), leaving.signal)
      asked = { answer, leaving, callers: 0 }
      this.#waiting.set(question, asked)
    }
    const { leaving } = asked
    asked.callers++
    left?.addEventListener('abort', () => {
      if (--asked.callers > 0) return
      if (this.#waiting.get(question) === asked) this.#waiting.delete(question)
      leaving.abort(left.reason)
    })
    return asked.answer
  }

  async #answer<T>(tenantId: string, question: string, ask: () => Promise<T>, left: AbortSignal): Promise<T> {
    const isOwn = () => this.#waiting.get(question)?.leaving.signal === left
    const before = this.#underWay.get(question)
    try {
      // If that fails, this would fail too, unless that had no caller any more.
      await before?.answer.catch((error) => {
        if (!before.leaving.signal.aborted) throw error
      })
      const begin = () => {
        left.throwIfAborted()
        return this.#begin(question, ask)
      }
      return await this.#slots.run(tenantId, begin, left)
    } finally {
      if (isOwn()) this.#waiting.delete(question)
    }
  }

  async #begin<T>(question: string, ask: () => Promise<T>): Promise<T> {
    const asked = this.#waiting.get(question)!
    this.#waiting.delete(question)
    this.#underWay.set(question, asked)
    try {
      return await ask()
    } finally {
      this.#underWay.delete(question)
    }
  }
}
