import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { LookupResponse } from '../../../schemas/api/lookup.ts'
import { ATTRIBUTES, INGEST_ATTRIBUTES, LOCATION_ATTRIBUTES } from '../../../schemas/attributes.ts'
import { CLASSIFICATIONS, NOISE } from '../../../schemas/classification.ts'
import { ROW_COLUMNS, ROW_IDENTITY } from '../../../schemas/row.ts'

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

const sqlOf = (name: string) =>
  readFileSync(new URL(`../../../schemas/clickhouse/${name}.sql`, import.meta.url), 'utf8')

test('the table of events has the columns of a row, in their order', () => {
  const sql = sqlOf('0001_events')
  const [columns] = /(?<=\n\(\n).*?(?=\n {2}PROJECTION)/s.exec(sql)!
  assert.deepEqual(
    [
      ...columns.split('\n').map((line) => line.trim().split(' ')[0]),
      ...['0004_sums', '0006_receipts', '0011_sources', '0014_known_domain', '0018_browser_keys'].flatMap((name) =>
        [
          ...sqlOf(name)
            .split('ALTER TABLE outcomes')[0]!
            .matchAll(/ADD COLUMN IF NOT EXISTS (\w+) (?!.* ALIAS )/g),
        ].map(([, column]) => column),
      ),
    ],
    [...ROW_COLUMNS],
  )
})

test('the organisation fields that the views sum up are columns of a row', () => {
  const sql = sqlOf('0005_views')
  const summed = [...sql.matchAll(/argMaxState\(\(([^)]*)\)/g)].map(([, columns]) => columns!.split(', '))
  assert.ok(summed.length >= 2)
  for (const columns of summed) {
    assert.deepEqual(columns, summed[0])
    for (const column of columns) assert.ok((ROW_COLUMNS as readonly string[]).includes(column), column)
  }
})

test('the columns that identify a row are adjacent', () => {
  const at = ROW_COLUMNS.indexOf(ROW_IDENTITY[0])
  assert.deepEqual(ROW_COLUMNS.slice(at, at + ROW_IDENTITY.length), [...ROW_IDENTITY])
})
