import type { Stats } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { InputError } from '../../../run/errors.ts'
import { brokenGzip, isGzip, isZlibError, refuseOtherFiles } from '../batch/files/event-file.ts'

const READ_BYTES = 1_048_576

/** A log that is open for reading. Offsets count its text, so those of a gzip file count decompressed bytes. */
export class LogFile {
  readonly path: string
  readonly gzip: boolean
  readonly #handle: FileHandle

  private constructor(path: string, handle: FileHandle, gzip: boolean) {
    this.path = path
    this.#handle = handle
    this.gzip = gzip
  }

  /** @throws InputError when it is neither text nor gzip, or unreadable */
  static async open(path: string): Promise<LogFile> {
    const handle = await open(path).catch((error: NodeJS.ErrnoException) => {
      throw error.code === 'ENOENT' ? error : new InputError(`cannot read ${path}: ${error.message}`)
    })
    try {
      const head = Buffer.alloc(8)
      const { bytesRead } = await handle.read(head, 0, head.length, 0)
      const start = head.subarray(0, bytesRead)
      const gzip = isGzip(start)
      if (!gzip && bytesRead > 0) refuseOtherFiles(path, start)
      return new LogFile(path, handle, gzip)
    } catch (error) {
      await handle.close()
      throw error
    }
  }

  stat(): Promise<Stats> {
    return this.#handle.stat()
  }

  /**
   * The text from an offset to the present end.
   * @param onRead called with the bytes of the file that were read
   * @throws InputError when gzip data is damaged; the text before the damage is given first
   */
  read(from: number, onRead: (bytes: number) => void = () => {}): AsyncGenerator<Buffer> {
    return this.gzip ? this.#readGzip(from, onRead) : this.#readPlain(from, onRead)
  }

  /** Up to `length` bytes of the text at an offset; fewer at its end. */
  async bytesAt(from: number, length: number): Promise<Buffer> {
    if (!this.gzip) {
      const bytes = Buffer.alloc(length)
      const { bytesRead } = await this.#handle.read(bytes, 0, length, from)
      return bytes.subarray(0, bytesRead)
    }
    const parts: Buffer[] = []
    let size = 0
    for await (const part of this.read(from)) {
      parts.push(part)
      size += part.length
      if (size >= length) break
    }
    return Buffer.concat(parts).subarray(0, length)
  }

  async close(): Promise<void> {
    await this.#handle.close()
  }

  async *#readPlain(from: number, onRead: (bytes: number) => void): AsyncGenerator<Buffer> {
    for (let at = from; ; ) {
      const bytes = Buffer.allocUnsafe(READ_BYTES)
      const { bytesRead } = await this.#handle.read(bytes, 0, READ_BYTES, at)
      if (bytesRead === 0) return
      onRead(bytesRead)
      yield bytes.subarray(0, bytesRead)
      at += bytesRead
    }
  }

  async *#readGzip(from: number, onRead: (bytes: number) => void): AsyncGenerator<Buffer> {
    // A stream of the handle itself would close it when it is destroyed.
    const raw = Readable.from(this.#readPlain(0, onRead))
    const gunzip = createGunzip({ chunkSize: READ_BYTES })
    raw.on('error', (error) => gunzip.destroy(error))
    raw.pipe(gunzip)
    let skip = from
    try {
      for await (const bytes of gunzip as AsyncIterable<Buffer>) {
        if (bytes.length > skip) yield bytes.subarray(skip)
        skip = Math.max(0, skip - bytes.length)
      }
    } catch (error) {
      throw isZlibError(error) ? brokenGzip(this.path, error) : error
    } finally {
      raw.destroy()
      gunzip.destroy()
    }
  }
}
