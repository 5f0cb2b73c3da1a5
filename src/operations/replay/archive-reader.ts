import { buffer } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import {
  indexKey,
  type PartLocation,
  parsePartKey,
  partKey,
  partStart,
  tenantDay,
  tenantDays,
} from '../../pipeline/sinks/archive/layout.ts'
import { readIndex } from '../../pipeline/sinks/archive/part.ts'
import { numbered } from '../../run/counted.ts'
import { InputError, UnavailableError } from '../../run/errors.ts'
import type { ObjectStore } from '../../stores/objects/object-store.ts'
import { type IndexInChange, isHalfDone } from '../erasure/remove-lines.ts'
import type { ArchivedLine, ArchivedLines, ArchivedPart, ArchiveReader, Selection } from './ports.ts'

const DAY_MS = 86_400_000
/** For longer spans, list all days of the tenant: most days have no part, and each listing is a request. */
const DAYS_LISTED_MAX = 100

const decompress = promisify(gunzip)

interface PlacedPart extends ArchivedPart {
  readonly location: PartLocation
}

/** Reads parts of the archive for a replay. */
export class PartReader implements ArchiveReader {
  readonly #store: ObjectStore

  constructor(store: ObjectStore) {
    this.#store = store
  }

  async parts({ tenantId, from, to, source, run: only }: Selection): Promise<PlacedPart[]> {
    const parts: PlacedPart[] = []
    for (const prefix of prefixesOf(tenantId, from, to)) {
      for await (const { key } of this.#store.list(prefix)) {
        const location = parsePartKey(key)
        if (location === undefined || (source !== undefined && location.source !== source)) continue
        if (location.day < from || location.day > to || (only !== undefined && location.run !== only)) continue
        const run = `${location.day} ${location.source} ${location.run}`
        parts.push({ key, job: jobOf(location), run, firstMs: partStart(location.name), location })
      }
    }
    return parts.sort((a, b) => a.firstMs - b.firstMs || (a.key < b.key ? -1 : 1))
  }

  async read(part: ArchivedPart): Promise<ArchivedLines[]> {
    const { location } = part as PlacedPart
    const index = readIndex<IndexInChange>((await this.#get(indexKey(location))).toString('utf8'), part.key)
    if (isHalfDone(index)) {
      throw new InputError(`an erasure of lines in ${part.key} did not finish: run the same "ipid erase" again`)
    }
    const texts = (await this.#get(partKey(location))).toString('utf8').split('\n')
    texts.pop()
    const lines = withRequests(texts, index)
    const entries = index.entries.reduce((sum, [, , , count]) => sum + count, 0)
    if (entries !== lines.length) {
      throw new InputError(
        `${part.key} has ${numbered(lines.length, 'line')}, and its index ${entries}: one of them was changed`,
      )
    }
    let at = 0
    const units = index.entries.map(([partition, entry, commit, count]) => {
      const from = at
      at += count
      return { ...unitOf(location, partition, entry, commit), lines: lines.slice(from, at), rejected: [] }
    })
    const rejected = (index.rejected ?? []).map(([partition, entry, commit, reason, count, sourceId, status]) => {
      const rejected = [{ reason, lines: count, ...(sourceId && { sourceId }), ...(status && { status }) }]
      return { ...unitOf(location, partition, entry, commit), lines: [], rejected }
    })
    return [...units, ...rejected]
  }

  async #get(key: string): Promise<Buffer> {
    const stream = await this.#store.get(key)
    if (stream === undefined) throw new InputError(`${key} is gone from ${this.#store.location}`)
    let packed: Buffer
    try {
      packed = await buffer(stream)
    } catch (error) {
      throw new UnavailableError(`${key} cannot be read from ${this.#store.location}: ${(error as Error).message}`, {
        cause: error,
      })
    }
    try {
      return await decompress(packed)
    } catch (error) {
      throw new InputError(`${key} in ${this.#store.location} is damaged: ${(error as Error).message}`, {
        cause: error,
      })
    }
  }
}

function unitOf(location: PartLocation, partition: number, entry: string, commit: string) {
  const brought = commit === '' ? `archive:${partition}-${entry}` : commit
  return { partition, entry, commit: brought, day: location.day, job: jobOf(location) }
}

function jobOf({ source, run }: PartLocation): string | undefined {
  return source === 'batch' ? run : undefined
}

function withRequests(texts: readonly string[], { requests = [] }: IndexInChange): ArchivedLine[] {
  const lines: ArchivedLine[] = []
  for (const [requestId, count] of requests) {
    for (const text of texts.slice(lines.length, lines.length + count)) lines.push({ text, requestId })
  }
  for (const text of texts.slice(lines.length)) lines.push({ text, requestId: '' })
  return lines
}

/** Prefixes that hold the parts of the UTC days from `from` to `to`, both included. They may hold other days too. */
function prefixesOf(tenantId: string, from: string, to: string): string[] {
  const [fromMs, toMs] = [Date.parse(from), Date.parse(to)]
  if (toMs - fromMs >= DAYS_LISTED_MAX * DAY_MS) return [tenantDays(tenantId)]
  const prefixes: string[] = []
  for (let ms = fromMs; ms <= toMs; ms += DAY_MS) {
    prefixes.push(tenantDay(tenantId, new Date(ms).toISOString().slice(0, 10)))
  }
  return prefixes
}
