import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BoundedCache, remembered } from '../../../src/enrichment/bounded-cache.ts'

test('a cache never exceeds its limit, and keeps used entries', () => {
  const cache = new BoundedCache<number, { n: number }>(100)
  const favourite = { n: -1 }
  cache.set(-1, favourite)
  for (let n = 0; n < 10_000; n++) {
    assert.equal(cache.get(-1), favourite, `after ${n}`)
    if (cache.get(n) === undefined) cache.set(n, { n })
    assert.ok(cache.size <= 100, `${cache.size} entries`)
  }
  assert.equal(cache.get(0), undefined)
  assert.equal(cache.get(9_999)?.n, 9_999)
})

test('a cache with sizes holds at most its bytes, and counts a shared value once', () => {
  const one = { bytes: 400 }
  const cache = new BoundedCache<number, { bytes: number }>(2_000, { entry: () => 10, shared: ({ bytes }) => bytes })
  for (let n = 0; n < 50; n++) cache.set(n, one)
  assert.equal(cache.size, 50)
  for (let n = 50; n < 1_000; n++) {
    cache.set(n, { bytes: 400 })
    // Two generations of two large values each, and the small entries before them.
    assert.ok(cache.size <= 62, `${cache.size} entries`)
  }
  assert.ok(cache.size <= 4, `${cache.size} entries`)
})

test('a remembered function computes once, and takes results that were computed before', () => {
  const asked: string[] = []
  const length = remembered((text) => asked.push(text) && text.length)
  assert.deepEqual([length('abc'), length('abc'), asked], [3, 3, ['abc']])
  length.learn('known', 7)
  assert.deepEqual([length('known'), asked], [7, ['abc']])
  const long = 'x'.repeat(501)
  assert.deepEqual([length(long), length(long), asked.length], [501, 501, 3])
})
