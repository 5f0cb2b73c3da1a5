import { type FileHandle, open, rm } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { decodedBody } from './compression/encodings.ts'
import { decodeFrames } from './compression/frames.ts'
import { Code, Exception, tooLarge } from './exception.ts'
import { type Form, readForm } from './form.ts'
import { gathered } from './gathered.ts'
import { MemoryBudget } from './memory-budget.ts'
import { splitInsert, takesDataOnly } from './plain-insert.ts'

/** A decoded request body, in memory or, if large, in a file. */
export interface Body {
  readonly bytes: Buffer
  readonly file: string | undefined
  /** Removes the file and frees the memory. */
  release(): Promise<void>
}

/** A body, and the part of the statement before it. */
interface StatementBody extends Body {
  /** The given query. It includes the text of an INSERT from the start of the body if large data follow. */
  readonly query: string
}

export interface BodyLimits {
  /** Size of one body. */
  readonly bodyBytesMax: number
  /** Size of all bodies in memory. */
  readonly memoryBytesMax: number
}

/** From this size on a file is cheaper: the engine reads a file once, and data in the statement several times. */
const FILE_BYTES_MIN = 262_144
const WRITE_BYTES = 1_048_576

/** The encoding of a request. */
export interface BodyForm {
  /** Whether the body is in ClickHouse's compressed frames. */
  readonly isFramed: boolean
  /** Whether to verify the checksums of the frames. */
  readonly isVerified: boolean
}

/** Reads bodies within limits. */
export class BodyReader {
  readonly #bytesMax: number
  readonly #memory: MemoryBudget
  readonly #folder: string
  #files = 0

  /** @param folder for large bodies only */
  constructor({ bodyBytesMax, memoryBytesMax }: BodyLimits, folder: string) {
    this.#bytesMax = bodyBytesMax
    this.#memory = new MemoryBudget(memoryBytesMax)
    this.#folder = folder
  }

  /**
   * Reads a body. Large data of an INSERT go to a file. The INSERT can be in the query or at the start of the body.
   * @param query the statement before the body
   * @throws Exception when the body is too large or malformed
   */
  async read(request: IncomingMessage, form: BodyForm, query: string): Promise<StatementBody> {
    const draft = new Draft(query, join(this.#folder, `${this.#files++}.body`))
    const share = this.#memory.open()
    const release = async () => {
      await draft.remove()
      share.set(0)
    }
    try {
      for await (const chunk of this.#decoded(request, form)) {
        if (draft.bytes + chunk.length > this.#bytesMax) throw tooLarge(this.#bytesMax)
        share.set(draft.memoryBytes + chunk.length)
        draft.add(chunk)
        await draft.flush()
        share.set(draft.memoryBytes)
      }
      return { ...(await draft.finish()), release }
    } catch (error) {
      await release()
      throw readError(error)
    }
  }

  /**
   * Reads a body of type `multipart/form-data` and keeps it in memory until `release`.
   * @throws Exception when the body is too large or malformed
   */
  async readForm(request: IncomingMessage, form: BodyForm): Promise<Form & Pick<Body, 'release'>> {
    const share = this.#memory.open()
    try {
      const read = await readForm(this.#decoded(request, form), request.headers, this.#bytesMax, share)
      return { ...read, release: async () => share.set(0) }
    } catch (error) {
      share.set(0)
      throw readError(error)
    }
  }

  #decoded(request: IncomingMessage, { isFramed, isVerified }: BodyForm): AsyncIterable<Buffer> {
    const chunks = gathered(decodedBody(request, request.headers, this.#memory.open()))
    return isFramed ? gathered(decodeFrames(chunks, this.#memory.open(), isVerified)) : chunks
  }
}

function readError(error: unknown): Exception {
  if (error instanceof Exception) return error
  const message = `Cannot read the request: ${(error as Error).message} (ABORTED)`
  return new Exception(Code.Aborted, message, { cause: error })
}

/** A body that is being received. */
class Draft {
  readonly #path: string
  #query: string
  #file: FileHandle | undefined
  /** Set when the statement cannot read its data from a file. */
  #staysInMemory = false
  #chunks: Buffer[] = []
  bytes = 0
  memoryBytes = 0

  constructor(query: string, path: string) {
    this.#query = query
    this.#path = path
  }

  add(chunk: Buffer): void {
    this.#chunks.push(chunk)
    this.bytes += chunk.length
    this.memoryBytes += chunk.length
  }

  /** Moves the bytes to the file if there are enough of them and the statement can read a file. */
  async flush(): Promise<void> {
    const isLarge = this.memoryBytes >= (this.#file === undefined ? FILE_BYTES_MIN : WRITE_BYTES)
    if (!isLarge || this.#staysInMemory) return
    if (this.#file === undefined && !this.#becomesData()) this.#staysInMemory = true
    else await this.#write()
  }

  async finish(): Promise<Pick<StatementBody, 'query' | 'bytes' | 'file'>> {
    const query = this.#query
    if (this.#file === undefined) return { query, bytes: this.#taken(), file: undefined }
    await this.#write()
    await this.#file.close()
    return { query, bytes: Buffer.alloc(0), file: this.#path }
  }

  async remove(): Promise<void> {
    this.memoryBytes = 0
    if (this.#file === undefined) return
    await this.#file.close().catch(() => {})
    await rm(this.#path, { force: true })
  }

  /** Moves statement text from the start of the body to the query. @returns whether the rest is data only */
  #becomesData(): boolean {
    if (takesDataOnly(this.#query)) return true
    const body = this.#taken()
    const found = splitInsert(this.#query, body)
    // VALUES must be judged, so they stay in memory. So do data that start in the query.
    const split = found !== undefined && !found.hasValues && found.dataAt >= 0 ? found : undefined
    if (split !== undefined) this.#query = split.query
    const data = split === undefined ? body : body.subarray(split.dataAt)
    this.#chunks = [data]
    this.memoryBytes = data.length
    return split !== undefined
  }

  async #write(): Promise<void> {
    this.#file ??= await open(this.#path, 'wx', 0o600)
    const bytes = this.#taken()
    await writeAll(this.#file, bytes)
    this.memoryBytes = 0
  }

  #taken(): Buffer {
    const chunks = this.#chunks
    this.#chunks = []
    return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)
  }
}

async function writeAll(file: FileHandle, bytes: Buffer): Promise<void> {
  for (let from = 0; from < bytes.length; ) {
    const { bytesWritten } = await file.write(bytes, from)
    from += bytesWritten
  }
}
