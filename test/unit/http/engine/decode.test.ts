import assert from 'node:assert/strict'
import type { Transform } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { test } from 'node:test'
import zlib, { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import { assertEncoding, codingOf, decodeText as decode } from '../../../../src/http/engine/decode.ts'
import { decodeStream } from '../../../../src/http/engine/decode-stream.ts'
import { HttpError } from '../../../../src/http/engine/http-error.ts'

const MAX = 1_048_576
const refused = (status: number, detail: RegExp) => (error: unknown) =>
  error instanceof HttpError && error.status === status && detail.test(error.message)

/** Decodes with another thread, in turn. */
const decodeText = async (body: Buffer, encoding: string, maxBytes: number, all = false) =>
  decode(body, codingOf(encoding, all, body), maxBytes, (work) => work())

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

test('the API takes gzip only; sources take what senders use, and say what to send instead of all else', () => {
  for (const all of [false, true])
    for (const encoding of ['', 'identity', 'gzip', 'x-gzip']) assertEncoding(encoding, all)
  for (const encoding of ['br', 'deflate', 'zstd', 'gzip, gzip', 'gzip,br', 'utf-8']) {
    assert.throws(() => assertEncoding(encoding, false), refused(415, /must be gzip, or left out/))
  }
  for (const encoding of ['br', 'deflate', ...(hasZstd ? ['zstd'] : [])]) assertEncoding(encoding, true)
  for (const encoding of ['snappy', 'gzip, gzip', 'compress']) {
    assert.throws(() => assertEncoding(encoding, true), refused(415, /gzip or deflate or br/))
  }
})

const hasZstd = 'zstdCompressSync' in zlib
const zstd = (zlib as unknown as { zstdCompressSync(bytes: Buffer | string): Buffer }).zstdCompressSync
/** What senders compress with, and how they call it. */
const CODINGS: readonly (readonly [string, (bytes: Buffer) => Buffer])[] = [
  ['gzip', gzipSync],
  ['', gzipSync],
  ['deflate', deflateSync],
  ['deflate', deflateRawSync],
  ['br', brotliCompressSync],
  ...(hasZstd
    ? ([
        ['zstd', zstd],
        ['', zstd],
      ] as const)
    : []),
]

async function streamed(
  bytes: Buffer,
  encoding: string,
  maxBytes: number,
  hold: (bytes: number) => void = () => {},
): Promise<string> {
  const pieces = []
  for await (const piece of decodeStream(
    (async function* () {
      yield bytes
    })(),
    codingOf(encoding, true, bytes),
    maxBytes,
    hold,
  ))
    pieces.push(piece)
  return Buffer.concat(pieces).toString()
}

test('every coding is decoded at once, in another thread and as a stream, and a bomb is not unpacked', async () => {
  for (const [encoding, compress] of CODINGS) {
    for (const chars of [0, 10, 300_000]) {
      const text = `{"a":"é${'x'.repeat(chars)}"}`
      const body = compress(Buffer.from(text))
      assert.equal(await decodeText(body, encoding, MAX, true), text, encoding)
      assert.equal(await streamed(body, encoding, MAX), text, encoding)
    }
    const bomb = compress(Buffer.alloc(10 * MAX, 32))
    await assert.rejects(() => decodeText(bomb, encoding, MAX, true), refused(413, /1048576 bytes/), encoding)
    await assert.rejects(() => streamed(bomb, encoding, MAX), refused(413, /1048576 bytes/), encoding)
    const whole = compress(Buffer.from(JSON.stringify(Array.from({ length: 50 }, (_, i) => `10.0.0.${i}`))))
    const cut = whole.subarray(0, whole.length - 9)
    const message = encoding === '' ? /is not (?:gzip|zstd), or/ : new RegExp(`is not ${encoding}, or`)
    await assert.rejects(() => decodeText(cut, encoding, MAX, true), refused(400, message), encoding)
    await assert.rejects(() => streamed(cut, encoding, MAX), refused(400, message), encoding)
  }
})

test('the window of a streamed body is held against the memory for bodies, until its end', async () => {
  const most: Readonly<Record<string, number>> = { br: 2 ** 24, zstd: 2 ** 23 }
  for (const [encoding, compress] of CODINGS) {
    for (const bytes of [1_000, 30_000_000]) {
      const body = compress(Buffer.alloc(bytes, 32))
      const coding = codingOf(encoding, true, body)!
      let [held, peak] = [0, 0]
      await streamed(body, encoding, bytes, (more) => {
        held += more
        peak = Math.max(peak, held)
      })
      assert.deepEqual([peak, held], [Math.min(bytes, most[coding] ?? 0), 0], coding)
      if (peak > 0)
        await assert.rejects(
          streamed(body, encoding, bytes, () => assert.fail('full')),
          /full/,
        )
    }
  }
})

test('a body is plain although a header calls it gzip, and zstd is refused where Node.js has none', async () => {
  assert.equal(await decodeText(Buffer.from('{}'), 'gzip', MAX, true), '{}')
  const magic = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0])
  const status = hasZstd ? 400 : 415
  await assert.rejects(
    () => decodeText(magic, '', MAX, true),
    refused(status, hasZstd ? /zstd/ : /zstd needs Node.js 22.15/),
  )
})

test('Brotli that begins like gzip is Brotli', async () => {
  const params = { [zlib.constants.BROTLI_PARAM_LGWIN]: 24 }
  const body = brotliCompressSync(Buffer.alloc(396, 'ab'), { params })
  assert.deepEqual([...body.subarray(0, 2)], [0x1f, 0x8b])
  assert.equal((await decodeText(body, 'br', MAX, true)).length, 396)
})

test('several zstd frames are refused, because Node.js would read the first one only', { skip: !hasZstd }, async () => {
  for (const chars of [10, 300_000]) {
    const body = Buffer.concat([zstd('a'.repeat(chars)), zstd('b')])
    await assert.rejects(() => decodeText(body, 'zstd', MAX, true), refused(400, /several zstd frames/))
    await assert.rejects(() => streamed(body, 'zstd', MAX), refused(400, /several zstd frames/))
  }
})

test('zstd may ask for a window of 8 MB and no more', { skip: !hasZstd }, async () => {
  const text = Buffer.alloc(20 * MAX, 'some text ')
  for (const [windowLog, isTaken] of [
    [23, true],
    [24, false],
  ] as const) {
    const { createZstdCompress, constants } = zlib as unknown as {
      createZstdCompress(options: object): Transform
      constants: Record<string, number>
    }
    const compressor = createZstdCompress({ params: { [constants.ZSTD_c_windowLog!]: windowLog } })
    compressor.write(text)
    compressor.end()
    const body = await buffer(compressor)
    const decoded = decodeText(body, 'zstd', 30 * MAX, true)
    if (isTaken) assert.equal((await decoded).length, text.length)
    else await assert.rejects(decoded, refused(400, /zstd/))
  }
})
