import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { basename } from 'node:path'
import { pipeline, type Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { InputError } from '../../../run/errors.ts'
import { clip } from '../../addresses/network.ts'
import { SkippedEntries } from '../lists/entry.ts'
import { NotDataError } from '../lists/read-list.ts'
import { type RpslObject, RpslReader } from './rpsl.ts'

/** `ripe.db.inetnum.gz`, `afrinic.db.gz`, `extract.rpsl`. */
const REGISTRY_FILE = /(?:\.(?:db|rpsl)|\.db\.(?:inetnum|inet6num|organisation))(?:\.gz)?$/i
const SPLIT_FILE = /^(.*\.db\.)(?:inetnum|inet6num)(?:\.gz)?$/i

export function isRegistryFile(path: string): boolean {
  return REGISTRY_FILE.test(basename(path))
}

/** The provider's name: `ripe.db.inetnum` or `afrinic`. */
export function registryNameOf(file: string): string {
  return file.replace(/(?:\.(?:db|rpsl))?(?:\.gz)?$/i, '').toLowerCase()
}

/** Paths of the file with the organisations of a split file, compressed and plain; empty for other files. */
export function organisationPathsOf(path: string): readonly string[] {
  const file = basename(path)
  const start = SPLIT_FILE.exec(file)?.[1]
  if (start === undefined) return []
  const folder = path.slice(0, path.length - file.length)
  return [`${folder}${start}organisation.gz`, `${folder}${start}organisation`]
}

/** The date of `lastModified`; undefined when it is none. */
export function dateOf(day: string): Date | undefined {
  const ms = Date.parse(`${day}T00:00:00Z`)
  return Number.isNaN(ms) ? undefined : new Date(ms)
}

const CHUNK_BYTES = 262_144
/** Share of lines that may be malformed. With more, the file is not what its name says. */
const MALFORMED_MAX = 0.01
const HEAD_BYTES = 2

/**
 * Reads all objects of a file, plain or gzip, in bounded memory.
 * @returns the skipped lines
 * @throws InputError with the reason when it is truncated or damaged; NotDataError when it has no objects
 */
export async function readRegistryFile(path: string, onObject: (object: RpslObject) => void): Promise<SkippedEntries> {
  const skipped = new SkippedEntries()
  let objects = 0
  let malformed = 0
  const reader = new RpslReader({
    object(object) {
      objects++
      onObject(object)
    },
    malformed(line, text) {
      malformed++
      if (objects === 0 && malformed > 100) throw notObjects(path)
      skipped.add(`line ${line}`, `"${clip(text)}" is not an attribute`)
    },
  })
  for await (const chunk of await streamOf(path)) {
    // Other programs call their databases `.db` too.
    if (objects === 0 && (chunk as Buffer).includes(0)) throw notObjects(path)
    reader.push(chunk as Buffer)
  }
  reader.end()
  if (objects === 0 || malformed > objects * MALFORMED_MAX + 10) throw notObjects(path)
  return skipped
}

function notObjects(path: string): NotDataError {
  return new NotDataError(`${basename(path)} holds no objects of a registry, such as inetnum`)
}

async function streamOf(path: string): Promise<AsyncIterable<unknown>> {
  const isGzip = (await headOf(path)).equals(Buffer.from([0x1f, 0x8b]))
  const file = createReadStream(path, { highWaterMark: CHUNK_BYTES })
  if (!isGzip) return file
  const gunzip = createGunzip({ chunkSize: CHUNK_BYTES })
  // The reader of `gunzip` gets the errors.
  pipeline(file, gunzip, () => {})
  return decompressed(gunzip)
}

async function* decompressed(gunzip: Readable): AsyncGenerator<unknown> {
  try {
    yield* gunzip
  } catch (error) {
    if (error instanceof InputError) throw error
    throw new InputError(`the file cannot be decompressed: ${(error as Error).message}`)
  }
}

async function headOf(path: string): Promise<Buffer> {
  const file = await open(path)
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0)
    return buffer.subarray(0, bytesRead)
  } finally {
    await file.close()
  }
}
