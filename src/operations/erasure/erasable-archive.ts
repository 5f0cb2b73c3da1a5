import { buffer } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { exportFolder } from '../../exports/schedule.ts'
import { indexKey, type PartLocation, parsePartKey, partKey } from '../../pipeline/sinks/archive/layout.ts'
import { readIndex } from '../../pipeline/sinks/archive/part.ts'
import { linesOf } from '../../pipeline/sinks/archive/part-lines.ts'
import { numbered } from '../../run/counted.ts'
import { InputError } from '../../run/errors.ts'
import type { ObjectStore } from '../../stores/objects/object-store.ts'
import type { ErasableArchive, ErasableTables, ErasureScope, RemovedLines } from './ports.ts'
import { type IndexInChange, isHalfDone, removeLines } from './remove-lines.ts'
import { type ArchivedLine, matchLine } from './selector.ts'

const ASKED_IDS_MAX = 10_000
/** A repeat arrives within the dedup window; one day more allows for clock differences. */
const AROUND_MS = 8 * 86_400_000
/**
 * Includes leftovers of an archiver that was killed while the erasure waited for it. An interrupted writer that another one
 * replaced cannot finish its write any more.
 */
const ALL = Number.POSITIVE_INFINITY
const unzip = promisify(gunzip)

/** Lines of a part that match. */
interface Found {
  readonly lines: number
  /** Positions of the lines to remove, ascending. */
  readonly going: readonly number[]
}

/** The archive, for an erasure. Reads parts line by line, and rewrites a part only when one of its lines is removed. */
export class StoreErasableArchive implements ErasableArchive {
  readonly location: string
  readonly #store: ObjectStore

  constructor(store: ObjectStore) {
    this.#store = store
    this.location = store.location
  }

  async remove(scope: ErasureScope, idsAmong: ErasableTables['idsAmong']): Promise<RemovedLines> {
    const lastDay = new Date(scope.beforeMs).toISOString().slice(0, 10)
    let [lines, rewritten, deleted] = [0, 0, 0]
    await this.#store.removeLeftovers(ALL)
    // A killed call may have removed a part and left its index. The index also finds parts stored on their own.
    for await (const { key } of this.#store.list(`index/tenant=${scope.tenantId}/`)) {
      const location = parsePartKey(key)
      if (location === undefined || location.day > lastDay) continue
      const index = await this.#readIndex(location)
      if (index === undefined) {
        if ((await this.#store.head(partKey(location))) === undefined) continue
        throw new InputError(`${key} is gone from ${this.location}, and its part is not: which lines it has is unknown`)
      }
      const found = await this.#search(location, scope, idsAmong)
      if (found === undefined) {
        // Without a mark it belongs to a part that is being written for the first time.
        if (isHalfDone(index)) await this.#store.delete(key)
        continue
      }
      assertWhole(key, index, found)
      const removed = await removeLines(this.#store, location, index, found)
      lines += removed
      if (removed === 0) continue
      if (removed === found.lines) deleted++
      else rewritten++
    }
    return { lines, rewritten, deleted }
  }

  async removeTenant({ tenantId }: ErasureScope): Promise<number> {
    let objects = 0
    await this.#store.removeLeftovers(ALL)
    // Removes events before their index, which lists them.
    for (const folder of [`tenant=${tenantId}/`, `index/tenant=${tenantId}/`, exportFolder(tenantId)]) {
      for await (const { key } of this.#store.list(folder)) {
        await this.#store.delete(key)
        objects++
      }
    }
    return objects
  }

  async #readIndex(location: PartLocation): Promise<IndexInChange | undefined> {
    const stream = await this.#store.get(indexKey(location))
    return stream && readIndex<IndexInChange>(String(await unzip(await buffer(stream))), partKey(location))
  }

  /** Undefined when the part does not exist. */
  async #search(
    location: PartLocation,
    scope: ErasureScope,
    idsAmong: ErasableTables['idsAmong'],
  ): Promise<Found | undefined> {
    const lines = await linesOf(this.#store, partKey(location))
    if (lines === undefined) return undefined
    const going: number[] = []
    let unsaid: { at: number; id: string }[] = []
    const dayMs = Date.parse(location.day)
    const ask = async () => {
      const ids = unsaid.map(({ id }) => id)
      const found = ids.length === 0 ? new Set() : await idsAmong(ids, dayMs - AROUND_MS, dayMs + AROUND_MS)
      going.push(...unsaid.filter(({ id }) => found.has(id)).map(({ at }) => at))
      unsaid = []
    }
    let at = 0
    for await (const text of lines) {
      const line = JSON.parse(String(text)) as ArchivedLine
      if (Date.parse(line._received_at) < scope.beforeMs) {
        const match = scope.selector === undefined ? 'yes' : matchLine(scope.selector, line)
        if (match === 'yes') going.push(at)
        if (match === 'unsaid') unsaid.push({ at, id: line._event_id })
        if (unsaid.length === ASKED_IDS_MAX) await ask()
      }
      at++
    }
    await ask()
    return { lines: at, going: going.sort((a, b) => a - b) }
  }
}

/** An empty answer of a store must not pass for a part without matches. @throws InputError */
function assertWhole(key: string, { lines, erasing = [] }: IndexInChange, found: Found): void {
  if (found.lines === lines || found.lines === lines - erasing.length) return
  const problem = `has ${numbered(lines, 'line')}, and its part ${found.lines}: one of them is not whole`
  throw new InputError(`${key} ${problem}; erase again, and look at the store if that helps nothing`)
}
