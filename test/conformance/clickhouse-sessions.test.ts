import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTestClickHouse } from '../support/clickhouse.ts'
import { clickHouseHttp, refused } from '../support/clickhouse-http.ts'
import { until } from '../support/until.ts'

/** Sessions of ClickHouse's HTTP interface: `session_id`, `session_timeout`, `session_check`, `close_session`. */

const { url } = await startTestClickHouse()
const { call, text } = clickHouseHttp(url)

test('a session keeps settings, database and temporary tables for itself', async () => {
  const mine = { session_id: 'mine' }
  await text(mine, 'SET max_block_size = 77')
  await text(mine, 'USE system')
  await text(mine, 'CREATE TEMPORARY TABLE passing (a UInt8)')
  await text({ ...mine, query: 'INSERT INTO passing FORMAT TSV' }, '5\n')
  const state = "SELECT getSetting('max_block_size'), currentDatabase(), (SELECT sum(a) FROM passing)"
  assert.equal(await text(mine, state), '77\tsystem\t5\n')
  const other = { session_id: 'other' }
  assert.match(await text(other, "SELECT getSetting('max_block_size'), currentDatabase()"), /^(?!77\t)\d+\tdefault\n$/)
  await refused(await call(other, { body: 'SELECT * FROM passing' }), 404, 60, /passing/)
  await refused(await call({}, { body: 'SELECT * FROM passing' }), 404, 60, /passing/)
})

test('settings beside a statement end with the request', async () => {
  const own = { session_id: 'own' }
  const state = "SELECT getSetting('max_block_size'), getSetting('max_threads'), currentDatabase()"
  await text(own, 'SET max_block_size = 77')
  const before = await text(own, state)
  assert.equal(await text({ ...own, max_block_size: '5', max_threads: '3', database: 'ipid' }, state), '5\t3\tipid\n')
  await refused(await call({ ...own, max_threads: '3' }, { body: 'SELECT throwIf(1)' }), 500, 395, /./)
  await text({ ...own, max_threads: '3', database: 'ipid' }, 'SET max_insert_threads = 2')
  assert.equal(await text(own, state), before)
  assert.equal(await text(own, "SELECT getSetting('max_insert_threads')"), '2\n')
  assert.equal(await text({ ...own, param_n: '4' }, 'SELECT {n:UInt8}'), '4\n')
})

test('GET sees the session and changes nothing in it', async () => {
  const id = 'session_id=seen'
  await text({ session_id: 'seen' }, 'SET max_block_size = 77')
  await text({ session_id: 'seen' }, 'USE system')
  const get = (sql: string) => fetch(`${url}/?${id}&query=${encodeURIComponent(sql)}`)
  assert.equal(await (await get("SELECT getSetting('max_block_size'), currentDatabase()")).text(), '77\tsystem\n')
  await refused(await get('SET max_block_size = 5'), 500, 164, /READONLY/)
  await refused(await get('CREATE TEMPORARY TABLE t (a Int8)'), 500, 164, /READONLY/)
  await text({ session_id: 'seen' }, 'CREATE TEMPORARY TABLE t (a Int8)')
  await refused(await get('SELECT 1'), 501, 48, /GET beside temporary tables/)
  assert.equal(await text({ session_id: 'seen' }, "SELECT getSetting('max_block_size')"), '77\n')
})

test('a session that could change nothing any more is refused by name', async () => {
  const fixed = { session_id: 'fixed' }
  for (const sql of ['SET readonly = 1', 'SET max_threads = 3, `readonly` = 2']) {
    await refused(await call(fixed, { body: sql }), 501, 48, /the setting readonly/)
  }
  await refused(await call({ ...fixed, readonly: '1' }, { body: 'SELECT 1' }), 501, 48, /the setting readonly/)
  assert.equal(await text(fixed, 'SELECT 1'), '1\n')
})

test('a session takes one request at a time', async () => {
  const busy = { session_id: 'busy' }
  const abort = new AbortController()
  const running = call(busy, { body: 'SELECT max(sipHash64(number)) FROM numbers(100000000000)', signal: abort.signal })
  const count = "SELECT count() FROM system.processes WHERE query LIKE 'SELECT max(sip%'"
  await until(async () => (await text({}, count)) === '1\n')
  await refused(await call(busy, { body: 'SELECT 1' }), 500, 373, /SESSION_IS_LOCKED/)
  abort.abort()
  await assert.rejects(running)
  await until(async () => (await call(busy, { body: 'SELECT 1' })).ok)
})

test('a session is free when its statement has ended, before its answer was read', async () => {
  const fetchRaw = async (sql: string) => await call({ session_id: 'read' }, { body: sql })
  for (const sql of [
    'SELECT number FROM numbers(120000)',
    'SELECT * FROM numbers(2) SETTINGS max_threads = 1',
    'SHOW TABLES',
  ]) {
    for (let i = 0; i < 10; i++) {
      const first = await fetchRaw(sql)
      const second = await fetchRaw('SELECT 1')
      assert.equal(await second.text(), '1\n', sql)
      await first.text()
    }
  }
  // A result that the engine has not handed out yet keeps its session, as in ClickHouse.
  const long = await fetchRaw('SELECT number FROM numbers(100000000)')
  await refused(await fetchRaw('SELECT 1'), 500, 373, /SESSION_IS_LOCKED/)
  await long.body?.cancel()
  await until(async () => (await fetchRaw('SELECT 1')).ok)
})

test('a session ends when it is closed or expires, and session_check says so', async () => {
  const check = { session_check: '1' }
  await refused(await call({ session_id: 'none', ...check }, { body: 'SELECT 1' }), 500, 372, /SESSION_NOT_FOUND/)
  const brief = { session_id: 'brief', session_timeout: '1' }
  await text(brief, 'SET max_block_size = 77')
  await until(
    async () => (await call({ ...brief, ...check, session_timeout: '0' }, { body: 'SELECT 1' })).status === 500,
  )
  const closed = { session_id: 'closed' }
  await text(closed, 'SET max_block_size = 77')
  assert.equal(await text({ ...closed, ...check, close_session: '1' }, "SELECT getSetting('max_block_size')"), '77\n')
  await refused(await call({ ...closed, ...check }, { body: 'SELECT 1' }), 500, 372, /closed/)
  const long = await call({ session_id: 'long', session_timeout: '3601' }, { body: 'SELECT 1' })
  await refused(long, 500, 374, /3600/)
})
