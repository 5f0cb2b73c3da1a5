import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deflateSync, gzipSync } from 'node:zlib'
import { assertEncoding, decodeText as decode } from '../../../../src/http/engine/decode.ts'
import { HttpError } from '../../../../src/http/engine/http-error.ts'

const MAX = 1_048_576
const refused = (status: number, detail: RegExp) => (error: unknown) =>
  error instanceof HttpError && error.status === status && detail.test(error.message)

/** Decodes with another thread, in turn. */
const decodeText = async (body: Buffer, encoding: string, maxBytes: number) =>
  decode(body, encoding, maxBytes, (work) => work())

test('plain UTF-8 is text, a byte order mark is dropped, invalid UTF-8 is 400', async () => {
  assert.equal(await decodeText(Buffer.from('{"a":"é😀"}'), '', MAX), '{"a":"é😀"}')
  assert.equal(await decodeText(Buffer.from('\ufeff{}'), 'identity', MAX), '{}')
  for (const bytes of [
    [0xff],
    [0xc3, 0x28],
    [0xed, 0xa0, 0x80],
    [0xc0, 0x80],
    [0xf4, 0x90, 0x80, 0x80],
    [0xe2, 0x82],
  ]) {
    await assert.rejects(() => decodeText(Buffer.from(bytes), '', MAX), refused(400, /not UTF-8/))
  }
})

test('gzip is decoded, also with several members', async () => {
  assert.equal(await decodeText(gzipSync('{"a":1}'), 'gzip', MAX), '{"a":1}')
  assert.equal(await decodeText(Buffer.concat([gzipSync('{"a"'), gzipSync(':1}')]), 'x-gzip', MAX), '{"a":1}')
  await assert.rejects(() => decodeText(gzipSync(Buffer.from([0xff])), 'gzip', MAX), refused(400, /not UTF-8/))
})

test('gzip that is cut, damaged, invalid or followed by other bytes is 400', async () => {
  const whole = gzipSync(JSON.stringify({ events: Array.from({ length: 50 }, (_, i) => ({ ip: `10.0.0.${i}` })) }))
  for (let length = 1; length < whole.length; length += 7) {
    await assert.rejects(() => decodeText(whole.subarray(0, length), 'gzip', MAX), refused(400, /not gzip/))
  }
  const damaged = Buffer.from(whole)
  damaged[damaged.length - 6]! ^= 1
  await assert.rejects(() => decodeText(damaged, 'gzip', MAX), refused(400, /not gzip/))
  await assert.rejects(
    () => decodeText(Buffer.concat([whole, Buffer.from('{}')]), 'gzip', MAX),
    refused(400, /not gzip/),
  )
  await assert.rejects(() => decodeText(Buffer.from('{}'), 'gzip', MAX), refused(400, /not gzip/))
  await assert.rejects(() => decodeText(deflateSync('{}'), 'gzip', MAX), refused(400, /not gzip/))
  await assert.rejects(() => decodeText(Buffer.alloc(0), 'gzip', MAX), refused(400, /empty/))
})

test('the limit holds for the decoded size, to the byte, and a bomb is not unpacked', async () => {
  assert.equal((await decodeText(gzipSync(Buffer.alloc(MAX, 32)), 'gzip', MAX)).length, MAX)
  await assert.rejects(
    () => decodeText(gzipSync(Buffer.alloc(MAX + 1, 32)), 'gzip', MAX),
    refused(413, /1048576 bytes/),
  )
  const bomb = Buffer.concat(Array.from({ length: 50 }, () => gzipSync(Buffer.alloc(20 * MAX))))
  const before = process.memoryUsage().rss
  await assert.rejects(() => decodeText(bomb, 'gzip', MAX), refused(413, /larger/))
  assert.ok(process.memoryUsage().rss - before < 200 * MAX)
})

test('encodings other than gzip are 415', async () => {
  for (const encoding of ['', 'identity', 'gzip', 'x-gzip']) assertEncoding(encoding)
  for (const encoding of ['br', 'deflate', 'zstd', 'gzip, gzip', 'gzip,br', 'utf-8']) {
    assert.throws(() => assertEncoding(encoding), refused(415, /gzip/))
  }
})
