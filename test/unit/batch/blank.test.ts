import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LineChunker } from '../../../src/pipeline/sources/batch/line-chunker.ts'

/** Whether the lines of a text are blank when it comes in pieces of a given length. */
function received(text: string, pieceBytes: number): number {
  const chunker = new LineChunker(() => {})
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += pieceBytes) chunker.push(Buffer.from(bytes.subarray(at, at + pieceBytes)))
  chunker.end()
  return chunker.received
}

const SPACES = [
  '\v',
  '\f',
  '\u0085',
  '\u00a0',
  '\u1680',
  '\u2003',
  '\u2028',
  '\u2029',
  '\u202f',
  '\u205f',
  '\u3000',
  '\ufeff',
]

test('white space of every kind is blank, however it is cut', () => {
  const line = `${SPACES.join('')} \t`
  for (const text of [...SPACES, line, `${line}\r\n\n${line}\n`, line.repeat(40_000)]) {
    for (const pieceBytes of [1, 2, 5, 100_000]) {
      if (text.length > 10_000 && pieceBytes < 100_000) continue
      assert.equal(received(text, pieceBytes), 0, JSON.stringify(text.slice(0, 40)))
      assert.equal(received(`${text}\n${text}{}${text}\n${text}`, pieceBytes), 1, JSON.stringify(text.slice(0, 40)))
    }
  }
})

test('text that only begins like white space is a line', () => {
  for (const text of ['\u2020', '\u00a1', '\u200b', '\u3001', '\ufffd']) {
    for (const pieceBytes of [1, 2, 100]) assert.equal(received(`${text}\n`, pieceBytes), 1, JSON.stringify(text))
  }
  const cutOff = Buffer.from('\u2003').subarray(0, 2)
  const chunker = new LineChunker(() => {})
  chunker.push(cutOff)
  chunker.end()
  assert.equal(chunker.received, 1, 'a character that is cut off is not UTF-8')
})
