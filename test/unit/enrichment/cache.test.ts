import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BoundedCache } from '../../../src/enrichment/bounded-cache.ts'

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
