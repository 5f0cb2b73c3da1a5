import { join } from 'node:path'
import { StartupError } from '../../run/errors.ts'
import { isFull, spaceOf } from '../../run/free-space.ts'
import { writeEngineConfig } from './access.ts'
import { asking, type ChdbAddon, type Connection, loadAddon } from './addon.ts'
import { AnswerHead } from './answer-head.ts'
import { ID_SETTING, type RunningStatement, RunningStatements, withClientIds } from './cancelling.ts'
import { Connections } from './connections.ts'
import { DataFiles } from './data-files.ts'
import { type EffectiveSettings, effectiveSettings } from './effective-settings.ts'
import type { EngineOptions } from './engine-options.ts'
import { assertQuerySize, defaultsOf, type EngineStatement, headOf, textOf } from './engine-statement.ts'
import { Code, Exception, exceptionOf } from './exception.ts'
import { type TableStatements, tableStatements, withTables } from './external-tables.ts'
import { type InsertParts, insertParts, refuseInput } from './insert-parts.ts'
import { insertRows } from './inserting.ts'
import { forRevision } from './native-answer.ts'
import { takesDataOnly } from './plain-insert.ts'
import { type ProgressReports, ProgressWatch } from './progress-watch.ts'
import { refuseOutfile, refuseReach } from './reach.ts'
import { ReadCounter } from './read-counts.ts'
import { type Answer, type Consume, NOTHING_DONE, Reading, type Rest } from './reading.ts'
import { ResultPipes } from './result-pipes.ts'
import { Slots } from './slots.ts'
import { quote, shapeOf } from './statement.ts'
import { type RefusedDefinition, refusedDefinitions } from './stored-definitions.ts'
import { assertFreeSpace, WriteWatch } from './write-watch.ts'

/** Registrations of a running statement. */
interface Notes {
  readonly running: RunningStatement
  readonly progress: ProgressReports
}

/** For queries of system tables: distributing them to several threads costs more than the work itself. */
const SMALL_QUERIES = 'SET max_threads = 1, output_format_parallel_formatting = 0'
const FAILED_WRITES = "SELECT sum(value) FROM system.events WHERE event = 'WriteBufferFromFileDescriptorWriteFailed'"

/** ClickHouse inside this process, over one folder. */
export class Engine {
  readonly #addon: ChdbAddon
  readonly #slots: Slots
  readonly #ownSlots: Slots
  readonly #insertSlots: Slots
  readonly #external: boolean
  readonly #path: string
  readonly #connections: Connections
  readonly #statements: RunningStatements
  readonly #pipes: ResultPipes
  readonly #dataFiles: DataFiles
  readonly #reading: Reading
  readonly #head: AnswerHead
  readonly #progress: ProgressWatch
  readonly #writes: WriteWatch
  readonly #running = new Set<Promise<unknown>>()
  /** Keeps the engine open between statements. */
  #root: Connection | undefined

  private constructor(native: ChdbAddon, path: string, root: Connection, options: EngineOptions) {
    // Statements that run before this takes effect are not harmed.
    native.QueryAsyncConnection(root, SMALL_QUERIES, 'Null').catch(() => {})
    const counter = new ReadCounter(native, root)
    const { addon } = counter
    this.#addon = addon
    this.#root = root
    this.#slots = new Slots(options.statements, options.waitingMax)
    this.#ownSlots = new Slots(options.ownStatements, options.waitingMax)
    this.#insertSlots = new Slots(options.inserts, options.waitingMax)
    this.#external = options.external
    this.#path = path
    this.#connections = new Connections(addon, path, options.sessionsMax)
    this.#statements = new RunningStatements((sql) => addon.QueryAsyncConnection(root, sql, 'Null'))
    const ask = asking(addon, root)
    this.#head = new AnswerHead(ask)
    this.#progress = new ProgressWatch(ask)
    this.#dataFiles = new DataFiles(join(path, 'inserts'))
    const folder = join(path, 'results')
    this.#pipes = ResultPipes.make(folder, options.statements + options.ownStatements)
    this.#reading = new Reading({
      ...{ addon, counter, folder, pipes: this.#pipes },
      canonical: (sql) => this.#canonical(sql),
      written: () => this.#writes.look(),
    })
    this.#writes = new WriteWatch({
      failedWrites: async () => Number(await ask(FAILED_WRITES)),
      departures: () => this.#pipes.departures,
      isNearlyFull: () => isFull(spaceOf(path)),
      end: options.endDamaged,
    })
    this.#writes.start()
  }

  /**
   * @param path absolute; created if missing
   * @throws StartupError when this platform has no engine, or another process has the folder open
   */
  static open(path: string, options: EngineOptions): Engine {
    const addon = loadAddon()
    let root: Connection
    try {
      const config = writeEngineConfig(join(path, 'config'), options)
      root = addon.CreateConnection(path, [`--config-file=${config}`])
    } catch (error) {
      throw new StartupError(
        `cannot open the ClickHouse data in ${path}: another process has it open, or it is damaged or not writable`,
        { cause: error },
      )
    }
    return new Engine(addon, path, root, options)
  }

  /**
   * Runs a statement. Its chunks are valid until `consume` settles. A read is cancelled when its client disconnects; a write
   * always completes.
   * @param signal aborted when the client disconnects
   * @throws Exception
   */
  async execute(
    statement: EngineStatement,
    signal: AbortSignal,
    consume: (answer: Answer) => Promise<void>,
  ): Promise<void> {
    assertQuerySize(statement)
    const running = this.#statements.begin(statement.queryId)
    const progress = this.#progress.of(statement.queryId, statement.onProgress)
    let over = () => {}
    try {
      over = await this.#writes.begin()
      // Progress starts before the slot is free, because a client may time out while its statement waits.
      progress.start(new Map(statement.settings))
      const slots = this.#slotsFor(statement)
      const giveBack = await slots.take(signal)
      await this.#tracked(this.#run(statement, { running, progress }, signal, consume).finally(giveBack))
    } finally {
      over()
      progress.stop()
      running.end()
    }
  }

  /** Inserts of clients may take long, so they do not share slots with our sink. */
  #slotsFor({ isOwn, query }: EngineStatement): Slots {
    if (isOwn) return this.#ownSlots
    return takesDataOnly(query) ? this.#insertSlots : this.#slots
  }

  /** Existing definitions that would be refused today; empty when statements may reach everything. */
  async refusedDefinitions(): Promise<RefusedDefinition[]> {
    if (this.#external || this.#root === undefined) return []
    const found = refusedDefinitions(asking(this.#addon, this.#root), (sql) => this.#canonical(sql))
    return await this.#tracked(found)
  }

  /** Delays closing until this work has ended. */
  async #tracked<T>(work: Promise<T>): Promise<T> {
    const ended = work.catch(() => {})
    this.#running.add(ended)
    return await work.finally(() => this.#running.delete(ended))
  }

  /** Resolves when no statement runs. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running)
  }

  /** Cancels all reads. Writes continue. */
  async cancelReads(): Promise<void> {
    if (this.#root === undefined) return
    const sql = "KILL QUERY WHERE query_kind = 'Select' AND query_id != queryID() ASYNC"
    await this.#addon.QueryAsyncConnection(this.#root, sql, 'Null')
  }

  /** Closes the files. No statement may be running. */
  async close(): Promise<void> {
    if (this.#root === undefined) return
    const root = this.#root
    this.#root = undefined
    await this.#writes.stop()
    await this.#connections.close()
    this.#pipes.remove()
    this.#addon.CloseConnection(root)
  }

  async #run(
    statement: EngineStatement,
    notes: Notes,
    signal: AbortSignal,
    consume: (answer: Answer) => Promise<void>,
  ): Promise<void> {
    try {
      const rest = await this.#execute(statement, notes, signal, consume)
      notes.progress.stop()
      notes.running.end()
      await rest()
    } catch (error) {
      throw exceptionOf(error)
    }
  }

  /** Resolves when the statement has ended and its session is free. */
  async #execute(
    given: EngineStatement,
    { running: { cancel }, progress }: Notes,
    signal: AbortSignal,
    consume: (answer: Answer) => Promise<void>,
  ): Promise<Rest> {
    if (this.#root === undefined) throw new Exception(Code.Aborted, 'The server is shutting down. (ABORTED)')
    const { isRead, isInsert } = shapeOf(headOf(given))
    const parts = isInsert ? await insertParts(given, (sql) => this.#canonical(sql)) : undefined
    const statement = parts === undefined ? given : { ...given, query: parts.query, body: parts.data ?? NO_BODY }
    // Data without expressions need no judgement.
    await this.#refuse(parts === undefined || parts.hasValues ? statement : { ...statement, body: NO_BODY })
    const tables = await this.#judgedTables(statement)
    const head = headOf(statement)
    assertFreeSpace(head, this.#path)
    // The statement may remove the source parts of a damaged part, so check for damage first.
    if (!isRead && !isInsert) await this.#writes.look()
    const defaults = [[ID_SETTING, statement.queryId] as const, ...defaultsOf(statement)]
    return await this.#connections.within({ ...statement, defaults }, head, async (connection, inherited) => {
      progress.start(inherited)
      const text = isInsert ? head : textOf(statement)
      const settings = await effectiveSettings(text, inherited, (sql) => this.#canonical(sql))
      const answer: Consume = async (result) => {
        progress.stop()
        const contentType = await this.#head.contentType(result.format, settings)
        await consume({ ...result, contentType, timezone: await this.#head.timezone(settings) })
      }
      const insert = (query: string, bytes: Buffer) =>
        insertRows(this.#addon, connection, { query, data: { bytes, file: undefined } }, this.#dataFiles)
      return await withTables(this.#addon, connection, tables, insert, async () => {
        if (parts !== undefined) return await this.#insert(connection, parts, statement.defaultFormat, answer)
        if (isRead) signal.addEventListener('abort', cancel, { once: true })
        if (isRead && signal.aborted) cancel()
        return await this.#read(connection, statement, settings, signal, cancel, answer)
      })
    })
  }

  /** External tables are judged like any statement of a client. */
  async #judgedTables({ tables }: EngineStatement): Promise<TableStatements[]> {
    const judged: TableStatements[] = []
    for (const table of tables) {
      const made = await tableStatements(table, (sql) => this.#canonical(sql))
      await this.#refuse({ ...BARE, query: made.create, body: NO_BODY })
      await this.#refuse({ ...BARE, query: made.insert, body: { ...NO_BODY, bytes: made.data } })
      judged.push(made)
    }
    return judged
  }

  async #refuse({ query, body, isRead, settings }: Judged): Promise<void> {
    const text = { query, body: body.bytes, settings }
    const canonical = (sql: string) => this.#canonical(sql)
    if (!this.#external) await refuseReach(text, canonical)
    else if (isRead) await refuseOutfile(text, canonical)
  }

  /** @throws Exception when the text is not exactly one statement */
  async #canonical(sql: string): Promise<string> {
    return await this.#connections.fresh(async (connection) => {
      await this.#addon.QueryAsyncConnection(connection, `${SMALL_QUERIES}, max_query_size = 0`, 'Null')
      const text = `SELECT formatQuerySingleLine(${quote(sql)})`
      try {
        const { bytes } = await this.#addon.QueryAsyncConnection(connection, text, 'RawBLOB')
        return Buffer.from(bytes).toString('utf8')
      } catch (error) {
        const { code, message } = exceptionOf(error)
        // The message repeats the text after this.
        const end = message.indexOf(': In scope SELECT formatQuerySingleLine')
        throw end < 0
          ? error
          : new Exception(code, `${message.slice(0, end)} ${nameOf(message)}`.trim(), { cause: error })
      }
    })
  }

  async #read(
    connection: Connection,
    statement: EngineStatement,
    settings: EffectiveSettings,
    signal: AbortSignal,
    cancel: () => void,
    consume: Consume,
  ): Promise<Rest> {
    const { defaultFormat, waitsForEnd, isMeasured, protocolRevision: revision } = statement
    const given = textOf(statement)
    const shape = shapeOf(given)
    if (shape.isEmpty) throw new Exception(Code.SyntaxError, 'Syntax error: Empty query. (SYNTAX_ERROR)')
    if (shape.isMultiple) {
      throw new Exception(Code.SyntaxError, 'Syntax error (Multi-statements are not allowed). (SYNTAX_ERROR)')
    }
    // WITH … INSERT.
    if (!statement.isRead && !shape.isSelect && /\binput\b/i.test(given)) refuseInput(await this.#canonical(given))
    const sql = shape.isKill ? withClientIds(await this.#canonical(given)) : given
    const native = { sql, shape, defaultFormat, revision, settings }
    const tools = { ask: asking(this.#addon, connection), canonical: (text: string) => this.#canonical(text) }
    const answer = await forRevision(native, tools, consume)
    return await this.#reading.read(
      { connection, sql, shape, defaultFormat, waitsForEnd, isMeasured, signal, cancel },
      answer,
    )
  }

  /** The engine reads the received bytes, in any format. */
  async #insert(connection: Connection, parts: InsertParts, format: string, consume: Consume): Promise<Rest> {
    const isNothing = parts.data?.file === undefined && parts.data?.bytes.length === 0
    const summary = isNothing ? NOTHING_DONE : await insertRows(this.#addon, connection, parts, this.#dataFiles)
    await this.#writes.look()
    return () => consume({ format, chunks: nothing(), summary })
  }
}

/** `(SYNTAX_ERROR)` */
function nameOf(message: string): string {
  const at = message.lastIndexOf('(')
  return /^\([A-Z_]+\)\s*$/.test(message.slice(at)) ? message.slice(at).trim() : ''
}

type Judged = Pick<EngineStatement, 'query' | 'body' | 'isRead' | 'settings'>

const BARE = { isRead: false, settings: [] }
const NO_BODY = { bytes: Buffer.alloc(0), file: undefined }

async function* nothing(): AsyncGenerator<Uint8Array> {}
