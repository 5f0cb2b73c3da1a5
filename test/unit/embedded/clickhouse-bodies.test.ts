import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertQuerySize } from '../../../src/embedded/clickhouse/engine-statement.ts'
import { gathered } from '../../../src/embedded/clickhouse/gathered.ts'

test('a body that comes byte by byte is held in few pieces', async () => {
  const bytes = Buffer.from(Array.from({ length: 100_001 }, (_, i) => i % 251))
  const whole = Buffer.alloc(70_000, 1)
  async function* body() {
    for (let at = 0; at < bytes.length; at++) yield bytes.subarray(at, at + 1)
    yield Buffer.alloc(0)
    yield whole
  }
  const pieces: Buffer[] = []
  for await (const piece of gathered(body())) pieces.push(piece)
  assert.deepEqual(Buffer.concat(pieces), Buffer.concat([bytes, whole]))
  assert.equal(pieces.length, 7)
})

test('a query of a form that is too long is refused before it is looked at', () => {
  assertQuerySize({ query: 'x'.repeat(8_388_608) })
  assert.throws(() => assertQuerySize({ query: 'x'.repeat(8_388_609) }), { code: 229, message: /larger than 8388608/ })
})
