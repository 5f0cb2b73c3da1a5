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

/** A request's body, decoded: in memory, or in a file when it is large and may be in one. */
export interface Body {
  readonly bytes: Buffer
  readonly file: string | undefined
  /** Removes the file and frees the memory. */
  release(): Promise<void>
}

/** A body, and the part of the statement that comes before it. */
export interface StatementBody extends Body {
  /** As given. When a body began with the text of an INSERT and large data followed, this includes that text. */
  readonly query: string
}

export interface BodyLimits {
  /** Size of one body. */
  readonly bodyBytesMax: number
  /** Size of all bodies in memory. */
  readonly memoryBytesMax: number
}

/** From this size on a file is cheaper: the engine reads its data once, and text that comes with it several times. */
const FILE_BYTES_MIN = 262_144
const WRITE_BYTES = 1_048_576

/** How the bytes of a request are to be read. */
export interface BodyForm {
  /** Whether they are in ClickHouse's compressed frames. */
  readonly isFramed: boolean
  /** Whether the checksums of those are compared. */
  readonly isVerified: boolean
}

/** Reads bodies within limits. */
export class BodyReader {
  readonly #bytesMax: number
  readonly #memory: MemoryBudget
  readonly #folder: string
  #files = 0

  /** @param folder for large bodies; nothing else is in it */
  constructor({ bodyBytesMax, memoryBytesMax }: BodyLimits, folder: string) {
    this.#bytesMax = bodyBytesMax
    this.#memory = new MemoryBudget(memoryBytesMax)
    this.#folder = folder
  }

  /**
   * Large data of an INSERT go to a file, whether its text is in the query or at the beginning of the body.
   * @param query comes before the body
   * @throws Exception when it is too large, or in a form that is not understood
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
   * Reads a body of type `multipart/form-data`, and holds it until it is released.
   * @throws Exception when it is too large, or in a form that is not understood
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

/** A body that is still coming in. */
class Draft {
  readonly #path: string
  #query: string
  #file: FileHandle | undefined
  /** Whether the statement takes no data from a file. */
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

  /** Moves the bytes in memory to the file, once there are enough of them and the statement can take them from there. */
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

  /** Moves the text at the beginning of the body, if any, to the query. @returns whether what is left is data only */
  #becomesData(): boolean {
    if (takesDataOnly(this.#query)) return true
    const body = this.#taken()
    const found = splitInsert(this.#query, body)
    // VALUES have to be judged, and what begins in the query is not data alone.
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
