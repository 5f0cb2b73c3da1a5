import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createClient } from '@clickhouse/client'
import { startTestClickHouse } from '../support/clickhouse.ts'
import { sendRaw } from '../support/raw-request.ts'

/* The embedded ClickHouse answers programs and its own page, and no web page. */

const { url } = await startTestClickHouse()
const port = Number(new URL(url).port)
const send = (path: string, headers?: Record<string, string>, body?: string, method?: string) =>
  sendRaw(port, path, headers, body, method)

const READ = '/?query=SELECT+42'
const OWN = `127.0.0.1:${port}`

test('no web page gets an answer', async () => {
  const pages: Record<string, string>[] = [
    { Origin: 'https://evil.example' },
    { Origin: 'null' },
    { Origin: 'http://localhost:3000' },
    { Origin: `https://${OWN}` },
    { Origin: `http://${OWN}.evil.example` },
    { Origin: `http://localhost:${port}`, Host: OWN },
    { 'Sec-Fetch-Site': 'cross-site' },
    { 'Sec-Fetch-Site': 'same-site' },
    { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'navigate', 'Sec-Fetch-Dest': 'document' },
    { Host: 'evil.example' },
    { Host: `evil.example:${port}` },
    {
      Host: `127.0.0.1.evil.example:${port}`,
      Origin: `http://127.0.0.1.evil.example:${port}`,
      'Sec-Fetch-Site': 'same-origin',
    },
  ]
  for (const headers of pages) {
    for (const path of [READ, '/ping', '/', '/play', `${READ}&session_id=page`]) {
      for (const body of [undefined, 'SELECT 42']) {
        const reply = await send(path, headers, body)
        assert.equal(reply.status, 403, JSON.stringify(headers))
        assert.equal(reply.headers['x-clickhouse-exception-code'], '516')
        assert.equal(reply.headers['access-control-allow-origin'], undefined)
      }
    }
  }
  const preflight = await send(
    '/',
    { Origin: 'https://evil.example', 'Access-Control-Request-Method': 'POST' },
    '',
    'OPTIONS',
  )
  assert.equal(preflight.status, 403)
  const asked = await send(`${READ}&add_http_cors_header=1`, { Origin: 'https://evil.example' })
  assert.equal(asked.headers['access-control-allow-origin'], undefined)
})

test('its own pages, typed addresses and programs get an answer', async () => {
  const programs: Record<string, string>[] = [
    { 'User-Agent': 'curl/8.5.0', Accept: '*/*' },
    { 'Sec-Fetch-Site': 'none', 'Sec-Fetch-Mode': 'navigate' },
    { 'Sec-Fetch-Site': 'same-origin', Origin: `http://${OWN}` },
    { Host: `localhost:${port}`, Origin: `http://localhost:${port}`, 'Sec-Fetch-Site': 'same-origin' },
    { Host: 'localhost' },
    { Host: '[::1]:8123' },
  ]
  for (const headers of programs) assert.equal((await send(READ, headers)).text, '42\n', JSON.stringify(headers))
})

test("requests as analysts' clients send them are answered", async (t) => {
  const basic = `Basic ${Buffer.from('default:').toString('base64')}`
  const settings = 'max_execution_time=60&max_result_rows=0&result_overflow_mode=throw'
  // Grafana's plugin and its proxy
  const grafana = await send(
    `/?database=ipid&default_format=JSON&${settings}`,
    { 'User-Agent': 'Grafana/11', 'X-ClickHouse-User': 'default', 'X-ClickHouse-Key': '' },
    'SELECT count() AS n FROM events FORMAT JSON',
  )
  assert.equal(JSON.parse(grafana.text).data[0].n, 0)
  const get = await send(`/?query=SELECT%201%20FORMAT%20JSON&${settings}`, { Authorization: basic })
  assert.equal(JSON.parse(get.text).rows, 1)
  // DBeaver and Metabase: JDBC
  const jdbc = await send(
    '/?database=ipid&default_format=RowBinaryWithNamesAndTypes&query_id=a-b&result_overflow_mode=break&max_result_rows=2000&compress=0',
    { Authorization: basic, 'User-Agent': 'jdbc-v2/0.9.0' },
    "SELECT name, engine FROM system.databases WHERE name = 'ipid'",
  )
  assert.match(jdbc.text, /ipid.*Atomic/s)
  // clickhouse-connect: a session from the first request on, compressed answers, statements by POST
  const session = { session_id: '2b6f2c4e-8a5e-4f0c-9a58-2d7f3f6f0f01', client_protocol_version: '54405' }
  const python = (sql: string, params: Record<string, string> = {}) =>
    send(
      `/?${new URLSearchParams({ ...session, database: 'ipid', ...params })}`,
      { 'User-Agent': 'clickhouse-connect/0.8.18', 'Content-Type': 'text/plain; charset=utf-8' },
      sql,
    )
  assert.match((await python('SELECT version(), timezone()')).text, /^26\.\d+.*\t.*UTC\n$/)
  const settings26 = 'SELECT name, value, readonly as readonly FROM system.settings LIMIT 10000\nFORMAT Native'
  assert.equal((await python(settings26)).status, 200)
  const named = {
    enable_http_compression: '1',
    query_id: 'from-python',
    wait_end_of_query: '1',
    session_timeout: '120',
  }
  assert.match((await python('SELECT count() AS n FROM events\n FORMAT Native', named)).text, /n.*UInt64/s)
  assert.equal((await python('CREATE TEMPORARY TABLE mine (a UInt8)')).status, 200)
  assert.equal((await python('INSERT INTO mine VALUES (7)')).status, 200)
  assert.equal((await python('SELECT a FROM mine')).text, '7\n')
  // JDBC: a session, the format in a header
  const format = { 'X-ClickHouse-Format': 'TabSeparatedWithNames', 'User-Agent': 'jdbc-v2/0.9.0' }
  const held = await send('/?session_id=jdbc&session_timeout=30&compress=0&decompress=0', format, 'SELECT 1 AS one')
  assert.equal(held.text, 'one\n1\n')
  // ClickHouse's own frames, which JDBC drivers ask for by default.
  const framed = await send('/?compress=1', {}, 'SELECT 1')
  assert.equal(framed.status, 200)
  assert.notEqual(framed.text, '1\n')
  // The error names the part that is not supported.
  const role = await send('/?role=reader', {}, 'SELECT 1')
  assert.deepEqual([role.status, role.headers['x-clickhouse-exception-code']], [501, '48'])
  assert.match(role.text, /role/)
  await send('/?database=ipid', {}, 'CREATE TABLE kept (a String, file String) ENGINE = MergeTree ORDER BY a')
  const client = createClient({ url, database: 'ipid', session_id: 'node' })
  t.after(() => client.close())
  await client.insert({
    table: 'kept',
    values: [{ a: 'file(1) \\ INTO OUTFILE', file: 'eval(2)' }],
    format: 'JSONEachRow',
  })
  const rows = await client.query({
    query: "SELECT kept.file AS f FROM kept WHERE a LIKE 'file%'",
    format: 'JSONEachRow',
  })
  assert.deepEqual(await rows.json(), [{ f: 'eval(2)' }])
})

test('only its own page gets a preflight answer', async () => {
  assert.equal((await send('/?query', {}, undefined, 'OPTIONS')).status, 204)
  const other = await send('/?query', { Origin: 'https://evil.example' }, undefined, 'OPTIONS')
  assert.equal(other.status, 403)
})

test("/play is the engine's page, and its URL can neither run a statement nor name a server", async () => {
  const page = await send('/play')
  assert.equal(page.status, 200)
  assert.match(page.text, /^<!DOCTYPE html>.*<title>ClickHouse Query<\/title>.*<\/html>$/s)
  const policy = String(page.headers['content-security-policy'])
  assert.match(policy, /default-src 'none'.*connect-src 'self'.*frame-ancestors 'none'/)
  for (const [search, rest] of [
    ['?run=1', ''],
    ['?database=ipid&run=1&url=https://evil.example&user=default&password=x', '?database=ipid'],
  ]) {
    const moved = await send(`/play${search}`)
    assert.deepEqual([moved.status, moved.headers.location], [302, `/play${rest}`])
  }
  assert.equal((await send('/play?database=ipid')).status, 200)
  assert.equal((await send('/play', { 'Sec-Fetch-Site': 'cross-site' })).status, 403)
})
