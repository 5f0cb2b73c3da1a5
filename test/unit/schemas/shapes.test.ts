import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LookupResponse } from '../../../schemas/api/lookup.ts'
import { ATTRIBUTES, INGEST_ATTRIBUTES, LOCATION_ATTRIBUTES } from '../../../schemas/attributes.ts'
import { CLASSIFICATIONS, NOISE } from '../../../schemas/classification.ts'
import { OUTCOME_COLUMNS } from '../../../schemas/outcome.ts'
import { ANY_ID, IDS_IN_PATHS } from '../../../schemas/page.ts'
import { ROW_COLUMNS, ROW_IDENTITY } from '../../../schemas/row.ts'
import { readSchema } from '../../../src/stores/clickhouse/schema.ts'

const LOCATION = 'continent country country_code region city postal_code latitude longitude timezone'

test('attributes have the names and the order of answers', () => {
  assert.equal(
    ATTRIBUTES.join(' '),
    'business_name org_name hostname etld_plus_one domain industry industry_category description classification asn ' +
      `as_name network ${LOCATION}`,
  )
  assert.equal(LOCATION_ATTRIBUTES.join(' '), LOCATION)
  assert.equal(INGEST_ATTRIBUTES.join(' '), 'business_name org_name hostname industry industry_category classification')
  const { data } = JSON.parse(JSON.stringify(LookupResponse)).properties
  assert.deepEqual(Object.keys(data.properties), [...ATTRIBUTES])
  assert.equal(data.required, undefined)
})

test('five classifications are noise, three are organisations', () => {
  assert.deepEqual([...NOISE].sort(), ['bot', 'cdn', 'cloud', 'hosting', 'isp', 'reserved', 'vpn'])
  assert.deepEqual(
    CLASSIFICATIONS.filter((classification) => !NOISE.has(classification)),
    ['business', 'education', 'government'],
  )
})

const { tables, views } = await readSchema()

/** Columns of a table that a row has. */
const storedIn = (table: string) =>
  [
    ...tables
      .get(table)!
      .split('\n(\n')[1]!
      .matchAll(/^ {2}([a-z]\w*) (?!.*\b(?:ALIAS|MATERIALIZED)\b)/gm),
  ].map(([, column]) => column)

test('the tables of events and counts have the columns of their rows, in their order', () => {
  assert.deepEqual(storedIn('events'), [...ROW_COLUMNS])
  assert.deepEqual(storedIn('outcomes'), [...OUTCOME_COLUMNS])
})

test('the organisation fields that the views sum up are columns of a row', () => {
  const sql = [...tables.values(), ...views.values()].join()
  const summed = [...sql.matchAll(/argMaxState\(concat\(([^)]*)\)/g)].map(([, columns]) =>
    columns!.split(", '\\x1f', "),
  )
  assert.ok(summed.length >= 5)
  for (const columns of summed) {
    // Those for lookups are in the opposite order.
    assert.deepEqual(columns[0] === 'classification' ? columns : columns.reverse(), summed[0])
    for (const column of columns) assert.ok((ROW_COLUMNS as readonly string[]).includes(column), column)
  }
})

test('filters replace the same ids in paths as the column page', () => {
  assert.ok(tables.get('events')!.includes(`'${IDS_IN_PATHS.replaceAll('\\', '\\\\')}',\n        '${ANY_ID}'`))
})

test('the columns that identify a row are adjacent', () => {
  const at = ROW_COLUMNS.indexOf(ROW_IDENTITY[0])
  assert.deepEqual(ROW_COLUMNS.slice(at, at + ROW_IDENTITY.length), [...ROW_IDENTITY])
})
