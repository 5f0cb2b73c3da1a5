import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Rate, timeLeft } from '../../../src/dashboard/pages/lib/rate.ts'

test('a rate is that of the last ten seconds, and unknown at first', () => {
  const rate = new Rate()
  rate.add(0, 0)
  assert.equal(rate.perSecond, undefined)
  rate.add(100, 400)
  assert.equal(rate.perSecond, undefined)
  rate.add(1_000, 1_000)
  assert.equal(rate.perSecond, 1_000)
  for (let second = 2; second <= 20; second++) rate.add(1_000, second * 1_000)
  assert.equal(rate.perSecond, 0)
})

test('the time left has a fitting unit, and is hidden when nothing moves', () => {
  assert.deepEqual(
    [timeLeft(10, 3), timeLeft(1_200, 10), timeLeft(100_000, 10), timeLeft(1, 0), timeLeft(1, undefined)],
    ['4 s left', '2 min left', '3 h left', undefined, undefined],
  )
})
