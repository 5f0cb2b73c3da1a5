import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { brotliCompressSync, brotliDecompressSync, deflateSync, gunzipSync, gzipSync, inflateSync } from 'node:zlib'
import { decodeFrames, encodeFrame } from '../../src/embedded/clickhouse/compression/frames.ts'
import { hasZstd } from '../../src/embedded/clickhouse/compression/zstd.ts'
import { MemoryBudget } from '../../src/embedded/clickhouse/memory-budget.ts'
import { startTestClickHouse } from '../support/clickhouse.ts'
import { clickHouseHttp, refused } from '../support/clickhouse-http.ts'

/** Forms of requests and answers on ClickHouse's HTTP interface: forms, encodings and ClickHouse's own frames. */

const { url } = await startTestClickHouse(undefined, { bodyBytesMax: 1_000_000 })
const { call, text, table } = clickHouseHttp(url)

/** As curl sends it, byte for byte. */
const curl = async (...args: string[]) =>
  (await promisify(execFile)('curl', ['-sS', ...args], { encoding: 'buffer' })).stdout

async function unframed(bytes: Buffer): Promise<string> {
  const chunks = async function* () {
    yield bytes
  }
  let result = ''
  for await (const chunk of decodeFrames(chunks(), new MemoryBudget(1e9).open(), true)) result += chunk.toString()
  return result
}

function formOf(fields: Record<string, string>, files: Record<string, string | Buffer> = {}): RequestInit {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) form.append(name, value)
  for (const [name, bytes] of Object.entries(files)) form.append(name, new Blob([bytes]), 'file')
  return { body: form }
}

async function formText(params: Record<string, string>, ...form: Parameters<typeof formOf>): Promise<string> {
  const response = await call(params, formOf(...form))
  const answer = await response.text()
  assert.equal(response.status, 200, answer)
  return answer
}

test('a form has the statement, parameters and settings', async () => {
  assert.equal((await curl('-F', 'param_id=1', '-F', 'query=SELECT {id:Int32}', url)).toString(), '1\n')
  const query = "SELECT {s:String}, getSetting('max_threads'), currentDatabase()"
  assert.equal(await formText({ database: 'system' }, { query, param_s: 'ä', max_threads: '3' }), 'ä\t3\tsystem\n')
  assert.equal(await formText({ query: 'SELECT {a:Int8}', param_a: '1' }, { param_a: '2' }), '1\n')
  assert.equal(await formText({ query: 'SELECT ' }, { query: "'both'" }), 'both\n')
  await table('forms')
  await formText({ database: 'ipid' }, { query: "INSERT INTO forms VALUES (1, 'a')" })
  assert.equal(await text({ database: 'ipid' }, 'SELECT * FROM forms'), '1\ta\n')
})

test('files of a form are tables while the statement runs', async () => {
  const temp = '1\ta\n2\tb\n'
  const structure = { temp_structure: 'id UInt32, name String' }
  assert.equal(await formText({ query: 'SELECT * FROM temp ORDER BY id', ...structure }, {}, { temp }), temp)
  const types = { temp_types: "Enum8('a)'=1, '`'=2), Nullable(String)", temp_format: 'CSV' }
  const fields = { query: 'SELECT count(), min(_1), max(_2) FROM temp', ...types }
  assert.equal(await formText({}, fields, { temp: '"a)",x\n`,y\n' }), '2\ta)\ty\n')
  const binary = { query: 'SELECT * FROM b', b_structure: 'n UInt16', b_format: 'RowBinary' }
  assert.equal(await formText({}, binary, { b: Buffer.from([1, 1, 10, 13]) }), '257\n3338\n')
  const two = { query: 'SELECT a.x, b.x FROM a JOIN b ON a.x = b.x + 1', a_types: 'UInt8', a_structure: 'x UInt8' }
  assert.equal(await formText({}, { ...two, b_structure: 'x UInt8' }, { a: '1\n2\n', b: '1\n' }), '2\t1\n')
  assert.equal(await formText({}, { query: 'SELECT count() FROM t', t_types: 'String' }, { t: '' }), '0\n')
  await table('taken')
  await formText({ database: 'ipid' }, { query: 'INSERT INTO taken SELECT * FROM temp', ...structure }, { temp })
  assert.equal(await text({ database: 'ipid' }, 'SELECT count() FROM taken'), '2\n')
  await refused(await call({}, { body: 'SELECT * FROM temp' }), 404, 60, /temp/)
})

test('a table of a form is dropped after its statement, in a session too', async () => {
  const session = { session_id: 'forms' }
  const fields = { query: 'SELECT * FROM temp', temp_types: 'UInt8' }
  for (let i = 0; i < 2; i++) assert.equal(await formText(session, fields, { temp: '7\n' }), '7\n')
  await refused(
    await call(session, formOf({ ...fields, query: 'SELECT x' }, { temp: '7\n' })),
    404,
    47,
    /UNKNOWN_IDENT/,
  )
  await refused(await call(session, { body: 'SELECT * FROM temp' }), 404, 60, /temp/)
  await text(session, 'CREATE TEMPORARY TABLE temp AS SELECT 8 AS kept')
  await refused(await call(session, formOf(fields, { temp: '7\n' })), 500, 57, /already exists/)
  assert.equal(await text(session, 'SELECT * FROM temp'), '8\n')
})

test('a file of a form can read nothing else', async () => {
  const query = 'SELECT * FROM temp'
  const sent = (fields: Record<string, string>, file = '1\n') => call({}, formOf({ query, ...fields }, { temp: file }))
  for (const structure of [
    "a String DEFAULT file('/etc/hostname')",
    'a UInt8 DEFAULT 1',
    'a UInt8) ENGINE = File(TSV) --',
    "a UInt8) AS SELECT * FROM file('/etc/hostname', 'LineAsString') --",
    'a UInt8 CODEC(ZSTD)',
    'a UInt8, INDEX i a TYPE minmax',
    'a UInt8 NULL',
    'a',
    '*',
    '',
  ]) {
    const response = await sent({ temp_structure: structure })
    const answer = await response.text()
    assert.ok(response.status === 400 || response.status === 403, `${structure}: ${answer}`)
    assert.match(answer, /^Code: (?:36|497)\. .*(?:External table temp|external table temp|is refused)/, structure)
  }
  for (const types of ['UInt8), b Tuple(UInt8', 'UInt8 DEFAULT 1', 'a UInt8', '']) {
    await refused(await sent({ temp_types: types }), 400, 36, /external table temp/i)
  }
  await refused(await sent({}), 400, 36, /send temp_structure \("id UInt32, name String"\) or temp_types/)
  await refused(await sent({ temp_types: 'UInt8', temp_format: 'TSV) x' }), 400, 36, /not a name of a format/)
  await refused(await sent({ temp_types: 'UInt8', temp_format: 'Nothing' }), 404, 73, /UNKNOWN_FORMAT/)
  const expression = { temp_types: 'String', temp_format: 'Values' }
  await refused(await sent(expression, "(file('/etc/hostname'))"), 403, 497, /file is refused/)
  await refused(await call({}, formOf({ query }, { 'a`; DROP': '1' })), 400, 36, /letters, digits and _/)
  const outside = formOf({ query: "SELECT * FROM file('/etc/hostname', 'LineAsString')" })
  await refused(await call({}, outside), 403, 497, /file/)
})

test('an unreadable form is a clear error', async () => {
  const typed = (type: string, body: string) => call({}, { body, headers: { 'Content-Type': type } })
  await refused(await typed('multipart/form-data', 'SELECT 1'), 400, 36, /multipart\/form-data has .*[Bb]oundary/)
  await refused(await typed('multipart/form-data; boundary=x', 'SELECT 1'), 400, 36, /multipart\/form-data has no end/)
  await refused(await call({}, formOf({ param_a: '1' })), 400, 62, /Empty query/)
  await refused(
    await call({}, formOf({ query: 'SELECT 1', nothing_structure: 'a Int8' })),
    404,
    115,
    /nothing_structure/,
  )
  for (const name of ['compress', 'decompress', 'enable_http_compression']) {
    await refused(await call({}, formOf({ query: 'SELECT 1', [name]: '1' })), 400, 36, /belongs in the URL/)
  }
  await refused(await call({}, formOf({ query: `SELECT 1 -- ${'x'.repeat(1_000_000)}` })), 413, 229, /1000000 bytes/)
  const many = Object.fromEntries(Array.from({ length: 1_001 }, (_, i) => [`param_${i}`, '1']))
  await refused(await call({}, formOf(many)), 400, 36, /more than 1000 fields/)
  assert.equal(await text({}, 'SELECT 1'), '1\n')
})

test("an answer can use ClickHouse's own frames, errors too", async () => {
  const framed = async (body: string, params = {}) => {
    const response = await call({ compress: '1', ...params }, { body })
    return { response, text: await unframed(Buffer.from(await response.arrayBuffer())) }
  }
  // The answer of a server to `curl "$CH/?compress=1" -d 'SELECT 1, 2'`.
  const bytes = Buffer.from(await (await call({ compress: '1' }, { body: 'SELECT 1, 2' })).arrayBuffer())
  assert.equal(bytes.toString('hex'), '522de55e9e5dda7816fa201c4f03992b820e0000000400000040310932' + '0a')
  const { text: numbers } = await framed('SELECT number FROM numbers(300000)')
  assert.equal(numbers, Array.from({ length: 300_000 }, (_, i) => `${i}\n`).join(''))
  assert.equal((await framed('SELECT 1 WHERE 0')).text, '')
  const failed = await framed('SELECT nothing')
  assert.deepEqual([failed.response.status, failed.response.headers.get('x-clickhouse-exception-code')], [404, '47'])
  assert.match(failed.text, /^Code: 47\. DB::Exception: /)
  assert.match((await framed('SELECT 1', { no_setting: '1' })).text, /UNKNOWN_SETTING/)
  const broken = await framed('SELECT throwIf(number = 900000) FROM numbers(1000000)')
  assert.match(broken.text, /__exception__\r\n$/)
  await refused(await call({ compress: 'yes' }, { body: 'SELECT 1' }), 400, 36, /compress=yes must be 1 or 0/)
})

test("a request can use ClickHouse's own frames", async () => {
  await table('framed')
  const send = async (params: Record<string, string>, body: Buffer) => call({ decompress: '1', ...params }, { body })
  assert.equal(await (await send({}, await encodeFrame(Buffer.from('SELECT 7')))).text(), '7\n')
  const rows = Buffer.from(Array.from({ length: 60_000 }, (_, i) => `${i}\tx\n`).join(''))
  const insert = { database: 'ipid', query: 'INSERT INTO framed FORMAT TSV' }
  const halves = [await encodeFrame(rows.subarray(0, 77_777)), await encodeFrame(rows.subarray(77_777))]
  assert.equal((await send(insert, Buffer.concat(halves))).status, 200)
  assert.equal((await send({ ...insert, async_insert: '0' }, Buffer.alloc(0))).status, 200)
  assert.equal(await text({ database: 'ipid' }, 'SELECT count(), sum(a) FROM framed'), '60000\t1799970000\n')
  await refused(await send({}, Buffer.from('SELECT 1')), 500, 32, /not in ClickHouse's compressed form/)
  const bomb = Buffer.concat(await Promise.all([0, 1].map(() => encodeFrame(Buffer.alloc(600_000, 32)))))
  await refused(await send({}, bomb), 413, 229, /1000000 bytes/)
  const both = gzipSync(await encodeFrame(Buffer.from('SELECT 8')))
  const zipped = await call({ decompress: '1' }, { body: both, headers: { 'Content-Encoding': 'gzip' } })
  assert.equal(await zipped.text(), '8\n')
})

test('bodies may be encoded, both ways, with a limit on their unpacked size', async () => {
  for (const [encoding, encode, decode] of [
    ['gzip', gzipSync, gunzipSync],
    ['deflate', deflateSync, inflateSync],
    ['br', brotliCompressSync, brotliDecompressSync],
  ] as const) {
    const sent = (body: string) => call({}, { body: encode(body), headers: { 'Content-Encoding': encoding } })
    assert.equal(await (await sent('SELECT 7')).text(), '7\n', encoding)
    await refused(await sent(`SELECT 1 -- ${'x'.repeat(1_000_000)}`), 413, 229, /1000000 bytes/)
    const asked = ['-H', `Accept-Encoding: ${encoding}`, `${url}/?enable_http_compression=1`]
    assert.equal(decode(await curl(...asked, '-d', 'SELECT 8')).toString(), '8\n', encoding)
    assert.match(decode(await curl(...asked, '-d', 'SELECT nothing')).toString(), /^Code: 47\./, encoding)
    assert.equal(
      await unframed(decode(await curl(...asked.slice(0, 2), `${asked[2]}&compress=1`, '-d', 'SELECT 9'))),
      '9\n',
    )
  }
  await refused(await call({}, { body: `SELECT 1 -- ${'x'.repeat(1_000_000)}` }), 413, 229, /1000000 bytes/)
  await refused(await call({}, { body: 'not gzip', headers: { 'Content-Encoding': 'gzip' } }), 500, 236, /./)
  await refused(await call({}, { body: 'x', headers: { 'Content-Encoding': 'snappy' } }), 500, 89, /snappy/)
  const lz4 = { 'Content-Encoding': 'lz4' }
  const frame = Buffer.from('BCJNGGBAgggAAIBTRUxFQ1QgNwAAAAA=', 'base64')
  assert.equal(await (await call({}, { body: frame, headers: lz4 })).text(), '7\n')
  await refused(await call({}, { body: 'SELECT 7', headers: lz4 }), 500, 271, /not LZ4/)
  assert.equal(await text({}, 'SELECT 1'), '1\n')
})

test('an answer uses an encoding that the client accepts, and none that it refuses', async () => {
  const encodingOf = async (accepted: string, params: Record<string, string> = { enable_http_compression: '1' }) => {
    const headers = { 'Accept-Encoding': accepted }
    const response = await call(params, { body: 'SELECT 1', headers })
    assert.equal(await response.text(), '1\n')
    return response.headers.get('content-encoding')
  }
  assert.equal(await encodingOf('gzip', {}), null)
  assert.equal(await encodingOf('br, gzip;q=0.5'), 'gzip')
  assert.equal(await encodingOf('gzip;q=0, deflate, br;q=0.0'), 'deflate')
  assert.equal(await encodingOf('identity'), null)
})

test('zstd works both ways if Node.js has it; otherwise a request is refused by name', async () => {
  const bytes = Buffer.from('KLUv/QRYQQAAU0VMRUNUIDebcrOe', 'base64')
  const sent = await call({}, { body: bytes, headers: { 'Content-Encoding': 'zstd' } })
  const asked = await call(
    { enable_http_compression: '1' },
    { body: 'SELECT 1', headers: { 'Accept-Encoding': 'zstd' } },
  )
  assert.equal(asked.headers.get('content-encoding'), hasZstd ? 'zstd' : null)
  if (hasZstd) assert.equal(await sent.text(), '7\n')
  else await refused(sent, 500, 89, /zstd only on Node\.js 22\.15 or newer/)
})

test('the id of a query may be in a header, as JDBC drivers send it', async () => {
  const named = await call({}, { body: 'SELECT 1', headers: { 'X-ClickHouse-Query-Id': 'of-a-header' } })
  assert.equal(named.headers.get('x-clickhouse-query-id'), 'of-a-header')
})
