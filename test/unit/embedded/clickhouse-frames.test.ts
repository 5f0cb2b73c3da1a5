import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cityHash128 } from '../../../src/embedded/clickhouse/compression/city-hash.ts'
import { decodeFrames, encodeFrames } from '../../../src/embedded/clickhouse/compression/frames.ts'
import { decodeLz4 } from '../../../src/embedded/clickhouse/compression/lz4.ts'
import { hasZstd } from '../../../src/embedded/clickhouse/compression/zstd.ts'
import { MemoryBudget } from '../../../src/embedded/clickhouse/memory-budget.ts'

/** ClickHouse's compressed frames. The samples were written by its own program, `clickhouse-compressor` 18.16. */

const TEXT = Array.from({ length: 20 }, (_, i) => `${i}\tline ${i * i} of a text\n`).join('')
const LZ4 =
  'ZQsoZFTPZM0YFhP/9KTMxoK+AAAAoAEAAPIFMAlsaW5lIDAgb2YgYSB0ZXh0CjETABcxEwASMhMAFzQTABIzEwAXORMAEjQTACcxNhQAEjUUACcyNRQAEjYUABgzKAASNxQAGDRQABI4FAAYNncAEjkUABg4ngATMcUAKTEwxwAEyAAZMiwAA8sAKDE0VgATMc4AKDE2gAAUMdEAGDmqABQx0wAJ1AATMdUAKTI1LAAD1wApMjhYAAPZACkzMoQAA9sAIzM2sABQdGV4dAo='
const ZSTD =
  'qKa7+ejgOs3+3nPMulsepZCUAAAAoAEAACi1L/1goAANBACSBA8VsCVtgF8WggKmJHVSaEvaKXXJABQEvcq7MHGYa7t8Xv02lVrMH+bH1Znt+qy7JUqBlCkGQBgaMggIBgomIJAjFwdmhpvPcHOEjD2ehpVMrucOjLdM4JgxvFUmj+eWQgRlDsYDGzSYaYcwOFjThmgQgx3ThpgzmBHjahgb7B0='
const LZ4HC =
  'xrx8jw0gVHDqif/5S10KPoK5AAAAoAEAAPIFMAlsaW5lIDAgb2YgYSB0ZXh0CjETABcxEwASMhMAFzQTABIzEwAXORMAEzQ5ABc2FAASNRQAJzI1FAASNhQAGDMoABM3YgAIUAASOBQAGDZ3ABI5FAAYOJ4AEzHFACkxMMcABMgAGTIsAAPLACgxNFYAJDEzuwAIgAAUMdEAGDmqABQx0wAJ1AAkMTbpAAksAAPXACkyOFgAA9kAKTMyhAAUORcBA7AAUHRleHQK'

/** Checksums of frames without compression, by the size of their data, so that every branch of the hash runs. */
const CHECKSUMS = [
  [1, '7074d2629a96de443b9ae47a44b9462e'],
  [3, '5a1c0d3062da861bfda6e1e55b7d7a50'],
  [6, '7db53b9be1549d42a1c1366921f74ea7'],
  [7, 'fd9525478405f4fa330c76b0e9d4ae98'],
  [8, 'c8fce1e7a1841b1dcedbd7801bde556e'],
  [15, '647e25601bfaeacbaf34e0233c976bc8'],
  [16, 'd4e4ce3666fde6ec2169f7f347f79310'],
  [23, 'd3a81c181e4d84725a66a5aaa435ac4c'],
  [24, '29d39b67ef2795947982fee7dfbdd8fc'],
  [40, '33f0a825f77aaab87f882020fe762cb9'],
  [111, 'd137d49d59fb7fe615a0d0e57965db7b'],
  [118, '0f2b79e609e24c7b81b19a6c9eb7cd1b'],
  [119, 'd98ab7e4278ebaed0816c987ec92db4d'],
  [120, 'a8ad68dc088151c26f069ba44cd745d0'],
  [134, 'dd19f07d5fd44150c9905a61a1c78f4f'],
  [135, '09b7b007aa425505e29d4501ac31b4f0'],
  [136, '62227405a2e2364d55c01e5813e2312e'],
  [200, '202013e0773b3830276bfd632b9e79ca'],
  [247, '1e48f1d9216b7c23a8a5afb4773a2255'],
  [263, 'bab29f0f49e760814b93f5ccf18572f3'],
  [264, 'ebecbe1654f5dfc99df4f7c9a5d25269'],
  [1000, 'b4f9e07565dc1a01ec5fe2fb5826fc71'],
] as const

const bytesOf = (base64: string) => Buffer.from(base64, 'base64')

function frameOf(method: number, data: Buffer, dataBytes = data.length): Buffer {
  const frame = Buffer.concat([Buffer.alloc(25), data])
  frame.writeUInt8(method, 16)
  frame.writeUInt32LE(9 + data.length, 17)
  frame.writeUInt32LE(dataBytes, 21)
  frame.set(cityHash128(frame.subarray(16)), 0)
  return frame
}

async function decoded(bytes: Buffer, { pieces = 1, isVerified = true, memory = new MemoryBudget(1e9) } = {}) {
  const pieceBytes = Math.ceil(bytes.length / pieces)
  const chunks = async function* () {
    for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes)
  }
  const result: Buffer[] = []
  for await (const chunk of decodeFrames(chunks(), memory.open(), isVerified)) result.push(chunk)
  return Buffer.concat(result)
}

async function encoded(chunks: readonly Buffer[]): Promise<Buffer> {
  const source = async function* () {
    yield* chunks
  }
  const frames: Buffer[] = []
  for await (const frame of encodeFrames(source())) frames.push(frame)
  return Buffer.concat(frames)
}

test("the checksum is that of ClickHouse's own frames, whatever their size", () => {
  for (const [size, checksum] of CHECKSUMS) {
    const data = Buffer.from(Array.from({ length: size }, (_, i) => (i * i * 7 + i * 13 + size) & 255))
    assert.equal(frameOf(0x02, data).toString('hex', 0, 16), checksum, `${size} bytes`)
  }
})

test('frames that ClickHouse wrote are read, wherever the network cuts them', async () => {
  for (const frame of [LZ4, LZ4HC]) {
    for (const pieces of [1, 3, 500]) assert.equal((await decoded(bytesOf(frame), { pieces })).toString(), TEXT)
  }
  const several = Buffer.concat([bytesOf(LZ4), frameOf(0x02, Buffer.from('plain')), bytesOf(LZ4HC)])
  for (const pieces of [1, 7]) assert.equal((await decoded(several, { pieces })).toString(), `${TEXT}plain${TEXT}`)
  assert.equal((await decoded(Buffer.alloc(0))).length, 0)
})

test('a zstd frame is read if Node.js has zstd, and otherwise refused by name', async () => {
  const reading = decoded(bytesOf(ZSTD))
  if (hasZstd) assert.equal((await reading).toString(), TEXT)
  else await assert.rejects(reading, { code: 89, message: /zstd only on Node\.js 22\.15 or newer/ })
})

test('written frames of a megabyte can be read', async () => {
  const random = Buffer.from(Array.from({ length: 3_000 }, (_, i) => (i * i * 31) & 255))
  for (const data of [Buffer.from('x'), random, Buffer.alloc(2_500_000, 'abcdefg')]) {
    assert.deepEqual(await decoded(await encoded([data])), data)
  }
  const frames = await encoded([Buffer.alloc(700_000, 'ab'), Buffer.alloc(700_000, 'cd')])
  assert.deepEqual([frames[16], frames.readUInt32LE(21)], [0x82, 1_048_576])
  assert.equal((await encoded([])).length, 0)
})

test('invalid, damaged, cut or unknown frames are reported by name', async () => {
  const lz4 = bytesOf(LZ4)
  const damaged = Buffer.from(lz4)
  damaged[100]! ^= 1
  for (const [bytes, code, pattern] of [
    [Buffer.from('SELECT 1'), 32, /decompress=1 states it: it ends within a frame/],
    [lz4.subarray(0, -1), 32, /it ends within a frame/],
    [lz4.subarray(0, 25), 32, /it ends within a frame/],
    [Buffer.concat([lz4, lz4.subarray(0, 3)]), 32, /it ends within a frame/],
    [damaged, 40, /the checksum of frame 1 is wrong/],
    [Buffer.concat([lz4, damaged]), 40, /the checksum of frame 2 is wrong/],
    [frameOf(0x91, Buffer.from('x')), 89, /frame 1 has method 0x91; known are LZ4, ZSTD and NONE/],
    [frameOf(0x02, Buffer.from('xyz'), 4), 271, /frame 1 has 3 bytes, not 4/],
    [frameOf(0x82, Buffer.from('xyz'), 400), 271, /frame 1/],
    [frameOf(0x82, lz4.subarray(25), 415), 271, /frame 1/],
    [frameOf(0x82, lz4.subarray(25), 417), 271, /frame 1 has 416 bytes, not 417/],
    [Buffer.alloc(200, 'SELECT 1 '), 131, /larger than 16777216 bytes, or this is another format/],
    [Buffer.alloc(25), 271, /smaller than its header/],
  ] as const) {
    await assert.rejects(decoded(bytes), { code, message: pattern })
  }
  // ClickHouse has a setting for clients that write no checksums.
  const unchecked = Buffer.concat([Buffer.alloc(16), lz4.subarray(16)])
  await assert.rejects(decoded(unchecked), { code: 40 })
  assert.equal((await decoded(unchecked, { isVerified: false })).toString(), TEXT)
})

test('a frame is decompressed only when memory has room for it', async () => {
  const bomb = frameOf(0x82, bytesOf(LZ4).subarray(25), 16_000_000)
  await assert.rejects(decoded(bomb, { memory: new MemoryBudget(10_000_000) }), { code: 241 })
  const memory = new MemoryBudget(2_000)
  for (let i = 0; i < 3; i++) assert.equal((await decoded(bytesOf(LZ4), { memory })).toString(), TEXT)
})

test('other work runs while a chunk of many small frames or blocks is read', async () => {
  const frame = Buffer.concat([
    cityHash128(Buffer.from([2, 9, 0, 0, 0, 0, 0, 0, 0])),
    Buffer.from([2, 9, 0, 0, 0, 0, 0, 0, 0]),
  ])
  const block = Buffer.from([1, 0, 0, 0x80, 0x61])
  const many = (bytes: Buffer) => Buffer.concat(Array.from({ length: 10_000 }, () => bytes))
  const lz4 = Buffer.concat([Buffer.from('04224d18604082', 'hex'), many(block), Buffer.alloc(4)])
  const memory = () => new MemoryBudget(1e9).open()
  for (const read of [decodeFrames(chunksOf(many(frame)), memory(), true), decodeLz4(chunksOf(lz4), memory())]) {
    let [turns, ended] = [0, false]
    const turn = () => {
      turns++
      if (!ended) setImmediate(turn)
    }
    setImmediate(turn)
    for await (const _ of read);
    ended = true
    assert.ok(turns >= 50, `${turns} turns`)
  }
})

async function* chunksOf(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes
}
