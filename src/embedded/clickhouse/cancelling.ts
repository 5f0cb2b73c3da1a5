import { growingDelay, pause } from '../../run/loop.ts'
import { Code, Exception } from './exception.ts'
import { Scanner } from './scanner.ts'
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

/** The strings in `= 'a'` or `IN ('a', 'b')`, as they are written, with the scanner at their end; undefined when something else follows. */
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
