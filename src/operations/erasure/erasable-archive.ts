import { buffer } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { indexKey, type PartPlace, partKey, placeOf } from '../../pipeline/sinks/archive/layout.ts'
import { linesOf } from '../../pipeline/sinks/archive/part-lines.ts'
import type { ObjectStore } from '../../stores/objects/object-store.ts'
import type { ErasableArchive, ErasableTables, ErasureScope, RemovedLines } from './ports.ts'
import { type IndexInChange, isHalfDone, removeLines } from './remove-lines.ts'
import { type ArchivedLine, matchLine } from './selector.ts'

const ASKED_IDS_MAX = 10_000
/** A repeat of an event comes within the dedup window, and a little may be lost to clocks. */
const AROUND_MS = 8 * 86_400_000
/**
 * Also what an archiver left that was killed while the erasure waited for it. One that is held up in the middle of a write,
 * and that another one took over from, cannot finish it any more.
 */
const ALL = Number.POSITIVE_INFINITY
const unzip = promisify(gunzip)

/** What an erasure found in a part. */
interface Found {
  readonly lines: number
  /** Positions of the lines that go, ascending. */
  readonly going: readonly number[]
}

/** The archive, for an erasure. A part is read line by line, and written anew only when a line of it goes. */
export class StoreErasableArchive implements ErasableArchive {
  readonly place: string
  readonly #store: ObjectStore

  constructor(store: ObjectStore) {
    this.#store = store
    this.place = store.location
  }

  async remove(scope: ErasureScope, idsAmong: ErasableTables['idsAmong']): Promise<RemovedLines> {
    const lastDay = new Date(scope.beforeMs).toISOString().slice(0, 10)
    let [lines, rewritten, deleted] = [0, 0, 0]
    await this.#store.removeLeftovers(ALL)
    // A call that was killed may have left the index of a part that it removed; parts of their own are found by it, too.
    for await (const { key } of this.#store.list(`index/tenant=${scope.tenantId}/`)) {
      const place = placeOf(key)
      if (place === undefined || place.day > lastDay) continue
      const index = await this.#readIndex(place)
      if (index === undefined) continue
      const found = await this.#search(place, scope, idsAmong)
      if (found === undefined) {
        // Without a mark it is that of a part that is being written for the first time.
        if (isHalfDone(index)) await this.#store.delete(key)
        continue
      }
      const removed = await removeLines(this.#store, place, index, found)
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
    // The events go first: their index is seen as long as they are.
    for (const prefix of ['', 'index/']) {
      for await (const { key } of this.#store.list(`${prefix}tenant=${tenantId}/`)) {
        await this.#store.delete(key)
        objects++
      }
    }
    return objects
  }

  async #readIndex(place: PartPlace): Promise<IndexInChange | undefined> {
    const stream = await this.#store.get(indexKey(place))
    return stream && (JSON.parse(String(await unzip(await buffer(stream)))) as IndexInChange)
  }

  /** Undefined when there is no such part. */
  async #search(
    place: PartPlace,
    scope: ErasureScope,
    idsAmong: ErasableTables['idsAmong'],
  ): Promise<Found | undefined> {
    const lines = await linesOf(this.#store, partKey(place))
    if (lines === undefined) return undefined
    const going: number[] = []
    let unsaid: { at: number; id: string }[] = []
    const dayMs = Date.parse(place.day)
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
