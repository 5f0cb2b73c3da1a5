import assert from 'node:assert/strict'
import { test } from 'node:test'
import { OUTCOME_STATUS } from '../../../schemas/outcome.ts'
import { dayTitle, withUtc } from '../../../src/dashboard/pages/lib/day-clock.ts'
import { setZone } from '../../../src/dashboard/pages/lib/days.ts'
import { sharedUrl } from '../../../src/dashboard/pages/lib/local-host.ts'
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

test('days that are UTC say so only where the days of the workspace are others', (t) => {
  t.after(() => setZone('UTC'))
  assert.equal(withUtc('Today'), 'Today')
  assert.equal(dayTitle('event'), 'Day of the event')
  setZone('Europe/Berlin')
  assert.equal(withUtc('Today'), 'Today (UTC)')
  assert.equal(dayTitle('event'), 'Day of the event (UTC)')
  assert.equal(withUtc('Today', true), 'Today')
})

test('an address that only this machine reaches is not proposed', () => {
  for (const url of ['http://127.0.0.1:8080', 'http://localhost', 'http://[::1]:8080', null])
    assert.equal(sharedUrl(url), '')
  for (const url of ['https://ipid.example', 'http://10.0.0.1:8080']) assert.equal(sharedUrl(url), url)
})
