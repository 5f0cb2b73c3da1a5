import { growingDelay, pause } from '../../run/loop.ts'
import { Code, Exception } from './exception.ts'
import { Scanner } from './scanner.ts'
import { quote } from './statement.ts'

/** This setting carries the client's query id, because chdb assigns query ids of its own. */
export const ID_SETTING = 'chdb_client_name'

const ENGINE_ID = `query_id, Settings['${ID_SETTING}']`
const REPEAT_DELAY = { minMs: 20, maxMs: 500 }

export interface RunningStatement {
  /** Cancels the statement; does nothing after its end. */
  cancel(): void
  /** The statement has ended: frees its id. Idempotent. */
  end(): void
}

/**
 * Running statements by query id. Cancels those whose client has disconnected.
 * @param execute runs a statement and ignores its result
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
   * Registers a statement.
   * @throws Exception when another statement with its id is running
   */
  begin(queryId: string): RunningStatement {
    if (this.#ids.has(queryId)) {
      const message = `Query with id = ${queryId} is already running. (QUERY_WITH_SAME_ID_IS_ALREADY_RUNNING)`
      throw new Exception(Code.QueryWithSameId, message)
    }
    this.#ids.add(queryId)
    // After the end, another statement may use the id.
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

  /** Repeats KILL QUERY until the statement ends, because the statement may not have reached the engine yet. */
  #cancel(queryId: string): void {
    this.#unwanted.add(queryId)
    this.#cancelling ??= this.#cancelAll().finally(() => {
      this.#cancelling = undefined
    })
  }

  async #cancelAll(): Promise<void> {
    for (let tries = 0; this.#unwanted.size > 0; tries++) {
      const ids = [...this.#unwanted].map(quote).join(', ')
      // The loop retries after an error.
      await this.#execute(`KILL QUERY WHERE Settings['${ID_SETTING}'] IN (${ids}) ASYNC`).catch(() => {})
      if (this.#unwanted.size > 0) await pause(growingDelay(tries, REPEAT_DELAY))
    }
  }
}

/**
 * Makes a KILL QUERY accept the ids of clients as well.
 * @param canonical the statement as the engine formats it
 */
export function withClientIds(canonical: string): string {
  const scanner = new Scanner(canonical)
  let [result, done, before] = ['', 0, '']
  while (scanner.next()) {
    const { from } = scanner
    const isColumn = scanner.is('QUERY_ID') && before !== '.'
    before = scanner.kind === 'symbol' ? scanner.token : ''
    const values = isColumn ? comparedStrings(scanner) : undefined
    if (values === undefined) continue
    result += `${canonical.slice(done, from)}hasAny([${values}], [${ENGINE_ID}])`
    done = scanner.to
  }
  return result + canonical.slice(done)
}

/** The quoted strings in `= 'a'` or `IN ('a', 'b')`, with the scanner at their end; undefined for anything else. */
function comparedStrings(scanner: Scanner): string | undefined {
  scanner.next()
  if (scanner.is('=')) return scanner.next() && scanner.kind === 'string' ? scanner.token : undefined
  if (!scanner.is('IN') || !scanner.next() || !scanner.is('(')) return undefined
  const values: string[] = []
  do {
    if (!scanner.next() || scanner.kind !== 'string') return undefined
    values.push(scanner.token)
  } while (scanner.next() && scanner.is(','))
  return scanner.is(')') ? values.join(', ') : undefined
}
