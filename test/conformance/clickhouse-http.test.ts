import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { encodeFrame } from '../../src/embedded/clickhouse/compression/frames.ts'
import { startTestClickHouse } from '../support/clickhouse.ts'
import { clickHouseHttp, refused } from '../support/clickhouse-http.ts'

/** The HTTP interface as https://clickhouse.com/docs/interfaces/http describes it, and as its JavaScript client uses it. */

const { url } = await startTestClickHouse()

const { call, text, table } = clickHouseHttp(url)

test('/ and /ping answer Ok, to HEAD without a body', async () => {
  for (const path of ['', '/', '/ping']) assert.equal(await (await fetch(`${url}${path}`)).text(), 'Ok.\n')
  const head = await fetch(`${url}/ping`, { method: 'HEAD' })
  assert.deepEqual([head.status, await head.text()], [200, ''])
  for (const path of ['/nothing', '/dashboard', '/replicas_status', '/webterminal']) {
    const none = await fetch(`${url}${path}`)
    assert.equal(none.status, 404)
    assert.match(await none.text(), new RegExp(`^Not found: ${path}\\. `))
  }
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

test('curl works as people type it', async () => {
  const curl = async (...args: string[]) => (await promisify(execFile)('curl', ['-sS', ...args])).stdout
  assert.equal(await curl(url, '-d', 'SELECT 1'), '1\n')
  assert.match(await curl(`${url}/?database=ipid`, '-d', 'SELECT * FROM accounts FORMAT PrettyCompact'), /^$/)
  assert.match(await curl(`${url}/?database=ipid`, '-d', 'SELECT 1 AS one FORMAT PrettyCompact'), /┌─one─┐/)
})

test('an insert takes its data after the statement, wherever that is, as bytes', async () => {
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

test('data of an insert never count as a statement, and reach the table to their last byte', async () => {
  await table('apart')
  const rows = async () => {
    const stored = await text({ database: 'ipid' }, 'SELECT a, s FROM apart ORDER BY a FORMAT CSV')
    await text({ database: 'ipid' }, 'TRUNCATE TABLE apart')
    return stored
  }
  const send = async (query: string, body: string | Buffer) => {
    const response = await call({ database: 'ipid', query }, { body })
    return [response.status, await response.text()] as const
  }
  const hidden = "INSERT INTO apart SELECT 99, 'hidden'\n"
  // The engine's own parser ends data at a blank line, and runs the rest.
  for (const [query, body] of [
    ['INSERT INTO apart FORMAT CSV', `1,"x"\n\n${hidden}`],
    ['', `INSERT INTO apart FORMAT CSV\n1,"x"\n\n${hidden}`],
    ['INSERT INTO apart FORMAT CSV 1,"x"\n', hidden],
    ['INSERT INTO apart (a, `s`) SETTINGS log_comment = $$x$$ FORMAT CSV', `1,"x"\n\n${hidden}`],
    ['INSERT INTO apart (* EXCEPT(a)) FORMAT CSV', `"x"\n\n${hidden}`],
    ['INSERT INTO apart VALUES', `(1, 'x'); ${hidden}`],
    ['', `INSERT INTO apart SETTINGS log_comment = $$x$$ VALUES (1, 'x'); ${hidden}`],
    ['', `INSERT INTO apart SELECT 1, 'x'; ${hidden}`],
    ['', `INSERT INTO apart SELECT 1, 'x' FORMAT CSV; ${hidden}`],
    ['INSERT INTO apart FORMAT CSV ;', '1,"x"\n'],
  ] as const) {
    const [status, answer] = await send(query, body)
    const stored = await rows()
    if (status === 200) assert.match(stored, /,"INSERT INTO apart SELECT 99, 'hidden'"\n$/)
    else assert.deepEqual([status, stored], [400, ''], `${query} ${body}: ${answer}`)
    assert.doesNotMatch(answer, /formatQuery|\.data/)
  }
  const blank = Buffer.from([1, 0, 0, 0, 2, 10, 10, 2, 0, 0, 0, 1, 59])
  assert.deepEqual(await send('INSERT INTO apart FORMAT RowBinary', blank), [200, ''])
  assert.equal(await rows(), '1,"\n\n"\n2,";"\n')
  assert.deepEqual(await send('', 'INSERT INTO apart FORMAT JSONEachRow {"a":1}\n\n{"a":2}\n\n'), [200, ''])
  assert.equal(await rows(), '1,""\n2,""\n')
  assert.deepEqual(await send("INSERT INTO `ap\\x61rt` SETTINGS log_comment = $$'$$ FORMAT TSV", '1\tx\n2\ty\n'), [
    200,
    '',
  ])
  assert.equal(await rows(), '1,"x"\n2,"y"\n')
  assert.deepEqual(await send('', "INSERT INTO apart SETTINGS async_insert = 1 VALUES (1, ';'), (2, 'x') ; \n"), [
    200,
    '',
  ])
  assert.equal(await rows(), '1,";"\n2,"x"\n')
})

test('input() is refused by name, instead of run without its data', async () => {
  await table('unread')
  const select = "SELECT * FROM input('a UInt32, s String') FORMAT CSV"
  for (const [query, body] of [
    [`INSERT INTO unread ${select}`, '1,"x"\n'],
    ['', `INSERT INTO unread ${select}\n1,"x"\n`],
    ['', `INSERT INTO unread (${select.replace(' FORMAT', ') FORMAT')}\n1,"x"\n`],
    ['', `WITH 1 AS one INSERT INTO unread ${select}\n1,"x"\n`],
  ] as const) {
    await refused(await call({ database: 'ipid', query }, { body }), 501, 48, /send the data as a file of a form/)
  }
  const form = new FormData()
  form.set('query', 'INSERT INTO unread SELECT a + 1, s FROM data')
  form.set('data_structure', 'a UInt32, s String')
  form.set('data_format', 'CSV')
  form.set('data', new Blob(['1,"x"\n2,"y"\n']), 'data.csv')
  assert.equal((await call({ database: 'ipid' }, { body: form })).status, 200)
  assert.equal(await text({ database: 'ipid' }, 'SELECT * FROM unread ORDER BY a FORMAT CSV'), '2,"x"\n3,"y"\n')
})

test('an insert too large for memory arrives unchanged, in any format, and leaves no file', async () => {
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

test('an INSERT with its data in one body inserts the same, however large it is', async () => {
  const [rowsSmall, rowsLarge] = [3, 6_000]
  const rowsOf = (count: number) =>
    `SELECT number::UInt32 AS a, concat(repeat(' ', 32), char(10, number % 256), '-- x /* \\'" $a$; FORMAT CSV') AS s FROM numbers(${count})`
  const sums = 'count(), sum(cityHash64(a, s))'
  await table('bodies')
  const inserted = async (count: number, before: string, format: string, after: string, send = call) => {
    const made = await call({ query: `${rowsOf(count)} FORMAT ${format}` })
    const data = Buffer.from(await made.arrayBuffer())
    const body = Buffer.concat([Buffer.from(`${before} FORMAT ${format}${after}`), data])
    const response = await send({ database: 'ipid' }, { body })
    assert.equal(response.status, 200, `${before} FORMAT ${format}: ${await response.text()}`)
    const found = await text({ database: 'ipid' }, `SELECT ${sums} FROM bodies`)
    assert.equal(found, await text({}, `SELECT ${sums} FROM (${rowsOf(count)})`), `${before} ${format} ${count}`)
    await text({ database: 'ipid' }, 'TRUNCATE TABLE bodies')
  }
  const zipped: typeof call = (params, init) =>
    call(params, { body: gzipSync(init!.body as Buffer), headers: { 'Content-Encoding': 'gzip' } })
  const framed: typeof call = async (params, init) =>
    call({ ...params, decompress: '1' }, { body: await encodeFrame(init!.body as Buffer) })
  for (const count of [rowsSmall, rowsLarge]) {
    for (const format of ['CSV', 'TSV', 'JSONEachRow', 'Native', 'RowBinary', 'Values', 'Parquet']) {
      await inserted(count, 'INSERT INTO bodies', format, '\n')
    }
    await inserted(count, 'INSERT INTO bodies', 'RowBinary', ' \t\f\r\n')
    await inserted(count, '/* FORMAT x */ INSERT INTO -- y\nbodies # z\n', 'TSV', '\n')
    await inserted(count, "insert into table ipid.`bodies` (a, s) SETTINGS log_comment = 'FORMAT x'", 'CSV', ' ')
    await inserted(
      count,
      'INSERT INTO bodies SETTINGS async_insert = 1, wait_for_async_insert = 1',
      'JSONEachRow',
      '\n',
    )
    await inserted(count, 'INSERT INTO bodies', 'CSV', '\n', zipped)
    await inserted(count, 'INSERT INTO bodies', 'RowBinary', '\n', framed)
  }
  await inserted(rowsSmall, 'INSERT INTO bodies SETTINGS log_comment = $x$FORMAT y$x$', 'CSV', '\n')
  const bad = Buffer.from(`INSERT INTO bodies FORMAT TSV\n${'1\ta\n'.repeat(100_000)}x\ty\n`)
  await refused(await call({ database: 'ipid' }, { body: bad }), 400, 27, /at row 100001/)
  const semicolon = Buffer.from(`INSERT INTO bodies FORMAT TSV;\n${'1\ta\n'.repeat(100_000)}`)
  await refused(await call({ database: 'ipid' }, { body: semicolon }), 400, 62, /;/)
})

test('an insert without rows inserts none', async () => {
  await table('empties')
  assert.equal(await text({ database: 'ipid', query: 'INSERT INTO empties FORMAT TSV' }), '')
  assert.equal(await text({ database: 'ipid' }, 'SELECT count() FROM empties'), '0\n')
})

test("no request sees another one's database, settings, parameters or SET", async () => {
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
