import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onceADay } from '../../../src/dashboard/pages/lib/once-a-day.ts'

test('days are marks where none has more than one, and some has one', () => {
  assert.equal(onceADay([0, 1, 0, 1, 1]), 3)
  assert.equal(onceADay([0, 1, 2]), undefined, 'bars compare days')
  assert.equal(onceADay([0, 0]), undefined)
  assert.equal(onceADay([]), undefined)
})
