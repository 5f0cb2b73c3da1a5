import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { gunzipSync, gzipSync } from 'node:zlib'
import { type ClickHouseError, createClient } from '@clickhouse/client'
import { startTestClickHouse } from '../support/clickhouse.ts'
import { until } from '../support/until.ts'

/** The HTTP interface as https://clickhouse.com/docs/interfaces/http describes it, and as its JavaScript client uses it. */

const { url } = await startTestClickHouse(undefined, { bodyBytesMax: 1_000_000 })

function call(params: Record<string, string>, init: RequestInit = {}): Promise<Response> {
  const query = String(new URLSearchParams(params))
  return fetch(`${url}/?${query}`, { method: 'POST', ...init })
}

async function text(params: Record<string, string>, body?: string | Buffer): Promise<string> {
  const response = await call(params, { body: body ?? null })
  const answer = await response.text()
  assert.equal(response.status, 200, answer)
  return answer
}

async function refused(response: Response, status: number, code: number, pattern: RegExp): Promise<void> {
  const answer = await response.text()
  assert.equal(response.status, status, answer)
  assert.equal(response.headers.get('x-clickhouse-exception-code'), String(code))
  assert.match(answer, new RegExp(`^Code: ${code}\\. DB::Exception: `))
  assert.match(answer, pattern)
}

async function table(name: string, columns = 'a UInt32, s String'): Promise<void> {
  await text({ database: 'ipid' }, `CREATE TABLE ${name} (${columns}) ENGINE = MergeTree ORDER BY tuple()`)
}

test('/ and /ping answer Ok, to HEAD without a body', async () => {
  for (const path of ['', '/', '/ping', '/replicas_status']) {
    assert.equal(await (await fetch(`${url}${path}`)).text(), 'Ok.\n')
  }
  const head = await fetch(`${url}/ping`, { method: 'HEAD' })
  assert.deepEqual([head.status, await head.text()], [200, ''])
  assert.equal((await fetch(`${url}/nothing`)).status, 404)
})

test('a statement comes in the body, in the URL, or in both; TabSeparated is the default format', async () => {
  assert.equal(await text({}, "SELECT 1, 'a\tb'"), '1\ta\\tb\n')
  assert.equal(await text({ query: 'SELECT 1' }), '1\n')
  assert.equal(await text({ query: 'SELECT 1 +' }, '1'), '2\n')
  assert.equal(await (await fetch(`${url}/?query=SELECT+1`)).text(), '1\n')
  assert.equal(await text({ default_format: 'JSONCompactEachRow' }, 'SELECT 1'), '[1]\n')
  assert.equal(await text({ default_format: 'JSON' }, 'SELECT 1 FORMAT CSV -- FORMAT JSON'), '1\n')
  assert.equal(await text({}, "SELECT ';', 1 -- ; SELECT 2\n;\n"), ';\t1\n')
})

test('curl as people type it', async () => {
  const curl = async (...args: string[]) => (await promisify(execFile)('curl', ['-sS', ...args])).stdout
  assert.equal(await curl(url, '-d', 'SELECT 1'), '1\n')
  assert.match(await curl(`${url}/?database=ipid`, '-d', 'SELECT * FROM accounts FORMAT PrettyCompact'), /^$/)
  assert.match(await curl(`${url}/?database=ipid`, '-d', 'SELECT 1 AS one FORMAT PrettyCompact'), /┌─one─┐/)
})

test('the answer names the query, its format and what was done', async () => {
  await table('summaries')
  const insert = await call(
    { database: 'ipid', query: 'INSERT INTO summaries FORMAT TSV', query_id: 'mine' },
    { body: '1\ta\n2\tb\n' },
  )
  assert.equal(insert.headers.get('x-clickhouse-query-id'), 'mine')
  const summary = JSON.parse(insert.headers.get('x-clickhouse-summary') ?? '')
  assert.equal(summary.written_rows, '2')
  const read = await call({ database: 'ipid' }, { body: 'SELECT * FROM summaries FORMAT JSON' })
  assert.equal(read.headers.get('x-clickhouse-format'), 'JSON')
  assert.match(read.headers.get('content-type') ?? '', /^application\/json/)
  assert.match(read.headers.get('x-clickhouse-query-id') ?? '', /^[0-9a-f-]{36}$/)
  assert.equal(JSON.parse(read.headers.get('x-clickhouse-summary') ?? '').read_rows, '2')
})

test('an insert takes its data behind the statement, wherever that stands, as bytes', async () => {
  await table('inserts')
  const into = (query: string, body?: string | Buffer) => text({ database: 'ipid', query }, body)
  await into('INSERT INTO inserts FORMAT TabSeparated', '1\tä\n')
  await into('INSERT INTO inserts (s, a)\n SETTINGS max_threads = 1 FORMAT CSV', '"x\ny",2\n')
  await into('INSERT INTO inserts VALUES', "(3, 'v')")
  await into("INSERT INTO inserts VALUES (4, 'FORMAT CSV')")
  await into("INSERT INTO inserts SELECT 5, 's'")
  await text({ database: 'ipid' }, 'INSERT INTO inserts FORMAT JSONEachRow {"a": 6, "s": "漢"}')
  await text({ database: 'ipid' }, '/* FORMAT TSV */ INSERT INTO inserts FORMAT TSV\n7\tq\n')
  const binary = Buffer.concat([
    Buffer.from('INSERT INTO inserts FORMAT RowBinary\n'),
    Buffer.from([8, 0, 0, 0, 3, 0, 255, 10]),
  ])
  await text({ database: 'ipid' }, binary)
  assert.equal(
    await text({ database: 'ipid' }, 'SELECT a, hex(s) FROM inserts ORDER BY a FORMAT CSV'),
    '1,"C3A4"\n2,"780A79"\n3,"76"\n4,"464F524D415420435356"\n5,"73"\n6,"E6BCA2"\n7,"71"\n8,"00FF0A"\n',
  )
})

test('an insert too large for memory arrives as it is, in any format, and leaves no file', async () => {
  await table('large')
  const path = await text({}, "SELECT value FROM system.server_settings WHERE name = 'path' FORMAT TSVRaw")
  const into = async (query: string, body: string | Buffer, headers: Record<string, string> = {}) => {
    const response = await call({ database: 'ipid', query }, { body, headers })
    assert.equal(response.status, 200, await response.text())
    return JSON.parse(response.headers.get('x-clickhouse-summary') ?? '').written_rows
  }
  const rows = Array.from({ length: 40_000 }, (_, i) => `${i}\tzeile ${i} ä\n`).join('')
  assert.equal(await into('INSERT INTO large FORMAT TabSeparated', rows), '40000')
  assert.equal(await into("INSERT INTO large (a, s) SETTINGS log_comment = 'x FORMAT y' FORMAT TSV", rows), '40000')
  const zipped = { 'Content-Encoding': 'gzip' }
  assert.equal(
    await into('insert into table ipid.`large`(s, a)\nformat CSV', gzipSync(`"${'x\n'.repeat(200_000)}",7\n`), zipped),
    '1',
  )
  assert.equal(await into('INSERT INTO large (*) FORMAT TSV', rows), '40000')
  const sums = await text({ database: 'ipid' }, 'SELECT count(), sum(a), max(length(s)) FROM large')
  assert.equal(sums, `120001\t${(3 * 40_000 * 39_999) / 2 + 7}\t400000\n`)
  const bad = await call({ database: 'ipid', query: 'INSERT INTO large FORMAT TSV' }, { body: `${rows}x\ty\n` })
  await refused(bad, 400, 27, /at row 40001/)
  assert.deepEqual(await readdir(join(path.trim(), 'bodies')), [])
})

test('an insert without rows inserts none', async () => {
  await table('empties')
  assert.equal(await text({ database: 'ipid', query: 'INSERT INTO empties FORMAT TSV' }), '')
  assert.equal(await text({ database: 'ipid' }, 'SELECT count() FROM empties'), '0\n')
})

test('nothing of a request is seen by another: not its database, settings, parameters or SET', async () => {
  const state = "SELECT currentDatabase(), getSetting('max_block_size'), getSetting('readonly')"
  const before = await text({}, state)
  const mixed = await Promise.all(
    Array.from({ length: 24 }, (_, i) =>
      text(
        { database: i % 2 ? 'system' : 'ipid', max_block_size: String(1_000 + i), param_n: String(i) },
        `${state}, {n:UInt32}`,
      ),
    ),
  )
  assert.deepEqual(
    mixed,
    Array.from({ length: 24 }, (_, i) => `${i % 2 ? 'system' : 'ipid'}\t${1_000 + i}\t0\t${i}\n`),
  )
  await text({}, 'SET max_block_size = 77')
  await text({}, 'USE system')
  await text({}, 'CREATE TEMPORARY TABLE temporary (a Int8)')
  assert.equal(await text({}, state), before)
  await refused(await call({}, { body: 'SELECT {n:UInt32}' }), 500, 456, /`n`/)
  await refused(await call({}, { body: 'SELECT * FROM temporary' }), 404, 60, /temporary/)
})

test('values of parameters and settings cannot become SQL', async () => {
  for (const value of ["'; DROP DATABASE ipid; --", "\\'", 'tab\there', 'ünï']) {
    const escaped = value.replaceAll('\\', '\\\\').replaceAll('\t', '\\t')
    assert.equal(await text({ param_x: escaped }, 'SELECT {x:String} FORMAT TSVRaw'), `${value}\n`)
    assert.equal(await text({ log_comment: value }, "SELECT getSetting('log_comment') FORMAT TSVRaw"), `${value}\n`)
  }
  await refused(await call({ 'a=1, b': '1' }, { body: 'SELECT 1' }), 404, 115, /UNKNOWN_SETTING/)
  await refused(await call({ database: 'x`; DROP DATABASE ipid' }, { body: 'SELECT 1' }), 404, 81, /UNKNOWN_DATABASE/)
})

test('GET only reads', async () => {
  await table('reads')
  const get = (query: string) => fetch(`${url}/?database=ipid&query=${encodeURIComponent(query)}`)
  for (const query of [
    "INSERT INTO reads VALUES (1, 'a')",
    'DROP TABLE reads',
    'SET readonly = 0',
    'TRUNCATE TABLE reads',
  ]) {
    await refused(await get(query), 500, 164, /READONLY/)
  }
  assert.equal(await (await get('SELECT count() FROM reads')).text(), '0\n')
})

test('errors have the code, status and words of ClickHouse', async () => {
  const post = (body: string, params = {}) => call({ database: 'ipid', ...params }, { body })
  await refused(await post('SELECT * FROM nothing'), 404, 60, /UNKNOWN_TABLE/)
  await refused(await post('SELECT nothing'), 404, 47, /UNKNOWN_IDENTIFIER/)
  await refused(await post('SELECT 1', { database: 'nothing' }), 404, 81, /UNKNOWN_DATABASE/)
  await refused(await post('SELECT 1', { no_setting: '1' }), 404, 115, /UNKNOWN_SETTING/)
  await refused(await post('SELECT 1 FORMAT Nothing'), 404, 73, /UNKNOWN_FORMAT/)
  await refused(await post('SELEC 1'), 400, 62, /SYNTAX_ERROR/)
  await refused(await post(''), 400, 62, /Empty query/)
  await refused(await post('SELECT 1; SELECT 2'), 400, 62, /Multi-statements/)
  await refused(await post('SELECT throwIf(1)'), 500, 395, /FUNCTION_THROW_IF/)
  await refused(await post('SELECT sleep(3)', { max_execution_time: '1' }), 408, 159, /TIMEOUT_EXCEEDED/)
  await refused(await post('INSERT INTO events FORMAT TSV\nnonsense\n'), 400, 27, /CANNOT_PARSE_INPUT/)
  await refused(await post('SELECT 1', { session_id: 'x' }), 501, 48, /sessions/)
  await refused(await post('SELECT 1', { user: 'somebody' }), 403, 516, /AUTHENTICATION_FAILED/)
})

test('the user default needs no password', async () => {
  const headers = { 'X-ClickHouse-User': 'default', 'X-ClickHouse-Key': 'anything' }
  assert.equal(await (await call({}, { body: 'SELECT 1', headers })).text(), '1\n')
})

test('a web page cannot reach it', async () => {
  const headers = { Origin: 'https://evil.example' }
  await refused(await call({}, { body: 'SELECT 1', headers }), 403, 516, /localhost/)
  const curl = ['-sS', '-H', 'Host: evil.example:8123', url, '-d', 'SELECT 1']
  assert.match((await promisify(execFile)('curl', curl)).stdout, /^Code: 516/)
})

test('a large result comes in pieces, and what goes wrong in the middle is told at its end', async () => {
  const response = await call({}, { body: 'SELECT number FROM numbers(3000000)' })
  let bytes = 0
  for await (const chunk of response.body!) bytes += chunk.length
  assert.equal(bytes, 19_888_890 + 3_000_000)

  const broken = await call({}, { body: 'SELECT throwIf(number = 900000) FROM numbers(1000000)' })
  assert.equal(broken.status, 200)
  const tag = broken.headers.get('x-clickhouse-exception-tag')
  let end = ''
  await assert.rejects(async () => {
    for await (const chunk of broken.body!) end = (end + Buffer.from(chunk).toString()).slice(-1_000)
  })
  assert.match(
    end,
    new RegExp(`__exception__\r\n${tag}\r\nCode: 395\\. DB::Exception: [^]*\n\\d+ ${tag}\r\n__exception__\r\n$`),
  )
})

test('formats with a beginning and an end are whole however large the result is', async () => {
  const json = JSON.parse(await text({}, 'SELECT number FROM numbers(200000) FORMAT JSONCompact'))
  assert.equal(json.data.length, 200_000)
  assert.equal(json.rows, 200_000)
  const names = await text({}, 'SELECT number AS n FROM numbers(200000) FORMAT TSVWithNames')
  assert.equal(names.match(/n/g)?.length, 1)
  const totals = await text({}, 'SELECT number % 2 AS k, count() FROM numbers(10) GROUP BY k WITH TOTALS ORDER BY k')
  assert.equal(totals, '0\t5\n1\t5\n\n0\t10\n')
  const array = await text(
    { output_format_json_array_of_rows: '1' },
    'SELECT number FROM numbers(200000) FORMAT JSONEachRow',
  )
  assert.equal(JSON.parse(array).length, 200_000)
})

test('a reader that leaves ends the reading', async () => {
  const abort = new AbortController()
  const response = await call({}, { body: '/* left */ SELECT number FROM numbers(100000000000)', signal: abort.signal })
  await response.body!.getReader().read()
  abort.abort()
  const running = "SELECT count() FROM system.processes WHERE query LIKE '/* left */%'"
  await until(async () => (await text({}, running)) === '0\n')
})

test('bodies may be gzip, both ways, and are limited by what they unpack to', async () => {
  const gzipped = (body: string) => call({}, { body: gzipSync(body), headers: { 'Content-Encoding': 'gzip' } })
  assert.equal(await (await gzipped('SELECT 7')).text(), '7\n')
  await refused(await gzipped(`SELECT 1 -- ${'x'.repeat(1_000_000)}`), 413, 229, /1000000 bytes/)
  await refused(await call({}, { body: `SELECT 1 -- ${'x'.repeat(1_000_000)}` }), 413, 229, /1000000 bytes/)
  await refused(await call({}, { body: 'x', headers: { 'Content-Encoding': 'zstd' } }), 500, 89, /zstd/)
  await refused(await call({}, { body: 'not gzip', headers: { 'Content-Encoding': 'gzip' } }), 500, 236, /./)
  const curl = ['-sS', '-H', 'Accept-Encoding: gzip', `${url}/?enable_http_compression=1`, '-d', 'SELECT 8']
  const { stdout } = await promisify(execFile)('curl', curl, { encoding: 'buffer' })
  assert.equal(gunzipSync(stdout).toString(), '8\n')
  assert.equal(await text({}, 'SELECT 1'), '1\n')
})

for (const compressed of [false, true]) {
  test(`the JavaScript client does all it can do${compressed ? ', compressed' : ''}`, async (t) => {
    const name = `client_${compressed}`
    await table(name)
    const compression = { request: compressed, response: compressed }
    const client = createClient({ url, database: 'ipid', compression, log: { level: 127 } })
    t.after(() => client.close())
    assert.deepEqual((await client.ping()).success, true)
    assert.deepEqual((await client.ping({ select: true })).success, true)

    const objects = await client.insert({
      table: name,
      values: [
        { a: 1, s: 'zoë\n' },
        { a: 2, s: '' },
      ],
      format: 'JSONEachRow',
    })
    assert.equal(objects.summary?.written_rows, '2')
    const halves = [Buffer.from([51, 9, 0xc3]), Buffer.from([0xa4, 10])]
    await client.insert({
      table: name,
      columns: ['a', 's'],
      values: Readable.from(halves, { objectMode: false }),
      format: 'TabSeparated',
    })
    await client
      .exec({ query: `INSERT INTO ${name} FORMAT CSV`, values: Readable.from(['4,x\n']) })
      .then(({ stream }) => stream.resume())
    await client.insert({ table: name, values: Readable.from([]), format: 'JSONEachRow' })

    const result = await client.query({
      query: `SELECT * FROM ${name} WHERE a IN {as:Array(UInt32)} AND s != {s:String} ORDER BY a`,
      query_params: { as: [1, 2, 3, 4], s: "it's\t\\" },
      format: 'JSONEachRow',
    })
    assert.deepEqual(await result.json(), [
      { a: 1, s: 'zoë\n' },
      { a: 2, s: '' },
      { a: 3, s: 'ä' },
      { a: 4, s: 'x' },
    ])

    const large = await client.query({ query: 'SELECT number FROM numbers(300000)', format: 'JSONCompactEachRow' })
    let rows = 0
    for await (const some of large.stream()) rows += some.length
    assert.equal(rows, 300_000)

    const named = await client.command({ query: `TRUNCATE TABLE ${name}`, query_id: `id-${compressed}` })
    assert.equal(named.query_id, `id-${compressed}`)
    await assert.rejects(client.query({ query: 'SELECT nothing' }), (error: ClickHouseError) => {
      assert.deepEqual([error.code, error.type], ['47', 'UNKNOWN_IDENTIFIER'])
      return true
    })
    const broken = await client.query({
      query: 'SELECT throwIf(number = 900000) AS x FROM numbers(1000000)',
      format: 'JSONEachRow',
    })
    await assert.rejects(broken.json(), { code: '395' })
  })
}
