import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeLz4 } from '../../../src/embedded/clickhouse/compression/lz4.ts'
import { MemoryBudget } from '../../../src/embedded/clickhouse/memory-budget.ts'

/** LZ4 frames, as the program `lz4` 1.9.4 writes them. */

const LINE = Array.from({ length: 20 }, (_, i) => `${i}\tline ${(i * i) % 97} of a text\n`).join('')
const TEXT = LINE.repeat(400)
/** Blocks of 64 KiB that refer to earlier blocks. */
const LINKED =
  'BCJNGERAXq4BAADyBTAJbGluZSAwIG9mIGEgdGV4dAoxEwAXMRMAEjITABc0EwASMxMAFzkTABM0OQAXNhQAEjUUACcyNRQAEjYUABgzKAATN2IACFAAEjgUABg2dwASORQAGDieABMxxQAYMxQAA8YAGDI9ABQxyAAYNxUAA8oAKDcyFQADzAAJFAADzAAZM3wAA80AGTYqAAPOABg59gATMc8AGTOnAAPQABg3gQEPlAH///////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////9TUDE2IG9mCgEAAA+UAf/////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////oUHRleHQKgQAAAA+UAf//////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////n1B0ZXh0CgAAAADEwgm7'
/** Independent blocks, with checksums, and the size of the content. */
const CHECKED =
  'BCJNGHxAQHcCAAAAAADlrgEAAPIFMAlsaW5lIDAgb2YgYSB0ZXh0CjETABcxEwASMhMAFzQTABIzEwAXORMAEzQ5ABc2FAASNRQAJzI1FAASNhQAGDMoABM3YgAIUAASOBQAGDZ3ABI5FAAYOJ4AEzHFABgzFAADxgAYMj0AFDHIABg3FQADygAoNzIVAAPMAAkUAAPMABkzfAADzQAZNioAA84AGDn2ABMxzwAZM6cAA9AAGDeBAQ+UAf///////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////1NQMTYgb2aa/nf9sQEAAPQFIGEgdGV4dAo1CWxpbmUgMjUgb2YUABI2FAAnMzYUABI3FAAnNDkUABI4FAAnNjQUABI5FAAnODEUACMxMFEACBQAEzF5AAg9ACMxMmYAGDcVABIzFQAoNzIVABM0PwAIFAADzAAZM3wAA80AGTYqAAPOABg59gATMc8AGTOnAAPQACc3MBUAA88ACBMAA84ACHoABMwABxMAA8oACEQBA8gAGDFsAQ+UAf///////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////0tQdGV4dAqaj8zfJAEAAPIHOQlsaW5lIDgxIG9mIGEgdGV4dAoxMBUAGDMUABIxFAAoMjQVABIyFQAoNDcVABIzFQAoNzIVABM0PwAIFAATNWcACXwAEjYVABk2KgASNxUAKDk1FQATOD8ACacAA9AAJzcwFQADzwAIEwADzgAIegAEzAAHEwADygAXORMAA8gAJzE2FAADyAAYMp4AA8cAGDMoAAPGABg0UAADxQAYNncAD5QB/////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////////wpQdGV4dArq9/WgAAAAAMTCCbs='

async function decoded(bytes: Buffer, pieces = 1, memory = new MemoryBudget(1e9)): Promise<string> {
  const pieceBytes = Math.ceil(bytes.length / pieces)
  const chunks = async function* () {
    for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes)
  }
  const result: Buffer[] = []
  for await (const chunk of decodeLz4(chunks(), memory.open())) result.push(chunk)
  return Buffer.concat(result).toString()
}

test('frames of every kind are read, wherever the network cuts them', async () => {
  for (const base64 of [LINKED, CHECKED]) {
    const frame = Buffer.from(base64, 'base64')
    for (const pieces of [1, 2, 1_000]) assert.equal(await decoded(frame, pieces), TEXT)
    assert.equal(await decoded(Buffer.concat([frame, frame])), TEXT + TEXT)
  }
  const raw = Buffer.concat([
    Buffer.from('04224d18604082', 'hex'),
    Buffer.from([5, 0, 0, 0x80]),
    Buffer.from('plain'),
    Buffer.alloc(4),
  ])
  assert.equal(await decoded(raw), 'plain')
  assert.equal(await decoded(Buffer.alloc(0)), '')
})

test('invalid, damaged or cut frames are reported', async () => {
  const frame = Buffer.from(LINKED, 'base64')
  const descriptor = Buffer.from(frame)
  descriptor[5] = 0x30
  const large = Buffer.from(frame)
  large.writeUInt32LE(65_537, 7)
  const damaged = Buffer.concat([frame.subarray(0, 11), Buffer.alloc(frame.length - 11, 255)])
  for (const [bytes, pattern] of [
    [Buffer.from('SELECT 1'), /it does not begin with a frame/],
    [Buffer.from('SEL'), /it ends within a frame/],
    [frame.subarray(0, -1), /it ends within a frame/],
    [frame.subarray(0, 20), /it ends within a frame/],
    [Buffer.concat([frame, frame.subarray(0, 5)]), /it ends within a frame/],
    [descriptor, /unknown size/],
    [large, /a block is larger than the frame states/],
    [damaged, /is not LZ4/],
  ] as const) {
    await assert.rejects(decoded(bytes), { code: 271, message: pattern })
  }
  await assert.rejects(decoded(frame, 1, new MemoryBudget(60_000)), { code: 241 })
})
