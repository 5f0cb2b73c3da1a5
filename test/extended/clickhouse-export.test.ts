import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { type ClientRequest, type IncomingMessage, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { pino } from 'pino'
import { residentMb } from '../../bench/support/processes.ts'
import { startEmbeddedClickHouse } from '../../src/embedded/clickhouse/start.ts'
import { exitReason } from '../../src/embedded/processes/running-process.ts'
import { atEnd } from '../support/at-end.ts'
import { startTestClickHouse } from '../support/clickhouse.ts'
import { clickHouseHttp, refused, summaryOf } from '../support/clickhouse-http.ts'
import { until } from '../support/until.ts'

/* Large results, readers that do not read, and their limits. */

const OWN = { 'X-ClickHouse-User': 'ipid', 'X-ClickHouse-Key': 'the secret' }
const server = await startTestClickHouse(undefined, {
  ownSecret: OWN['X-ClickHouse-Key'],
  limits: { memoryBytesMax: 2 ** 30, readSecondsMax: 600 },
})
const { url } = server
const { call, text, table } = clickHouseHttp(url)

/** Running statements, as the sink sees them. It takes none of the slots of analysts. */
async function running(like: string, column = 'count()'): Promise<string> {
  const sql = `SELECT ${column} FROM system.processes WHERE query LIKE '${like}' AND query_id != queryID()`
  const headers = { ...OWN, 'User-Agent': 'ipid-sink' }
  return (await (await fetch(url, { method: 'POST', body: sql, headers })).text()).trim()
}

interface Reader {
  readonly call: ClientRequest
  readonly answer: Promise<IncomingMessage>
}

/** Sends a statement and reads none of its result. */
function openReader(t: TestContext, sql: string, to = url): Reader {
  const opened = request(to, { method: 'POST' })
  // The socket is destroyed at the end.
  opened.on('error', () => {})
  t.after(() => opened.destroy())
  const answer = new Promise<IncomingMessage>((resolve) => opened.once('response', resolve))
  opened.end(sql)
  return { call: opened, answer }
}

test('statements of ipid itself are not measured, which would take longer than a small one', async () => {
  const sql = 'SELECT sum(number) FROM numbers(10)'
  const summary = async (headers = {}) => summaryOf(await call({}, { body: sql, headers }))
  // Not while the engine looks for failed writes.
  await until(summary, ({ read_rows }) => read_rows === '10')
  for (let i = 0; i < 5; i++) {
    const { read_rows, result_rows } = await summary(OWN)
    assert.deepEqual([read_rows, result_rows], [undefined, '1'])
  }
})

const ROWS = 100_000
const COLUMNS = 'a UInt32, s String'
const LARGE = `SELECT number::UInt32 AS a, concat('row ', hex(sipHash128(number)), hex(sipHash128(number + 1))) AS s FROM numbers(${ROWS})`

test('a large result is whole in every kind of format', async () => {
  await table('back', COLUMNS)
  const sums = 'SELECT count(), sum(a), sum(sipHash64(s)) FROM'
  const expected = await text({}, `${sums} (${LARGE})`)
  for (const format of ['CSVWithNames', 'JSON', 'Native', 'Parquet', 'Arrow', 'ORC']) {
    await text({ database: 'ipid' }, 'TRUNCATE TABLE back')
    const response = await call({}, { body: `${LARGE} FORMAT ${format}` })
    assert.equal(response.headers.get('x-clickhouse-format'), format)
    const body = Buffer.from(await response.arrayBuffer())
    assert.ok(body.length > 1_500_000, format)
    const insert = await call({ database: 'ipid', query: `INSERT INTO back FORMAT ${format}` }, { body })
    assert.equal(summaryOf(insert).written_rows, String(ROWS), format)
    assert.equal(await text({ database: 'ipid' }, `${sums} back`), expected, format)
  }
})

test('a large result can be compressed', async () => {
  const params = new URLSearchParams({ query: `${LARGE} FORMAT CSV`, enable_http_compression: '1' })
  const zipped = await new Promise<Buffer>((resolve, reject) => {
    const get = request(`${url}/?${params}`, { headers: { 'Accept-Encoding': 'gzip' } }, async (res) => {
      resolve(Buffer.concat(await res.toArray()))
    })
    get.once('error', reject).end()
  })
  assert.equal(gunzipSync(zipped).toString('latin1').match(/\n/g)?.length, ROWS)
})

test('a reader that stops holds up its statement, and the result is not buffered', async (t) => {
  const endless = 'SELECT number, toString(rand64()) FROM numbers(1000000000000) FORMAT CSV'
  await text({}, `${endless.replace('000000000', '')}`)
  const before = residentMb(server.pid)
  const reader = openReader(t, endless)
  await reader.answer
  let last = ''
  let same = 0
  await until(async () => {
    const rows = await running('SELECT number, toString(rand64())%', 'read_rows')
    same = rows === last ? same + 1 : 0
    last = rows
    return same >= 10
  })
  const after = residentMb(server.pid)
  assert.ok(after - before < 150, `${before} MB, then ${after} MB`)
  reader.call.destroy()
  await until(async () => (await running('SELECT number, toString(rand64())%')) === '0')
})

test('stalled readers cannot hold up inserts, and wait in one queue', async (t) => {
  await table('inserted')
  const readers = Array.from({ length: 20 }, () => openReader(t, 'SELECT number, 1 FROM numbers(1000000000000)'))
  // No reader takes anything, so no statement ends; the others queue.
  await until(async () => (await running('SELECT number, 1 FROM%')) === '16')
  const waiting = call({}, { body: 'SELECT 1' }).then((response) => response.text())
  const done: string[] = []
  void waiting.then(() => done.push('read'))
  for (let i = 0; i < 30; i++) await text({ database: 'ipid', query: 'INSERT INTO inserted FORMAT TSV' }, `${i}\tx\n`)
  const own = { ...OWN, 'User-Agent': 'ipid-migrate clickhouse-js/1' }
  const ddl = await call({ database: 'ipid' }, { body: 'ALTER TABLE inserted ADD COLUMN b UInt8', headers: own })
  assert.equal(ddl.status, 200)
  // A client name, which any client can send, gives no slot.
  const posing = call({}, { body: 'SELECT 2', headers: { 'User-Agent': 'ipid-sink' } }).then((response) =>
    response.text(),
  )
  void posing.then(() => done.push('read'))
  const stranger = { ...own, 'X-ClickHouse-Key': 'a guess' }
  assert.equal((await call({}, { body: 'SELECT 3', headers: stranger })).status, 403)
  done.push('insert')
  assert.equal(await running('SELECT number, 1 FROM%'), '16')
  for (const reader of readers) reader.call.destroy()
  assert.equal(await waiting, '1\n')
  assert.equal(await posing, '2\n')
  assert.deepEqual(done, ['insert', 'read', 'read'])
  assert.equal(await text({ database: 'ipid' }, 'SELECT count() FROM inserted'), '30\n')
})

test('a statement has a memory limit, and exceeding it harms no other statement', async () => {
  const hungry = 'SELECT length(groupArray(number)) FROM numbers(300000000)'
  await refused(await call({}, { body: hungry }), 500, 241, /MEMORY_LIMIT_EXCEEDED/)
  const limits =
    "SELECT getSetting('max_memory_usage'), (SELECT value FROM system.server_settings WHERE name = 'max_server_memory_usage')"
  assert.equal(await text({}, limits), `${2 ** 29}\t${2 ** 30}\n`)
  await table('beside')
  const many = Array.from({ length: 6 }, () => call({}, { body: hungry }))
  for (let i = 0; i < 20; i++) await text({ database: 'ipid', query: 'INSERT INTO beside FORMAT TSV' }, `${i}\tx\n`)
  for (const answer of await Promise.all(many)) assert.equal(answer.status, 500)
  assert.equal(await text({ database: 'ipid' }, 'SELECT count() FROM beside'), '20\n')
})

test('a reading statement has a time limit unless it sets one; a writing one has none', async (t) => {
  const brief = await startTestClickHouse(t, { limits: { memoryBytesMax: 2 ** 30, readSecondsMax: 1 }, sendMsMax: 300 })
  const http = clickHouseHttp(brief.url)
  const slow = 'SELECT count() FROM numbers(12) WHERE sleepEachRow(0.1) = 0 SETTINGS max_block_size = 1'
  await refused(await http.call({}, { body: slow }), 408, 159, /TIMEOUT_EXCEEDED/)
  assert.equal(await http.text({ max_execution_time: '60' }, slow), '12\n')
  await http.table('slow', 'a UInt64')
  await http.text({ database: 'ipid' }, `INSERT INTO slow ${slow}`)
  const session = { session_id: 'patient' }
  await http.text(session, 'SET max_execution_time = 60')
  assert.equal(await http.text(session, slow), '12\n')
  // A client that reads nothing is cut off; one that waits for the first row is not.
  const idle = openReader(t, 'SELECT number FROM numbers(1000000000000) SETTINGS max_execution_time = 0', brief.url)
  await idle.answer
  await until(
    async () =>
      (await http.text({}, "SELECT count() FROM system.processes WHERE query LIKE 'SELECT number%'")) === '0\n',
  )
})

test('a stalled reader cannot hold up a stop', async (t) => {
  const path = await mkdtemp(join(tmpdir(), 'ipid-clickhouse-'))
  atEnd(t, () => rm(path, { recursive: true, force: true }))
  const stopping = await startEmbeddedClickHouse({ path, port: 0, log: pino({ level: 'silent' }) })
  atEnd(t, () => {
    stopping.kill()
    return stopping.exited
  })
  await openReader(t, 'SELECT number, 2 FROM numbers(1000000000000)', stopping.url).answer
  await stopping.stop()
  // Without an end of the reader it would be killed after 8 s with its folder open.
  assert.equal(await stopping.exited, exitReason(0, null))
  assert.ok(!existsSync(join(path, 'results')))
})
