import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline, Readable } from 'node:stream'
import { createGunzip, createGzip } from 'node:zlib'
import type { BackupFile } from '../../schemas/backup.ts'
import { BackupRefusedError } from './ports.ts'

const LINE_FEED = 10
/** Fast, and a third of the size. */
const GZIP_LEVEL = 3
const GZIP_CHUNK_BYTES = 262_144
/** Key hashes and visitors' addresses are for this user alone. */
const PRIVATE_FILE = 0o600

/** Told of lines while they are written or read. */
export type OnLines = (lines: number) => void

/**
 * Writes lines into a file of a folder, which is on the disk when it resolves. Holds no more than what is on its way.
 * @param pieces of any size, each line ended by a line feed
 */
export async function writeLines(
  folder: string,
  name: string,
  pieces: AsyncIterable<Buffer>,
  onLines: OnLines = () => {},
): Promise<BackupFile> {
  const hash = createHash('sha256')
  let lines = 0
  let bytes = 0
  async function* counted() {
    for await (const piece of pieces) {
      const more = countLines(piece)
      lines += more
      onLines(more)
      yield piece
    }
  }
  const gzip = createGzip({ level: GZIP_LEVEL, chunkSize: GZIP_CHUNK_BYTES })
  const file = await open(join(folder, name), 'wx', PRIVATE_FILE)
  try {
    // Errors arrive where the compressed bytes are read.
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
  return { name, lines, bytes, sha256: hash.digest('hex') }
}

/** @throws BackupRefusedError when the file is not what was written */
export async function verifyFile(folder: string, { name, bytes, sha256 }: BackupFile): Promise<void> {
  const hash = createHash('sha256')
  let found = 0
  try {
    for await (const chunk of createReadStream(join(folder, name)) as AsyncIterable<Buffer>) {
      hash.update(chunk)
      found += chunk.length
    }
  } catch (error) {
    throw new BackupRefusedError(`the backup is damaged: ${name} cannot be read: ${(error as Error).message}`)
  }
  if (found !== bytes) throw new BackupRefusedError(`the backup is damaged: ${name} has ${found} bytes, not ${bytes}`)
  if (hash.digest('hex') !== sha256) throw new BackupRefusedError(`the backup is damaged: ${name} has other content`)
}

/** The lines of a file, in portions of about `portionBytes`, none of them cut. */
export async function* readPortions(
  folder: string,
  name: string,
  portionBytes: number,
): AsyncGenerator<readonly Buffer[]> {
  let portion: Buffer[] = []
  let bytes = 0
  const content = createGunzip({ chunkSize: GZIP_CHUNK_BYTES })
  // Errors arrive where the lines are read.
  pipeline(createReadStream(join(folder, name)), content, () => {})
  for await (const chunk of content as AsyncIterable<Buffer>) {
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
  if (bytes > 0) yield portion
}

/** The values of a file of JSON lines, in portions. */
export async function* readRecords<T>(folder: string, name: string, portionBytes: number): AsyncGenerator<T[]> {
  for await (const portion of readPortions(folder, name, portionBytes)) {
    const lines = Buffer.concat(portion).toString('utf8').trimEnd().split('\n')
    yield lines.map((line) => JSON.parse(line) as T)
  }
}

/** Values as JSON lines. */
export async function* jsonLines(values: AsyncIterable<unknown>): AsyncGenerator<Buffer> {
  for await (const value of values) yield Buffer.from(`${JSON.stringify(value)}\n`)
}

/** What was renamed or made in a folder is on the disk. */
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
