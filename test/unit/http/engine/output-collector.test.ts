import assert from 'node:assert/strict'
import { test } from 'node:test'
import { OutputCollector } from '../../../../src/http/engine/uws/output-collector.ts'

/** Only for writes larger than this does the engine say whether the kernel took them. */
const CORK_BYTES = 16_384

/** Cuts pieces into writes; `bytes` names the writes before which a byte is taken, as when the kernel had no room. */
function cut(pieces: readonly string[], byteBefore: (write: number) => boolean = () => false): Buffer[] {
  const collector = new OutputCollector()
  const writes: Buffer[] = []
  const takeAll = (take: () => Buffer | undefined) => {
    for (let bytes = take(); bytes !== undefined; bytes = take()) {
      writes.push(bytes)
      const byte = byteBefore(writes.length) ? collector.takeByte() : undefined
      if (byte) writes.push(byte)
    }
  }
  for (const piece of pieces) {
    collector.add(piece)
    takeAll(() => collector.take())
  }
  takeAll(() => collector.takeRest())
  return writes
}

test("the beginning is sent at once, the rest in writes larger than the engine's buffer", () => {
  for (const size of [1, 700, 5_000, 16_384, 20_000, 70_000]) {
    const pieces = Array.from({ length: Math.ceil(300_000 / size) }, (_, i) => 'abcdefghij'[i % 10]!.repeat(size))
    const writes = cut(pieces)
    assert.equal(Buffer.concat(writes).toString(), pieces.join(''), `pieces of ${size}`)
    let sent = 0
    for (const write of writes.slice(0, -1)) {
      if (sent + write.length > CORK_BYTES) assert.ok(write.length > CORK_BYTES && write.length < 3 * CORK_BYTES)
      sent += write.length
    }
    assert.ok(writes.at(-1)!.length <= 32 || writes.length === 1, 'a few bytes are left for the end')
  }
  assert.deepEqual(cut(['a', 'bc', 'ä']).map(String), ['a', 'bc', 'ä'])
  assert.deepEqual(cut([]), [])
})

test('a byte can be taken at any time, also after the last write, without loss or reordering', () => {
  const text = Array.from({ length: 20_000 }, (_, i) => `${i},`).join('')
  const pieces = text.match(/[\s\S]{1,1000}/g)!
  assert.equal(Buffer.concat(cut(pieces, () => true)).toString(), text)
  assert.equal(Buffer.concat(cut(pieces, (write) => write % 3 === 0)).toString(), text)
  assert.ok(cut(pieces, (write) => write > 10).filter(({ length }) => length === 1).length > 3)
})
