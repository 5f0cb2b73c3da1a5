import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { EMBEDDED_USER } from '../../src/stores/clickhouse/failed-writes.ts'
import { startTestClickHouse } from '../support/clickhouse.ts'
import { fetchClickHouse, partsOf, runSql } from '../support/fetch-clickhouse.ts'
import { takePort } from '../support/ports.ts'
import { sendRaw } from '../support/raw-request.ts'
import { until } from '../support/until.ts'

/*
 * What the users of the embedded ClickHouse may do. ClickHouse itself refuses: this server has no wall, as on a kernel without
 * Landlock. Two statements are left to the wall, see the end.
 */

const tcpPort = takePort()
const { url, analystUrl, rows } = await startTestClickHouse(undefined, { wall: false, tcpPort })
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
    `CREATE TABLE leak (a String DEFAULT file(${S})) ENGINE = Memory`,
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
    `CREATE TABLE leak ENGINE = Memory AS SELECT * FROM default.\`${secret}\``,
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

/** What only analysts are refused. */
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
  ['max_memory_usage', '1000000000000'],
  ['max_memory_usage', '0'],
  ['max_concurrent_queries_for_user', '0'],
  ['max_sessions_for_user', '0'],
  ['add_http_cors_header', '1'],
  ['allow_introspection_functions', '1'],
  ['backup_restore_s3_retry_attempts', '1000'],
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
  for (const sql of NOT_FOR_ANALYSTS) assert.equal(await errorOf(sql), ACCESS_DENIED, sql)
})

test('no user can change a setting that names a file or a server', () =>
  reachingNothing(async () => {
    for (const [name, value] of FIXED) {
      assert.equal(await errorOf('SELECT 1', { [name]: value }), FIXED_SETTING, `${name} in the URL`)
      const clause = `SELECT 1 SETTINGS ${name} = '${value}'`
      assert.equal(await errorOf(clause), FIXED_SETTING, clause)
      assert.equal(await errorOf(`SELECT * FROM (${clause})`), FIXED_SETTING, `${name} in a subquery`)
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
