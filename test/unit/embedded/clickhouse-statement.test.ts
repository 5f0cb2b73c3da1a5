import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withClientIds } from '../../../src/embedded/clickhouse/cancelling.ts'
import { exceptionOf, statusOf } from '../../../src/embedded/clickhouse/exception.ts'
import { insertFromFile, takesDataOnly, valuesOf } from '../../../src/embedded/clickhouse/plain-insert.ts'
import { Scanner } from '../../../src/embedded/clickhouse/scanner.ts'
import { Slots } from '../../../src/embedded/clickhouse/slots.ts'
import { isPlain, selectIntoFile, shapeOf } from '../../../src/embedded/clickhouse/statement.ts'

test('quoted text and comments do not count', () => {
  assert.equal(shapeOf("SELECT '; SELECT 2', `a;b`, \"c;d\", 'it''s \\'; x' -- ; y\n/* ; z */;").isMultiple, false)
  assert.equal(shapeOf('SELECT $$; SELECT 2$$').isMultiple, false)
  assert.equal(shapeOf('SELECT 1; SELECT 2').isMultiple, true)
  assert.equal(shapeOf("SELECT 'x FORMAT CSV'").format, undefined)
  assert.equal(shapeOf('SELECT 1 FORMAT CSV SETTINGS max_threads = 1;').format, 'CSV')
  assert.equal(shapeOf('/* a */ -- b\n insert into t values (1)').isInsert, true)
  assert.equal(shapeOf('-- nothing\n ; ').isEmpty, true)
})

/** Shapes that grow: for each, a text of about n characters. */
const GROWING: readonly ((n: number) => string)[] = [
  (n) => `INSERT INTO t${' '.repeat(n)}x`,
  (n) => `INSERT INTO t (${'a,'.repeat(n / 2)}`,
  (n) => `INSERT INTO t SETTINGS ${'a = 1 ,'.repeat(n / 7)}`,
  (n) => `SELECT 1, ${' '.repeat(n)}, 2`,
  (n) => Array.from({ length: n / 8 }, (_, i) => `$u${i}$ `).join(''),
  (n) => Array.from({ length: n / 8 }, (_, i) => `$u${i}x`).join(' '),
  (n) => '$'.repeat(n),
  (n) => '$a'.repeat(n / 2),
  (n) => `$${'a'.repeat(n / 2)}$${'a'.repeat(n / 2)}`,
  ...[
    "'",
    '"',
    '`',
    "'\\",
    "'\\'",
    "''",
    '"\\"',
    '\\',
    '(',
    ')',
    '()',
    '[',
    '{',
    ';',
    '; ',
    '-',
    '--',
    '--\n',
    '#',
    '# ',
    '/',
  ].map(repeated),
  ...[
    '/*',
    '/*/',
    '*/',
    '//',
    '/**/',
    '/* */',
    '1',
    '1.',
    '1e',
    '0x1',
    '.1',
    '_',
    'a ',
    'ab',
    'é',
    '\u2003',
    '😀',
    '\0',
    '\n',
    '\r\n',
  ].map(repeated),
  ...[
    'format x ',
    'format ',
    'settings ',
    'into outfile ',
    'with ',
    'values ',
    'query_id IN (',
    "query_id = '",
    "'a', ",
  ].map(repeated),
]

function repeated(piece: string): (n: number) => string {
  return (n) => `SELECT ${piece.repeat(Math.ceil(n / piece.length))}`
}

test('the scanner takes steps in proportion to the text, whatever it contains', () => {
  for (const grown of GROWING) {
    const steps = [20_000, 40_000].map((n) => {
      const scanner = new Scanner(grown(n))
      while (scanner.next());
      return scanner.steps / scanner.text.length
    })
    // Each of the 16 kinds of unclosed dollar quotes may read the whole text.
    assert.ok(Math.max(...steps) < 20, `${grown(40)}: ${steps} steps a character`)
  }
})

test('long texts are scanned in linear time', () => {
  for (const grown of GROWING) {
    const sql = grown(300_000)
    const startedMs = performance.now()
    shapeOf(sql)
    selectIntoFile(sql, '/1', true)
    takesDataOnly(sql)
    insertFromFile(sql, '/1')
    valuesOf(sql)
    withClientIds(sql)
    // 2,000 blanks took 11 s, and 40,000 unclosed dollar quotes 107 s, when patterns scanned them again and again.
    assert.ok(performance.now() - startedMs < 5_000, grown(40))
  }
  const long = 'x'.repeat(1_000_000)
  assert.equal(shapeOf(`SELECT '${long}' FORMAT CSV`).format, 'CSV')
  assert.equal(shapeOf(`SELECT '${long}'; SELECT 2`).isMultiple, true)
})

test('quotes and comments end where ClickHouse ends them', () => {
  const tokens = (text: string) => {
    const found: string[] = []
    for (const scanner = new Scanner(text); scanner.next(); ) found.push(`${scanner.kind} ${scanner.token}`)
    return found
  }
  assert.deepEqual(tokens("a'b''c\\'d'"), ['word a', "string 'b''c\\'d'"])
  assert.deepEqual(tokens('/* /* */ a */ b // c\n-- d\n#! e\n# f\n$x y$ $ z $x y$g'), [
    'word b',
    'string $x y$ $ z $x y$',
    'word g',
  ])
  assert.deepEqual(tokens('a$b$c$b$ $1$'), ['word a$b$c$b$', 'word $1$'])
  assert.deepEqual(tokens("'open"), ["string 'open"])
  assert.deepEqual(tokens("'"), ["string '"])
})

test('the kind of a statement is recognised', () => {
  const is = (sql: string) => {
    const { isSelect, isRead, changesSession, isTemporaryTable, isKill } = shapeOf(sql)
    return { isSelect, isRead, changesSession, isTemporaryTable, isKill }
  }
  const none = { isSelect: false, isRead: false, changesSession: false, isTemporaryTable: false, isKill: false }
  for (const sql of ['SELECT 1', 'WITH 1 AS x SELECT x', '(select 1)', 'FROM t SELECT a', '-- a\nSELECT 1']) {
    assert.deepEqual(is(sql), { ...none, isSelect: true, isRead: true }, sql)
  }
  for (const sql of ['SHOW TABLES', 'desc t', 'EXPLAIN SELECT 1'])
    assert.deepEqual(is(sql), { ...none, isRead: true }, sql)
  for (const sql of ['SET a = 1', '/* */ use d']) assert.deepEqual(is(sql), { ...none, changesSession: true }, sql)
  assert.deepEqual(is('CREATE OR REPLACE TEMPORARY TABLE t (a Int8)'), { ...none, isTemporaryTable: true })
  assert.deepEqual(is('KILL QUERY WHERE 1'), { ...none, isKill: true })
  const withInsert = 'WITH x AS (SELECT 1) INSERT INTO t SELECT * FROM x'
  for (const sql of [withInsert, 'DROP TABLE t', 'SELECTED', 'INSERT INTO t VALUES (1)'])
    assert.deepEqual(is(sql), none, sql)
})

test('a clause before its format writes a result into a file', () => {
  const into = (sql: string) => selectIntoFile(sql, "/d'ir/1", true).replace(/\s+/g, ' ').trim()
  const clause = "INTO OUTFILE '/d\\'ir/1' TRUNCATE"
  assert.equal(into('SELECT 1'), `SELECT 1 ${clause}`)
  assert.equal(into('SELECT 1 FORMAT CSV;'), `SELECT 1 ${clause} FORMAT CSV`)
  assert.equal(into("SELECT 'FORMAT CSV' -- ;"), `SELECT 'FORMAT CSV' ${clause}`)
  assert.equal(
    into('SELECT 1 SETTINGS a = 1 FORMAT CSV SETTINGS b = 2'),
    `SELECT 1 SETTINGS a = 1 ${clause} FORMAT CSV SETTINGS b = 2`,
  )
  const order = 'SELECT format FROM t ORDER BY format DESC'
  assert.equal(selectIntoFile(order, '/1', false), `${order}\nINTO OUTFILE '/1' TRUNCATE\n`)
})

test('only unambiguous statements count as plain', () => {
  for (const sql of ["SELECT a - 1, b / 2, 'x -- ä' FROM t WHERE c != ''''", "SELECT '\\x1f\\\\', {n:UInt8}[1] % 2;"]) {
    assert.equal(isPlain(sql), true, sql)
  }
  for (const text of ["'a\\n", "'a\\"]) assert.equal(isPlain(`SELECT ${text}`), false, text)
  for (const text of ['"a"', '`a`', "'a", "'\\''", '--', '/*', '//', '#', '$a$', 'ä', '‘', '\0', 'x'.repeat(20_000)]) {
    assert.equal(isPlain(`SELECT ${text}`), false, text)
  }
})

test('KILL QUERY works by the ids of clients, too', () => {
  const either = "[query_id, Settings['chdb_client_name']]"
  const kill = (where: string) => withClientIds(`KILL QUERY WHERE ${where} SYNC`)
  assert.equal(
    kill("(query_id = 'a\\'b') AND (user = 'query_id = x')"),
    `KILL QUERY WHERE (hasAny(['a\\'b'], ${either})) AND (user = 'query_id = x') SYNC`,
  )
  assert.equal(kill("query_id IN ('a', 'b')"), `KILL QUERY WHERE hasAny(['a', 'b'], ${either}) SYNC`)
  assert.equal(kill("initial_query_id = 'a'"), "KILL QUERY WHERE initial_query_id = 'a' SYNC")
})

test('a plain insert can take its data from a file', () => {
  const from = (query: string) => insertFromFile(query, "/d'ir/1.body")?.replace(/\s+/g, ' ')
  const file = "FROM INFILE '/d\\'ir/1.body'"
  assert.equal(from('INSERT INTO t FORMAT TSV'), `INSERT INTO t ${file} FORMAT TSV`)
  assert.equal(
    from("insert into table d.`t x` (a, b) SETTINGS s = 'FORMAT x' format CSV\n"),
    `insert into table d.\`t x\` (a, b) ${file} SETTINGS s = 'FORMAT x' format CSV`,
  )
  assert.equal(from('INSERT INTO t (a) VALUES'), `INSERT INTO t (a) ${file} FORMAT Values`)
  const others = ['INSERT INTO FUNCTION null() FORMAT TSV', 'INSERT INTO t SELECT 1 FORMAT TSV']
  for (const query of [...others, 'SELECT 1 FORMAT TSV', "INSERT INTO t FORMAT TSV 1\t'a'"]) {
    assert.equal(from(query), undefined, query)
  }
})

test('exceptions keep their code, once', () => {
  const doubled = 'Query failed: Code: 27. DB::Exception: Code: 27. DB::Exception: Cannot parse. (CANNOT_PARSE)'
  assert.equal(exceptionOf(new Error(doubled)).text, 'Code: 27. DB::Exception: Cannot parse. (CANNOT_PARSE)\n')
  assert.equal(exceptionOf(new Error('boom')).code, 1002)
  assert.deepEqual([27, 60, 159, 241, 516].map(statusOf), [400, 404, 408, 500, 403])
})

test('slots are given in order, the queue is limited, and a client that leaves is skipped', async () => {
  const slots = new Slots(1, 2)
  const { signal } = new AbortController()
  const leaving = new AbortController()
  const first = await slots.take(signal)
  const second = slots.take(leaving.signal)
  const third = slots.take(signal)
  await assert.rejects(Promise.race([slots.take(signal), new Promise(setImmediate)]), { code: 202 })
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
