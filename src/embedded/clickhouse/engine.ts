import { join } from 'node:path'
import { StartupError } from '../../core/run/errors.ts'
import { type EngineAccess, writeEngineConfig } from './access.ts'
import { type ChdbAddon, type Connection, loadAddon, type StreamHandle } from './addon.ts'
import type { Body } from './body.ts'
import { Code, Exception, exceptionOf } from './exception.ts'
import { refuseOutfile, refuseReach } from './reach.ts'
import { Slots } from './slots.ts'
import { insertFromFile, quote, shapeOf } from './statement.ts'

export interface EngineStatement {
  /** Statements that set up the connection. */
  readonly prelude: string
  /** Comes before `body`, on a line of its own; either may be empty. */
  readonly query: string
  /** The rest of the statement, or the data of an INSERT. */
  readonly body: Pick<Body, 'bytes' | 'file'>
  readonly defaultFormat: string
  /** Whether it must change nothing; the prelude says so, too. */
  readonly isRead: boolean
}

export interface Answer {
  readonly format: string
  readonly chunks: AsyncIterable<Uint8Array>
  /** Counts that are known before the first chunk. */
  readonly summary: Summary
}

/** Rows and bytes, and the time since the start in nanoseconds. */
export interface Summary {
  readonly readRows: number
  readonly readBytes: number
  readonly writtenRows: number
  readonly writtenBytes: number
  readonly elapsedNs: number
}

export interface EngineOptions extends EngineAccess {
  /** Statements that run at a time. */
  readonly statements: number
  /** Statements that wait for one of them to end. */
  readonly waitingMax: number
}

const NOTHING_DONE: Summary = { readRows: 0, readBytes: 0, writtenRows: 0, writtenBytes: 0, elapsedNs: 0 }

/**
 * ClickHouse inside this process, over one folder. Every statement has a connection of its own (0.3 ms), so that no
 * setting, parameter or database of one is ever seen by another.
 */
export class Engine {
  readonly #addon: ChdbAddon
  readonly #path: string
  readonly #slots: Slots
  readonly #external: boolean
  readonly #running = new Set<Promise<unknown>>()
  /** Keeps the engine open between statements. */
  #root: Connection | undefined

  private constructor(addon: ChdbAddon, path: string, root: Connection, options: EngineOptions) {
    this.#addon = addon
    this.#path = path
    this.#root = root
    this.#slots = new Slots(options.statements, options.waitingMax)
    this.#external = options.external
  }

  /**
   * @param path absolute; made when it is not there
   * @throws StartupError when there is no engine for this platform, or another process has the folder open
   */
  static open(path: string, options: EngineOptions): Engine {
    const addon = loadAddon()
    try {
      const config = writeEngineConfig(join(path, 'config'), options)
      return new Engine(addon, path, addon.CreateConnection(path, [`--config-file=${config}`]), options)
    } catch (error) {
      throw new StartupError(
        `cannot open the ClickHouse data in ${path}: another process has it open, or it is damaged or not writable`,
        { cause: error },
      )
    }
  }

  /**
   * Runs a statement; its chunks may be taken until `consume` has settled. A statement that has begun goes on to its end
   * whatever happens to the one who waits for it, but a result that is handed on piece by piece ends with `consume`.
   * @param signal ends the wait for a slot
   * @throws Exception
   */
  async execute(
    statement: EngineStatement,
    signal: AbortSignal,
    consume: (answer: Answer) => Promise<void>,
  ): Promise<void> {
    const giveBack = await this.#slots.take(signal)
    const run = this.#execute(statement, consume, giveBack).finally(giveBack)
    const tracked = run.catch(() => {})
    this.#running.add(tracked)
    try {
      await run
    } finally {
      this.#running.delete(tracked)
    }
  }

  /** Resolves when no statement runs. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running)
  }

  /** Ends the statements that read; those that write go on. */
  async cancelReads(): Promise<void> {
    const root = this.#root
    if (root === undefined) return
    const sql = "KILL QUERY WHERE query_kind = 'Select' AND query_id != queryID() ASYNC"
    await this.#addon.QueryAsyncConnection(root, sql, 'Null')
  }

  /** Closes the files. No statement may be running. */
  close(): void {
    if (this.#root === undefined) return
    this.#addon.CloseConnection(this.#root)
    this.#root = undefined
  }

  async #execute(
    statement: EngineStatement,
    consume: (answer: Answer) => Promise<void>,
    giveBack: () => void,
  ): Promise<void> {
    if (this.#root === undefined) throw new Exception(Code.Aborted, 'The server is shutting down. (ABORTED)')
    const connection = this.#addon.CreateConnection(this.#path)
    let open = true
    const close = () => {
      if (open) this.#addon.CloseConnection(connection)
      open = false
      giveBack()
    }
    try {
      await this.#refuse(statement)
      await this.#addon.QueryAsyncConnection(connection, statement.prelude, 'Null')
      await this.#run(connection, statement, consume, close)
    } catch (error) {
      throw exceptionOf(error)
    } finally {
      close()
    }
  }

  async #refuse({ query, body, isRead }: EngineStatement): Promise<void> {
    const text = { query, body: body.bytes }
    const canonical = (sql: string) => this.#canonical(sql)
    if (!this.#external) await refuseReach(text, canonical)
    else if (isRead) await refuseOutfile(text, canonical)
  }

  /** @throws Exception when the text is no statement, or several */
  async #canonical(sql: string): Promise<string> {
    const connection = this.#addon.CreateConnection(this.#path)
    try {
      await this.#addon.QueryAsyncConnection(connection, 'SET max_query_size = 0', 'Null')
      const text = `SELECT formatQuerySingleLine(${quote(sql)})`
      const { bytes } = await this.#addon.QueryAsyncConnection(connection, text, 'RawBLOB')
      return Buffer.from(bytes).toString('utf8')
    } finally {
      this.#addon.CloseConnection(connection)
    }
  }

  async #run(
    connection: Connection,
    statement: EngineStatement,
    consume: (answer: Answer) => Promise<void>,
    close: () => void,
  ): Promise<void> {
    const { query, body, defaultFormat } = statement
    const shape = shapeOf(query === '' ? body.bytes.toString('utf8', 0, HEAD_BYTES) : query)
    if (shape.isInsert) {
      const summary = await this.#insert(connection, statement, shape.lacksData)
      close()
      return await consume({ format: defaultFormat, chunks: chunksOf(), summary })
    }
    const sql = body.bytes.length === 0 ? query : `${query}\n${body.bytes.toString('utf8')}`
    const whole = shapeOf(sql)
    if (whole.isEmpty) throw new Exception(Code.SyntaxError, 'Syntax error: Empty query. (SYNTAX_ERROR)')
    if (whole.isMultiple) {
      throw new Exception(Code.SyntaxError, 'Syntax error (Multi-statements are not allowed). (SYNTAX_ERROR)')
    }
    const format = whole.format ?? defaultFormat
    if (whole.isStreamable(defaultFormat) && !ADDS_TO_ROWS.test(statement.prelude + sql)) {
      return await this.#stream(connection, sql, format, consume)
    }
    const result = await this.#addon.QueryAsyncConnection(connection, sql, defaultFormat)
    close()
    const summary = {
      ...NOTHING_DONE,
      readRows: result.rowsRead,
      readBytes: result.bytesRead,
      elapsedNs: Math.round(result.elapsed * 1e9),
    }
    await consume({ format, chunks: chunksOf(result.bytes), summary })
  }

  /** The data reach the engine as the bytes that came, whatever their format. */
  async #insert(connection: Connection, statement: EngineStatement, lacksData: boolean): Promise<Summary> {
    const { query, body } = statement
    const fromFile = body.file === undefined ? undefined : insertFromFile(query, body.file)
    if (fromFile === undefined && lacksData && (query === '' || body.bytes.length === 0)) return NOTHING_DONE
    const text = fromFile ?? query
    const alone = text !== '' && body.bytes.length === 0
    const [prefix, data] = alone ? ['', Buffer.from(text)] : [text, body.bytes]
    const result = await this.#addon.InsertRawAsyncConnection(connection, prefix, data, false)
    return {
      readRows: result.rowsWritten,
      readBytes: result.bytesWritten,
      writtenRows: result.rowsWritten,
      writtenBytes: result.bytesWritten,
      elapsedNs: Math.round(result.elapsed * 1e9),
    }
  }

  async #stream(
    connection: Connection,
    sql: string,
    format: string,
    consume: (answer: Answer) => Promise<void>,
  ): Promise<void> {
    const chunks = this.#chunks(this.#addon.StreamQuery(connection, sql, format))
    try {
      // Most of what is wrong with a statement shows before its first piece, in time for an error status.
      const first = await chunks.next()
      await consume({ format, chunks: resumed(first, chunks), summary: NOTHING_DONE })
    } finally {
      await chunks.return(undefined)
    }
  }

  async *#chunks(handle: StreamHandle): AsyncGenerator<Uint8Array, undefined> {
    // The addon frees a stream that has ended or failed; one that is left before needs it.
    let left = false
    try {
      for (;;) {
        const chunk = await this.#addon.StreamFetch(handle)
        if (chunk.done) return undefined
        left = true
        yield chunk.bytes
        left = false
      }
    } finally {
      if (left) this.#addon.StreamCancel(handle)
    }
  }
}

/** Settings by which a format of rows has something before or behind them. */
const ADDS_TO_ROWS = /\bextremes\b|_array_of_rows\b/i

const HEAD_BYTES = 65_536

async function* chunksOf(bytes?: Uint8Array): AsyncGenerator<Uint8Array> {
  if (bytes !== undefined && bytes.length > 0) yield bytes
}

async function* resumed(
  first: IteratorResult<Uint8Array>,
  rest: AsyncGenerator<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  if (first.done) return
  yield first.value
  yield* rest
}
