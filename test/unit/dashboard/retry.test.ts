import assert from 'node:assert/strict'
import { test } from 'node:test'
import { retryMs } from '../../../src/dashboard/pages/lib/retry.ts'

test('a failed request is repeated, less often the longer it took to fail', () => {
  for (const status of [0, 429, 500, 503]) assert.equal(retryMs(status, 5), 10_000, `${status}`)
  for (const status of [400, 401, 403, 404]) assert.equal(retryMs(status, 5), undefined, `${status}`)
  const tooMuch = 20_000
  assert.equal(retryMs(503, tooMuch), 60_000, 'a statement of 20 s that runs into its limit is not begun every 30 s')
  assert.equal(retryMs(503, 4_000), 16_000)
  assert.equal(retryMs(503, 4_000, 30_000), 30_000)
  assert.deepEqual([retryMs(0, 5, 2_000), retryMs(404, tooMuch, 2_000)], [2_000, 2_000], 'as often as else')
})
