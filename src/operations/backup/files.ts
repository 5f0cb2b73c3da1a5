import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline, Readable } from 'node:stream'
import { createGunzip, createGzip } from 'node:zlib'
import { BACKUP_LINE_BYTES_MAX, type BackupFile } from '../../../schemas/backup.ts'
import { isTooDeep, TOO_DEEP } from '../../pipeline/event/json-depth.ts'
import { InputError } from '../../run/errors.ts'
import { BackupRefusedError } from './ports.ts'

const LINE_FEED = 10
/** Fast, and shrinks rows to a third. */
const GZIP_LEVEL = 3
const GZIP_CHUNK_BYTES = 262_144
/** Size of a portion of records in memory. */
const RECORD_BYTES = 1_048_576
/** A backup holds key hashes and visitors' addresses, so only its owner may read it. */
const PRIVATE_FILE = 0o600

/** Called with the number of lines written or read since the last call. */
export type OnLines = (lines: number) => void

/**
 * Writes lines to a new gzip file. The file is synced when this resolves. Memory is bounded by the size of a piece.
 * @param pieces of any size; each line ends with a line feed
 */
export async function writeLines(
  folder: string,
  name: string,
  pieces: AsyncIterable<Buffer>,
  onLines: OnLines = () => {},
): Promise<BackupFile> {
  const hash = createHash('sha256')
  const meter = new LineMeter(name)
  let bytes = 0
  async function* counted() {
    for await (const piece of pieces) {
      const before = meter.lines
      meter.push(piece)
      onLines(meter.lines - before)
      yield piece
    }
  }
  const gzip = createGzip({ level: GZIP_LEVEL, chunkSize: GZIP_CHUNK_BYTES })
  const file = await open(join(folder, name), 'wx', PRIVATE_FILE)
  try {
    // The loop below gets the errors.
    pipeline(Readable.from(counted(), { objectMode: false }), gzip, () => {})
    for await (const chunk of gzip as AsyncIterable<Buffer>) {
      hash.update(chunk)
      bytes += chunk.length
      await file.writeFile(chunk)
    }
    await file.sync()
  } finally {
    await file.close()
  }
  return { name, lines: meter.lines, bytes, sha256: hash.digest('hex') }
}

/** @throws BackupRefusedError when the file differs from the one that the backup wrote */
export async function verifyFile(folder: string, { name, bytes, sha256 }: BackupFile): Promise<void> {
  const hash = createHash('sha256')
  try {
    const found = await stat(join(folder, name))
    if (!found.isFile()) throw new Error('not a file')
    if (found.size !== bytes) throw damaged(`${name} has ${found.size} bytes, not ${bytes}`)
    for await (const chunk of createReadStream(join(folder, name)) as AsyncIterable<Buffer>) {
      hash.update(chunk)
    }
  } catch (error) {
    if (error instanceof BackupRefusedError) throw error
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') throw damaged(`the file ${name} is missing`)
    throw damaged(`${name} cannot be read: ${(error as Error).message}`)
  }
  if (hash.digest('hex') !== sha256) throw damaged(`the checksum of ${name} is wrong`)
}

function damaged(what: string): BackupRefusedError {
  return new BackupRefusedError(`the backup is damaged: ${what}`)
}

/**
 * The lines of a file, in portions of about `portionBytes`. A portion ends with a whole line.
 * @throws BackupRefusedError when the number of lines is wrong or a line is too long
 */
export async function* readPortions(
  folder: string,
  { name, lines }: BackupFile,
  portionBytes: number,
): AsyncGenerator<readonly Buffer[]> {
  let portion: Buffer[] = []
  let bytes = 0
  const meter = new LineMeter(name)
  for await (const chunk of unzipped(folder, name)) {
    meter.push(chunk)
    if (meter.lines > lines) throw damaged(`${name} has more than ${lines} lines`)
    const end = chunk.lastIndexOf(LINE_FEED) + 1
    if (end > 0 && bytes + end >= portionBytes) {
      yield [...portion, chunk.subarray(0, end)]
      portion = []
      bytes = 0
      if (end < chunk.length) portion.push(chunk.subarray(end))
    } else {
      portion.push(chunk)
    }
    bytes += portion.at(-1)?.length ?? 0
  }
  if (meter.lines !== lines) throw damaged(`${name} has ${meter.lines} lines, not ${lines}`)
  if (meter.isOpen) throw damaged(`the last line of ${name} is cut off`)
  if (bytes > 0) yield portion
}

async function* unzipped(folder: string, name: string): AsyncGenerator<Buffer> {
  const content = createGunzip({ chunkSize: GZIP_CHUNK_BYTES })
  // The loop below gets the errors.
  pipeline(createReadStream(join(folder, name)), content, () => {})
  try {
    for await (const chunk of content as AsyncIterable<Buffer>) yield chunk
  } catch (error) {
    throw damaged(`${name} cannot be read: ${(error as Error).message}`)
  }
}

/** Converts the JSON value of a line. Throws an Error that describes the fault. */
type ReadRecord<T> = (value: unknown) => T

/**
 * The values of an NDJSON file, in portions.
 * @throws BackupRefusedError that names file and line
 */
export async function* readRecords<T>(folder: string, file: BackupFile, read: ReadRecord<T>): AsyncGenerator<T[]> {
  let line = 0
  for await (const portion of readPortions(folder, file, RECORD_BYTES)) {
    const texts = Buffer.concat(portion).toString('utf8').split('\n')
    texts.pop()
    yield texts.map((text) => {
      line++
      try {
        if (isTooDeep(text)) throw new InputError(TOO_DEEP)
        return read(JSON.parse(text))
      } catch (error) {
        throw new BackupRefusedError(`the backup is refused: ${file.name}, line ${line}: ${(error as Error).message}`)
      }
    })
  }
}

/** Counts lines and limits their length. */
class LineMeter {
  lines = 0
  readonly #name: string
  /** Bytes since the last line feed. */
  #openBytes = 0

  constructor(name: string) {
    this.#name = name
  }

  get isOpen(): boolean {
    return this.#openBytes > 0
  }

  /** @throws BackupRefusedError when a line is too long */
  push(piece: Buffer): void {
    const first = piece.indexOf(LINE_FEED)
    this.#openBytes += first < 0 ? piece.length : first
    if (this.#openBytes > BACKUP_LINE_BYTES_MAX) {
      const line = `${this.#name}, line ${this.lines + 1}`
      throw new BackupRefusedError(`${line} is longer than ${BACKUP_LINE_BYTES_MAX} bytes, the limit of a backup`)
    }
    if (first < 0) return
    this.lines += countLines(piece)
    this.#openBytes = piece.length - piece.lastIndexOf(LINE_FEED) - 1
  }
}

/** Converts values to NDJSON. */
export async function* jsonLines(values: AsyncIterable<unknown>): AsyncGenerator<Buffer> {
  for await (const value of values) yield Buffer.from(`${JSON.stringify(value)}\n`)
}

/** Makes new and renamed entries of a folder durable. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

export function countLines(bytes: Buffer): number {
  let lines = 0
  for (let at = bytes.indexOf(LINE_FEED); at >= 0; at = bytes.indexOf(LINE_FEED, at + 1)) lines++
  return lines
}
