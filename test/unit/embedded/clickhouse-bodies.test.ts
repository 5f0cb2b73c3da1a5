import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { after, test } from 'node:test'
import { BodyReader } from '../../../src/embedded/clickhouse/body.ts'
import { assertQuerySize } from '../../../src/embedded/clickhouse/engine-statement.ts'
import { gathered } from '../../../src/embedded/clickhouse/gathered.ts'

test('a body that arrives byte by byte is held in few pieces', async () => {
  const bytes = Buffer.from(Array.from({ length: 100_001 }, (_, i) => i % 251))
  const whole = Buffer.alloc(70_000, 1)
  async function* body() {
    for (let at = 0; at < bytes.length; at++) yield bytes.subarray(at, at + 1)
    yield Buffer.alloc(0)
    yield whole
  }
  const pieces: Buffer[] = []
  for await (const piece of gathered(body())) pieces.push(piece)
  assert.deepEqual(Buffer.concat(pieces), Buffer.concat([bytes, whole]))
  assert.equal(pieces.length, 7)
})

test('a too long query of a form is refused before it is parsed', () => {
  assertQuerySize({ query: 'x'.repeat(8_388_608) })
  assert.throws(() => assertQuerySize({ query: 'x'.repeat(8_388_609) }), { code: 229, message: /larger than 8388608/ })
})

const folder = mkdtempSync(join(tmpdir(), 'ipid-bodies-'))
after(() => rm(folder, { recursive: true, force: true }))
const reader = new BodyReader({ bodyBytesMax: 1_000_000, memoryBytesMax: 10_000_000 }, folder)

/** The parts of a body: the statement, and its data if they are in a file. */
async function read(body: Buffer, query = ''): Promise<{ query: string; data: Buffer | undefined; bytes: number }> {
  const chunks = Array.from({ length: Math.ceil(body.length / 50_000) }, (_, i) =>
    body.subarray(i * 50_000, (i + 1) * 50_000),
  )
  const request = Object.assign(Readable.from(chunks), { headers: {} }) as unknown as IncomingMessage
  const read = await reader.read(request, { isFramed: false, isVerified: true }, query)
  const data = read.file === undefined ? undefined : readFileSync(read.file)
  await read.release()
  assert.deepEqual(readdirSync(folder), [])
  return { query: read.query, data, bytes: read.bytes.length }
}

/** Invalid UTF-8 with blanks, quotes and comments in it. */
const DATA = Buffer.concat([Buffer.from([255, 0, 10]), Buffer.from(" \n-- x\n/* ' ; FORMAT CSV $a$".repeat(15_000))])

/** Text of an INSERT, its remaining query, and the blanks after it that are not data. */
const SPLIT: readonly (readonly [text: string, query: string, blanks?: string])[] = [
  ['INSERT INTO t FORMAT CSV', 'INSERT INTO t FORMAT CSV', '\n'],
  ['INSERT INTO t FORMAT CSV', 'INSERT INTO t FORMAT CSV', ' \t\f\r\n'],
  ['INSERT INTO t FORMAT CSV', 'INSERT INTO t FORMAT CSV', ' '],
  ['INSERT INTO t FORMAT CSV', 'INSERT INTO t FORMAT CSV', '\r'],
  [
    '\n insert into table d.`tä` (a, "b c")\nformat\tNative',
    'insert into table d.`tä` (a, "b c")\nformat\tNative',
    '\n',
  ],
  [
    "INSERT INTO t SETTINGS async_insert = 1, log_comment = 'FORMAT x' FORMAT TSV",
    "INSERT INTO t SETTINGS async_insert = 1, log_comment = 'FORMAT x' FORMAT TSV",
    '\n',
  ],
  ['/* a /* b */ */INSERT-- FORMAT x\nINTO t # c\nFORMAT CSV', 'INSERT INTO t FORMAT CSV', '\n'],
]

test('large data after the text of an INSERT go to a file, byte for byte', async () => {
  for (const [text, query, blanks = ''] of SPLIT) {
    const found = await read(Buffer.concat([Buffer.from(text + blanks), DATA]))
    assert.equal(found.query.trim().replace(/ +/g, ' '), query, text)
    assert.equal(found.bytes, 0)
    assert.deepEqual(found.data, DATA, text)
  }
  const both = await read(Buffer.concat([Buffer.from('FORMAT CSV\n'), DATA]), 'INSERT INTO t')
  assert.deepEqual(both, { query: 'INSERT INTO t\nFORMAT CSV', data: DATA, bytes: 0 })
  const inUrl = await read(DATA, 'INSERT INTO t FORMAT CSV')
  assert.deepEqual(inUrl, { query: 'INSERT INTO t FORMAT CSV', data: DATA, bytes: 0 })
})

test('other statements stay whole in memory', async () => {
  for (const text of [
    'INSERT INTO t VALUES ',
    'INSERT INTO t FORMAT Values ',
    'INSERT INTO t SELECT 1 FORMAT CSV\n',
    "INSERT INTO t SELECT * FROM input('a Int8') FORMAT CSV\n",
    'INSERT INTO FUNCTION null() FORMAT CSV\n',
    'INSERT INTO t SETTINGS log_comment = $$x$$ FORMAT CSV\n',
    `INSERT INTO t ${' '.repeat(70_000)} FORMAT CSV\n`,
    `INSERT INTO t FORMAT CSV${' '.repeat(70_000)}\n`,
    'SELECT 1 FORMAT CSV\n',
  ]) {
    const body = Buffer.concat([Buffer.from(text), DATA])
    assert.deepEqual(await read(body), { query: '', data: undefined, bytes: body.length }, text.slice(0, 60))
  }
  const invalid = Buffer.concat([
    Buffer.from('INSERT INTO `t'),
    Buffer.from([255]),
    Buffer.from('` FORMAT CSV\n'),
    DATA,
  ])
  assert.equal((await read(invalid)).data, undefined)
  const data = await read(DATA, 'INSERT INTO t FORMAT CSV 1,2')
  assert.deepEqual(data, { query: 'INSERT INTO t FORMAT CSV 1,2', data: undefined, bytes: DATA.length })
  const small = Buffer.from('INSERT INTO t FORMAT CSV\n1,2\n')
  assert.deepEqual(await read(small), { query: '', data: undefined, bytes: small.length })
})
