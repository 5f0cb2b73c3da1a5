import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { ChunkList } from '../../../../src/http/engine/request-body.ts'

const SIZES = [1, 1, 5_000, 1, 70_000, 3, 16_384, 16_383, 60_000, 2]

test('bytes come out unchanged, all at once or piece by piece while more arrive', () => {
  for (const takeEvery of [1, 2, 3, 100]) {
    const list = new ChunkList()
    const sent: Buffer[] = []
    const got: Buffer[] = []
    for (const [i, size] of [...SIZES, ...SIZES].entries()) {
      const chunk = randomBytes(size)
      sent.push(Buffer.from(chunk))
      list.push(chunk)
      chunk.fill(0)
      if (i % takeEvery === 0) got.push(Buffer.from(list.shift()!))
    }
    got.push(list.all())
    assert.deepEqual(Buffer.concat(got), Buffer.concat(sent))
    assert.equal(list.bytes, 0)
    assert.equal(list.shift(), undefined)
  }
})

test('a body that arrives byte by byte is held in few buffers', () => {
  const list = new ChunkList()
  for (let i = 0; i < 300_000; i++) list.push(Buffer.of(i & 255))
  let buffers = 0
  while (list.shift() !== undefined) buffers++
  assert.ok(buffers <= 6, `${buffers} buffers`)
})
