import { basename } from 'node:path'
import { clip } from '../../addresses/network.ts'
import { SkippedEntries } from '../lists/entry.ts'
import { NotDataError } from '../lists/read-list.ts'
import { unzipped } from '../text/read-start.ts'
import { type RpslObject, RpslReader } from './rpsl.ts'

const SPLIT_FILE = /^(.*\.db\.)(?:inetnum|inet6num)(?:\.gz)?$/i

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

/** Share of lines that may be malformed. With more, the file is not what its name says. */
const MALFORMED_MAX = 0.01

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
  for await (const chunk of await unzipped(path)) {
    // Other programs call their databases `.db` too.
    if (objects === 0 && chunk.includes(0)) throw notObjects(path)
    reader.push(chunk)
  }
  reader.end()
  if (objects === 0 || malformed > objects * MALFORMED_MAX + 10) throw notObjects(path)
  return skipped
}

function notObjects(path: string): NotDataError {
  return new NotDataError(`${basename(path)} holds no objects of a registry, such as inetnum`)
}
