import assert from 'node:assert/strict'
import { test } from 'node:test'
import { OUTCOME_COLUMNS } from '../../../schemas/outcome.ts'
import { ROW_COLUMNS } from '../../../schemas/row.ts'
import { readRow, readRows } from '../../../src/pipeline/event/read-rows.ts'
import { tsv } from '../../../src/pipeline/event/row.ts'
import { eventRows } from '../../support/event-rows.ts'

const lines = (...texts: string[]) => Buffer.from(texts.map((text) => `${text}\n`).join(''))

test('a row has a typed value for each column, and NULL is not the text N', () => {
  const rows = eventRows([{ session_id: 7, platform: 'N' }, { platform: '\\N' }])
  const [first, second, third] = [...readRows([rows, eventRows([{ session_id: -1, asn: 0 }])])]
  assert.deepEqual([first!.session_id, first!.platform, second!.session_id, second!.platform], [7, 'N', null, '\\N'])
  assert.deepEqual([first!.asn, first!.quality, third!.asn, third!.session_id], [64_500, 80, 0, -1])
  assert.equal(first!.received_at, '2025-11-20T00:00:00.000Z')
  assert.deepEqual(Object.keys(first!), [...ROW_COLUMNS])
})

test('columns after the end of a short row are empty or 0', () => {
  const [short] = readRows([lines(['192.0.2.1', 't', 'e', '1800000000.000', '1800000000.001'].join('\t'))])
  assert.deepEqual(
    [short!.timestamp, short!.company_id, short!.asn, short!.job_id, short!.browser_key],
    ['2027-01-15T08:00:00.001Z', '', 0, '', 0],
  )
  assert.deepEqual(Object.keys(readRow(Buffer.from('192.0.2.1\tt'))), ['ip', 'tenant_id'])
})

test('rows of outcomes are read by their own columns', () => {
  const row = ['p:1', 'acme', '2026-11-22', '', 'rejected', tsv('a\tb'), '', '-3'].join('\t')
  const [outcome] = readRows([lines(row)], OUTCOME_COLUMNS)
  assert.deepEqual(outcome, {
    ...{ source: 'p:1', tenant_id: 'acme', day: '2026-11-22', job_id: '', status: 'rejected', reason: 'a\tb' },
    ...{ classification: '', events: -3, source_id: '' },
  })
})

test('a dead letter with a row of other columns can be shown', () => {
  const { received_at, timestamp } = readRow(Buffer.from('p:1\tacme\t2026-11-22\t\trejected\tline too long'))
  assert.deepEqual([received_at, timestamp], ['', 'rejected'])
})
