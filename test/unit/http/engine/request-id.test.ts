import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeRequestId } from '../../../../src/http/engine/head.ts'

test('request ids are short, distinct, and sorted by time', () => {
  const now = Date.UTC(2026, 10, 22)
  const ids = [0, 1, 2, 40, 1_000_000, 1e12].flatMap((ms) => [now + ms, now + ms]).map((ms) => makeRequestId(ms))
  assert.equal(new Set(ids).size, ids.length)
  for (const id of ids) assert.match(id, /^[0-9a-hjkmnp-tv-z]{18}$/)
  const times = ids.map((id) => id.slice(0, 9))
  assert.deepEqual(times, times.toSorted())
  assert.match(makeRequestId(), /^1[0-9a-z]{17}$/)
})
