import assert from 'node:assert/strict'
import { test } from 'node:test'
import { OUTCOME_STATUS } from '../../../schemas/outcome.ts'
import { kindsOf } from '../../../src/dashboard/pages/pages/received/kinds.ts'

test('each outcome is in one series of the chart, and only losses are called dropped', () => {
  const row = (status: string, reason = '', classification = '') => ({
    ...{ day: '2026-11-28', status, reason, classification, events: 1 },
  })
  const cases: [row: ReturnType<typeof row>, kind: string][] = [
    [row('stored'), 'kept'],
    [row('duplicates'), 'repeats'],
    [row(OUTCOME_STATUS.invalidIp), 'invalid'],
    [row(OUTCOME_STATUS.noIp), 'invalid'],
    [row(OUTCOME_STATUS.rejected, 'schema'), 'invalid'],
    [row(OUTCOME_STATUS.filtered, '', 'cdn'), 'filtered: CDNs'],
    [row(OUTCOME_STATUS.filtered, 'own', 'isp'), 'filtered by your rules'],
    [row(OUTCOME_STATUS.noPage), 'filtered: no page views'],
    [row(OUTCOME_STATUS.dead), 'dead or dropped'],
  ]
  const kinds = kindsOf(cases.map(([one]) => one))
  for (const [one, right] of cases) {
    const names = kinds.filter(({ of }) => of(one)).map(({ name }) => name)
    assert.deepEqual(names, [right], JSON.stringify(one))
  }
})
