import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { gunzipSync, gzipSync } from 'node:zlib'
import { StoreErasableArchive } from '../../../src/operations/erasure/erasable-archive.ts'
import { selectorOf } from '../../../src/operations/erasure/selector.ts'
import { indexKey, type PartLocation, partKey } from '../../../src/pipeline/sinks/archive/layout.ts'
import type { ObjectStore } from '../../../src/stores/objects/object-store.ts'
import { readArchive } from '../../support/archive.ts'

const BEFORE = Date.parse('2026-11-22T02:00:00.000Z')
const RUN = { tenantId: 'demo', day: '2026-11-22', source: 'ingest', run: '2026-11-22T01' } as const
const MIXED: PartLocation = { ...RUN, name: 'part-1-000000-p0' }
const WHOLE: PartLocation = { ...RUN, name: 'part-2-000000-p0' }
const SELECTORS = { a: selectorOf({ ip: '17.0.0.1' }), b: selectorOf({ ip: '17.0.0.2' }) }

/** Objects in memory. It fails from a chosen change on, as if the process had ended there. */
class FailingStore implements ObjectStore {
  readonly location = 'memory'
  readonly objects = new Map<string, Buffer>()
  changesLeft = Number.POSITIVE_INFINITY

  async prepare(): Promise<void> {}
  async removeLeftovers(): Promise<void> {}
  async put(key: string, bytes: Buffer): Promise<void> {
    this.#change()
    this.objects.set(key, bytes)
  }
  async putFile(): Promise<void> {
    throw new Error('an erasure writes no files')
  }
  async get(key: string): Promise<Readable | undefined> {
    const bytes = this.objects.get(key)
    return bytes && Readable.from([bytes])
  }
  async head(key: string): Promise<number | undefined> {
    return this.objects.get(key)?.length
  }
  async *list(prefix: string) {
    const keys = [...this.objects.keys()].filter((key) => key.startsWith(prefix)).sort()
    for (const key of keys) yield { key, bytes: this.objects.get(key)!.length }
  }
  async delete(key: string): Promise<void> {
    this.#change()
    this.objects.delete(key)
  }
  abort(): void {}
  async close(): Promise<void> {}

  #change(): void {
    if (this.changesLeft-- <= 0) throw new Error('killed')
  }
}

function line(id: string, ip: string, at = '01:00:00'): string {
  return `${JSON.stringify({ _received_at: `2026-11-22T${at}.000Z`, _event_id: id, _status: 'ok', ip })}\n`
}

function addPart(store: FailingStore, location: PartLocation, lines: string[], runs: number[]): void {
  const text = lines.join('')
  const entries = runs.map((count, i) => [0, `${i}-0`, `x:${i}`, count])
  const requests = lines.map((_, i) => [`r${i}`, 1])
  const index = { lane: 'live', lines: lines.length, bytes: Buffer.byteLength(text), entries, requests }
  store.objects.set(indexKey(location), gzipSync(JSON.stringify(index)))
  store.objects.set(partKey(location), gzipSync(text))
}

function filledStore(): FailingStore {
  const store = new FailingStore()
  const mixed = [line('1', '17.0.0.1'), line('2', '17.0.0.2'), line('3', '17.0.0.1'), line('4', '17.0.0.3')]
  addPart(store, MIXED, [...mixed, line('5', '17.0.0.1', '03:00:00')], [1, 2, 2])
  addPart(store, WHOLE, [line('6', '17.0.0.1')], [1])
  return store
}

function erase(store: FailingStore, of: keyof typeof SELECTORS) {
  const scope = { tenantId: 'demo', selector: SELECTORS[of], beforeMs: BEFORE }
  return new StoreErasableArchive(store).remove(scope, async () => new Set())
}

async function state(store: FailingStore) {
  const parts = await readArchive(store)
  const left = [...store.objects.keys()].filter((key) => key.startsWith('index/')).length
  assert.equal(left, parts.length, 'no index is left without its part')
  return parts.map(({ events, index }) => ({ ids: events.map(({ eventId }) => eventId), index }))
}

test('a part loses the lines, its index counts the rest, and later parts stay', async () => {
  const store = filledStore()
  assert.deepEqual(await erase(store, 'a'), { lines: 3, rewritten: 1, deleted: 1 })
  const [only, ...more] = await state(store)
  assert.deepEqual(more, [])
  assert.deepEqual(only!.ids, ['2', '4', '5'])
  assert.deepEqual(
    only!.index.entries.map(([, id, , lines]) => [id, lines]),
    [
      ['1-0', 1],
      ['2-0', 2],
    ],
  )
  assert.deepEqual(JSON.parse(String(gunzipSync(store.objects.get(indexKey(MIXED))!))).requests, [
    ['r1', 1],
    ['r3', 1],
    ['r4', 1],
  ])
  assert.deepEqual(await erase(store, 'b'), { lines: 1, rewritten: 1, deleted: 0 })
  assert.deepEqual((await state(store))[0]!.ids, ['4', '5'])
})

test('killed between any two changes, the next call makes part and index agree', async () => {
  const whole = filledStore()
  await erase(whole, 'a')
  await erase(whole, 'b')
  const expected = await state(whole)
  for (let changes = 0; changes < 6; changes++) {
    // The next call may be for the same lines, or for others first.
    for (const order of ['ab', 'ba'] as const) {
      const store = filledStore()
      store.changesLeft = changes
      await assert.rejects(erase(store, 'a'), /killed/)
      store.changesLeft = Number.POSITIVE_INFINITY
      for (const of of order) await erase(store, of as 'a' | 'b')
      assert.deepEqual(await state(store), expected, `after ${changes} changes, ${order}`)
    }
  }
})

test('the index of a part that is not written yet stays', async () => {
  const store = filledStore()
  store.objects.delete(partKey(WHOLE))
  await erase(store, 'a')
  assert.ok(store.objects.has(indexKey(WHOLE)))
})

test('a part that the store returns empty or cut fails the erasure', async () => {
  for (const text of ['', line('1', '17.0.0.1')]) {
    const store = filledStore()
    store.objects.set(partKey(MIXED), gzipSync(text))
    await assert.rejects(erase(store, 'a'), /has 5 lines, and its part [01]: one of them is not whole/)
  }
})

test('a part whose listed index is unreadable fails the erasure', async () => {
  const store = filledStore()
  const get = store.get.bind(store)
  store.get = async (key) => (key === indexKey(MIXED) ? undefined : get(key))
  await assert.rejects(erase(store, 'a'), /index\/tenant=demo.* is gone/)
})
