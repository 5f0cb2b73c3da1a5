import assert from 'node:assert/strict'
import { test } from 'node:test'
import { stepsOf, trailState } from '../../../src/dashboard/pages/lib/company-trail.ts'

test('a company has the neighbours of the list that it was opened from', () => {
  const state = trailState({ ids: ['a', 'b', 'c'], before: 50, total: 120 })
  assert.deepEqual(stepsOf(state, 'b'), { position: 52, total: 120, previous: 'a', next: 'c' })
  assert.deepEqual(stepsOf(state, 'a'), { position: 51, total: 120, previous: undefined, next: 'b' })
  assert.deepEqual(stepsOf(state, 'c'), { position: 53, total: 120, previous: 'b', next: undefined })
  for (const other of [null, undefined, {}, { isReturn: true }]) assert.equal(stepsOf(other, 'a'), undefined)
  assert.equal(stepsOf(state, 'd'), undefined)
  assert.equal(stepsOf(trailState({ ids: ['a', 'b'], before: 50, total: 51 }), 'b')?.total, 52)
})
