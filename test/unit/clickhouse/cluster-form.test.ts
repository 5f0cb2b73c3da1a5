import assert from 'node:assert/strict'
import { test } from 'node:test'
import { clusterStatements } from '../../../src/stores/clickhouse/cluster-form.ts'
import { readSchema } from '../../../src/stores/clickhouse/schema.ts'

const { tables, views, migrations } = await readSchema()
const statements = [...tables.values(), ...migrations.flatMap((migration) => migration.statements), ...views.values()]
const rendered = statements.flatMap((statement) => clusterStatements(statement, 'c1'))

test('each statement of the schema runs on all hosts, with database names for all tables', () => {
  for (const statement of rendered) {
    const [, name] =
      /^(?:CREATE TABLE IF NOT EXISTS|CREATE OR REPLACE VIEW|DROP VIEW IF EXISTS|ALTER TABLE) (\S+) ON CLUSTER `c1`(?:\s|$)/.exec(
        statement,
      )!
    assert.match(name!, /^ipid\.\w+$/)
    assert.doesNotMatch(statement, /\b(?:FROM|JOIN) (?!ipid\.)\w/)
  }
})

test('each table of rows is replicated, keeps its tokens by number, and has a Distributed table', () => {
  const created = [...tables.values()].flatMap((statement) => clusterStatements(statement, 'c1'))
  assert.equal(created.length, 17)
  for (const table of [
    'events',
    'outcomes',
    'hidden_events',
    'entity_days',
    'page_days',
    'zone_days',
    'zone_page_days',
  ]) {
    const local = created.find((statement) => statement.includes(`EXISTS ipid.${table}_local ON CLUSTER`))!
    assert.match(
      local,
      new RegExp(`\\nENGINE = ReplicatedMergeTree\\('/clickhouse/tables/{shard}/ipid/${table}', '{replica}'\\)\\n`),
    )
    const [, tokens, seconds] =
      /SETTINGS (?:index_granularity = \d+, )?replicated_deduplication_window = (\d+), replicated_deduplication_window_seconds = (\d+)\b/.exec(
        local,
      )!
    // A build of a day is never a repeat.
    assert.equal(tokens, table.endsWith('_days') ? '0' : '10000')
    assert.ok(Number(seconds) >= 10 * 365 * 86_400)
    assert.doesNotMatch(local, /non_replicated/)
    const over = created.find((statement) => statement.includes(`EXISTS ipid.${table} ON CLUSTER`))!
    assert.match(
      over,
      new RegExp(` AS ipid\\.${table}_local\\nENGINE = Distributed\\('c1', 'ipid', '${table}_local'\\)`),
    )
  }
})

test('an ALTER goes to the table with the rows, and visible columns to the one over it too', () => {
  const altered = clusterStatements(
    `-- why
    ALTER TABLE events
      ADD COLUMN IF NOT EXISTS x String DEFAULT concat('a,''b\\'', ';') COMMENT '(, ''x' CODEC(ZSTD(1)),
      MODIFY COMMENT 'Rows, of events',
      ADD PROJECTION IF NOT EXISTS p (SELECT tenant_id, count() GROUP BY tenant_id),
      MODIFY SETTING a = 1,
      ADD INDEX IF NOT EXISTS i x TYPE bloom_filter(0.01) GRANULARITY 1,
      COMMENT COLUMN x 'y'`,
    'c1',
  )
  const column = "ADD COLUMN IF NOT EXISTS x String DEFAULT concat('a,''b\\'', ';') COMMENT '(, ''x' CODEC(ZSTD(1))"
  const of = (table: string, ...commands: string[]) =>
    `ALTER TABLE ipid.${table} ON CLUSTER \`c1\`\n  ${commands.join(',\n  ')}`
  assert.deepEqual(altered, [
    of(
      'events_local',
      column,
      'ADD PROJECTION IF NOT EXISTS p (SELECT tenant_id, count() GROUP BY tenant_id)',
      'ADD INDEX IF NOT EXISTS i x TYPE bloom_filter(0.01) GRANULARITY 1',
      "COMMENT COLUMN x 'y'",
    ),
    of('events_local', "MODIFY COMMENT 'Rows, of events'", 'MODIFY SETTING a = 1'),
    of('events', column, "MODIFY COMMENT 'Rows, of events'", "COMMENT COLUMN x 'y'"),
  ])
  const mutations = rendered.filter((statement) =>
    /^ALTER[\s\S]*\b(?:MATERIALIZE|PROJECTION|INDEX|SETTING) /.test(statement),
  )
  assert.equal(mutations.length > 5, true)
  for (const statement of mutations) assert.match(statement, /^ALTER TABLE ipid\.(?:events|outcomes)_local /)
})

test('a view is dropped on all hosts', () => {
  assert.deepEqual(clusterStatements('DROP VIEW IF EXISTS old', 'c1'), ['DROP VIEW IF EXISTS ipid.old ON CLUSTER `c1`'])
})

test('a statement without a form for a cluster is not sent to one', () => {
  const odd = [
    'DROP TABLE events',
    'INSERT INTO events SELECT 1',
    'RENAME TABLE events TO old',
    'CREATE MATERIALIZED VIEW v TO t AS SELECT 1',
    'CREATE TABLE IF NOT EXISTS events (a UInt8)\nENGINE = MergeTree\nORDER BY a',
    'CREATE TABLE IF NOT EXISTS outcomes (a UInt8)\nENGINE = ReplacingMergeTree\nORDER BY a\nSETTINGS non_replicated_deduplication_window = 1',
  ]
  for (const statement of odd)
    assert.throws(
      () => clusterStatements(statement, 'c1'),
      /cannot translate this statement for a cluster: /,
      statement,
    )
})
