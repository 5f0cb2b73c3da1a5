import { type FileHandle, open, rm } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { decodedBody } from './compression/encodings.ts'
import { decodeFrames } from './compression/frames.ts'
import { Code, Exception, tooLarge } from './exception.ts'
import { type Form, readForm } from './form.ts'
import { gathered } from './gathered.ts'
import { MemoryBudget } from './memory-budget.ts'

/** A request's body, decoded: in memory, or in a file when it is large and may be in one. */
export interface Body {
  readonly bytes: Buffer
  readonly file: string | undefined
  /** Gives back what it takes. */
  release(): Promise<void>
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
   * @param mayBeFile whether the statement can take its data from a file
   * @throws Exception when it is too large, or in a form that is not understood
   */
  async read(request: IncomingMessage, form: BodyForm, mayBeFile: boolean): Promise<Body> {
    const draft = new Draft(mayBeFile ? join(this.#folder, `${this.#files++}.body`) : undefined)
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
        await draft.flush(FILE_BYTES_MIN, WRITE_BYTES)
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
  readonly #path: string | undefined
  #file: FileHandle | undefined
  #chunks: Buffer[] = []
  bytes = 0
  memoryBytes = 0

  constructor(path: string | undefined) {
    this.#path = path
  }

  add(chunk: Buffer): void {
    this.#chunks.push(chunk)
    this.bytes += chunk.length
    this.memoryBytes += chunk.length
  }

  /** Moves what is in memory to the file, once it is `openMin` bytes, and after that whenever it is `writeMin` bytes. */
  async flush(openMin: number, writeMin: number): Promise<void> {
    if (this.#path === undefined || this.memoryBytes < (this.#file === undefined ? openMin : writeMin)) return
    this.#file ??= await open(this.#path, 'wx', 0o600)
    const chunks = this.#chunks
    this.#chunks = []
    await writeAll(this.#file, Buffer.concat(chunks, this.memoryBytes))
    this.memoryBytes = 0
  }

  async finish(): Promise<Pick<Body, 'bytes' | 'file'>> {
    if (this.#file === undefined) {
      const bytes = this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat(this.#chunks, this.memoryBytes)
      return { bytes, file: undefined }
    }
    await this.flush(0, 0)
    await this.#file.close()
    return { bytes: Buffer.alloc(0), file: this.#path }
  }

  async remove(): Promise<void> {
    this.memoryBytes = 0
    if (this.#file === undefined || this.#path === undefined) return
    await this.#file.close().catch(() => {})
    await rm(this.#path, { force: true })
  }
}

async function writeAll(file: FileHandle, bytes: Buffer): Promise<void> {
  for (let from = 0; from < bytes.length; ) {
    const { bytesWritten } = await file.write(bytes, from)
    from += bytesWritten
  }
}
