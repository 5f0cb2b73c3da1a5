import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRestored } from '../../../src/operations/backup/restored-table.ts'

const COLUMNS = '(`a` String)'
const PLAIN = `CREATE TABLE ipid.t ${COLUMNS} ENGINE = MergeTree ORDER BY a`

test('the statement of a plain table is rebuilt under the name of the table', () => {
  assert.equal(
    createRestored({ table: 't', create: PLAIN }),
    'CREATE TABLE `t` ( `a` String ) ENGINE = MergeTree ORDER BY a',
  )
  const rich = [
    "CREATE TABLE other.`odd \\` name` (`a` Array(Nullable(String)) DEFAULT ['x'] CODEC(Delta(4), ZSTD(1)) COMMENT 'it\\'s',",
    "CONSTRAINT c CHECK (a IN ('x', 'y')) AND (b IN (NULL, toDate(1))) AND b NOT IN [1, 2],",
    'INDEX i a TYPE bloom_filter(0.01) GRANULARITY 1, PROJECTION p (SELECT a, count() GROUP BY a))',
    'ENGINE = ReplacingMergeTree(v) PARTITION BY toYYYYMM(d) PRIMARY KEY (a, b) ORDER BY (a, b) TTL d + toIntervalDay(30)',
    "SETTINGS index_granularity = 8192 COMMENT 'engine = File(\\'x\\')'",
  ].join(' ')
  assert.match(createRestored({ table: 'odd ` name', create: rich }), /^CREATE TABLE `odd \\` name` \( `a` Array \(/)
})

const REFUSED: readonly (readonly [create: string, message: RegExp])[] = [
  ["CREATE USER evil IDENTIFIED BY 'x'", /not CREATE TABLE/],
  ['DROP TABLE ipid.events', /not CREATE TABLE/],
  [`CREATE OR REPLACE TABLE ipid.t ${COLUMNS} ENGINE = Memory`, /not CREATE TABLE/],
  [`CREATE TABLE ipid.other ${COLUMNS} ENGINE = Memory`, /not CREATE TABLE/],
  ['CREATE TABLE ipid.t AS ipid.events', /not CREATE TABLE/],
  [`CREATE TABLE ipid.t ${COLUMNS} ENGINE = File(CSV, '/etc/passwd')`, /the engine File/],
  [`CREATE TABLE ipid.t ${COLUMNS} ENGINE = \`File\`(CSV, '/etc/passwd')`, /the engine `File`/],
  [`CREATE TABLE ipid.t ${COLUMNS} ENGINE = URL('http://127.0.0.1/')`, /the engine URL/],
  [`CREATE TABLE ipid.t ${COLUMNS} ENGINE = Executable('x', TSV)`, /the engine Executable/],
  [`CREATE TABLE ipid.t ${COLUMNS}`, /incomplete/],
  [`${PLAIN} AS SELECT * FROM file('/etc/passwd')`, /AS in its statement/],
  [`CREATE TABLE ipid.t ${COLUMNS} ENGINE = MergeTree ORDER BY (SELECT 1)`, /SELECT in its statement/],
  [`CREATE TABLE ipid.t (a String DEFAULT file('/etc/passwd')) ENGINE = MergeTree ORDER BY a`, /file\( in its/],
  [`CREATE TABLE ipid.t (a String DEFAULT \`file\`('/etc/passwd')) ENGINE = MergeTree ORDER BY a`, /`file`\( in its/],
  [`CREATE TABLE ipid.t (a String DEFAULT arrayMap(file, ['/x'])[1]) ENGINE = MergeTree ORDER BY a`, /arrayMap\(/],
  [`CREATE TABLE ipid.t (a String DEFAULT {f:Identifier}) ENGINE = MergeTree ORDER BY a`, /"\{f:Ident/],
  [`CREATE TABLE ipid.t (ENGINE String, a UInt8 DEFAULT ENGINE = file('/x')) ENGINE = MergeTree ORDER BY a`, /file\(/],
  [`CREATE TABLE ipid.t (a String, CONSTRAINT c CHECK ENGINE = file('/x')) ENGINE = MergeTree ORDER BY a`, /file\(/],
  [`CREATE TABLE ipid.t (a String DEFAULT b INDEX file('/x')) ENGINE = MergeTree ORDER BY a`, /file\(/],
  [`CREATE TABLE ipid.t (a String DEFAULT tuple(b, INDEX file('/x'))) ENGINE = MergeTree ORDER BY a`, /file\(/],
  [`CREATE TABLE ipid.t (a String DEFAULT dictGet('d', 'a', 1)) ENGINE = MergeTree ORDER BY a`, /dictGet\(/],
  [`CREATE TABLE ipid.t (a String, PROJECTION p (SELECT a FROM ipid.events)) ENGINE = MergeTree ORDER BY a`, /FROM/],
  [`CREATE TABLE ipid.t (a UInt8 DEFAULT b IN ipid.events) ENGINE = MergeTree ORDER BY a`, /IN ipid in its/],
  [`CREATE TABLE ipid.t (a UInt8 DEFAULT b NOT IN ((\`events\`))) ENGINE = MergeTree ORDER BY a`, /IN `events` in its/],
  [`CREATE TABLE ipid.t (a UInt8 DEFAULT in(b, events)) ENGINE = MergeTree ORDER BY a`, /IN b in its/],
  [`${PLAIN} SETTINGS disk = 'other'`, /the setting disk|disk in its/],
  [`${PLAIN} SETTINGS storage_policy = 'x'`, /the setting storage_policy/],
  [`${PLAIN} SETTINGS index_granularity = 1, disk = disk(type = 'local', path = '/etc/')`, /disk/],
  [`${PLAIN} TTL d TO DISK 'x'`, /DISK in its/],
  [`${PLAIN}; DROP TABLE ipid.events`, /"; DROP/],
  [`${PLAIN} -- comment`, /"-- comment"/],
  [`${PLAIN} /* comment */`, /"\/\* comment/],
  [`${PLAIN} COMMENT 'open`, /an unclosed quote/],
  [`${PLAIN} )`, /a closing bracket too many/],
  [`${PLAIN}, (`, /incomplete/],
  [`${PLAIN} SETTINGS \`storage_policy\` = 'x'`, /the setting `storage_policy`/],
  [`${PLAIN} SETTINGS COMMENT = 1, storage_policy = 'x'`, /the setting COMMENT/],
  [`${PLAIN} SETTINGS index_granularity = 1 ENGINE = File`, /the setting ENGINE/],
]

test('a statement that does more than create a plain table is refused', () => {
  for (const [create, message] of REFUSED) {
    assert.throws(() => createRestored({ table: 't', create }), message, create)
  }
})

test('a long statement is parsed in linear time', () => {
  const long = `CREATE TABLE ipid.t (${'a'.repeat(20_000)} String, ${'('.repeat(10_000)}${' '.repeat(30_000)}`
  const startedMs = performance.now()
  assert.throws(() => createRestored({ table: 't', create: long }))
  assert.throws(() => createRestored({ table: 't', create: "'".repeat(100_000) }))
  assert.ok(performance.now() - startedMs < 5_000)
})
