import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { EventReceipt } from '../../../schemas/api/receipt.ts'
import { type Findings, fateOf } from '../../../src/operations/receipts/receipts.ts'

const AT = ['2026-11-22T08:00:00.000Z', '2026-11-22T08:00:01.000Z', '2026-11-22T08:00:02.000Z'] as const
const live = (
  status: EventReceipt['status'],
  at: string,
  request: string,
  more: Partial<EventReceipt> = {},
): EventReceipt => ({
  status,
  received_at: at,
  lane: 'live',
  request_id: request,
  ...more,
})
const NONE: Findings = { stored: [], dead: [], waiting: [], unarchived: [], archived: [] }

function shown(findings: Partial<Findings>) {
  const fate = fateOf('e', { ...NONE, ...findings })
  return fate && [fate.status, ...fate.receipts.map((one) => `${one.status} ${one.request_id} ${one.archived ?? '-'}`)]
}

test('an unknown event has no fate', () => {
  assert.equal(fateOf('e', NONE), undefined)
})

test('an event stored and still in its stream is one receipt, reported as stored', () => {
  const found = { stored: [live('stored', AT[0], 'a')], waiting: [live('in_progress', AT[0], 'a')] }
  assert.deepEqual(shown(found), ['stored', 'stored a -'])
})

test('a judged repeat is on its way until it is a duplicate', () => {
  const stored = [live('stored', AT[0], 'a')]
  assert.deepEqual(shown({ stored, waiting: [live('in_progress', AT[1], 'b')] }), [
    'stored',
    'in_progress b -',
    'stored a -',
  ])
  const archived = [live('accepted', AT[1], 'b', { archived: 'p' }), live('accepted', AT[0], 'a', { archived: 'p' })]
  assert.deepEqual(shown({ stored, archived }), ['stored', 'duplicate b p', 'stored a p'])
})

test('an event twice in its request is stored once, and a duplicate once', () => {
  const line = live('accepted', AT[0], 'a', { archived: 'p' })
  const found = { stored: [live('stored', AT[0], 'a')], archived: [line, line] }
  assert.deepEqual(shown(found), ['stored', 'stored a p', 'duplicate a p'])
  // While the part is written, its lines may still be in the stream.
  const unarchived = [live('accepted', AT[0], 'a'), live('accepted', AT[0], 'a')]
  assert.deepEqual(shown({ ...found, unarchived }), ['stored', 'stored a p', 'duplicate a p'])
  assert.deepEqual(shown({ ...found, archived: [], unarchived }), ['stored', 'stored a -', 'duplicate a -'])
})

test('an event answered filtered or invalid stays that, whatever happened to others', () => {
  const archived = [live('filtered', AT[0], 'a'), live('invalid_ip', AT[1], 'b')]
  assert.deepEqual(shown({ archived }), ['filtered', 'invalid_ip b -', 'filtered a -'])
  assert.deepEqual(shown({ archived, stored: [live('stored', AT[2], 'c')] })?.slice(0, 2), ['stored', 'stored c -'])
  // The same millisecond and request, but another line of it.
  assert.deepEqual(shown({ archived: [live('filtered', AT[0], 'a')], stored: [live('stored', AT[0], 'a')] })?.length, 3)
})

test('an event answered ok and found nowhere else was accepted, and no more is claimed', () => {
  assert.deepEqual(shown({ archived: [live('accepted', AT[0], 'a')] }), ['accepted', 'accepted a -'])
  assert.deepEqual(shown({ archived: [live('accepted', AT[0], 'a')], waiting: [{ status: 'in_progress' }] }), [
    'in_progress',
    'in_progress undefined -',
    'accepted a -',
  ])
})

test('a dead letter ranks before unknown, and after stored or on its way', () => {
  const dead = [live('dead', AT[0], 'a', { reason: 'clickhouse' })]
  assert.deepEqual(shown({ dead }), ['dead', 'dead a -'])
  assert.deepEqual(shown({ dead, waiting: [live('in_progress', AT[1], 'b')] })?.[0], 'in_progress')
  assert.deepEqual(shown({ dead, stored: [live('stored', AT[1], 'b')] })?.[0], 'stored')
})

test('rows of earlier versions lack the request, and belong to the line of the same time', () => {
  const { request_id, ...stored } = live('stored', AT[0], 'a')
  const archived = [live('accepted', AT[0], 'a', { archived: 'p' })]
  assert.deepEqual(shown({ stored: [stored], archived }), ['stored', 'stored a p'])
})
