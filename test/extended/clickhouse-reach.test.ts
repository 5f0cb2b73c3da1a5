import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { encodeFrame } from '../../src/embedded/clickhouse/compression/frames.ts'
import { readEngineSettings } from '../../src/embedded/clickhouse/engine-settings.ts'
import { startTestClickHouse } from '../support/clickhouse.ts'
import { sendRaw } from '../support/raw-request.ts'

/* Every statement is kept from files, programs and other servers. */

const { url, pid, walled } = await startTestClickHouse(undefined, {
  env: { LANG: 'C.UTF-8', REDIS_URL: 'redis://:secret@x' },
})
const port = Number(new URL(url).port)
const folder = mkdtempSync(join(tmpdir(), 'ipid-reach-'))
after(() => rm(folder, { recursive: true, force: true }))

const SECRET = 'the secret of this machine'
const secret = join(folder, 'secret.csv')
const written = join(folder, 'written')
writeFileSync(secret, `${SECRET}\n`)

let calls = 0
const elsewhere = createServer((_, res) => {
  calls++
  res.end(SECRET)
})
elsewhere.listen(0, '127.0.0.1')
await new Promise((resolve) => elsewhere.once('listening', resolve))
const away = `http://127.0.0.1:${(elsewhere.address() as { port: number }).port}/bucket/x`
after(() => elsewhere.close())

const send = (path: string, headers?: Record<string, string>, body?: string, method?: string) =>
  sendRaw(port, path, headers, body, method)
const post = (sql: string, params: Record<string, string> = {}) =>
  send(`/?${new URLSearchParams({ database: 'ipid', ...params })}`, {}, sql)

async function answered(sql: string, params: Record<string, string> = {}): Promise<string> {
  const { status, text } = await post(sql, params)
  assert.equal(status, 200, `${sql}: ${text}`)
  return text
}

await answered('CREATE TABLE kept (a String, file String) ENGINE = MergeTree ORDER BY a')
await answered("INSERT INTO kept VALUES ('x', 'y')")

const S = `'${secret}'`
const W = `'${written}'`

/** Each would reach something if it were not refused. */
const REACHING: readonly string[] = [
  // read a file
  `SELECT file(${S})`,
  `SELECT /* */ file -- x\n (${S})`,
  `SELECT \`file\`(${S})`,
  `SELECT "fi\\x6ce"(${S})`,
  `SELECT arrayMap(file, [${S}])`,
  `SELECT ${S} AS p APPLY(file)`,
  `SELECT * APPLY file FROM (SELECT ${S})`,
  `SELECT (SELECT file(${S}))`,
  `WITH x -> file(x) AS f SELECT f(${S})`,
  `CREATE FUNCTION leak AS x -> file(x)`,
  `CREATE VIEW leak AS SELECT file(${S}) AS a`,
  `CREATE TABLE leak (a String DEFAULT file(${S})) ENGINE = Memory`,
  `ALTER TABLE kept ADD COLUMN leak String DEFAULT file(${S})`,
  `INSERT INTO kept VALUES (file(${S}), '')`,
  `INSERT INTO kept VALUES ('', ''), ("fi\\x6ce"(${S}), '')`,
  `INSERT INTO kept FORMAT Values (file(${S}), '')`,
  `INSERT INTO kept /* */ VALUES (file(${S}), '')`,
  `INSERT INTO kept SELECT file(${S}), ''`,
  `INSERT INTO kept (a) FROM INFILE ${S} FORMAT LineAsString`,
  `insert into kept (a) from/**/infile $$${secret}$$ format LineAsString`,
  `SELECT * FROM format(Values, 'a String', $$(file(${S}))$$)`,
  `SELECT * FROM format('Va' || 'lues', 'a String', concat('(fi', $$le(${S}))$$))`,
  `SELECT * FROM file(${S}, LineAsString)`,
  `SELECT * FROM FiLe(${S}, 'LineAsString', 'a String')`,
  `SELECT * FROM ${S}`,
  `SELECT * FROM \`${secret}\``,
  `SELECT * FROM default.\`${secret}\``,
  `SELECT * FROM fileCluster('default', ${S}, LineAsString)`,
  `SELECT * FROM filesystem('${folder}')`,
  `SELECT * FROM loop(file(${S}, LineAsString))`,
  `SELECT * FROM view(SELECT * FROM file(${S}, LineAsString))`,
  `DESCRIBE file(${S})`,
  `EXPLAIN SELECT * FROM file(${S}, LineAsString)`,
  `CREATE TABLE leak AS file(${S}, LineAsString)`,
  `CREATE TABLE leak (a String) ENGINE = File(LineAsString, ${S})`,
  `CREATE TEMPORARY TABLE leak (a String) ENGINE = File(LineAsString, ${S})`,
  `CREATE TABLE leak (a String) ENGINE \`Fi\\x6ce\`(LineAsString, ${S})`,
  `CREATE DATABASE leak ENGINE = Filesystem('${folder}')`,
  `SELECT a FROM kept FORMAT Template SETTINGS format_template_row = ${S}`,
  `SELECT * FROM eval($$SELECT fi$$ || $$le(${S})$$) SETTINGS allow_experimental_eval_table_function = 1`,
  `SELECT * FROM kept SETTINGS additional_result_filter = 'file(\\'${secret}\\') = a'`,
  `ATTACH TABLE leak FROM '${folder}/' (a String) ENGINE = MergeTree ORDER BY a`,
  `RESTORE TABLE leak FROM File(${S})`,
  // write one
  `SELECT 1 INTO OUTFILE ${W}`,
  `select 1 into/* */outfile $$${written}$$ truncate format CSV`,
  `EXPLAIN SELECT 1 INTO OUTFILE ${W}`,
  `SHOW TABLES INTO OUTFILE ${W}`,
  `INSERT INTO FUNCTION file(${W}, CSV, 'a Int8') SELECT 1`,
  `INSERT INTO TABLE FUNCTION file(${W}, CSV, 'a Int8') VALUES (1)`,
  `CREATE DATABASE leak ENGINE = SQLite(${W})`,
  `SELECT * FROM sqlite(${W}, 't')`,
  `CREATE TABLE leak (a String) ENGINE = EmbeddedRocksDB(0, ${W}) PRIMARY KEY a`,
  `CREATE TABLE leak (a String) ENGINE = MergeTree ORDER BY a SETTINGS disk = disk(type = local, path = '${written}/')`,
  `BACKUP TABLE kept TO File(${W})`,
  // ask another server
  `SELECT * FROM url('${away}', LineAsString)`,
  `INSERT INTO FUNCTION url('${away}', CSV, 'a Int8') SELECT 1`,
  `SELECT * FROM urlCluster('default', '${away}', LineAsString)`,
  `CREATE TABLE leak (a String) ENGINE = URL('${away}', LineAsString)`,
  `SELECT * FROM s3('${away}', NOSIGN, LineAsString)`,
  `CREATE TABLE leak (a String) ENGINE = S3('${away}', NOSIGN, CSV)`,
  `CREATE DATABASE leak ENGINE = S3('${away}', 'NOSIGN')`,
  `RESTORE TABLE leak FROM S3('${away}', 'a', 'b')`,
  `CREATE DATABASE leak ENGINE = Backup('ipid', S3('${away}', 'a', 'b'))`,
  `CREATE TABLE leak (a String) ENGINE = MergeTree ORDER BY a SETTINGS disk = disk(type = web, endpoint = '${away}/')`,
  `ALTER TABLE kept MODIFY SETTING disk = disk(type = s3, endpoint = '${away}/', access_key_id = 'a', secret_access_key = 'b')`,
  `SELECT * FROM remote('127.0.0.1:${port}', system.one)`,
  `SELECT * FROM remoteSecure('127.0.0.1:${port}', system.one)`,
  `CREATE TABLE leak (a UInt8) ENGINE = Distributed('default', 'system', 'one')`,
  `SELECT * FROM mysql('127.0.0.1:${port}', 'a', 'b', 'c', 'd')`,
  `SELECT * FROM postgresql('127.0.0.1:${port}', 'a', 'b', 'c', 'd')`,
  `CREATE DATABASE leak ENGINE = MySQL('127.0.0.1:${port}', 'a', 'b', 'c')`,
  `CREATE DICTIONARY leak (a UInt64, b String) PRIMARY KEY a SOURCE(HTTP(url '${away}' format 'CSV')) LAYOUT(FLAT()) LIFETIME(0)`,
  `CREATE DICTIONARY leak (a UInt64, b String) PRIMARY KEY a SOURCE(FILE(path ${S} format 'CSV')) LAYOUT(FLAT()) LIFETIME(0)`,
  // run a program
  `SELECT * FROM executable('cat', CSV, 'a String')`,
  `CREATE TABLE leak (a String) ENGINE = Executable('cat', CSV)`,
  `CREATE TABLE leak (a String) ENGINE = ExecutablePool('cat', CSV)`,
  `CREATE DICTIONARY leak (a UInt64, b String) PRIMARY KEY a SOURCE(EXECUTABLE(command 'touch ${written}' format 'CSV')) LAYOUT(FLAT()) LIFETIME(0)`,
  // get more rights
  `CREATE VIEW leak SQL SECURITY NONE AS SELECT * FROM file(${S}, LineAsString)`,
  'GRANT ALL ON *.* TO default',
  "CREATE USER leak IDENTIFIED BY ''",
  `CREATE NAMED COLLECTION leak AS url = '${away}'`,
  'SYSTEM SHUTDOWN',
  'SYSTEM STOP MERGES',
  'SYSTEM STOP MERGES kept',
  'SYSTEM STOP TTL MERGES',
  `SELECT 1; SELECT file(${S})`,
  `INSERT INTO kept VALUES ('a', 'b'); SELECT file(${S})`,
]

for (const [how, through] of [
  ['in the body', (sql: string) => post(sql)],
  ['in the URL', (sql: string) => post('', { query: sql })],
  ['in both', (sql: string) => post(sql.slice(sql.indexOf(' ')), { query: sql.slice(0, sql.indexOf(' ')) })],
  ['by GET', (sql: string) => send(`/?${new URLSearchParams({ query: sql, readonly: '0' })}`)],
  ['in another dialect', (sql: string) => post(sql, { dialect: 'kusto' })],
] as const) {
  test(`no statement ${how} reaches a file, a program or another server`, async () => {
    const before = readdirSync(folder)
    for (const sql of REACHING) {
      const { status, text } = await through(sql)
      assert.notEqual(status, 200, `${sql}: ${text}`)
      assert.ok(!text.includes(SECRET), `${sql}: ${text}`)
      assert.ok(!existsSync(written), sql)
    }
    assert.deepEqual(readdirSync(folder), before)
    assert.equal(calls, 0)
    assert.equal(await answered('SELECT a FROM kept'), 'x\n')
    assert.equal(await answered("SELECT count() FROM system.tables WHERE name = 'leak'"), '0\n')
  })
}

test('every setting of the engine is on the list; a setting that is not allowed is refused', async () => {
  const rows = async (sql: string) => (await answered(`${sql} FORMAT TSV`)).trim().split('\n')
  const sql = 'SELECT name FROM system.settings WHERE readonly = '
  const tables = "SELECT concat('merge_tree_', name) FROM system.merge_tree_settings"
  const { allowed, refused } = readEngineSettings()
  const ofTables = new Set(await rows(tables))
  const ofStatements = (names: readonly string[]) => names.filter((name) => !ofTables.has(name)).toSorted()
  assert.deepEqual((await rows(`${sql} 0`)).toSorted(), ofStatements(allowed))
  assert.deepEqual((await rows(`${sql} 1`)).toSorted(), ofStatements(refused))
  // The engine itself sets some more in an existing table.
  const fixed = new Set(await rows(`${tables} WHERE readonly`))
  assert.deepEqual(
    refused.filter((name) => ofTables.has(name) && !fixed.has(name)),
    [],
  )
  const listed = [...allowed, ...refused]
  assert.deepEqual(
    [...ofTables].filter((name) => !listed.includes(name)),
    [],
  )
  // Change these only after a check of each new setting.
  assert.deepEqual([allowed.length, refused.length], [1224, 851])
})

/** The parts of hostile requests, and every way in which they can arrive. */
const HOSTILE_CALL = `SELECT file(${S})`
const framed = async (text: string) => [...(await encodeFrame(Buffer.from(text)))]
const WAYS: Record<string, (sql: string, params?: Record<string, string>) => Promise<Response>> = {
  URL: (query, params = {}) => ask({ query, ...params }),
  'body and URL': (sql, params = {}) => ask(params, sql),
  form: (query, params = {}) => ask({}, formOf({ query, ...params })),
  'body in gzip': (sql, params = {}) => ask(params, gzipSync(sql), { 'content-encoding': 'gzip' }),
  'body in frames': async (sql, params = {}) => ask({ decompress: '1', ...params }, Uint8Array.from(await framed(sql))),
  session: async (sql, params = {}) => {
    const names = Object.entries(params).map(([name, value]) => `${name} = '${value}'`)
    const set = names.length === 0 ? 'SELECT 1' : `SET ${names.join(', ')}`
    const answer = await ask({ session_id: 'ways' }, set)
    return answer.ok ? await ask({ session_id: 'ways' }, sql) : answer
  },
  'external table': (query, params = {}) => {
    const form = formOf({ query, ...params, t_structure: 'a String' })
    form.set('t', new Blob(['x']), 't')
    return ask({}, form)
  },
  header: (sql, params = {}) =>
    ask(params, sql, { 'x-clickhouse-database': 'ipid', 'x-clickhouse-format': 'JSONEachRow' }),
}

function ask(
  params: Record<string, string>,
  body: string | FormData | Uint8Array<ArrayBuffer> = '',
  headers: Record<string, string> = {},
) {
  return fetch(`${url}/?${new URLSearchParams({ database: 'ipid', ...params })}`, { method: 'POST', body, headers })
}

function formOf(fields: Record<string, string>): FormData {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) form.set(name, value)
  return form
}

for (const [way, through] of Object.entries(WAYS)) {
  test(`the same check covers input by ${way}`, async () => {
    const call = await through(HOSTILE_CALL)
    assert.match(await call.text(), /Code: 497\. .*ACCESS_DENIED/, way)
    const setting = await through('SELECT 1', { s3_max_redirects: '3' })
    assert.match(await setting.text(), /Code: 452\. .*s3_max_redirects should not be changed/, way)
    const parameter = await through(`SELECT arrayMap({f:Identifier}, [${S}])`, { param_f: 'file' })
    assert.match(await parameter.text(), /Code: 497\. .*ACCESS_DENIED/, way)
  })
}

test('tables and clauses accept allowed settings only', async () => {
  const settings = 'SETTINGS index_granularity = 1024'
  await answered(`CREATE TABLE grained (a String) ENGINE = MergeTree ORDER BY a ${settings}`)
  for (const sql of [
    "CREATE TABLE leak (a String) ENGINE = MergeTree ORDER BY a SETTINGS storage_policy = 'x'",
    'ALTER TABLE grained MODIFY SETTING max_suspicious_broken_parts = 1000000',
    'SELECT 1 SETTINGS s3_max_redirects = 3',
    'SELECT * FROM (SELECT 1 SETTINGS s3_max_redirects = 3)',
    'SELECT * FROM (SELECT 1 AS a SETTINGS max_threads = 1, `s3_max_redirects` = 3), (SELECT 2)',
    'SELECT (SELECT 1 SETTINGS fsync_metadata = 0, distributed_directory_monitor_batch_inserts = 1)',
    'CREATE VIEW leak AS SELECT 1 SETTINGS s3_max_redirects = 3',
    'INSERT INTO kept (a) VALUES ((SELECT 1 SETTINGS s3_max_redirects = 3))',
    `SELECT * FROM (SELECT a FROM kept SETTINGS additional_result_filter = 'file(\\'${secret}\\') = a')`,
  ]) {
    assert.match((await post(sql)).text, /Code: 452\. .*should not be changed/, sql)
  }
  await answered('SELECT * FROM (SELECT 1 AS workload SETTINGS max_threads = 1) AS a, (SELECT 2 = 2 AS dialect) AS b')
})

test('parameters and expressions in settings or structures reach no file', async () => {
  const call = `SELECT arrayMap({f:Identifier}, [${S}])`
  const key = {
    parallel_replicas_custom_key: `throwIf(1, file(${S}))`,
    ...{ parallel_replicas_count: '2', parallel_replica_offset: '0', enable_parallel_replicas: '1' },
    ...{ max_parallel_replicas: '2', parallel_replicas_mode: 'custom_key_sampling' },
  }
  const clause = Object.entries(key)
    .map(([name, value]) => `${name} = '${value.replaceAll("'", "\\'")}'`)
    .join(', ')
  const session = (id: string) => ({ session_id: id })
  const refused: (readonly [sql: string, params: Record<string, string>])[] = [
    [call, { param_f: 'file' }],
    ["SET param_f = 'file'", session('a')],
    ['SET param_f = file', session('a')],
    [call, session('a')],
    ['CREATE FUNCTION leak AS x -> arrayMap({f:Identifier}, [x])', { param_f: 'lower' }],
    [`CREATE VIEW leak AS ${call}`, {}],
    ['SELECT count() FROM kept', key],
    [`SELECT count() FROM kept SETTINGS ${clause}`, {}],
    [`SET ${clause}`, session('b')],
    [`SELECT * FROM format(JSONEachRow, 'a String DEFAULT file(''${secret}'')', '{}')`, {}],
    [`SELECT * FROM format(JSONEachRow, 'a String DEFAULT fi' || 'le(''${secret}'')', '{}')`, {}],
    [`SELECT * FROM format(JSONEachRow, concat('a String DEFAULT fi', 'le(''${secret}'')'), '{}')`, {}],
  ]
  const form = (sql: string, params: Record<string, string>) => {
    const body = new FormData()
    for (const [name, value] of Object.entries({ query: sql, ...params })) body.set(name, value)
    return fetch(`${url}/?database=ipid`, { method: 'POST', body })
  }
  for (const [sql, params] of refused) {
    const { status, text } = await post(sql, params)
    assert.notEqual(status, 200, `${sql}: ${text}`)
    assert.ok(!text.includes(SECRET), `${sql}: ${text}`)
    if ('session_id' in params) continue
    const formed = await form(sql, params)
    assert.notEqual(formed.status, 200, `form: ${sql}`)
    assert.ok(!(await formed.text()).includes(SECRET), `form: ${sql}`)
  }
  assert.equal(await answered('SELECT {c:Identifier} FROM {t:Identifier}', { param_c: 'a', param_t: 'kept' }), 'x\n')
})

/** Table functions that read only the engine's own tables, or nothing at all. */
const HARMLESS_SOURCES = new Set([
  ...[
    'SQLStandardValues',
    'dictionary',
    'format',
    'fuzzJSON',
    'fuzzQuery',
    'generateRandom',
    'generateSeries',
    'generate_series',
  ],
  ...['input', 'loop', 'merge', 'mergeTreeAnalyzeIndexes', 'mergeTreeAnalyzeIndexesUUID', 'mergeTreeIndex'],
  ...['mergeTreeProjection', 'mergeTreeTextIndex', 'null', 'numbers', 'numbers_mt', 'primes', 'prometheusQuery'],
  ...['prometheusQueryRange', 'timeSeriesData', 'timeSeriesMetrics', 'timeSeriesSamples', 'timeSeriesSelector'],
  ...['timeSeriesTags', 'values', 'view', 'viewExplain', 'viewIfPermitted', 'zeros', 'zeros_mt'],
])

test('every table function that is not harmless is refused by its name', async () => {
  const names = (await answered('SELECT name FROM system.table_functions')).trim().split('\n')
  for (const name of names.filter((name) => !HARMLESS_SOURCES.has(name))) {
    const { text } = await post(`SELECT * FROM ${name}/**/(1)`)
    assert.match(text, /reaches no files, programs and other servers/, name)
  }
})

test('mutations and views reach nothing outside, though mutations run without a user', async () => {
  calls = 0
  const settings = { validate_mutation_query: '0', allow_nondeterministic_mutations: '1', mutations_sync: '1' }
  const web = `url('${away}', LineAsString, 'a String')`
  const csv = join(folder, 'secret.csv')
  const attempts: (readonly [sql: string, params: Record<string, string>])[] = [
    ["ALTER TABLE kept UPDATE file = 'z' WHERE 0", settings],
    [`ALTER TABLE kept UPDATE file = (SELECT a FROM ${web} LIMIT 1) WHERE 1`, {}],
    [`ALTER TABLE kept UPDATE file = (SELECT content FROM filesystem(${S}) LIMIT 1) WHERE 1`, {}],
    [`CREATE VIEW leak (a String) AS SELECT a FROM ${web}`, {}],
    [`CREATE VIEW leak (c1 String) AS SELECT c1 FROM default.\`${csv}\``, {}],
    [`CREATE FUNCTION leak AS x -> (SELECT any(c1) FROM default."${csv}")`, {}],
    [`ALTER TABLE kept DELETE WHERE a IN (SELECT c1 FROM default.\`${csv}\`)`, {}],
    [`DELETE FROM kept WHERE a IN (SELECT c1 FROM default.\`${csv}\`)`, {}],
    ['DELETE FROM kept WHERE a IN (SELECT c1 FROM default.{t:Identifier})', { param_t: csv }],
    ['DROP TABLE IF EXISTS no PARALLEL WITH CREATE VIEW leak AS SELECT arrayMap({f:Identifier}, [1])', {}],
    [`DROP TABLE IF EXISTS no PARALLEL WITH DELETE FROM kept WHERE a IN (SELECT c1 FROM default.\`${csv}\`)`, {}],
  ]
  for (const [sql, params] of attempts) {
    const { status, text } = await post(sql, params)
    assert.equal(status === 200, false, `${sql}: ${text}`)
  }
  assert.equal(calls, 0)
  assert.equal(await answered("SELECT a, k.file FROM kept AS k WHERE a = 'x'"), 'x\ty\n')
  await answered('CREATE VIEW paths AS SELECT a AS `/pricing` FROM kept')
  await answered("ALTER TABLE kept DELETE WHERE a IN (SELECT 'nothing')", { mutations_sync: '1' })
  assert.equal(await answered('SELECT * FROM paths'), 'x\n')
  await answered('DROP VIEW paths')
})

test('text made by another statement is never run as code', async () => {
  const structure = `a String DEFAULT file(${S})`
  const hex = `unhex('${Buffer.from(structure).toString('hex')}')`
  const data = `'(file(\\'${secret}\\'))'`
  const attempts: (readonly [sql: string, params: Record<string, string>])[] = [
    ["SELECT * FROM format(JSONEachRow, {s:String}, '{}')", { param_s: structure }],
    [`SELECT * FROM format(JSONEachRow, ${hex}, '{}')`, {}],
    [`SELECT * FROM format(JSONEachRow, (SELECT ${hex}), '{}')`, {}],
    [`WITH ${hex} AS s SELECT * FROM format(JSONEachRow, s, '{}')`, {}],
    [`CREATE VIEW leak AS SELECT * FROM format(JSONEachRow, {s:String}, '{}')`, {}],
    [`CREATE FUNCTION leak AS x -> (SELECT any(a) FROM format(JSONEachRow, x, '{}'))`, {}],
    [`CREATE FUNCTION leak AS x -> (SELECT any(a) FROM format(x, 'a String', ${data}))`, {}],
    [`WITH 'Values' AS v SELECT * FROM format(v, 'a String', ${data})`, {}],
    [`WITH 'Values' AS JSON SELECT * FROM format(JSON, 'a String', ${data})`, {}],
    [`INSERT INTO FUNCTION null(${hex}) SELECT 1`, {}],
  ]
  for (const [sql, params] of attempts) {
    const { status, text } = await post(sql, params)
    assert.equal(status, 403, `${sql}: ${text}`)
    assert.ok(!text.includes(SECRET), sql)
  }
  assert.equal(await answered("SELECT format('{}-{}', a, k.file) FROM kept AS k WHERE a = 'x'"), 'x-y\n')
  assert.equal(await answered("SELECT * FROM format(JSONEachRow, 'a String DEFAULT 1', concat('{', '}'))"), '1\n')
})

test('the process has no secrets in its environment, and is in a sandbox if the kernel can', async () => {
  const environment = readFileSync(`/proc/${pid}/environ`, 'utf8')
  assert.match(environment, /^LANG=C\.UTF-8\0/)
  assert.doesNotMatch(environment, /REDIS_URL|secret/)
  const version = Number(execFileSync('perl', ['-e', 'print syscall(444, 0, 0, 1)'], { encoding: 'utf8' }))
  assert.equal(walled, version >= 2)
})

test('data of a statement cannot begin another one', async () => {
  await answered('CREATE TABLE data (a String) ENGINE = MergeTree ORDER BY a')
  await post(`x\n; SELECT 1 INTO OUTFILE ${W}`, { query: 'INSERT INTO data FORMAT LineAsString' })
  await post(`INSERT INTO data FORMAT LineAsString\nx\n; SELECT 1 INTO OUTFILE ${W}`)
  await post(`, file(${S})`, { query: 'INSERT INTO data SELECT a.format x' })
  await post(`, file(${S})`, { query: 'INSERT INTO data SETTINGS max_threads = 1 SELECT a.format x' })
  await post(`(file(${S}))`, { query: 'INSERT INTO data FORMAT Values' })
  assert.ok(!existsSync(written))
  assert.equal(await answered(`SELECT count() FROM data WHERE a = '${SECRET}'`), '0\n')
})

test('an expression in large data is refused, and so is a format name cut where the check ends', async () => {
  await answered('CREATE TABLE large (a String) ENGINE = Memory')
  const values = "('some text'),".repeat(100_000)
  const name = (length: number) => {
    const head = 'INSERT INTO large /* */ FORMAT Val'
    return `INSERT INTO large /*${' '.repeat(length - head.length)} */ FORMAT Values (file(${S}))${' '.repeat(1_100_000)}`
  }
  for (const [query, body] of [
    ['', `INSERT INTO large VALUES ${values}(file(${S}))`],
    ['INSERT INTO large VALUES', `${values}(file(${S}))`],
    ['INSERT INTO large FORMAT Values', `${values}(file(${S}))`],
    ['', name(65_535)],
    ['', name(1_048_575)],
    ['', name(1_048_576)],
  ] as const) {
    const { status, text } = await post(body, { query, max_query_size: '10000000' })
    // 400: the cut text is no statement.
    assert.ok(status === 403 || status === 400, `${status} ${query || body.slice(0, 40)}: ${text.slice(0, 200)}`)
  }
  await post(`ues (file(${S}))`, { query: 'INSERT INTO large FORMAT Val' })
  assert.equal(await answered('SELECT count() FROM large'), '0\n')
  const data = `file(${S})\n`.repeat(30_000)
  await answered(`INSERT INTO large FORMAT LineAsString\n${data}`)
  await answered(data, { query: 'INSERT INTO large FORMAT LineAsString' })
  await answered(`INSERT INTO large VALUES ${values.slice(0, -1)}`)
  assert.equal(await answered('SELECT count() FROM large'), '160000\n')
  await answered('DROP TABLE large')
})

test('no setting reaches a file or another server', async () => {
  await answered('CREATE TABLE lines (a String) ENGINE = MergeTree ORDER BY a')
  const registered = '\0\0\0\0\x01\x04ab'
  const parts: [sql: string, data: string, settings: Record<string, string>][] = [
    ['SELECT 1 AS a FORMAT Protobuf', '', { output_format_schema: written }],
    ['INSERT INTO lines FORMAT JSONEachRow', '{"a": }\n', { input_format_record_errors_file_path: written }],
    ['INSERT INTO lines FORMAT AvroConfluent', registered, { format_avro_schema_registry_url: away }],
  ]
  calls = 0
  for (const [query, data, settings] of parts) {
    const clause = Object.entries(settings).map(([name, value]) => `${name} = '${value}'`)
    const through = [
      await post(data, { query, input_format_allow_errors_num: '5', errors_output_format: 'CSV', ...settings }),
      await post(data, {
        query: query.replace(' FORMAT', ` SETTINGS ${clause} FORMAT`),
        input_format_allow_errors_num: '5',
      }),
      await send(`/?${new URLSearchParams({ query, ...settings })}`),
    ]
    for (const { status, text } of through) assert.notEqual(status, 200, `${query}: ${text}`)
    assert.ok(!existsSync(written), query)
  }
  assert.equal(calls, 0)
})

test("words in strings, columns and every kind of the user's own tables are allowed", async () => {
  const innocent = [
    "SELECT 'INTO OUTFILE', 'file(1)', 'it\\'s ENGINE = URL'",
    'SELECT k.file AS file FROM kept AS k WHERE 0',
    "SELECT format('{}-{}', 'a', 'b')",
    'SELECT * FROM format(JSONEachRow, \'{"a": 1}\')',
    "SELECT engine, data_paths FROM system.tables WHERE engine = 'URL'",
    "INSERT INTO kept VALUES ('a file (of mine)', lower('OUTFILE'))",
    'CREATE TABLE mine (a UInt8) ENGINE = ReplacingMergeTree ORDER BY a',
    'CREATE VIEW sight AS SELECT * FROM mine',
    'CREATE MATERIALIZED VIEW kept_sight ENGINE = Memory AS SELECT * FROM mine',
    'CREATE TEMPORARY TABLE passing (a UInt8)',
    'CREATE FUNCTION plus_one AS x -> x + 1',
    'DROP FUNCTION plus_one',
    "KILL QUERY WHERE query_id = 'nobody'",
    'OPTIMIZE TABLE mine FINAL',
    'ALTER TABLE mine ADD COLUMN b UInt8',
    'SYSTEM FLUSH LOGS',
    'CREATE DATABASE second ENGINE = Atomic',
    'DROP DATABASE second',
    'ATTACH TABLE IF NOT EXISTS mine',
  ]
  for (const sql of innocent) await answered(sql)
  assert.equal(await answered("INSERT INTO kept SELECT 'file', 'y'"), '')
  await answered("ALTER TABLE kept DELETE WHERE a != 'x' SETTINGS mutations_sync = 1")
})

test('GET and HEAD only read, whatever the URL contains', async () => {
  for (const readonly of ['', '&readonly=0', '&readonly=2']) {
    for (const method of ['GET', 'HEAD']) {
      for (const sql of [
        'DROP TABLE kept',
        "INSERT INTO kept VALUES ('z', '')",
        'SET readonly = 0',
        'CREATE TABLE n (a Int8) ENGINE = Memory',
      ]) {
        const path = `/?database=ipid&query=${encodeURIComponent(sql)}${readonly}`
        assert.equal((await send(path, {}, undefined, method)).status, 500, sql)
      }
    }
  }
  const twice = await send('/?database=ipid&query=DROP+TABLE+kept&readonly=1&readonly=0')
  assert.match(twice.text, /READONLY/)
  assert.equal(await answered("SELECT a FROM kept WHERE a = 'x'"), 'x\n')
})

test('a setting turns them on, but not for GET', async (t) => {
  const open = await startTestClickHouse(t, { external: true })
  const call = async (sql: string) => (await fetch(open.url, { method: 'POST', body: sql })).text()
  assert.equal(await call(`SELECT * FROM file(${S}, LineAsString)`), `${SECRET}\n`)
  assert.equal(await call(`SELECT * FROM url('${away}', LineAsString)`), `${SECRET}\n`)
  calls = 0
  const get = await fetch(`${open.url}/?${new URLSearchParams({ query: `SELECT 1 INTO/**/OUTFILE ${W}` })}`)
  assert.match(await get.text(), /INTO OUTFILE/)
  assert.ok(!existsSync(written))
  assert.equal(await call(`SELECT 1 INTO OUTFILE ${W}`), '')
  assert.ok(existsSync(written))
})
