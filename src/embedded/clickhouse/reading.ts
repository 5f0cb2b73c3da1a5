import { createReadStream } from 'node:fs'
import { rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ChdbAddon, Connection, QueryResult } from './addon.ts'
import { Code, exceptionOf } from './exception.ts'
import type { Canonical } from './reach.ts'
import type { Measurement, ReadCounter, ReadCounts } from './read-counts.ts'
import type { ResultPipe, ResultPipes } from './result-pipes.ts'
import { intoFile, isPlain, type StatementShape, selectIntoFile } from './statement.ts'

interface Result {
  readonly format: string
  readonly chunks: AsyncIterable<Uint8Array>
  /** The summary before the first chunk. Complete unless the result is large. */
  readonly summary: Summary
}

/** A result, with the other headers of its response. */
export interface Answer extends Result {
  readonly contentType: string
  readonly timezone: string
}

/** Rows and bytes, and the elapsed time in nanoseconds. */
export interface Summary {
  /** Undefined when unknown. */
  readonly read: ReadCounts | undefined
  readonly writtenRows: number
  readonly writtenBytes: number
  readonly resultRows: number
  readonly resultBytes: number
  readonly elapsedNs: number
}

export const NOTHING_DONE: Summary = {
  read: { rows: 0, bytes: 0 },
  writtenRows: 0,
  writtenBytes: 0,
  resultRows: 0,
  resultBytes: 0,
  elapsedNs: 0,
}

const UNMEASURED: Measurement = { read: async () => undefined }

interface ReadStatement {
  readonly connection: Connection
  readonly sql: string
  readonly shape: StatementShape
  readonly defaultFormat: string
  readonly waitsForEnd: boolean
  readonly isMeasured: boolean
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal
  /** Cancels the statement, even before it began. */
  readonly cancel: () => void
}

interface ReadingOptions {
  readonly addon: ChdbAddon
  readonly counter: ReadCounter
  readonly pipes: ResultPipes
  /** Folder for results that must be complete before they are sent. */
  readonly folder: string
  readonly canonical: Canonical
  /** Resolves when all writes so far have succeeded. Otherwise the process ends. */
  readonly written: () => Promise<void>
}

export type Consume = (result: Result) => Promise<void>

/** Passes on the rest of a result after the end of its statement. Must be called exactly once. */
export type Rest = () => Promise<void>

/** Results up to this size are buffered until the statement ends, so that an error can set the status. */
const HELD_BYTES_MAX = 1_048_576

/** Transports results out of the engine: through a pipe, a file or, for small results, memory. */
export class Reading {
  readonly #options: ReadingOptions
  #files = 0

  constructor(options: ReadingOptions) {
    this.#options = options
  }

  /**
   * Resolves when the statement has ended, so that its resources are free before the client reads the response's head.
   * @throws an error of the engine, unless `consume` has begun; from then on its chunks throw the error
   */
  async read(statement: ReadStatement, consume: Consume): Promise<Rest> {
    const { shape } = statement
    if (shape.isSelect && !shape.hasFile) {
      const rest =
        (await this.#streams(statement, consume)) ??
        (shape.format === undefined ? undefined : await this.#streams(withoutFormat(statement), consume))
      if (rest !== undefined) return rest
    }
    return await this.#throughMemory(statement, consume)
  }

  /**
   * @returns undefined for a syntax error. Our clause may be in a wrong place, and the error must quote the client's text
   */
  async #streams(statement: ReadStatement, consume: Consume): Promise<Rest | undefined> {
    let hasBegun = false
    const begin: Consume = (answer) => {
      hasBegun = true
      return consume(answer)
    }
    try {
      return await (statement.waitsForEnd ? this.#throughFile(statement, begin) : this.#throughPipe(statement, begin))
    } catch (error) {
      if (hasBegun || exceptionOf(error).code !== Code.SyntaxError) throw error
      return undefined
    }
  }

  async #throughPipe(statement: ReadStatement, consume: Consume): Promise<Rest> {
    const pipe = this.#options.pipes.open()
    const running = new RunningResult(pipe)
    let closed: Promise<void> | undefined
    const close = () => (closed ??= closeResult(statement, running, pipe))
    try {
      const sql = await this.#intoFile(statement, pipe.path)
      const measurement = await this.#measure(statement)
      running.follow(this.#query(statement, sql))
      const leave = () => pipe.leave()
      statement.signal.addEventListener('abort', leave, { once: true })
      if (statement.signal.aborted) leave()
      const { held, isWhole } = await running.hold(HELD_BYTES_MAX)
      const format = formatOf(statement)
      if (isWhole) {
        const summary = await summaryOf(await running.result(), measurement)
        await close()
        return () => consume({ format, chunks: chunksOf(held), summary })
      }
      const consumed = consume({ format, chunks: running.chunks(held), summary: running.summary }).finally(close)
      await Promise.race([consumed, running.settled()])
      return () => consumed
    } catch (error) {
      await close()
      throw error
    }
  }

  async #throughFile(statement: ReadStatement, consume: Consume): Promise<Rest> {
    const path = join(this.#options.folder, `${this.#files++}.whole`)
    const remove = () => rm(path, { force: true })
    try {
      await writeFile(path, '', { mode: 0o600 })
      const sql = await this.#intoFile(statement, path)
      const measurement = await this.#measure(statement)
      const summary = await summaryOf(await this.#query(statement, sql), measurement)
      await this.#options.written()
      const isEmpty = (await stat(path)).size === 0
      return async () => {
        const chunks = isEmpty ? chunksOf([]) : createReadStream(path)
        await consume({ format: formatOf(statement), chunks, summary }).finally(remove)
      }
    } catch (error) {
      await remove()
      throw error
    }
  }

  async #throughMemory(statement: ReadStatement, consume: Consume): Promise<Rest> {
    const measurement = await this.#measure(statement)
    const result = await this.#query(statement, statement.sql)
    const summary = await summaryOf(result, measurement)
    return () => consume({ format: formatOf(statement), chunks: chunksOf([result.bytes]), summary })
  }

  /** Call it right before the statement. */
  async #measure({ isMeasured }: ReadStatement): Promise<Measurement> {
    return isMeasured ? await this.#options.counter.begin() : UNMEASURED
  }

  #query({ connection, defaultFormat }: ReadStatement, sql: string): Promise<QueryResult> {
    return this.#options.addon.QueryAsyncConnection(connection, sql, defaultFormat)
  }

  /** Adds our clause and changes nothing else, because the statement was judged without it. */
  async #intoFile({ sql, shape }: ReadStatement, path: string): Promise<string> {
    const text = selectIntoFile(sql, path, shape.format !== undefined)
    if (isPlain(sql)) return text
    const { canonical } = this.#options
    const [before, after] = await Promise.all([canonical(sql), canonical(text)])
    if (after.replace(` ${intoFile(path)}`, () => '').trim() === before.trim()) return text
    throw exceptionOf(new Error(`Code: ${Code.SyntaxError}. DB::Exception: the end of the statement is not clear`))
  }
}

function formatOf({ shape, defaultFormat }: ReadStatement): string {
  return shape.format ?? defaultFormat
}

/** Its apparent FORMAT clause was not one. */
function withoutFormat(statement: ReadStatement): ReadStatement {
  return { ...statement, shape: { ...statement.shape, format: undefined } }
}

/** A running statement with a result pipe. */
class RunningResult {
  readonly #pipe: ResultPipe
  readonly #chunks: AsyncIterator<Buffer>
  readonly #startedMs = performance.now()
  #result: Promise<QueryResult> | undefined
  isRunning = false

  constructor(pipe: ResultPipe) {
    this.#pipe = pipe
    this.#chunks = pipe.chunks[Symbol.asyncIterator]()
  }

  follow(result: Promise<QueryResult>): void {
    this.isRunning = true
    this.#result = result.finally(() => {
      this.isRunning = false
      this.#pipe.end()
    })
    this.#result.catch(() => {})
  }

  /** Resolves when the statement has ended in any way. */
  async settled(): Promise<void> {
    await this.#result?.catch(() => {})
  }

  async result(): Promise<QueryResult> {
    if (this.#result === undefined) throw new Error('nothing runs')
    return await this.#result
  }

  /** The summary while the statement runs. */
  get summary(): Summary {
    return { ...NOTHING_DONE, read: undefined, elapsedNs: Math.round((performance.now() - this.#startedMs) * 1e6) }
  }

  /** Buffers chunks up to a size. */
  async hold(bytesMax: number): Promise<{ held: Buffer[]; isWhole: boolean }> {
    const held: Buffer[] = []
    for (let bytes = 0; bytes <= bytesMax; ) {
      const next = await this.#next()
      if (next === undefined) return { held, isWhole: true }
      held.push(next)
      bytes += next.length
    }
    return { held, isWhole: false }
  }

  /** Yields the buffered chunks, then the others; then throws the statement's error, if any. */
  async *chunks(held: readonly Buffer[]): AsyncGenerator<Uint8Array> {
    yield* held
    for (let next = await this.#next(); next !== undefined; next = await this.#next()) yield next
    await this.result()
  }

  async #next(): Promise<Buffer | undefined> {
    try {
      const { done, value } = await this.#chunks.next()
      return done ? undefined : value
    } catch {
      // The reader left the pipe. The statement's own error is the one to report.
      return undefined
    }
  }
}

/** Must be called once. Afterwards another result may use the pipe. */
async function closeResult(statement: ReadStatement, running: RunningResult, pipe: ResultPipe): Promise<void> {
  if (running.isRunning) statement.cancel()
  pipe.leave()
  await running.settled()
  await pipe.close()
}

async function summaryOf(result: QueryResult, measurement: Measurement): Promise<Summary> {
  return {
    ...NOTHING_DONE,
    read: await measurement.read(),
    resultRows: result.rowsRead,
    resultBytes: result.bytesRead,
    elapsedNs: Math.round(result.elapsed * 1e9),
  }
}

async function* chunksOf(chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) if (chunk.length > 0) yield chunk
}
