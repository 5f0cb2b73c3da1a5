import { type FileHandle, open, rm } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { pipeline, type Readable } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import { Code, Exception } from './exception.ts'

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

/** Reads bodies within limits. */
export class BodyReader {
  readonly #limits: BodyLimits
  readonly #folder: string
  #memoryBytes = 0
  #files = 0

  /** @param folder for large bodies; nothing else is in it */
  constructor(limits: BodyLimits, folder: string) {
    this.#limits = limits
    this.#folder = folder
  }

  /**
   * @param mayBeFile whether the statement can take its data from a file
   * @throws Exception when it is too large, or in an encoding that is not understood
   */
  async read(request: IncomingMessage, mayBeFile: boolean): Promise<Body> {
    const draft = new Draft(mayBeFile ? join(this.#folder, `${this.#files++}.body`) : undefined)
    let heldBytes = 0
    const hold = () => {
      this.#memoryBytes += draft.memoryBytes - heldBytes
      heldBytes = draft.memoryBytes
    }
    const release = async () => {
      await draft.remove()
      hold()
    }
    try {
      for await (const chunk of decoded(request) as AsyncIterable<Buffer>) {
        this.#check(draft.bytes + chunk.length, chunk.length)
        draft.add(chunk)
        hold()
        await draft.flush(FILE_BYTES_MIN, WRITE_BYTES)
        hold()
      }
      return { ...(await draft.finish()), release }
    } catch (error) {
      await release()
      if (error instanceof Exception) throw error
      const message = `Cannot read the request: ${(error as Error).message} (ABORTED)`
      throw new Exception(Code.Aborted, message, { cause: error })
    }
  }

  #check(bodyBytes: number, moreBytes: number): void {
    const { bodyBytesMax, memoryBytesMax } = this.#limits
    if (bodyBytes > bodyBytesMax) {
      const message = `The request is larger than ${bodyBytesMax} bytes: send it in parts. (QUERY_IS_TOO_LARGE)`
      throw new Exception(Code.QueryIsTooLarge, message)
    }
    if (this.#memoryBytes + moreBytes > memoryBytesMax) {
      const message = 'Too many bytes of requests wait in memory; try again later. (MEMORY_LIMIT_EXCEEDED)'
      throw new Exception(Code.MemoryLimitExceeded, message)
    }
  }
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

function decoded(request: IncomingMessage): Readable {
  const encoding = (request.headers['content-encoding'] ?? 'identity').toLowerCase()
  if (encoding === 'identity' || encoding === '') return request
  const decoder = decoderOf(encoding)
  // Errors arrive where the decoder is read.
  pipeline(request, decoder, () => {})
  return decoder
}

function decoderOf(encoding: string) {
  switch (encoding) {
    case 'gzip':
      return createGunzip()
    case 'deflate':
      return createInflate()
    case 'br':
      return createBrotliDecompress()
    default:
      throw new Exception(
        Code.UnknownCompressionMethod,
        `Unknown compression method ${encoding}: the embedded ClickHouse knows gzip, deflate and br. (UNKNOWN_COMPRESSION_METHOD)`,
      )
  }
}
