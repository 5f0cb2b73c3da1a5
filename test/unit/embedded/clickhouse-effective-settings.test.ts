import assert from 'node:assert/strict'
import { test } from 'node:test'
import { clauseSettings } from '../../../src/embedded/clickhouse/effective-settings.ts'

test('the settings of a statement are those of its own clause', () => {
  for (const [canonical, settings] of [
    ["SELECT 1 SETTINGS session_timezone = 'UTC', max_threads = 1", { session_timezone: 'UTC', max_threads: '1' }],
    ["SELECT 1 SETTINGS a = 1 FORMAT CSV SETTINGS b = 'it\\'s'", { a: '1', b: "it's" }],
    ['SELECT 1 SETTINGS a = 1 UNION ALL SELECT 2 SETTINGS b = -2', { b: '-2' }],
    ["SELECT a = 'x' FROM (SELECT 1 SETTINGS b = 2)", {}],
    ["SELECT 1 AS SETTINGS, a = 'x'", {}],
    ["SELECT 'SETTINGS a = 1', `SETTINGS b = 1`", {}],
    ["INSERT INTO t SETTINGS a = 1 SELECT b = 'x'", { a: '1' }],
    ["SELECT 1 SETTINGS a = 1.5, a = -1e-3, b = '', c = 1 SETTINGS c = 2", { a: '-1e-3', b: '', c: '2' }],
    ['SELECT 1 AS "SETTINGS b = 2", 3 SETTINGS a = 1', { a: '1' }],
    ["SELECT 1 SETTINGS m = {'k':'v'}, a = 1", { a: '1' }],
  ] as const) {
    assert.deepEqual(Object.fromEntries(clauseSettings(canonical)), settings, canonical)
  }
})
