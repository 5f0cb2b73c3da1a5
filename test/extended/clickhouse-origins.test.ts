import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTestClickHouse } from '../support/clickhouse.ts'
import { fetchClickHouse, partsOf, runSql } from '../support/fetch-clickhouse.ts'
import { sendRaw } from '../support/raw-request.ts'

/* Which programs and pages the embedded ClickHouse answers, with the analyst's password. */

const { analystUrl } = await startTestClickHouse()
const { username, password, port: portText } = new URL(analystUrl)
const port = Number(portText)
const OWN = `127.0.0.1:${port}`
const { headers: NAMED } = partsOf(analystUrl)
const BASIC = { Authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}` }
const READ = '/?query=SELECT+42'

const EVIL = { Origin: 'https://evil.example' }

test('no page of another origin gets an answer, even when the browser keeps the password', async () => {
  const pages: Record<string, string>[] = [
    EVIL,
    { Origin: 'null' },
    { Origin: 'http://localhost:3000' },
    { Origin: `https://${OWN}` },
    { Origin: `http://${OWN}.evil.example` },
    { Origin: `http://${OWN}@evil.example` },
    { 'Sec-Fetch-Site': 'cross-site' },
    { 'Sec-Fetch-Site': 'same-site', Origin: `http://${OWN}` },
    { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'navigate', 'Sec-Fetch-Dest': 'document' },
    { Host: `rebound.example:${port}`, Origin: `http://rebound.example:${port}`, 'Sec-Fetch-Site': 'same-origin' },
  ]
  for (const headers of pages) {
    for (const path of [READ, '/', '/query', '/ping', '/play', `${READ}&add_http_cors_header=1&session_id=page`]) {
      for (const method of ['GET', 'POST', 'PUT', 'OPTIONS']) {
        const reply = await sendRaw(port, path, { ...BASIC, ...headers }, 'SELECT 42', method)
        assert.equal(reply.status, 403, `${method} ${path} ${JSON.stringify(headers)}`)
        assert.doesNotMatch(reply.text, /42/)
        assert.equal(reply.headers['access-control-allow-origin'], undefined)
      }
    }
  }
})

test('a host name that resolves to this machine has no password, and so no data', async () => {
  for (const path of [READ, `${READ}&user=${username}`, `${READ}&user=default`]) {
    const reply = await sendRaw(port, path, { Host: `rebound.example:${port}`, 'Sec-Fetch-Site': 'same-origin' })
    assert.notEqual(reply.status, 200, path)
    assert.match(reply.text, /^Code: (?:516|700)\./)
  }
})

test('its own pages, typed addresses and programs get an answer', async () => {
  const programs: Record<string, string>[] = [
    { 'User-Agent': 'curl/8.5.0', Accept: '*/*' },
    { 'Sec-Fetch-Site': 'none', 'Sec-Fetch-Mode': 'navigate' },
    { 'Sec-Fetch-Site': 'same-origin', Origin: `http://${OWN}` },
    { Host: `localhost:${port}`, Origin: `http://localhost:${port}`, 'Sec-Fetch-Site': 'same-origin' },
  ]
  for (const headers of programs) {
    const reply = await sendRaw(port, READ, { ...BASIC, ...headers })
    assert.equal(reply.text, '42\n', JSON.stringify(headers))
  }
  // Without a query, for checks of its health.
  for (const path of ['/', '/ping']) assert.equal((await sendRaw(port, path)).text, 'Ok.\n')
})

test('/play is its only page, and may ask no other server', async () => {
  const page = await sendRaw(port, '/play?run=1&url=https://evil.example')
  assert.ok(page.text.includes('<title>ClickHouse Query</title>'))
  const policy = String(page.headers['content-security-policy'])
  assert.match(policy, /default-src 'none'.*connect-src 'self' data:;.*frame-ancestors 'none'/)
  for (const path of ['/play/x', '/dashboard', '/binary', '/merges', '/jemalloc', '/webterminal', '/js/uplot.js']) {
    assert.equal((await sendRaw(port, path, BASIC)).status, 404, path)
  }
})

const SETTINGS = { max_execution_time: '60', max_result_rows: '0', result_overflow_mode: 'throw' }

/** A request with the analyst's password where the client puts it; its answer as text. */
async function ask(headers: Record<string, string>, params: Record<string, string>, sql?: string): Promise<string> {
  const reply = await sendRaw(port, `/?${new URLSearchParams(params)}`, headers, sql)
  assert.equal(reply.status, 200, reply.text)
  return reply.text
}

test('Grafana is answered', async () => {
  const headers = { 'User-Agent': 'Grafana/11', ...NAMED }
  const sql = 'SELECT count() AS n FROM events FORMAT JSON'
  const posted = await ask(headers, { database: 'ipid', default_format: 'JSON', ...SETTINGS }, sql)
  assert.equal(JSON.parse(posted).data[0].n, 0)
  assert.equal(JSON.parse(await ask(BASIC, { query: 'SELECT 1 FORMAT JSON', ...SETTINGS })).rows, 1)
})

test('Metabase and DBeaver are answered, through JDBC', async () => {
  const headers = { 'User-Agent': 'jdbc-v2/0.9.0', ...BASIC }
  const first = `select currentUser() as user, timezone() as timezone, version() as version,
    toInt8(ifnull((select value from system.settings where name = 'readonly'), '0')) as readonly
    FORMAT RowBinaryWithNamesAndTypes`
  assert.match(await ask(headers, { compress: '0' }, first), /analyst.*UTC.*26\./s)
  const binary = { default_format: 'RowBinaryWithNamesAndTypes', query_id: 'a-b', max_result_rows: '2000' }
  const tables = "SELECT name, engine FROM system.databases WHERE name = 'ipid'"
  assert.match(
    await ask(headers, { database: 'ipid', ...binary, result_overflow_mode: 'break' }, tables),
    /ipid.*Atomic/s,
  )
  const session = { session_id: 'jdbc', session_timeout: '30' }
  await ask(headers, session, 'CREATE TEMPORARY TABLE held AS SELECT 1 AS one')
  const format = { 'X-ClickHouse-Format': 'TabSeparatedWithNames' }
  assert.equal(await ask({ ...headers, ...format }, session, 'SELECT one FROM held'), 'one\n1\n')
  // Frames of compressed Native, which JDBC asks for and sends by default.
  const answer = await fetchClickHouse(
    analystUrl,
    { compress: '1' },
    { body: 'SELECT number AS a FROM numbers(1000) FORMAT Native' },
  )
  const frames = Buffer.from(await answer.arrayBuffer())
  assert.deepEqual(
    [frames[16], frames.readUInt32LE(17)],
    [0x82, frames.length - 16],
    'one frame of LZ4 after its checksum',
  )
  await runSql(analystUrl, 'CREATE TABLE workspace.framed (a UInt64) ENGINE = MergeTree ORDER BY a')
  const insert = { query: 'INSERT INTO workspace.framed FORMAT Native', decompress: '1' }
  assert.equal((await fetchClickHouse(analystUrl, insert, { body: frames })).status, 200)
  assert.equal(await runSql(analystUrl, 'SELECT count(), sum(a) FROM workspace.framed'), '1000\t499500\n')
})

test('clickhouse-connect is answered: one session, protocol versions, Native', async () => {
  const session = { session_id: '2b6f2c4e-8a5e-4f0c-9a58-2d7f3f6f0f01', client_protocol_version: '54405' }
  const headers = { 'User-Agent': 'clickhouse-connect/0.8.18', 'Content-Type': 'text/plain; charset=utf-8', ...BASIC }
  const python = (sql: string, params: Record<string, string> = {}) =>
    ask(headers, { ...session, database: 'ipid', ...params }, sql)
  assert.match(await python('SELECT version(), timezone()'), /^26\.\d+.*\t.*UTC\n$/)
  await python('SELECT name, value, readonly as readonly FROM system.settings LIMIT 10000\nFORMAT Native')
  const named = {
    enable_http_compression: '1',
    query_id: 'from-python',
    wait_end_of_query: '1',
    session_timeout: '120',
  }
  assert.match(await python('SELECT count() AS n FROM events\n FORMAT Native', named), /n.*UInt64/s)
  await python('CREATE TEMPORARY TABLE mine (a UInt8)')
  await python('INSERT INTO mine VALUES (7)')
  assert.equal(await python('SELECT a FROM mine'), '7\n')
})

test('an address with user and password in its query is answered', async () => {
  assert.equal(await ask({}, { user: username, password, query: 'SELECT currentUser()' }), 'analyst\n')
})
