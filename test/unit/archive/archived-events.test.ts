import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import type { EventReceipt } from '../../../schemas/api/receipt.ts'
import { ArchiveEvents } from '../../../src/operations/replay/archived-events.ts'
import { indexKey, type PartLocation, partKey, partName } from '../../../src/pipeline/sinks/archive/layout.ts'
import { UnavailableError } from '../../../src/run/errors.ts'
import type { ObjectStore } from '../../../src/stores/objects/object-store.ts'

const HOUR = Date.UTC(2026, 10, 22, 8)
const MINUTE_MS = 60_000
const KEY = { tenantId: 'acme', eventId: 'e' }

/** Objects in memory, with a note of each read. */
class MemoryStore {
  readonly objects = new Map<string, Buffer>()
  readonly got: string[] = []
  async get(key: string) {
    this.got.push(key)
    const bytes = this.objects.get(key)
    return bytes && Readable.from([bytes])
  }
  async *list(prefix: string) {
    for (const key of [...this.objects.keys()].sort()) {
      if (key.startsWith(prefix)) yield { key, bytes: this.objects.get(key)!.length }
    }
  }
}

function setUp() {
  const store = new MemoryStore()
  const archive = new ArchiveEvents(() => store as unknown as ObjectStore)
  /** A part that begins at a given time, with the ids of its events. */
  const add = (
    beganMs: number,
    ids: readonly string[],
    job?: string,
    requests?: readonly (readonly [string, number])[],
  ) => {
    const at = new Date(beganMs).toISOString()
    const location: PartLocation = {
      tenantId: 'acme',
      day: at.slice(0, 10),
      source: job === undefined ? 'ingest' : 'batch',
      run: job ?? at.slice(0, 13),
      name: partName(`${beganMs}-0`, 0),
    }
    const lines = ids.map((id) => `{"_received_at":"${at}","_event_id":"${id}","_status":"ok","ip":"8.8.8.8"}\n`)
    store.objects.set(partKey(location), gzipSync(lines.join('')))
    store.objects.set(indexKey(location), gzipSync(JSON.stringify({ lane: 'live', lines: ids.length, requests })))
    return partKey(location)
  }
  return { store, archive, add }
}

test('an event is found in the part of its time, with the request of its line', async () => {
  const { archive, add, store } = setUp()
  for (let minute = 0; minute < 40; minute++) {
    if (minute !== 20) add(HOUR + minute * MINUTE_MS, ['other'])
  }
  const requests = [
    ['r1', 1],
    ['r2', 2],
    ['r3', 1],
  ] as const
  const archived = add(HOUR + 20 * MINUTE_MS, ['a', 'b', 'e', 'c'], undefined, requests)
  const received_at = new Date(HOUR + 20 * MINUTE_MS).toISOString()
  const found = await archive.find(KEY, [{ status: 'stored', received_at }], [])
  const expected = { status: 'accepted', received_at, lane: 'live', request_id: 'r2', archived }
  assert.deepEqual(found, { receipts: [expected], complete: false })
  assert.equal(store.got[0], archived)
  // 32 parts, and one index.
  assert.equal(store.got.length, 33)
})

test('the hour before is searched too, and nothing else', async () => {
  const { archive, add } = setUp()
  const before = add(HOUR - MINUTE_MS, ['e'])
  add(HOUR - 3 * 60 * MINUTE_MS, ['e'])
  const { receipts, complete } = await archive.find(KEY, [], [HOUR + MINUTE_MS])
  assert.deepEqual([receipts.map(({ archived }) => archived), complete], [[before], true])
  assert.deepEqual(await archive.find({ ...KEY, tenantId: 'other' }, [], [HOUR]), { receipts: [], complete: true })
})

test('a line of a batch job is found in the parts of its job', async () => {
  const { archive, add } = setUp()
  add(HOUR, ['e'], 'job-2')
  const archived = add(HOUR + 1, ['e'], 'job-1')
  const known: EventReceipt = {
    status: 'stored',
    received_at: new Date(HOUR).toISOString(),
    lane: 'batch',
    job_id: 'job-1',
  }
  const { receipts } = await archive.find(KEY, [known], [])
  assert.deepEqual(
    receipts.map((one) => [one.job_id, one.lane, one.archived]),
    [['job-1', 'batch', archived]],
  )
})

test('an unreadable part is an error, not an unknown event', async () => {
  const { archive, add, store } = setUp()
  store.objects.set(add(HOUR, ['e']), gzipSync('{"_received_at":"').subarray(0, 15))
  await assert.rejects(archive.find(KEY, [], [HOUR]), UnavailableError)
})
