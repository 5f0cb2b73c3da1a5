import assert from 'node:assert/strict'
import { test } from 'node:test'
import { batchingOf } from '../../../src/pipeline/sinks/role.ts'

test('an insert has a byte limit, and shares read no more ahead than one sink', () => {
  for (const sinkShares of [1, 2, 8]) {
    const { rowsMax, bytesMax, aheadBytesMax } = batchingOf({ sinkRowsMax: 1_000, sinkShares })
    assert.equal(rowsMax, 1_000)
    assert.equal(bytesMax, (sinkShares === 1 ? 64 : 32) * 2 ** 20)
    assert.equal(aheadBytesMax * sinkShares, 16 * 2 ** 20)
  }
})
