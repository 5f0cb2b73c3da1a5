import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { startTestClickHouse } from '../support/clickhouse.ts'
import { clickHouseHttp, rawAnswer, refused, summaryOf } from '../support/clickhouse-http.ts'
import { until } from '../support/until.ts'

/** Results of ClickHouse's HTTP interface. */

const { url } = await startTestClickHouse()
const { call, text, table } = clickHouseHttp(url)
/** Repeats while the read counts are unknown: the engine checks for failed writes by itself every few seconds. */
const knowing = (params: Record<string, string>, body: string) =>
  until(
    async () => summaryOf(await call(params, { body })),
    ({ read_rows }) => read_rows !== undefined,
  )
const jsonOf = async (response: Response) => JSON.parse(await response.text())

test('the answer names the query, its format and its summary', async () => {
  await table('summaries')
  const insert = await call(
    { database: 'ipid', query: 'INSERT INTO summaries FORMAT TSV', query_id: 'mine' },
    { body: '1\ta\n2\tb\n' },
  )
  assert.equal(insert.headers.get('x-clickhouse-query-id'), 'mine')
  const { written_rows, written_bytes, result_rows } = summaryOf(insert)
  assert.deepEqual([written_rows, result_rows], ['2', '2'])
  assert.ok(Number(written_bytes) > 0)
  const read = await call({ database: 'ipid' }, { body: 'SELECT count() FROM summaries WHERE a > 0 FORMAT JSON' })
  assert.equal(read.headers.get('x-clickhouse-format'), 'JSON')
  assert.match(read.headers.get('content-type') ?? '', /^application\/json/)
  assert.match(read.headers.get('x-clickhouse-query-id') ?? '', /^[0-9a-f-]{36}$/)
  const summary = summaryOf(read)
  assert.deepEqual([summary.result_rows, summary.result_bytes, summary.written_rows], ['1', '8', '0'])
  assert.ok(Number(summary.elapsed_ns) > 0)
  assert.deepEqual((await jsonOf(read)).statistics.rows_read, 2)
})

test('the answer names the time zone, from SETTINGS, else the URL, else the session', async () => {
  const zoneOf = async (sql: string, params: Record<string, string> = {}) => {
    const response = await call(params, { body: sql })
    const timezone = await response.text()
    assert.equal(response.status, 200, timezone)
    return [response.headers.get('x-clickhouse-timezone'), timezone.trim()]
  }
  const server = (await text({}, 'SELECT serverTimezone()')).trim()
  const [url, session] = [{ session_timezone: 'Asia/Tokyo' }, { session_id: 'zoned' }]
  assert.deepEqual(await zoneOf('SELECT timezone()'), [server, server])
  for (const sql of [
    "SELECT timezone() SETTINGS session_timezone = 'America/Vancouver'",
    "SELECT timezone() FORMAT TSV SETTINGS max_threads = 1, `session_timezone` = 'America/Vancouver'",
    "select timezone() settings session_timezone='America/Vancouver', log_comment = 'session_timezone = \\'UTC\\''",
  ]) {
    assert.deepEqual(await zoneOf(sql), ['America/Vancouver', 'America/Vancouver'], sql)
    assert.equal((await zoneOf(sql, url))[0], 'America/Vancouver')
  }
  assert.deepEqual(await zoneOf('SELECT timezone()', url), ['Asia/Tokyo', 'Asia/Tokyo'])
  const inner = "SELECT timezone() FROM (SELECT 'session_timezone' SETTINGS session_timezone = 'America/Vancouver')"
  assert.deepEqual(await zoneOf(inner, url), ['Asia/Tokyo', 'Asia/Tokyo'])
  await text(session, "SET session_timezone = 'Africa/Nairobi'")
  assert.deepEqual(await zoneOf('SELECT timezone()', session), ['Africa/Nairobi', 'Africa/Nairobi'])
  assert.deepEqual(await zoneOf('SELECT timezone()', { ...session, ...url }), ['Asia/Tokyo', 'Asia/Tokyo'])
  assert.deepEqual(await zoneOf('SELECT timezone()', { ...session, session_timezone: '' }), [server, server])
})

test("the content type is ClickHouse's own for the format", async () => {
  const typeOf = async (format: string, params: Record<string, string> = {}) =>
    (await call({ ...params, default_format: format }, { body: 'SELECT 1' })).headers.get('content-type')
  const utf8 = (type: string) => `${type}; charset=UTF-8`
  assert.equal(await typeOf('CSV'), `${utf8('text/csv')}; header=absent`)
  assert.equal(await typeOf('CSVWithNames'), `${utf8('text/csv')}; header=present`)
  assert.equal(await typeOf('JSONEachRow'), utf8('application/x-ndjson'))
  assert.equal(await typeOf('JSONEachRow', { output_format_json_array_of_rows: '1' }), utf8('application/json'))
  const query =
    'SELECT content_type, any(name) FROM system.formats WHERE is_output GROUP BY 1 FORMAT JSONCompactEachRow'
  const types = (await text({}, query)).trim().split('\n')
  assert.ok(types.length > 5)
  for (const [type, format] of types.map((line) => JSON.parse(line))) {
    const response = await call({ default_format: format }, { body: 'SELECT 1' })
    if (response.ok) assert.equal(response.headers.get('content-type'), type, format)
    await response.body?.cancel()
  }
})

test('text of the caller cannot break the head of the answer', async () => {
  await refused(await call({ query_id: 'a\r\nb' }, { body: 'SELECT 1' }), 400, 36, /query_id .* control character/)
  await refused(await call({ query_id: 'a\0' }, { body: 'SELECT 1' }), 400, 36, /query_id/)
  await refused(
    await call({ default_format: 'JSON\r\nX: y' }, { body: 'SET max_threads = 1' }),
    404,
    73,
    /default_format/,
  )
  const odd = await call({ query_id: 'ä 漢' }, { body: 'SELECT 1' })
  assert.equal(await odd.text(), '1\n')
  assert.equal(Buffer.from(odd.headers.get('x-clickhouse-query-id') ?? '', 'latin1').toString(), 'ä 漢')
  const headers = { 'X-ClickHouse-Format': 'J(SON' }
  await refused(await call({}, { body: 'SELECT 1', headers }), 404, 73, /J\(SON/)
})

test('the answer reports the rows read, when they are known', async () => {
  await table('counted')
  await text({ database: 'ipid' }, "INSERT INTO counted SELECT number, 'x' FROM numbers(50000)")
  for (const [sql, rows, bytes] of [
    ['SELECT count() FROM numbers(1000000)', 1_000_000, 8_000_000],
    ['SELECT sum(a) FROM counted', 50_000, 200_000],
    ['SELECT a FROM counted WHERE a = 7 FORMAT CSV', 50_000, 200_000],
    ['SELECT sum(a) AS "b" FROM counted', 50_000, 200_000],
    ['SELECT sum(number) FROM numbers(10)', 10, 80],
  ] as const) {
    const summary = await knowing({ database: 'ipid' }, sql)
    assert.deepEqual([summary.read_rows, summary.read_bytes], [String(rows), String(bytes)], sql)
    assert.equal(summary.result_rows, '1', sql)
  }
  const whole = await knowing({ wait_end_of_query: '1' }, 'SELECT number FROM numbers(300000)')
  assert.deepEqual([whole.read_rows, whole.result_rows], ['300000', '300000'])
  // During others it is right or absent.
  const many = await Promise.all(
    Array.from({ length: 12 }, () => call({}, { body: 'SELECT sum(number) FROM numbers(10)' })),
  )
  for (const answer of many) assert.equal(summaryOf(answer).read_rows ?? '10', '10')
})

test('a query id belongs to one statement at a time, and KILL QUERY finds it', async () => {
  const slow = { query_id: "the slow one's" }
  const running = call(slow, { body: 'SELECT max(sipHash64(number)) FROM numbers(100000000000)' })
  const where = "WHERE query_id = 'the slow one\\'s'"
  await until(async () => (await text({}, `KILL QUERY ${where} TEST`)) !== '')
  await refused(await call(slow, { body: 'SELECT 1' }), 500, 216, /already running/)
  assert.equal(await text({}, "KILL QUERY WHERE query_id IN ('another', 'third') TEST"), '')
  assert.match(await text({}, `KILL QUERY ${where} ASYNC`), /sipHash64/)
  await refused(await running, 500, 394, /QUERY_WAS_CANCELLED/)
  assert.equal(await text(slow, 'SELECT 1'), '1\n')
  // The id made by the engine works, too.
  const other = call({}, { body: 'SELECT min(sipHash64(number)) FROM numbers(100000000000)' })
  const find = "SELECT query_id FROM system.processes WHERE query LIKE 'SELECT min%'"
  const id = await until(() => text({}, find))
  await text({}, `KILL QUERY WHERE query_id = '${id.trim()}'`)
  await refused(await other, 500, 394, /QUERY_WAS_CANCELLED/)
})

test('a failed small or buffered result is an error status', async () => {
  const late = 'SELECT throwIf(number = 100000) FROM numbers(200000)'
  await refused(await call({ max_block_size: '1000' }, { body: late }), 500, 395, /FUNCTION_THROW_IF/)
  const large = 'SELECT throwIf(number = 900000) FROM numbers(1000000)'
  await refused(await call({ wait_end_of_query: '1' }, { body: large }), 500, 395, /FUNCTION_THROW_IF/)
  const whole = await call({ wait_end_of_query: '1' }, { body: 'SELECT number FROM numbers(1000000)' })
  assert.equal(summaryOf(whole).result_rows, '1000000')
  assert.equal((await whole.text()).length, 6_888_890)
  assert.equal(await text({ wait_end_of_query: '1' }, 'SELECT 1 WHERE 0'), '')
})

test('a large result is streamed, and a late failure is reported at its end', async () => {
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

test('formats with a beginning and an end are complete however large the result is', async () => {
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

test('a client that leaves ends its read, at any time, but not its write', async () => {
  await table('written')
  const gone = async (what: string, sql: string) => {
    const abort = new AbortController()
    const running = call({ database: 'ipid' }, { body: `/* ${what} */ ${sql}`, signal: abort.signal })
    const count = `SELECT count() FROM system.processes WHERE query LIKE '/* ${what} */%'`
    await until(async () => (await text({}, count)) === '1\n')
    return { abort, running, ended: () => until(async () => (await text({}, count)) === '0\n') }
  }
  const before = await gone('early', 'SELECT max(sipHash64(number)) FROM numbers(100000000000)')
  before.abort.abort()
  await assert.rejects(before.running)
  await before.ended()
  const late = await gone('late', 'SELECT number FROM numbers(100000000000)')
  await (await late.running).body!.getReader().read()
  late.abort.abort()
  await late.ended()
  const write = await gone(
    'write',
    'INSERT INTO written SELECT sleepEachRow(0.0025), toString(number) FROM numbers(1000)',
  )
  write.abort.abort()
  await assert.rejects(write.running)
  await write.ended()
  assert.equal(await text({ database: 'ipid' }, 'SELECT count() FROM written'), '1000\n')
})

test('odd texts give the same result', async () => {
  for (const [sql, answer] of [
    ["SELECT 'it''s -- x', \"b\" FROM (SELECT 'FORMAT CSV' AS b) -- FORMAT JSON", "it\\'s -- x\tFORMAT CSV\n"],
    ['SELECT $x$FORMAT JSON$x$ FORMAT CSV /* FORMAT TSV */', '"FORMAT JSON"\n'],
    ['(SELECT 1) UNION ALL (SELECT 2) SETTINGS max_threads = 1 FORMAT CSV;', '1\n2\n'],
    ['SELECT 1 FORMAT CSV SETTINGS max_threads = 1', '1\n'],
    ['SELECT ‘ä’', 'ä\n'],
    ["SELECT 'a\\' INTO OUTFILE \\'b'", "a\\' INTO OUTFILE \\'b\n"],
    ['WITH 1 AS x SELECT x # comment', '1\n'],
    ['SELECT 1 AS format ORDER BY format DESC', '1\n'],
    ['SELECT a.format f FROM (SELECT 1 AS format) a', '1\n'],
    [`SELECT length('${'x'.repeat(200_000)}') FORMAT CSV`, '200000\n'],
    ['EXPLAIN SYNTAX SELECT 1', 'SELECT 1\nFROM system.one\n'],
    ['EXISTS TABLE system.one', '1\n'],
  ]) {
    assert.equal(await text({}, sql), answer, sql)
  }
})

test('the format of the answer is right for long statements and for columns of that name', async () => {
  const formatOf = async (sql: string) => (await call({}, { body: sql })).headers.get('x-clickhouse-format')
  assert.equal(await formatOf(`SELECT '${'x'.repeat(100_000)}' FORMAT JSON`), 'JSON')
  assert.equal(await formatOf('SELECT t.format x FROM (SELECT 5 AS format) t'), 'TabSeparated')
})

test('a client that leaves before the first byte leaves nothing', async () => {
  // Each client leaves at another point between the request and the first byte of the result.
  for (let i = 0; i < 60; i++) {
    const abort = new AbortController()
    const running = call({}, { body: 'SELECT 1', signal: abort.signal }).catch(() => {})
    await setTimeout((i % 30) / 2)
    abort.abort()
    await running
  }
  const left = "SELECT count() FROM system.processes WHERE query_id != queryID() AND query LIKE 'SELECT 1%'"
  await until(async () => (await text({}, left)) === '0\n')
})

test('send_progress_in_http_headers reports while a statement reads, writes or waits', async () => {
  await table('progressed')
  const params = { send_progress_in_http_headers: '1', http_headers_progress_interval_ms: '150', database: 'ipid' }
  const sleeping = 'SELECT sum(sleepEachRow(0.3)), count() FROM numbers(6) SETTINGS max_block_size = 1'
  for (const [sql, answer, more] of [
    [sleeping, '0\t6\n', {}],
    [sleeping, '0\t6\n', { wait_end_of_query: '1' }],
    [`INSERT INTO progressed SELECT sleepEachRow(0.3), 'x' FROM numbers(4) SETTINGS max_block_size = 1`, '', {}],
    ['CREATE TABLE progressed_2 ENGINE = MergeTree ORDER BY () AS SELECT sleepEachRow(0.3) FROM numbers(4)', '', {}],
  ] as const) {
    const { head, body, firstAheadMs } = await rawAnswer(url, { ...params, ...more }, sql)
    const lines = head.filter((line) => line.startsWith('X-ClickHouse-Progress: '))
    assert.ok(lines.length >= 3, `${sql}: ${head.join('\n')}`)
    assert.ok(firstAheadMs > 300, `${sql}: the first line came ${firstAheadMs} ms before the end`)
    assert.equal(head[0], 'HTTP/1.1 200 OK')
    assert.equal(head.filter((line) => line.startsWith('HTTP/')).length, 1)
    assert.equal(head.filter((line) => line.startsWith('X-ClickHouse-Summary: ')).length, 1)
    assert.equal(body, answer)
    const progress = lines.map((line) => JSON.parse(line.slice('X-ClickHouse-Progress: '.length)))
    const read = progress.map(({ read_rows }) => Number(read_rows))
    assert.deepEqual(
      read,
      read.toSorted((a, b) => a - b),
    )
    assert.ok(read.at(-1)! > 0 && Number(progress.at(-1).elapsed_ns) > 0, sql)
  }
  assert.equal(await text({ database: 'ipid' }, 'SELECT count() FROM progressed'), '4\n')

  const session = { session_id: 'progress' }
  await text(session, 'SET send_progress_in_http_headers = 1')
  assert.match((await rawAnswer(url, session, sleeping)).head.join('\n'), /X-ClickHouse-Progress/)
  const off = await rawAnswer(url, { ...session, send_progress_in_http_headers: '0' }, sleeping)
  assert.doesNotMatch(off.head.join('\n'), /X-ClickHouse-Progress/)
})

test('after progress lines a failure has its code in the head, and the connection works', async () => {
  const params = { send_progress_in_http_headers: '1' }
  const sql = 'SELECT throwIf(number = 3 AND sleep(0.3) = 0) FROM numbers(6) SETTINGS max_block_size = 1'
  const { head, body } = await rawAnswer(url, params, sql)
  assert.equal(head[0], 'HTTP/1.1 200 OK')
  assert.ok(head.some((line) => line.startsWith('X-ClickHouse-Progress: ')))
  assert.ok(head.includes('X-ClickHouse-Exception-Code: 395'), head.join('\n'))
  assert.match(body, /^Code: 395\. DB::Exception: /)
})

test('client_protocol_version with FORMAT Native is honoured', async () => {
  const bytesOf = async (sql: string, params: Record<string, string>) => {
    const response = await call({ default_format: 'Native', ...params }, { body: sql })
    const bytes = Buffer.from(await response.arrayBuffer())
    assert.equal(response.status, 200, bytes.toString())
    return bytes
  }
  const check = 'SELECT 1 AS check'
  const info = '010002ffffffff00'
  const column = Buffer.from('\x05check\x05UInt8').toString('hex')
  assert.equal((await bytesOf(check, {})).toString('hex'), `0101${column}01`)
  const revision = (value: number) => ({ client_protocol_version: String(value) })
  assert.equal((await bytesOf(check, revision(54_405))).toString('hex'), `${info}0101${column}01`)
  assert.equal((await bytesOf(`${check} FORMAT Native`, revision(54_460))).toString('hex'), `${info}0101${column}0001`)
  assert.equal(
    (await bytesOf(check, { ...revision(54_460), wait_end_of_query: '1' })).toString('hex'),
    `${info}0101${column}0001`,
  )
  assert.equal((await bytesOf('EXISTS TABLE system.one', revision(54_405))).toString('hex').slice(0, 16), info)
  // Other formats and inserts do not change.
  assert.equal(await text(revision(54_460), 'SELECT 1'), '1\n')
  await table('native_revision')
  const rows = await bytesOf("SELECT 5::UInt32 AS a, 'x' AS s", {})
  await text({ ...revision(54_460), database: 'ipid', query: 'INSERT INTO native_revision FORMAT Native' }, rows)
  assert.equal(await text({ database: 'ipid' }, 'SELECT * FROM native_revision'), '5\tx\n')
  // The time zone of a column is part of its type from 54337 on.
  const zoned = await bytesOf(
    "SELECT toDateTime(0, 'Asia/Tokyo') AS d FORMAT Native SETTINGS max_threads = 1",
    revision(54_405),
  )
  assert.match(zoned.toString('latin1'), /DateTime\('Asia\/Tokyo'\)/)
  const quoted = await bytesOf("SELECT ' FORMAT Native SETTINGS ' AS s FORMAT Native", revision(54_405))
  assert.match(quoted.toString('latin1'), / FORMAT Native SETTINGS $/)
})

test('client_protocol_version works with columns of every type', async () => {
  const numbers = ['UInt8', 'Int16', 'UInt32', 'Int64', 'UInt128', 'Int256', 'Float32', 'Float64', 'BFloat16', 'Bool']
  const values = [
    ...numbers.map((type) => `number::${type}`),
    ...['number::Decimal(9, 1)', 'number::Decimal(18, 1)', 'number::Decimal(38, 1)', 'number::Decimal(76, 1)'],
    ...[
      'toDate(number)',
      'toDate32(number)',
      'toDateTime(number)',
      "toDateTime64(number, 3, 'UTC')",
      'generateUUIDv4()',
    ],
    ...["toIPv4('1.2.3.4')", "toIPv6('::1')", 'toIntervalDay(number)', "repeat('x', number * 40)", 'NULL', '[]', '()'],
    ...[
      "toFixedString('abc', 7)",
      "CAST(number % 2, 'Enum8(\\'a, (\\' = 0, \\'b\\' = 1)')",
      "CAST('a', 'Enum16(\\'a\\' = 700)')",
    ],
    ...[
      'if(number % 2 = 0, NULL, toString(number))',
      'range(number)',
      'arrayMap(x -> [toString(x)], range(number % 3))',
    ],
    ...[
      "map('k', number)",
      "map(toString(number), [(number, 'x')])",
      "(number, 'x', [NULL, 1])",
      "CAST((number, 'y'), 'Tuple(a UInt8, `b c` String)')",
    ],
    ...[
      'toLowCardinality(toString(number % 3))',
      "CAST(if(number % 2 = 0, NULL, 'a'), 'LowCardinality(Nullable(String))')",
    ],
    ...[
      "[toLowCardinality('x')]",
      "CAST([], 'Array(LowCardinality(String))')",
      "map(toLowCardinality('x'), toLowCardinality(toString(number)))",
    ],
    ...["CAST(toString(number), 'LowCardinality(FixedString(20))')", '(1., 2.)::Point', '[[(1., 2.)]]::Polygon'],
    ...[
      "CAST([(1, 'a')], 'Nested(n UInt8, s String)')",
      "CAST(number, 'SimpleAggregateFunction(sum, UInt64)')",
      "'12:00:00'::Time",
    ],
  ]
  const of = async (sql: string, params: Record<string, string>) =>
    Buffer.from(
      await (
        await call(
          { default_format: 'Native', max_block_size: '7', max_threads: '1', enable_time_time64_type: '1', ...params },
          { body: sql },
        )
      ).arrayBuffer(),
    )
  const check = async (columns: readonly string[]) => {
    const sql = `SELECT ${columns.map((value, i) => `${value} AS c${i}`).join(', ')}, 42 AS last FROM numbers(20)`
    const [plain, revised] = [await of(sql, {}), await of(sql, { client_protocol_version: '54454' })]
    return [revised.length - plain.length, 3 * (8 + columns.length + 1), revised.toString('latin1').slice(0, 300)]
  }
  for (const value of values) {
    const [found, expected, beginning] = await check([value])
    assert.equal(found, expected, `${value}: ${beginning}`)
  }
  const random = values.filter((value) => !value.includes('UUID'))
  const [found, expected] = await check(random)
  assert.equal(found, expected)
  const large = await of('SELECT toString(number), range(number % 5) FROM numbers(300000)', {
    client_protocol_version: '54454',
    max_block_size: '1000',
  })
  const largePlain = await of('SELECT toString(number), range(number % 5) FROM numbers(300000)', {
    max_block_size: '1000',
  })
  assert.equal(large.length - largePlain.length, 300 * 10)
})

test('client_protocol_version is refused by name where it cannot work, before the answer', async () => {
  const native = { default_format: 'Native', client_protocol_version: '54460' }
  for (const [value, type] of [
    ['sumState(1)', 'AggregateFunction\\(sum, UInt8\\)'],
    ["'{}'::JSON", 'JSON'],
    ['1::Dynamic', 'Dynamic'],
    ['1::Variant(UInt8, String)', 'Variant'],
  ]) {
    await refused(await call(native, { body: `SELECT ${value}` }), 501, 48, new RegExp(`column of type ${type}`))
  }
  for (const version of ['1', '54404', '54492']) {
    const response = await call({ ...native, client_protocol_version: version }, { body: 'SELECT 1' })
    await refused(response, 501, 48, /54405 to 54491/)
    assert.equal(await text({ client_protocol_version: version }, 'SELECT 1'), '1\n')
  }
  await refused(await call({ ...native, client_protocol_version: 'x' }, { body: 'SELECT 1' }), 400, 36, /not a number/)
  const binary = { ...native, output_format_native_encode_types_in_binary_format: '1' }
  await refused(await call(binary, { body: 'SELECT 1' }), 501, 48, /encode_types_in_binary_format/)
  await refused(await call(native, { body: 'SELECT nothing' }), 404, 47, /nothing/)
})
