import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { EMBEDDED_USER } from '../../src/stores/clickhouse/failed-writes.ts'
import { startTestClickHouse } from '../support/clickhouse.ts'
import { fetchClickHouse, partsOf, runSql } from '../support/fetch-clickhouse.ts'
import { sendRaw } from '../support/raw-request.ts'
import { until } from '../support/until.ts'

/*
 * The rights of the users of the embedded ClickHouse. ClickHouse itself refuses: this server has no wall, as on a kernel without
 * Landlock. Two statements are left to the wall, see the end.
 */

const server = await startTestClickHouse(undefined, { wall: false })
const { url, analystUrl, rows } = server
const port = Number(new URL(url).port)
const folder = mkdtempSync(join(tmpdir(), 'ipid-rights-'))
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
await once(elsewhere, 'listening')
const away = `http://127.0.0.1:${(elsewhere.address() as { port: number }).port}/bucket/x`
after(() => {
  elsewhere.closeAllConnections()
  elsewhere.close()
})

const USERS = [
  ['the analyst', analystUrl],
  ["ipid's own user", url],
] as const

type Params = Readonly<Record<string, string>>

async function post(address: string, sql: string, params: Params = {}): Promise<{ status: number; text: string }> {
  const response = await fetchClickHouse(
    address,
    { database: 'workspace', ...params },
    { body: sql, signal: AbortSignal.timeout(20_000) },
  )
  return { status: response.status, text: await response.text() }
}

const own = (sql: string, params: Params = {}) => runSql(url, sql, { database: 'workspace', ...params })
const analyst = (sql: string, params: Params = {}) => runSql(analystUrl, sql, { database: 'workspace', ...params })

/** The number of ClickHouse's error; undefined when the statement ran. */
async function errorOf(sql: string, params: Params = {}, address = analystUrl): Promise<number | undefined> {
  const { status, text } = await post(address, sql, params)
  return status === 200 ? undefined : Number(/Code: (\d+)/.exec(text)?.[1] ?? Number.NaN)
}

const ACCESS_DENIED = 497
const FIXED_SETTING = 452

await own('CREATE TABLE kept (a String, file String) ENGINE = MergeTree ORDER BY a')
await own("INSERT INTO kept VALUES ('x', 'y')")

const S = `'${secret}'`
const W = `'${written}'`
const DICTIONARY = 'CREATE DICTIONARY leak (a UInt64, b String) PRIMARY KEY a LAYOUT(FLAT()) LIFETIME(0)'
const AZURE = `'DefaultEndpointsProtocol=http;AccountName=a;AccountKey=YWFh;BlobEndpoint=${away}'`

/** Statements that would reach something if they were not refused. */
const REACHING = {
  'reads a file': [
    `SELECT file(${S})`,
    `SELECT /* */ file -- x\n (${S})`,
    `SELECT \`file\`(${S})`,
    `SELECT "fi\\x6ce"(${S})`,
    `SELECT arrayMap(file, [${S}])`,
    `SELECT * APPLY file FROM (SELECT ${S})`,
    `SELECT (SELECT file(${S}))`,
    `WITH x -> file(x) AS f SELECT f(${S})`,
    "SELECT file('config/users.xml')",
    "SELECT file('../clickhouse-passwords.json')",
    `CREATE VIEW leak AS SELECT file(${S}) AS a`,
    `CREATE TABLE leak (a String DEFAULT file(${S})) ENGINE = Log`,
    `ALTER TABLE kept ADD COLUMN leak String DEFAULT file(${S})`,
    `ALTER TABLE kept UPDATE file = (SELECT content FROM filesystem(${S}) LIMIT 1) WHERE 1`,
    `INSERT INTO kept VALUES (file(${S}), '')`,
    `INSERT INTO kept VALUES ('', ''), ("fi\\x6ce"(${S}), '')`,
    `INSERT INTO kept FORMAT Values (file(${S}), '')`,
    `INSERT INTO kept SELECT file(${S}), ''`,
    `SELECT * FROM format(Values, 'a String', $$(file(${S}))$$)`,
    `SELECT * FROM format('Va' || 'lues', 'a String', concat('(fi', $$le(${S}))$$))`,
    `SELECT * FROM format(JSONEachRow, 'a String DEFAULT file(''${secret}'')', '{}')`,
    `SELECT * FROM format(JSONEachRow, (SELECT concat('a String DEFAULT fi', 'le(''${secret}'')')), '{}')`,
    `SELECT * FROM file(${S}, LineAsString)`,
    `SELECT * FROM ${S}`,
    `SELECT * FROM \`${secret}\``,
    `SELECT * FROM default.\`${secret}\``,
    `SELECT * FROM loop(file(${S}, LineAsString))`,
    `SELECT * FROM view(SELECT * FROM file(${S}, LineAsString))`,
    `SELECT * FROM view(SELECT * FROM default.\`${secret}\`)`,
    `SELECT * FROM merge('default', 'secret')`,
    `SELECT joinGet(default.\`${secret}\`, 'c1', 'x')`,
    `SELECT hasColumnInTable('default', ${S}, 'c1')`,
    `SELECT a IN default.\`${secret}\` FROM kept`,
    `DESCRIBE file(${S})`,
    `DESCRIBE default.\`${secret}\``,
    `SHOW CREATE TABLE default.\`${secret}\``,
    `EXPLAIN SELECT * FROM file(${S}, LineAsString)`,
    `CREATE TABLE leak AS default.\`${secret}\``,
    `CREATE TABLE leak ENGINE = Log AS SELECT * FROM default.\`${secret}\``,
    `CREATE TABLE leak AS file(${S}, LineAsString)`,
    `ALTER TABLE kept DELETE WHERE a IN (SELECT c1 FROM default.\`${secret}\`)`,
    `DELETE FROM kept WHERE a IN (SELECT c1 FROM default.\`${secret}\`)`,
    `SELECT * FROM kept SETTINGS additional_result_filter = 'file(\\'${secret}\\') = a'`,
    `SELECT * FROM kept SETTINGS additional_table_filters = {'kept': 'file(\\'${secret}\\') = a'}`,
    `SELECT * FROM eval($$SELECT fi$$ || $$le(${S})$$) SETTINGS allow_experimental_eval_table_function = 1`,
    `SELECT * FROM url('file://${secret}', LineAsString)`,
    `ATTACH TABLE leak FROM '${folder}/' (a String) ENGINE = MergeTree ORDER BY a`,
    `RESTORE TABLE leak FROM File(${S})`,
    "RESTORE TABLE leak FROM Disk('default', 'config')",
    "RESTORE TABLE leak FROM Disk('room', 'x')",
    `DROP TABLE IF EXISTS no PARALLEL WITH CREATE VIEW leak AS SELECT file(${S})`,
    `SELECT 1; SELECT file(${S})`,
  ],
  'writes a file': [
    `SELECT 1 INTO OUTFILE ${W}`,
    `select 1 into/* */outfile $$${written}$$ truncate format CSV`,
    `EXPLAIN SELECT 1 INTO OUTFILE ${W}`,
    `SHOW TABLES INTO OUTFILE ${W}`,
    `INSERT INTO FUNCTION file(${W}, CSV, 'a Int8') SELECT 1`,
    `INSERT INTO TABLE FUNCTION file(${W}, CSV, 'a Int8') VALUES (1)`,
    `INSERT INTO default.\`${written}\` VALUES ('a')`,
    `SELECT * FROM sqlite(${W}, 't')`,
    `CREATE TABLE leak (a String) ENGINE = MergeTree ORDER BY a SETTINGS disk = disk(type = cache, disk = default, path = '${written}/', max_size = 1000000)`,
  ],
  'asks another server': [
    `SELECT * FROM hudi('${away}')`,
    `SELECT * FROM fileCluster('default', ${S}, LineAsString)`,
    `SELECT * FROM urlCluster('default', '${away}', LineAsString)`,
    `SELECT * FROM cluster('default', system.one)`,
    `CREATE DICTIONARY leak ON CLUSTER x (a UInt64) PRIMARY KEY a SOURCE(HTTP(url '${away}' format 'CSV')) LAYOUT(FLAT()) LIFETIME(0)`,
    `RESTORE TABLE leak FROM S3('${away}', 'a', 'b')`,
    `SELECT * FROM default.\`${away}\``,
    `SELECT * FROM default.\`s3://bucket/x.csv\``,
    `CREATE TABLE leak (a String) ENGINE = MergeTree ORDER BY a SETTINGS disk = disk(type = web, endpoint = '${away}/')`,
    `ALTER TABLE kept MODIFY SETTING disk = disk(type = s3, endpoint = '${away}/', access_key_id = 'a', secret_access_key = 'b')`,
  ],
  'runs a program': [`SELECT * FROM executable('cat', CSV, 'a String')`, "SELECT catboostEvaluate('x', 1)"],
} as const

/** Statements that need a right which none of the users has. */
const WITHOUT_RIGHT = [
  // Engines and sources.
  `CREATE TABLE leak (a String) ENGINE = File(LineAsString, ${S})`,
  `CREATE TEMPORARY TABLE leak (a String) ENGINE = File(LineAsString, ${S})`,
  `CREATE TABLE leak (a String) ENGINE \`Fi\\x6ce\`(LineAsString, ${S})`,
  `CREATE TABLE leak (a String) ENGINE = Buffer('default', ${S}, 1, 10, 100, 10000, 1000000, 10000000, 100000000)`,
  `CREATE TABLE leak (a String) ENGINE = Merge('default', '.*')`,
  `CREATE TABLE leak (a String) ENGINE = Alias('default', 'x')`,
  `CREATE TABLE leak (a String) ENGINE = Dictionary('x')`,
  `CREATE TABLE leak (a String) ENGINE = EmbeddedRocksDB(0, ${W}) PRIMARY KEY a`,
  `CREATE TABLE leak (a String) ENGINE = SQLite(${W}, 't')`,
  `CREATE TABLE leak (a String) ENGINE = URL('${away}', LineAsString)`,
  `CREATE TABLE leak (a String) ENGINE = S3('${away}', NOSIGN, CSV)`,
  `CREATE TABLE leak (a UInt8) ENGINE = Distributed('default', 'system', 'one')`,
  `CREATE TABLE leak (a String) ENGINE = Executable('cat', CSV)`,
  `CREATE TABLE leak (a String) ENGINE = ExecutablePool('cat', CSV)`,
  `CREATE TABLE leak (a String) ENGINE = Kafka('127.0.0.1:1', 'a', 'b', 'CSV')`,
  `ATTACH TABLE leak (a String) ENGINE = File(LineAsString, ${S})`,
  `SELECT * FROM filesystem('${folder}')`,
  `SELECT * FROM url('${away}', LineAsString)`,
  `INSERT INTO FUNCTION url('${away}', CSV, 'a Int8') SELECT 1`,
  `ALTER TABLE kept UPDATE file = (SELECT a FROM url('${away}', LineAsString, 'a String') LIMIT 1) WHERE 1`,
  `SELECT * FROM s3('${away}', NOSIGN, LineAsString)`,
  `SELECT * FROM azureBlobStorage(${AZURE}, 'c', 'x')`,
  `SELECT * FROM hdfs('hdfs://127.0.0.1:1/x', CSV)`,
  `SELECT * FROM icebergLocal('${folder}/')`,
  `SELECT * FROM deltaLakeLocal('${folder}/')`,
  `SELECT * FROM remote('127.0.0.1:${port}', system.one)`,
  `SELECT * FROM remoteSecure('127.0.0.1:${port}', system.one)`,
  `SELECT * FROM mysql('127.0.0.1:${port}', 'a', 'b', 'c', 'd')`,
  `SELECT * FROM postgresql('127.0.0.1:${port}', 'a', 'b', 'c', 'd')`,
  `SELECT * FROM mongodb('127.0.0.1:${port}', 'a', 'b', 'c', 'd', 'a String')`,
  `SELECT * FROM redis('127.0.0.1:${port}', 'a', 'a String')`,
  `SELECT * FROM odbc('x', 'y', 'z')`,
  `CREATE VIEW leak SQL SECURITY NONE AS SELECT * FROM kept`,
  'CREATE VIEW leak DEFINER = default SQL SECURITY DEFINER AS SELECT 1',
  // Databases, functions, dictionaries, collections.
  `CREATE DATABASE leak ENGINE = Filesystem('${folder}')`,
  `CREATE DATABASE leak ENGINE = SQLite(${W})`,
  `CREATE DATABASE leak ENGINE = S3('${away}', 'NOSIGN')`,
  `CREATE DATABASE leak ENGINE = Backup('ipid', S3('${away}', 'a', 'b'))`,
  `CREATE DATABASE leak ENGINE = MySQL('127.0.0.1:${port}', 'a', 'b', 'c')`,
  'CREATE FUNCTION leak AS x -> file(x)',
  DICTIONARY.replace('LAYOUT', `SOURCE(HTTP(url '${away}' format 'CSV')) LAYOUT`),
  DICTIONARY.replace('LAYOUT', `SOURCE(FILE(path ${S} format 'CSV')) LAYOUT`),
  DICTIONARY.replace('LAYOUT', `SOURCE(EXECUTABLE(command 'touch ${written}' format 'CSV')) LAYOUT`),
  DICTIONARY.replace('LAYOUT', "SOURCE(CLICKHOUSE(table 'events' db 'ipid')) LAYOUT"),
  `CREATE NAMED COLLECTION leak AS url = '${away}'`,
  // Backups.
  `BACKUP TABLE kept TO File(${W})`,
  "BACKUP TABLE kept TO Memory('x')",
  'BACKUP TABLE kept TO Null',
  // Users and rights.
  'GRANT ALL ON *.* TO default',
  "CREATE USER leak IDENTIFIED BY ''",
  "ALTER USER analyst IDENTIFIED BY 'x'",
  'DROP USER analyst',
  'CREATE ROLE leak',
  'CREATE ROW POLICY leak ON ipid.events USING 1',
  'CREATE QUOTA leak',
  'CREATE SETTINGS PROFILE leak',
  'SHOW CREATE USER default',
  `SHOW CREATE USER \`${EMBEDDED_USER}\``,
  // The server.
  'SYSTEM SHUTDOWN',
  'SYSTEM KILL',
  'SYSTEM STOP MERGES kept',
  'SYSTEM STOP MERGES ipid.events',
  'SYSTEM STOP TTL MERGES ipid.events',
  'SYSTEM STOP LISTEN HTTP',
  'SYSTEM START LISTEN TCP',
  'SYSTEM RELOAD DICTIONARIES',
  'SYSTEM CLEAR MARK CACHE',
  'SYSTEM RESTART DISK room',
  'SYSTEM ENABLE FAILPOINT x',
  'SYSTEM JEMALLOC PURGE',
  'SELECT demangle(toString(1))',
  'SELECT addressToLine(1)',
]

/** Refused to analysts only. */
const NOT_FOR_ANALYSTS = [
  "INSERT INTO ipid.events (ip) VALUES ('')",
  "INSERT INTO ipid.events (ip) SELECT ''",
  'ALTER TABLE ipid.events DELETE WHERE 1',
  'ALTER TABLE ipid.events DROP PARTITION ID $$x$$',
  'DELETE FROM ipid.events WHERE 1',
  "UPDATE ipid.events SET ip = '' WHERE 1",
  'TRUNCATE TABLE ipid.events',
  'TRUNCATE DATABASE ipid',
  'OPTIMIZE TABLE ipid.events FINAL',
  'DROP TABLE ipid.events',
  'DROP VIEW ipid.accounts',
  'DETACH TABLE ipid.events',
  'RENAME TABLE ipid.events TO workspace.leak',
  'EXCHANGE TABLES kept AND ipid.events',
  'ALTER TABLE kept MOVE PARTITION tuple() TO TABLE ipid.events',
  'ALTER TABLE kept FREEZE',
  'CREATE TABLE ipid.leak (a UInt8) ENGINE = Null',
  'CREATE TABLE default.leak (a UInt8) ENGINE = Null',
  'CREATE TABLE system.leak (a UInt8) ENGINE = Null',
  'CREATE MATERIALIZED VIEW leak TO ipid.events AS SELECT * FROM ipid.events',
  `CREATE VIEW leak DEFINER = \`${EMBEDDED_USER}\` SQL SECURITY DEFINER AS SELECT 1`,
  'CREATE DATABASE leak',
  'DROP DATABASE workspace',
  'RENAME DATABASE workspace TO leak',
  'CREATE TABLE leak (a UInt8) ENGINE = Memory',
  'CREATE TABLE leak (a UInt8) ENGINE = Join(ANY, LEFT, a)',
  'SYSTEM FLUSH LOGS',
  'KILL MUTATION WHERE 1',
]

/** Settings that name files or servers, or lift a limit. */
const FIXED: readonly (readonly [name: string, value: string])[] = [
  ['format_template_row', secret],
  ['format_template_resultset', secret],
  ['format_schema', `${secret}:a`],
  ['output_format_schema', written],
  ['format_avro_schema_registry_url', away],
  ['input_format_record_errors_file_path', written],
  ['max_memory_usage', '1000000000000'],
  ['max_memory_usage', '0'],
  ['max_concurrent_queries_for_user', '0'],
  ['backup_restore_s3_retry_attempts', '1000'],
  ['max_memory_usage_for_user', '0'],
  ['max_parser_depth', '100000'],
  ['max_parser_backtracks', '1000000000'],
  ['max_ast_depth', '100000'],
]

/** Nothing that `run` does may read the secret, write a file or ask a server. */
async function reachingNothing(run: () => Promise<void>): Promise<void> {
  const before = readdirSync(folder)
  calls = 0
  await run()
  assert.deepEqual(readdirSync(folder), before)
  assert.equal(calls, 0)
  assert.equal(await own('SELECT * FROM kept'), 'x\ty\n')
  assert.deepEqual(await rows("SELECT database, name FROM system.tables WHERE name = 'leak'"), [])
}

for (const [who, address] of USERS) {
  for (const [what, statements] of Object.entries(REACHING)) {
    test(`no statement of ${who} ${what}`, () =>
      reachingNothing(async () => {
        for (const sql of statements) {
          const { status, text } = await post(address, sql)
          assert.notEqual(status, 200, `${sql}: ${text}`)
          assert.ok(!text.includes(SECRET), `${sql}: ${text}`)
          assert.ok(!existsSync(written), sql)
        }
      }))
  }

  test(`${who} has no right to sources, users, functions, backups and the server`, () =>
    reachingNothing(async () => {
      for (const sql of WITHOUT_RIGHT) assert.equal(await errorOf(sql, {}, address), ACCESS_DENIED, sql)
    }))
}

test('a view with columns of its own is made without rights, and reads nothing', () =>
  reachingNothing(async () => {
    for (const source of [
      `SELECT c1 FROM default.\`${secret}\``,
      `SELECT c1 FROM file(${S}, CSV, 'c1 String')`,
      `SELECT c1 FROM url('${away}', CSV, 'c1 String')`,
      `SELECT c1 FROM remote('127.0.0.1:${port}', system.one)`,
      `SELECT c1 FROM executable('cat', CSV, 'c1 String')`,
    ]) {
      await errorOf(`CREATE VIEW leak (c1 String) AS ${source}`)
      for (const [, address] of USERS) {
        for (const sql of ['SELECT * FROM leak', "INSERT INTO kept SELECT c1, '' FROM leak"]) {
          const { status, text } = await post(address, sql)
          assert.notEqual(status, 200, `${source}: ${text}`)
          assert.ok(!text.includes(SECRET), source)
        }
      }
      await own('DROP TABLE IF EXISTS leak SYNC')
    }
  }))

test('an analyst changes nothing of ipid, and no database', async () => {
  // Only a mutation that exists can be killed.
  await own('ALTER TABLE ipid.events MATERIALIZE INDEX event_ids')
  for (const sql of NOT_FOR_ANALYSTS) assert.equal(await errorOf(sql), ACCESS_DENIED, sql)
})

test('no user can change a setting that names a file or a server', () =>
  reachingNothing(async () => {
    for (const [name, value] of FIXED) {
      assert.equal(await errorOf('SELECT 1', { [name]: value }), FIXED_SETTING, `${name} in the URL`)
      const clause = `SELECT 1 SETTINGS ${name} = '${value}'`
      assert.equal(await errorOf(clause), FIXED_SETTING, clause)
      assert.equal(await errorOf(`SET ${name} = '${value}'`, { session_id: 'fixed' }), FIXED_SETTING, `SET ${name}`)
      assert.equal(await errorOf(`CREATE VIEW leak AS ${clause}`), FIXED_SETTING, `${name} in a view`)
    }
    for (const [name, value] of [
      ['disk', 'room'],
      ['storage_policy', 'x'],
    ]) {
      const table = `CREATE TABLE leak (a String) ENGINE = MergeTree ORDER BY a SETTINGS ${name} = '${value}'`
      for (const [, address] of USERS) assert.equal(await errorOf(table, {}, address), FIXED_SETTING, table)
    }
  }))

test('an analyst reads every table, and has tables and views in the workspace', async () => {
  assert.equal(await analyst('SELECT count() FROM ipid.events'), '0\n')
  await analyst('CREATE TABLE mine (a UInt32, b String) ENGINE = ReplacingMergeTree ORDER BY a')
  await analyst("INSERT INTO mine VALUES (1, 'one'), (2, 'two')")
  await analyst('INSERT INTO mine FORMAT TSV\n3\tthree\n')
  await analyst("INSERT INTO mine SELECT 4, 'four'")
  await analyst('CREATE TABLE copy ENGINE = MergeTree ORDER BY a AS SELECT * FROM mine')
  await analyst('CREATE VIEW sight AS SELECT a FROM mine WHERE a > 2')
  await analyst('CREATE MATERIALIZED VIEW sums ENGINE = SummingMergeTree ORDER BY b AS SELECT b, a FROM mine')
  await analyst('ALTER TABLE mine ADD COLUMN c UInt8 DEFAULT 7')
  await analyst("ALTER TABLE mine UPDATE b = 'x' WHERE a = 1", { mutations_sync: '1' })
  await analyst('DELETE FROM mine WHERE a = 2')
  await analyst('OPTIMIZE TABLE mine FINAL')
  assert.equal(await analyst('SELECT * FROM mine ORDER BY a'), '1\tx\t7\n3\tthree\t7\n4\tfour\t7\n')
  assert.equal(await analyst('SELECT sum(a) FROM copy'), '10\n')
  assert.equal(await analyst('SELECT * FROM sight ORDER BY a'), '3\n4\n')
  await analyst('RENAME TABLE mine TO yours')
  await analyst('TRUNCATE TABLE yours')
  await analyst('CREATE TEMPORARY TABLE passing (a UInt8)', { session_id: 'temporary' })
  for (const name of ['sums', 'sight', 'copy', 'yours']) await analyst(`DROP TABLE ${name} SYNC`)
  assert.equal(await own('SHOW TABLES FROM workspace'), 'kept\n')
})

/** A statement that runs until it is ended, without using a core. */
const ENDLESS = 'SELECT sleepEachRow(1) FROM system.numbers SETTINGS max_block_size = 1'
const endless = async () =>
  (
    await rows<{ n: number }>(
      "SELECT count() AS n FROM system.processes WHERE user = 'analyst' AND query ILIKE '%sleepEachRow%'",
    )
  )[0]!.n
const endAll = () => own("KILL QUERY WHERE user = 'analyst' SYNC")

test("an analyst neither sees nor ends another user's statement", async (t) => {
  const running = own(`${ENDLESS}, log_comment = 'of ipid'`).catch(() => 'ended')
  t.after(() => own("KILL QUERY WHERE query LIKE 'SELECT sleepEachRow%' SYNC"))
  const seen = () =>
    rows<{ n: number }>("SELECT count() AS n FROM system.processes WHERE query LIKE 'SELECT sleepEachRow%'")
  await until(async () => (await seen())[0]!.n === 1)
  assert.equal(await analyst('SELECT DISTINCT user FROM system.processes'), 'analyst\n')
  await errorOf("KILL QUERY WHERE user != 'analyst' SYNC")
  await errorOf("KILL QUERY WHERE query LIKE 'SELECT%' ASYNC")
  assert.equal((await seen())[0]!.n, 1)
  await own("KILL QUERY WHERE query LIKE 'SELECT sleepEachRow%' SYNC")
  assert.equal(await running, 'ended')
})

test('no request becomes the user of the program itself', async () => {
  const sql = 'SELECT currentUser()'
  const query = `query=${encodeURIComponent(sql)}`
  const { headers } = partsOf(analystUrl)
  const basic = { authorization: `Basic ${Buffer.from(`analyst:${new URL(analystUrl).password}`).toString('base64')}` }
  const form = (boundary: string, fields: Record<string, string>) =>
    `${Object.entries(fields)
      .map(([name, value]) => `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`)
      .join('')}--${boundary}--\r\n`
  const multipart = { 'content-type': 'multipart/form-data; boundary=b' }
  const fields = form('b', { user: 'default', password: '', query: sql })
  const paths = [
    '/',
    '/?user=default',
    '/?user=default&password=',
    '/?%75ser=default&%70assword=',
    '/?user=default&quota_key=a',
  ]
  paths.push('/?user=default&session_id=a', '/?user=default&max_sessions_for_user=0', '/?user=default&profile=own')
  const requests: (readonly [path: string, headers: Record<string, string>, body?: string])[] = [
    ...paths.flatMap((path) => [{}, basic, headers].map((extra) => [path, extra, sql] as const)),
    ...paths.map((path) => [`${path}${path.includes('?') ? '&' : '?'}${query}`, basic] as const),
    ['/', { 'X-ClickHouse-User': 'default' }, sql],
    ['/', { ...basic, 'X-ClickHouse-User': 'default' }, sql],
    ['/', { authorization: `Basic ${Buffer.from('default:').toString('base64')}` }, sql],
    ['/', multipart, fields],
    ['/', { ...basic, ...multipart }, fields],
    ['/?user=default', { ...basic, ...multipart }, fields],
    ['/', { 'X-ClickHouse-User': 'default', 'X-ClickHouse-SSL-Certificate-Auth': 'on' }, sql],
  ]
  for (const [path, extra, body] of requests) {
    const { status, text } = await sendRaw(port, path, extra, body)
    assert.ok(text === 'analyst\n' || status >= 400, `${path} ${JSON.stringify(extra)}: ${status} ${text}`)
  }
  assert.notEqual(await errorOf('EXECUTE AS default SELECT 1'), undefined)
})

test('the terminal for browsers is closed, however the request names its origin', async () => {
  for (const origin of [`http://127.0.0.1:${port}`, 'http://127.0.0.1:\xff', undefined]) {
    const extra = { host: '127.0.0.1:\xff', upgrade: 'websocket', connection: 'Upgrade', 'sec-websocket-version': '13' }
    const key = { 'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==', ...(origin && { origin }) }
    const { status } = await sendRaw(port, '/webterminal', { ...extra, ...key })
    assert.ok(status >= 400, `${origin}: ${status}`)
  }
})

test('seventeen statements of an analyst: one is refused, and ipid inserts', async () => {
  const running = Array.from({ length: 16 }, () => errorOf(ENDLESS))
  await until(async () => (await endless()) === 16)
  assert.equal(await errorOf('SELECT 1'), 202)
  await runSql(url, "INSERT INTO outcomes (tenant_id) VALUES ('seventeen')")
  assert.equal(await runSql(url, "SELECT count() FROM outcomes WHERE tenant_id = 'seventeen'"), '1\n')
  await endAll()
  await Promise.all(running)
})

test('a read by POST ends when its client leaves', async () => {
  const leaving = new AbortController()
  const { signal } = leaving
  const request = fetchClickHouse(analystUrl, {}, { body: `${ENDLESS} FORMAT Null`, signal }).catch(() => 'left')
  await until(async () => (await endless()) === 1)
  leaving.abort()
  assert.equal(await request, 'left')
  await until(
    async () => (await endless()) === 0,
    (ended) => ended,
    20_000,
  )
})

test("an analyst's materialized view that throws stops no insert of ipid", async () => {
  await analyst("CREATE MATERIALIZED VIEW thrower ENGINE = Log AS SELECT throwIf(1, 'no') AS a FROM ipid.outcomes")
  await runSql(url, "INSERT INTO outcomes (tenant_id) VALUES ('thrown')")
  assert.equal(await runSql(url, "SELECT count() FROM outcomes WHERE tenant_id = 'thrown'"), '1\n')
  await analyst('DROP TABLE thrower SYNC')
})

test('the server starts with every definition that it has accepted', async () => {
  const nested = (depth: number) => `${'('.repeat(depth)}1${'+1)'.repeat(depth)}`
  const made: string[] = []
  for (const depth of [100, 150, 190, 200, 240, 500]) {
    const name = `nested${depth}`
    if ((await errorOf(`CREATE VIEW ${name} AS SELECT ${nested(depth)} AS a`)) === undefined) made.push(name)
  }
  assert.ok(made.length >= 2, 'some are deep enough')
  await analyst(
    'CREATE TABLE expired (a DateTime) ENGINE = MergeTree ORDER BY a TTL a + INTERVAL 1 DAY DELETE WHERE throwIf(1) = 0',
  )
  await analyst('CREATE TABLE thrown (a UInt8, b UInt8 DEFAULT throwIf(1)) ENGINE = MergeTree ORDER BY a')
  await analyst('CREATE VIEW gone (a UInt8) AS SELECT a FROM workspace.never')
  await analyst('CREATE TABLE `../../up` (a UInt8) ENGINE = TinyLog')
  const [events] = await rows<{ uuid: string }>(
    "SELECT uuid FROM system.tables WHERE database = 'ipid' AND name = 'events'",
  )
  // It fails, and ClickHouse keeps its definition.
  await errorOf(`ATTACH TABLE twin UUID '${events!.uuid}' (a UInt8) ENGINE = MergeTree ORDER BY a`)
  const [tables] = await rows<{ path: string }>(
    "SELECT metadata_path AS path FROM system.databases WHERE name = 'ipid'",
  )
  const errors = `input_format_record_errors_file_path = '${tables!.path}stray.sql', errors_output_format = 'CSV'`
  const bad = `SELECT * FROM format(JSONEachRow, 'a String', '{"a": }\\n{"a": "1"}') SETTINGS ${errors}`
  await errorOf(`SELECT * FROM (${bad}, input_format_allow_errors_num = 5)`)
  await errorOf(`SELECT * FROM (${bad.replace('stray.sql', 'stray.other')}, input_format_allow_errors_num = 5)`)
  await server.restart()
  assert.equal(await runSql(url, 'SELECT count() FROM events'), '0\n')
  for (const name of [...made, 'expired', 'thrown', 'gone', '`../../up`']) await analyst(`DROP TABLE ${name} SYNC`)
})

test('the wall confines functions without rights to the data folder', async (t) => {
  const walled = await startTestClickHouse(t)
  if (!walled.walled) return t.skip('no Landlock')
  // The scalar function `file()` fails without the wall too, because its working folder is gone.
  await runSql(walled.analystUrl, 'CREATE TABLE lines (a String) ENGINE = Log', { database: 'workspace' })
  const read = `INSERT INTO lines FROM INFILE ${S} FORMAT LineAsString`
  const { status, text } = await post(walled.analystUrl, read)
  assert.ok(status !== 200 && !text.includes(SECRET), text)
  assert.equal(await runSql(walled.analystUrl, 'SELECT count() FROM lines', { database: 'workspace' }), '0\n')
  const disk = `disk(type = local, path = '${written}/')`
  const table = `CREATE TABLE leak (a String) ENGINE = MergeTree ORDER BY a SETTINGS disk = ${disk}`
  assert.notEqual((await post(walled.analystUrl, table)).status, 200)
  const backup = await post(walled.analystUrl, `RESTORE TABLE leak FROM AzureBlobStorage(${AZURE}, 'c', 'x')`)
  assert.notEqual(backup.status, 200)
  assert.ok(!existsSync(written))
  assert.equal(calls, 0)
})
