import { growingDelay, pause } from '../../runner/loop.ts'
import { Code, Exception } from './exception.ts'
import { quote } from './statement.ts'

/** The setting by which a running statement is found: chdb gives it a query id of its own, whatever one asks for. */
export const ID_SETTING = 'chdb_client_name'

const ENGINE_ID = `query_id, Settings['${ID_SETTING}']`
const REPEAT_DELAY = { minMs: 20, maxMs: 500 }

export interface RunningStatement {
  /** Ends it; does nothing when it has ended. */
  cancel(): void
  /** Frees its id: it has ended. May be called again. */
  end(): void
}

/**
 * Statements that run, by their query ids, and the end of those that nobody waits for.
 * @param execute runs a statement for its effect
 */
export class RunningStatements {
  readonly #ids = new Set<string>()
  readonly #unwanted = new Set<string>()
  readonly #execute: (sql: string) => Promise<unknown>
  #cancelling: Promise<void> | undefined

  constructor(execute: (sql: string) => Promise<unknown>) {
    this.#execute = execute
  }

  /**
   * Notes a statement.
   * @throws Exception when another one with its id runs
   */
  begin(queryId: string): RunningStatement {
    if (this.#ids.has(queryId)) {
      const message = `Query with id = ${queryId} is already running. (QUERY_WITH_SAME_ID_IS_ALREADY_RUNNING)`
      throw new Exception(Code.QueryWithSameId, message)
    }
    this.#ids.add(queryId)
    // After its end the id may be another statement's.
    let hasEnded = false
    return {
      cancel: () => {
        if (!hasEnded) this.#cancel(queryId)
      },
      end: () => {
        if (hasEnded) return
        hasEnded = true
        this.#ids.delete(queryId)
        this.#unwanted.delete(queryId)
      },
    }
  }

  /** It may not have come to the engine yet, so the engine is asked until the statement ends. */
  #cancel(queryId: string): void {
    this.#unwanted.add(queryId)
    this.#cancelling ??= this.#cancelAll().finally(() => {
      this.#cancelling = undefined
    })
  }

  async #cancelAll(): Promise<void> {
    for (let tries = 0; this.#unwanted.size > 0; tries++) {
      const ids = [...this.#unwanted].map(quote).join(', ')
      // What fails is tried again.
      await this.#execute(`KILL QUERY WHERE Settings['${ID_SETTING}'] IN (${ids}) ASYNC`).catch(() => {})
      if (this.#unwanted.size > 0) await pause(growingDelay(tries, REPEAT_DELAY))
    }
  }
}

/**
 * A KILL QUERY by the ids that clients gave, too.
 * @param canonical the statement as the engine formats it
 */
export function withClientIds(canonical: string): string {
  return canonical.replace(STRING_OR_ID, (piece, value?: string, values?: string) =>
    value === undefined && values === undefined ? piece : `hasAny([${value ?? values}], [${ENGINE_ID}])`,
  )
}

const STRING = "'(?:[^'\\\\]|\\\\.)*'"
const STRING_OR_ID = new RegExp(
  `${STRING}|(?<![.\\w])query_id = (${STRING})|(?<![.\\w])query_id IN \\((${STRING}(?:, ${STRING})*)\\)`,
  'g',
)
