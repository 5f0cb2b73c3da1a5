import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { LostEvent, LostUnit } from '../../../src/operations/replay/plan.ts'
import { assertRepeatsMeet, assignIdentities } from '../../../src/operations/replay/put-back.ts'
import { identityOf, NO_IDENTITY, partitionOf } from '../../../src/pipeline/event/envelope.ts'

const WINDOW_MS = 1_000
const NOW = 1_000_000

function lost(eventId: string, receivedAtMs: number, isRepeat = false): LostEvent {
  return { eventId, receivedAtMs, status: 'ok', text: '{}', requestId: '', isBrowser: false, isRepeat }
}

function unitOf(partition: number, events: LostEvent[]): LostUnit {
  return {
    ...{ partition, entry: '1-0', commit: 'p:1', day: '2026-11-22', job: undefined },
    ...{ rejected: [], outcomes: new Map(), kept: new Map(), unfiltered: new Map(), events },
  }
}

function assign(...events: LostEvent[]) {
  const found = assignIdentities([unitOf(3, events)], { tenantId: 't', nowMs: NOW, windowMs: WINDOW_MS })
  return { ...found, identities: events.map((event) => found.byEvent.get(event)) }
}

test('an event within the window has its own identity, freed of old claims', () => {
  const { identities, released, claimed } = assign(lost('a', NOW - 1))
  const own = identityOf('t', 'a')
  assert.deepEqual(identities, [own])
  assert.deepEqual(released, [{ partition: 3, identity: own }])
  assert.deepEqual(claimed, [])
})

test('an older event claims nothing: sent again it is a new event', () => {
  const { identities, released } = assign(lost('a', NOW - WINDOW_MS))
  assert.deepEqual(identities, [NO_IDENTITY])
  assert.deepEqual(released, [])
})

test('older repeats of one id share an identity that no other event has', () => {
  const { identities, released } = assign(lost('a', 10), lost('a', 1_009), lost('a', 1_010), lost('a', 2_009))
  assert.equal(identities[0], identities[1])
  assert.equal(identities[2], identities[3])
  assert.notEqual(identities[0], identities[2])
  assert.ok(!identities.includes(identityOf('t', 'a')) && !identities.includes(NO_IDENTITY))
  assert.equal(released.length, 2)
})

test('a repeat of a stored event meets a claim', () => {
  const { identities, claimed, released } = assign(lost('a', NOW - 1, true))
  assert.deepEqual(claimed, [{ partition: 3, identity: identities[0] }])
  assert.notEqual(identities[0], identityOf('t', 'a'), 'the claim of the stored event stays as it is')
  assert.deepEqual(released, [])
})

test('after a change of the number of partitions, the later of two repeats meets a claim', () => {
  const [first, second] = [lost('a', 10), lost('a', 20)]
  const units = [unitOf(3, [first]), unitOf(5, [second])]
  const { byEvent, claimed, released } = assignIdentities(units, { tenantId: 't', nowMs: NOW, windowMs: WINDOW_MS })
  assert.equal(byEvent.get(first), NO_IDENTITY)
  assert.deepEqual(claimed, [{ partition: 5, identity: byEvent.get(second) }])
  assert.deepEqual(released, [])
})

test('an event whose repeats now go to another partition is not put back while it may be sent again', () => {
  const home = partitionOf(identityOf('t', 'a'), 7)
  const demand =
    (partition: number, event: LostEvent, partitionsSinceMs = NOW) =>
    () =>
      assertRepeatsMeet([unitOf(partition, [event])], 't', NOW - WINDOW_MS, { partitions: 7, partitionsSinceMs })
  const elsewhere = (home + 1) % 7
  assert.throws(demand(elsewhere, lost('a', NOW - 1)), /before a restore with another PARTITIONS/)
  assert.doesNotThrow(demand(home, lost('a', NOW - 1)))
  assert.doesNotThrow(demand(elsewhere, lost('a', NOW - 1, true)), 'it meets a claim')
  assert.doesNotThrow(demand(elsewhere, lost('a', NOW - WINDOW_MS)), 'sent again it is a new event')
  assert.doesNotThrow(demand(elsewhere, lost('a', NOW - 1), NOW - 1), 'it came after the restore')
})
