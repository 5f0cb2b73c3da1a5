import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AlertTrials } from '../../../src/alerts/evaluation/trial.ts'
import type { ClickHouseVisits } from '../../../src/alerts/evaluation/visits.ts'
import { TooMuchError, UnavailableError } from '../../../src/run/errors.ts'

const NOW_MS = Date.UTC(2026, 2, 15, 12)
const DAY_MS = 86_400_000

/** Trials of a tenant for which a query over more days takes too long. */
function trialsOf(daysMax: number, failure: Error = new TooMuchError('too many events')) {
  const asked: number[] = []
  const entries = async (_tenant: string, _where: string, sinceMs: number) => {
    const days = Math.ceil((NOW_MS - sinceMs) / DAY_MS)
    asked.push(days)
    if (days > daysMax) throw failure
    return [{ day: '2026-03-14', company_id: 'a.example' }]
  }
  const companies = async () => [{ company_id: 'a.example', name: 'A' }]
  const trials = new AlertTrials({ entries, companies, zoneOf: async () => 'UTC' } as unknown as ClickHouseVisits, {
    now: () => NOW_MS,
  })
  return { asked, run: () => trials.run('acme', { on: 'segment.entered', afterDays: 30, where: 'visits>=2' }) }
}

test('a dry run that takes too long looks at fewer days, and says at which', async () => {
  const all = trialsOf(90)
  assert.deepEqual(await all.run(), {
    ...{ days: 90, times: 1, companies: 1 },
    latest: [{ day: '2026-03-14', company_id: 'a.example', name: 'A' }],
  })
  assert.deepEqual(all.asked, [90])
  const few = trialsOf(10)
  assert.equal((await few.run()).days, 7)
  assert.deepEqual(few.asked, [90, 30, 7])
})

test('a dry run fails when the shortest takes too long, and at once for another reason', async () => {
  const slow = trialsOf(0)
  await assert.rejects(slow.run(), TooMuchError)
  assert.deepEqual(slow.asked, [90, 30, 7])
  const down = trialsOf(0, new UnavailableError('ClickHouse does not answer'))
  await assert.rejects(down.run(), /does not answer/)
  assert.deepEqual(down.asked, [90])
})
