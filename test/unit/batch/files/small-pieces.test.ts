import assert from 'node:assert/strict'
import { test } from 'node:test'
import { smallPieces } from '../../../../src/pipeline/sources/batch/files/small-pieces.ts'

test('bytes available at once come in pieces, and other work runs in between', async () => {
  async function* source() {
    yield Buffer.alloc(150_000, 'a')
    yield Buffer.alloc(0)
    yield Buffer.from('b')
  }
  let turns = 0
  const seen: [bytes: number, turns: number][] = []
  const parts: Buffer[] = []
  const counting = () => setImmediate(() => turns++)
  counting()
  for await (const piece of smallPieces(source())) {
    seen.push([piece.length, turns])
    parts.push(piece)
    counting()
  }
  assert.deepEqual(
    seen.map(([bytes]) => bytes),
    [65_536, 65_536, 18_928, 1],
  )
  assert.ok(
    seen.every(([, had], i) => had > (seen[i - 1]?.[1] ?? 0)),
    JSON.stringify(seen),
  )
  assert.equal(Buffer.concat(parts).toString(), `${'a'.repeat(150_000)}b`)
})
