import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { FolderStore } from '../../../stores/objects/folder-store.ts'
import type { ObjectStore } from '../../../stores/objects/object-store.ts'
import { S3Store } from '../../../stores/objects/s3-store.ts'
import type { ArchiveLocation, Destination, EntryOfRows, Inserter } from '../../declaration/destination.ts'
import { indexKey, partKey } from './layout.ts'
import { makeParts, type Part } from './part.ts'

/** Writes payloads to object storage (schemas/README.md, Archive). */
export const archive: Destination = {
  name: 'archive',
  open: ({ archive: location }) => new ArchiveInserter(openObjectStore(location)),
}

export function openObjectStore(location: ArchiveLocation): ObjectStore {
  return 'folder' in location ? new FolderStore(location.folder) : new S3Store(location)
}

/** Parallel writes. */
const PUTS_MAX = 8
/** Half the time of the default, 6, for a tenth more bytes. */
export const GZIP_LEVEL = 3

const compress = promisify(gzip)

/** Writes payloads as parts. A part's name follows from its entries, so a repeat replaces the same object. */
export class ArchiveInserter implements Inserter {
  readonly #store: ObjectStore

  constructor(store: ObjectStore) {
    this.#store = store
  }

  prepare(): Promise<void> {
    return this.#store.prepare()
  }

  async insert(_rows: readonly Buffer[], _token: string, entries?: readonly EntryOfRows[]): Promise<void> {
    if (entries === undefined) throw new Error('the archive needs the entries of its payloads')
    const parts = (await makeParts(entries)).values()
    const failures: unknown[] = []
    const writeInTurn = async () => {
      for (const part of parts) {
        if (failures.length > 0) return
        await this.#write(part).catch((error) => failures.push(error))
      }
    }
    await Promise.all(Array.from({ length: PUTS_MAX }, writeInTurn))
    if (failures.length > 0) throw failures[0]
  }

  /** Writes the index first, so that every visible part has one. */
  async #write({ location, lines, index }: Part): Promise<void> {
    const options = { level: GZIP_LEVEL }
    await this.#store.put(indexKey(location), await compress(JSON.stringify(index), options))
    await this.#store.put(partKey(location), await compress(Buffer.concat(lines), options))
  }

  /** A successful put has stored the whole object. */
  async absent(): Promise<readonly Buffer[]> {
    return []
  }

  abort(): void {
    this.#store.abort()
  }

  close(): Promise<void> {
    return this.#store.close()
  }
}
