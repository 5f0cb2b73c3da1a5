import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FeederStore, OpenJob } from '../../../src/pipeline/sources/batch/feeder-ports.ts'
import { LaneRoom, laneFractions } from '../../../src/pipeline/sources/batch/lane-room.ts'

const MAX = 15_000
const CHUNK = 300

/** A lane that drains in order of arrival. */
class Lane {
  readonly #entries: { by: string; events: number }[] = []
  readonly left = new Map<string, number>()
  waiting = 0
  added = 0

  add(by: string, events: number): void {
    this.#entries.push({ by, events })
    this.waiting += events
    this.added += events
  }

  drain(events: number): void {
    while (events > 0 && this.#entries.length > 0) {
      const first = this.#entries[0]!
      const taken = Math.min(events, first.events)
      first.events -= taken
      events -= taken
      this.waiting -= taken
      this.left.set(first.by, (this.left.get(first.by) ?? 0) + taken)
      if (first.events === 0) this.#entries.shift()
    }
  }

  room(): LaneRoom {
    const level = async () => ({ waiting: this.waiting, added: this.added })
    const store = { eventsInLane: level, payloadsInLane: level } as unknown as FeederStore
    return new LaneRoom({ store, waitingEventsMax: MAX, waitingPayloadsMax: MAX })
  }
}

/** Checks the room and fills it. Returns how much that was. */
async function fill(lane: Lane, by: string, room: LaneRoom, part: number): Promise<number> {
  await room.refresh({ events: part, payloads: part }, false)
  const before = lane.added
  while (room.events > 0) {
    lane.add(by, CHUNK)
    room.take({ fed: CHUNK, rejected: 0, invalidIp: 0, errors: [], reasons: [] }, false)
  }
  return lane.added - before
}

const jobs = (count: number, archived = 0) =>
  Array.from({ length: count }, (_, i) => ({ archived: i < archived }) as OpenJob)

test('tenants have equal parts of the lane, and of the archive if they use one', () => {
  assert.deepEqual(laneFractions(jobs(1), jobs(9)), { events: 0.1, payloads: 1 })
  assert.deepEqual(laneFractions(jobs(9, 1), jobs(1, 1)), { events: 0.9, payloads: 0.5 })
  assert.deepEqual(laneFractions(jobs(3, 2), []), { events: 1, payloads: 1 })
})

for (const drained of [500, 9_000]) {
  test(`one tenant alone gets no more of a full lane than each of nine: ${drained} leave at once`, async () => {
    const lane = new Lane()
    const [one, nine] = [lane.room(), lane.room()]
    for (let tick = 0; tick < 400; tick++) {
      // The tenant with little work always comes first.
      for (let look = 0; look < 10; look++) await fill(lane, 'one', one, 0.1)
      while ((await fill(lane, 'nine', nine, 0.9)) > 0);
      assert.ok(lane.waiting <= MAX + 2 * CHUNK, `${lane.waiting} wait`)
      lane.drain(drained)
    }
    const [ofOne, ofNine] = [lane.left.get('one')!, lane.left.get('nine')!]
    const factor = ofOne / (ofNine / 9)
    // In large pieces the first ones leave sooner, though by no more than a piece.
    assert.ok(
      factor > 0.5 && factor < (drained === 500 ? 1.2 : 2.1),
      `${ofOne} of one tenant, ${ofNine} of nine: ${factor.toFixed(2)} times`,
    )
    // All room is used.
    assert.ok(ofOne + ofNine > 0.8 * 400 * drained, `${ofOne + ofNine} of ${400 * drained} left`)
  })
}

test('feeders that check at once do not take the same room twice', async () => {
  const lane = new Lane()
  // The room of a feeder that is gone is free.
  lane.add('before', 10_000)
  await Promise.all([0.2, 0.3, 0.5].map((part, i) => fill(lane, `${i}`, lane.room(), part)))
  assert.ok(lane.waiting >= MAX && lane.waiting <= MAX + 3 * CHUNK, `${lane.waiting} wait`)
})

test('a single feeder has all of the lane, and one whose lane is recounted continues', async () => {
  const lane = new Lane()
  const room = lane.room()
  assert.equal(await fill(lane, 'one', room, 0.1), MAX / 10)
  assert.equal(await fill(lane, 'one', room, 0.1), 0)
  assert.equal(await fill(lane, 'one', room, 1), 0.9 * MAX)
  lane.added = 0
  lane.waiting = 0
  assert.equal(await fill(lane, 'one', room, 0.1), MAX / 10)
})

test('payloads count only for jobs with an archive, and separately', async () => {
  const room = new Lane().room()
  await room.refresh({ events: 0.5, payloads: 0.2 }, true)
  assert.deepEqual([room.events, room.payloads], [MAX / 2, MAX / 5])
  room.take({ fed: 10, rejected: 2, invalidIp: 3, errors: [], reasons: [] }, false)
  room.take({ fed: 10, rejected: 2, invalidIp: 3, errors: [], reasons: [] }, true)
  assert.deepEqual([room.events, room.payloads], [MAX / 2 - 20, MAX / 5 - 15])
})

test('large events take the lane by their bytes, and free it when they leave', async () => {
  const lane = new Lane()
  const room = lane.room()
  const all = { events: 1, payloads: 1 }
  const chunkBytes = 1_048_576
  const fill = async () => {
    let chunks = 0
    for (;;) {
      if (room.events <= 0) await room.refresh(all, false)
      if (room.events <= 0) return chunks
      lane.add('ours', 1)
      room.take({ fed: 1, rejected: 0, invalidIp: 0, errors: [], reasons: [] }, false, chunkBytes)
      chunks++
    }
  }
  assert.equal(await fill(), 128, '128 MiB, though the lane has room for 15,000 events')
  assert.equal(await fill(), 0)
  lane.drain(16)
  assert.equal(await fill(), 16)
  lane.drain(lane.waiting)
  assert.equal(await fill(), 128)
})
