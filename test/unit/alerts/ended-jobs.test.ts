import assert from 'node:assert/strict'
import { test } from 'node:test'
import { JobReporter } from '../../../src/alerts/evaluation/ended-jobs.ts'
import type { MessageContext } from '../../../src/alerts/messages.ts'
import type { FiringAlert } from '../../../src/alerts/redis/alert-store.ts'

const HOUR_MS = 3_600_000

test('an alert continues where it was, and one without a turn for an hour is forgotten', async () => {
  let nowMs = Date.parse('2026-11-01T12:00:00.000Z')
  const asked: number[] = []
  const reporter = new JobReporter({
    clock: { now: () => nowMs },
    jobs: {
      page: async (_, from) => {
        asked.push(from.atMs)
        return { jobs: [], next: { atMs: nowMs, skip: 0 }, isLast: false }
      },
      read: async () => undefined,
    },
    occurrences: { unreported: async () => [], record: async () => 0 },
  })
  const report = async (id: string, since: string) => {
    const alert = { id, tenantId: 'acme', active_since: since, on: 'job.ended' } as unknown as FiringAlert
    await reporter.report(alert, {} as MessageContext)
    return asked.pop()
  }
  const [first, second] = ['2026-11-01T10:00:00.000Z', '2026-11-01T11:00:00.000Z']
  assert.equal(await report('removed', first), Date.parse(first))
  assert.equal(await report('used', first), Date.parse(first))
  const readMs = nowMs
  nowMs += HOUR_MS / 2
  assert.equal(await report('used', first), readMs, 'it continues')
  const readAgainMs = nowMs
  nowMs += HOUR_MS / 2
  assert.equal(await report('used', first), readAgainMs, 'its turn was within the hour')
  assert.equal(await report('removed', first), Date.parse(first), 'it is forgotten')
  assert.equal(await report('used', second), Date.parse(second), 'its new start')
})
