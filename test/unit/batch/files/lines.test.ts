import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BATCH_LIMITS } from '../../../../schemas/api/batch.ts'
import { LineSplitter } from '../../../../src/pipeline/sources/batch/files/lines.ts'

const MAX = BATCH_LIMITS.lineMaxBytes

function linesOf(pieces: readonly Buffer[]): number[] {
  const splitter = new LineSplitter('choose another encoding')
  const lines = [...pieces.flatMap((piece) => splitter.push(piece)), ...splitter.end()]
  // A line that is too long has no length.
  return lines.map((line) => (typeof line === 'string' ? Buffer.byteLength(line) : -1))
}

test('a line has the same limit, however it is cut and ended', () => {
  for (const end of ['\n', '\r\n', '']) {
    for (const [bytes, expected] of [
      [MAX - 1, MAX - 1],
      [MAX, MAX],
      [MAX + 1, -1],
      [MAX + 2, -1],
    ] as const) {
      // Two bytes a character: the limit counts bytes.
      const line = `${'é'.repeat(bytes >> 1)}${'a'.repeat(bytes & 1)}`
      const text = Buffer.from(`first\n${line}${end}${end === '' ? '' : `last${end}`}`)
      const lengths = end === '' ? [5, expected] : [5, expected, 4, 0]
      const whole = linesOf([text])
      const cut = [text.subarray(0, 9), text.subarray(9, -8), text.subarray(-8, -7), text.subarray(-7)]
      assert.deepEqual(whole, lengths, `${bytes} bytes, ${JSON.stringify(end)}`)
      assert.deepEqual(linesOf(cut), lengths, `${bytes} bytes, ${JSON.stringify(end)}, in pieces`)
    }
  }
})
