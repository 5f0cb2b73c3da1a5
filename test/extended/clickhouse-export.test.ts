import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { type ClientRequest, type IncomingMessage, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { pino } from 'pino'
import { residentMb } from '../../bench/support/processes.ts'
import { startEmbeddedClickHouse } from '../../src/embedded/clickhouse/start.ts'
import { atEnd } from '../support/at-end.ts'
import { startTestClickHouse, type TestClickHouse } from '../support/clickhouse.ts'
import { fetchClickHouse, partsOf, runSql } from '../support/fetch-clickhouse.ts'
import { until } from '../support/until.ts'

/* Large results, readers that do not read, and the limits of analysts. */

const server = await startTestClickHouse(undefined, { limits: { memoryBytesMax: 2 ** 30, readSecondsMax: 600 } })
const { analystUrl } = server

const call = (sql: string, params: Readonly<Record<string, string>> = {}) =>
  fetchClickHouse(analystUrl, params, { body: sql })
const text = (sql: string) => runSql(analystUrl, sql, { database: 'workspace' })

/** Checks that an answer is an exception in ClickHouse's form. */
async function refused(response: Response, status: number, code: number): Promise<void> {
  const answer = await response.text()
  assert.match(answer, new RegExp(`^Code: ${code}\\. DB::Exception: `))
  assert.deepEqual([response.status, response.headers.get('x-clickhouse-exception-code')], [status, String(code)])
}

/** Statements that run, as ipid itself sees them. */
async function running(like: string, { rows }: TestClickHouse = server): Promise<{ n: number; rowsRead: number }> {
  const [seen] = await rows<{ n: number; rowsRead: number }>(
    `SELECT count() AS n, sum(read_rows) AS rowsRead FROM system.processes WHERE user = 'analyst' AND query LIKE '${like}'`,
  )
  return seen!
}

interface Reader {
  readonly call: ClientRequest
  readonly answer: Promise<IncomingMessage>
}

/** Sends a statement and reads none of its result. */
function openReader(t: TestContext, sql: string, to = analystUrl): Reader {
  const { origin, headers } = partsOf(to)
  const opened = request(origin, { method: 'POST', headers })
  // The socket is destroyed at the end.
  opened.on('error', () => {})
  t.after(() => opened.destroy())
  const answer = new Promise<IncomingMessage>((resolve) => opened.once('response', resolve))
  opened.end(sql)
  return { call: opened, answer }
}

const ROWS = 30_000
const LARGE = `SELECT number::UInt32 AS a, concat('row ', hex(sipHash128(number)), hex(sipHash128(number + 1))) AS s FROM numbers(${ROWS})`

test('a large result is whole in every kind of format', async () => {
  await text('CREATE TABLE back (a UInt32, s String) ENGINE = MergeTree ORDER BY tuple()')
  const sums = 'SELECT count(), sum(a), sum(sipHash64(s)) FROM'
  const expected = await text(`${sums} (${LARGE})`)
  for (const format of ['CSVWithNames', 'JSON', 'Native', 'Parquet', 'Arrow', 'ORC']) {
    await text('TRUNCATE TABLE back')
    const response = await call(`${LARGE} FORMAT ${format}`)
    assert.equal(response.headers.get('x-clickhouse-format'), format)
    const body = Buffer.from(await response.arrayBuffer())
    assert.ok(body.length > 500_000, format)
    const insert = { database: 'workspace', query: `INSERT INTO back FORMAT ${format}` }
    assert.equal((await fetchClickHouse(analystUrl, insert, { body })).status, 200, format)
    assert.equal(await text(`${sums} back`), expected, format)
  }
})

test('a large result can be compressed', async () => {
  const { origin, headers } = partsOf(analystUrl)
  const params = new URLSearchParams({ query: `${LARGE} FORMAT CSV`, enable_http_compression: '1' })
  const zipped = await new Promise<Buffer>((resolve, reject) => {
    const get = request(`${origin}/?${params}`, { headers: { ...headers, 'Accept-Encoding': 'gzip' } }, async (res) => {
      resolve(Buffer.concat(await res.toArray()))
    })
    get.once('error', reject).end()
  })
  assert.equal(gunzipSync(zipped).toString('latin1').match(/\n/g)?.length, ROWS)
})

test('a reader that stops holds up its statement, and the result is not buffered', async (t) => {
  const endless = 'SELECT number, toString(rand64()) FROM numbers(1000000000000) FORMAT CSV'
  await text(endless.replace('000000000', ''))
  const before = residentMb(server.pid)
  const reader = openReader(t, endless)
  await reader.answer
  let last = 0
  let same = 0
  await until(async () => {
    const { rowsRead } = await running('SELECT number, toString(rand64())%')
    same = rowsRead > 0 && rowsRead === last ? same + 1 : 0
    last = rowsRead
    return same >= 10
  })
  const after = residentMb(server.pid)
  assert.ok(after - before < 150, `${before} MB, then ${after} MB`)
  reader.call.destroy()
  await until(async () => (await running('SELECT number, toString(rand64())%')).n === 0)
})

test('stalled readers take the statements of analysts, and none of ipid itself', async (t) => {
  const { client, rows } = server
  await client.command({ query: 'CREATE TABLE inserted (a UInt32) ENGINE = MergeTree ORDER BY a' })
  const readers = Array.from({ length: 20 }, () => openReader(t, 'SELECT number, 1 FROM numbers(1000000000000)'))
  const statuses = await Promise.all(readers.map(async ({ answer }) => (await answer).statusCode))
  assert.equal(statuses.filter((status) => status === 200).length, 16)
  await refused(await call('SELECT 1'), 500, 202)
  for (let a = 0; a < 30; a++) await client.insert({ table: 'inserted', values: [{ a }], format: 'JSONEachRow' })
  await client.command({ query: 'ALTER TABLE inserted ADD COLUMN b UInt8' })
  assert.deepEqual(await rows('SELECT count() AS n FROM inserted'), [{ n: 30 }])
  assert.equal((await running('SELECT number, 1 FROM%')).n, 16)
  for (const reader of readers) reader.call.destroy()
  await until(async () => (await call('SELECT 1')).ok)
})

test('an analyst has a memory limit, and exceeding it harms no statement of ipid', async () => {
  const { client, rows } = server
  const hungry = 'SELECT length(groupArray(number)) FROM numbers(300000000)'
  await refused(await call(hungry), 500, 241)
  await refused(await call(`${hungry} SETTINGS max_memory_usage = 0`), 500, 452)
  assert.equal(await text("SELECT getSetting('max_memory_usage')"), `${2 ** 29}\n`)
  const limit = "SELECT toUInt64(value) AS n FROM system.server_settings WHERE name = 'max_server_memory_usage'"
  assert.deepEqual(await rows(limit), [{ n: 2 ** 30 }])
  await client.command({ query: 'CREATE TABLE beside (a UInt32) ENGINE = MergeTree ORDER BY a' })
  const many = Array.from({ length: 3 }, () => call(hungry))
  for (let a = 0; a < 20; a++) await client.insert({ table: 'beside', values: [{ a }], format: 'JSONEachRow' })
  for (const answer of await Promise.all(many)) await refused(answer, 500, 241)
  assert.deepEqual(await rows('SELECT count() AS n FROM beside'), [{ n: 20 }])
})

test('a statement of an analyst has a time limit unless it sets one; ipid itself has none', async (t) => {
  const brief = await startTestClickHouse(t, { limits: { memoryBytesMax: 2 ** 30, readSecondsMax: 1 } })
  const slow = 'SELECT count() FROM numbers(12) WHERE sleepEachRow(0.1) = 0 SETTINGS max_block_size = 1'
  await refused(await fetchClickHouse(brief.analystUrl, {}, { body: slow }), 408, 159)
  assert.equal(await runSql(brief.analystUrl, slow, { max_execution_time: '60' }), '12\n')
  assert.equal(await runSql(brief.url, slow), '12\n')
})

test('a stalled reader cannot hold up a stop', async (t) => {
  const path = await mkdtemp(join(tmpdir(), 'ipid-clickhouse-'))
  atEnd(t, () => rm(path, { recursive: true, force: true }))
  const start = async () => {
    const started = await startEmbeddedClickHouse({ path, port: 0, log: pino({ level: 'silent' }) })
    atEnd(t, () => {
      started.kill()
      return started.exited
    })
    return started
  }
  const stopping = await start()
  await openReader(t, 'SELECT number, 2 FROM numbers(1000000000000)', stopping.analystUrl).answer
  await stopping.stop()
  assert.equal(await runSql((await start()).url, 'SELECT 1', { database: 'default' }), '1\n')
})
