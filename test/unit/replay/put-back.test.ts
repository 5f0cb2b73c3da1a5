import assert from 'node:assert/strict'
import { test } from 'node:test'
import { identityOf, NO_IDENTITY } from '../../../src/core/event/envelope.ts'
import type { LostEvent, LostUnit } from '../../../src/replay/plan.ts'
import { assignIdentities } from '../../../src/replay/put-back.ts'

const WINDOW_MS = 1_000
const NOW = 1_000_000

function lost(eventId: string, receivedAtMs: number, isRepeat = false): LostEvent {
  return { eventId, receivedAtMs, status: 'ok', text: '{}', requestId: '', isRepeat }
}

function assign(...events: LostEvent[]) {
  const unit: LostUnit = {
    ...{ partition: 3, entry: '1-0', commit: 'p:1', day: '2026-11-22', job: undefined },
    ...{ rejected: [], outcomes: new Map(), kept: new Map(), unfiltered: new Map(), events },
  }
  const found = assignIdentities([unit], { tenantId: 't', nowMs: NOW, windowMs: WINDOW_MS })
  return { ...found, identities: events.map((event) => found.byEvent.get(event)) }
}

test('an event within the window has its own identity, freed of old claims', () => {
  const { identities, released, claimed } = assign(lost('a', NOW - 1))
  const own = identityOf('t', 'a')
  assert.deepEqual(identities, [own])
  assert.deepEqual(released, [{ partition: 3, identity: own }])
  assert.deepEqual(claimed, [])
})

test('an older one claims nothing: sent again it is a new event', () => {
  const { identities, released } = assign(lost('a', NOW - WINDOW_MS))
  assert.deepEqual(identities, [NO_IDENTITY])
  assert.deepEqual(released, [])
})

test('older ones of one id share an identity that no other event has, as far as they are repeats', () => {
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
