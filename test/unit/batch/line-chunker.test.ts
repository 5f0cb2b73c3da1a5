import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BATCH_LIMITS } from '../../../schemas/api/batch.ts'
import { UploadTooLargeError } from '../../../src/pipeline/declaration/batch-jobs.ts'
import type { LineChunk } from '../../../src/pipeline/declaration/source.ts'
import { CHUNK_BYTES, LineChunker, TOO_LONG } from '../../../src/pipeline/sources/batch/line-chunker.ts'
import { formatLineNumbers, parseLineNumbers } from '../../../src/pipeline/sources/batch/redis/upload-spool.ts'
import { bufferBytes } from '../../support/memory.ts'

/** The lines of a chunk with their positions in the upload. */
function numbered({ firstLine, gaps, bytes }: LineChunk): (readonly [number, string])[] {
  const texts = bytes.toString().replace(/\n$/, '').split('\n')
  const blankBefore = new Map<number, number>()
  let index = 0
  for (const { after, blank } of gaps) {
    index += after
    blankBefore.set(index, blank)
  }
  let line = firstLine
  return texts.map((text, i) => {
    line += blankBefore.get(i) ?? 0
    return [line++, text]
  })
}

/** Feeds an upload in pieces of a given size, and returns the result. */
function chunk(upload: Buffer, pieceBytes: number): { chunks: LineChunk[]; received: number } {
  const chunks: LineChunk[] = []
  const chunker = new LineChunker((made) => chunks.push(made))
  for (let at = 0; at < upload.length; at += pieceBytes) chunker.push(upload.subarray(at, at + pieceBytes))
  chunker.end()
  return { chunks, received: chunker.received }
}

test('chunks are whole lines, in order, and lose only blank lines, wherever pieces are cut', () => {
  const lines = Array.from({ length: 30_000 }, (_, i) => (i % 7 < 2 ? ' \r' : `{"ip":"192.0.2.${i % 256}","n":${i}}`))
  const upload = Buffer.from(lines.join('\n'))
  for (const pieceBytes of [1, 13, 1_000, 65_536, 300_000, upload.length]) {
    const { chunks, received } = chunk(upload, pieceBytes)
    const kept = lines.map((line, i) => [i + 1, line] as const).filter(([, line]) => line.trim() !== '')
    assert.deepEqual(chunks.flatMap(numbered), kept, `pieces of ${pieceBytes}`)
    assert.equal(received, kept.length)
    for (const [i, made] of chunks.entries()) {
      assert.ok(made.bytes.length <= CHUNK_BYTES)
      if (i < chunks.length - 1) assert.equal(made.bytes.at(-1), 10)
    }
    assert.ok(chunks.length > 1)
  }
})

test('a line that is too long becomes its own mark, and its neighbours stay', () => {
  const long = `{"ip":"${'x'.repeat(BATCH_LIMITS.lineMaxBytes)}"}`
  const upload = Buffer.from(`{"a":1}\n${long}\n{"b":2}\n${long}`)
  for (const pieceBytes of [5_000, 400_000, upload.length]) {
    const { chunks, received } = chunk(upload, pieceBytes)
    const kept = Buffer.concat(chunks.map(({ bytes }) => bytes)).toString()
    assert.equal(kept, `{"a":1}\n${TOO_LONG}{"b":2}\n${TOO_LONG}`)
    assert.equal(received, 4)
  }
})

test('a line that is too long is not buffered', () => {
  const chunker = new LineChunker(() => {})
  const before = bufferBytes()
  for (let i = 0; i < 60; i++) chunker.push(Buffer.alloc(1_048_576, 'x'))
  const heldBytes = bufferBytes() - before
  assert.ok(heldBytes < 8_388_608, `${heldBytes} bytes`)
})

test('a line of exactly the limit is kept', () => {
  const upload = Buffer.from(`${'y'.repeat(BATCH_LIMITS.lineMaxBytes)}\nz`)
  for (const pieceBytes of [5_000, upload.length]) {
    assert.deepEqual(Buffer.concat(chunk(upload, pieceBytes).chunks.map(({ bytes }) => bytes)), upload)
  }
})

test('any number of blank lines takes no space, and is counted', () => {
  const blank = Buffer.alloc(6_000_000, '\n \r\n\t\n')
  const before = blank.filter((byte) => byte === 10).length
  const upload = Buffer.concat([blank, Buffer.from('{"a":1}\n'), blank, Buffer.from(' {"b":2}\n'), blank])
  for (const pieceBytes of [65_536, upload.length]) {
    const { chunks, received } = chunk(upload, pieceBytes)
    assert.equal(received, 2)
    assert.deepEqual(chunks.flatMap(numbered), [
      [before + 1, '{"a":1}'],
      [2 * before + 2, ' {"b":2}'],
    ])
    assert.equal(chunks[0]!.bytes.length, 17)
  }
  assert.deepEqual(chunk(blank, 65_536), { chunks: [], received: 0 })
})

test('a chunk with many gaps stays within its size', () => {
  const { chunks } = chunk(Buffer.alloc(900_000, 'x\n\n'), 65_536)
  for (const made of chunks) {
    assert.ok(formatLineNumbers({ ...made, isPacked: true }).length + made.bytes.length <= CHUNK_BYTES)
    const numbers = { firstLine: made.firstLine, gaps: made.gaps, isPacked: true }
    assert.deepEqual(parseLineNumbers(formatLineNumbers(numbers)), numbers)
    const raw = { ...numbers, isPacked: false }
    assert.deepEqual(parseLineNumbers(formatLineNumbers(raw)), raw)
  }
  assert.deepEqual(
    chunks.flatMap(numbered).map(([line]) => line),
    Array.from({ length: 300_000 }, (_, i) => 2 * i + 1),
  )
})

test('blank uploads have no lines', () => {
  for (const upload of ['', '\n', ' \r\n\t\n', '   ']) assert.equal(chunk(Buffer.from(upload), 2).received, 0)
})

test('more lines or bytes than the limits are refused', () => {
  const line = Buffer.from('{}\n')
  const lines = Buffer.alloc(line.length * BATCH_LIMITS.linesMax, line)
  assert.equal(chunk(lines, 1_000_000).received, BATCH_LIMITS.linesMax)
  assert.throws(() => chunk(Buffer.concat([lines, line]), 1_000_000), UploadTooLargeError)
  const chunker = new LineChunker(() => {})
  const piece = Buffer.alloc(BATCH_LIMITS.bodyMaxBytes / 100, 'x')
  for (let i = 0; i < 100; i++) chunker.push(piece)
  assert.throws(() => chunker.push(Buffer.from('x')), UploadTooLargeError)
})
