import assert from 'node:assert/strict'
import { test } from 'node:test'
import { exceptionOf, statusOf } from '../../../src/embedded/clickhouse/exception.ts'
import { Slots } from '../../../src/embedded/clickhouse/slots.ts'
import { insertFromFile, shapeOf } from '../../../src/embedded/clickhouse/statement.ts'

test('quoted text and comments do not count', () => {
  assert.equal(shapeOf("SELECT '; SELECT 2', `a;b`, \"c;d\", 'it''s \\'; x' -- ; y\n/* ; z */;").isMultiple, false)
  assert.equal(shapeOf('SELECT $$; SELECT 2$$').isMultiple, false)
  assert.equal(shapeOf('SELECT 1; SELECT 2').isMultiple, true)
  assert.equal(shapeOf("SELECT 'x FORMAT CSV'").format, undefined)
  assert.equal(shapeOf('SELECT 1 FORMAT CSV SETTINGS max_threads = 1;').format, 'CSV')
  assert.equal(shapeOf('/* a */ -- b\n insert into t values (1)').isInsert, true)
  assert.equal(shapeOf('-- nothing\n ; ').isEmpty, true)
})

test('only one plain SELECT of rows is handed on piece by piece', () => {
  const streams = (sql: string) => shapeOf(sql).isStreamable('TabSeparated')
  for (const sql of ['SELECT 1', 'WITH 1 AS x SELECT x FORMAT JSONEachRow', '(select 1)', 'FROM t SELECT a']) {
    assert.equal(streams(sql), true, sql)
  }
  const others = ['SELECT (SELECT 1)', 'SELECT 1 FORMAT JSON', 'SHOW TABLES', 'SELECT 1 UNION ALL SELECT 2']
  for (const sql of [...others, 'SELECT a FROM t GROUP BY a WITH TOTALS', 'EXPLAIN SELECT 1']) {
    assert.equal(streams(sql), false, sql)
  }
})

test('a plain insert can take its data from a file', () => {
  const from = (query: string) => insertFromFile(query, "/d'ir/1.body")?.replace(/\s+/g, ' ')
  const file = "FROM INFILE '/d\\'ir/1.body'"
  assert.equal(from('INSERT INTO t FORMAT TSV'), `INSERT INTO t ${file} FORMAT TSV`)
  assert.equal(
    from("insert into table d.`t x` (a, b) SETTINGS s = 'FORMAT x' format CSV\n"),
    `insert into table d.\`t x\` (a, b) ${file} SETTINGS s = 'FORMAT x' format CSV`,
  )
  const others = ['INSERT INTO t VALUES', 'INSERT INTO FUNCTION null() FORMAT TSV', 'INSERT INTO t SELECT 1 FORMAT TSV']
  for (const query of [...others, 'SELECT 1 FORMAT TSV', "INSERT INTO t FORMAT TSV 1\t'a'"]) {
    assert.equal(from(query), undefined, query)
  }
  assert.equal(insertFromFile('INSERT INTO t FORMAT TSV', '/a{b}/*'), undefined)
})

test('exceptions keep their code, said once', () => {
  const doubled = 'Query failed: Code: 27. DB::Exception: Code: 27. DB::Exception: Cannot parse. (CANNOT_PARSE)'
  assert.equal(exceptionOf(new Error(doubled)).text, 'Code: 27. DB::Exception: Cannot parse. (CANNOT_PARSE)\n')
  assert.equal(exceptionOf(new Error('boom')).code, 1002)
  assert.deepEqual([27, 60, 159, 241, 516].map(statusOf), [400, 404, 408, 500, 403])
})

test('slots are given in order, the line has an end, and who leaves it is passed over', async () => {
  const slots = new Slots(1, 2)
  const { signal } = new AbortController()
  const leaving = new AbortController()
  const first = await slots.take(signal)
  const second = slots.take(leaving.signal)
  const third = slots.take(signal)
  await assert.rejects(slots.take(signal), { code: 202 })
  leaving.abort()
  await assert.rejects(second, { code: 236 })
  first()
  first()
  const release = await third
  const fourth = slots.take(signal)
  release()
  ;(await fourth)()
  await slots.take(signal)
})
