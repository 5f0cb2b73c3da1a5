import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NO_JOBS } from '../../../src/operations/status/collect.ts'
import { StallWatch } from '../../../src/operations/status/stall-watch.ts'
import type { ProcessReport } from '../../../src/operations/status/system-status.ts'
import type { GroupStatus } from '../../../src/pipeline/declaration/status.ts'

function watch() {
  const state = { streams: [] as GroupStatus[], lines: 0, oldestMs: 0, fed: 0 }
  const changes: (string | undefined)[] = []
  const stall = new StallWatch({
    pipeline: async () => ({ streams: state.streams, dead_letters: 0 }),
    batchJobs: async () => ({ ...NO_JOBS, lines_waiting: state.lines, oldest_ms: state.oldestMs }),
    reports: async () => [{ last_minute: { batch_lines: state.fed } } as ProcessReport],
    limits: { stallMs: 60_000, slackMs: { archive: 30_000 } },
    onChange: (reason) => changes.push(reason),
  })
  return { state, changes, stall }
}

function waits(group: string, oldestMs: number): GroupStatus {
  const place = { stream: 's', lane: 'live', partition: 0, group } as const
  return { ...place, lag_entries: 1, pending_entries: 0, waiting_events: 1, oldest_ms: oldestMs }
}

test('an event that waits too long raises one alarm, until it moves on', async () => {
  const { state, changes, stall } = watch()
  state.streams = [waits('process', 60_000), waits('archive', 90_000)]
  await stall.look()
  assert.equal(stall.reason, undefined, 'a part of the archive is gathered for a while')
  state.streams = [waits('process', 2_000), waits('clickhouse', 180_000)]
  await stall.look()
  await stall.look()
  assert.equal(stall.reason, 'the oldest unfinished event has waited for clickhouse, live lane for 3 min')
  state.streams = []
  await stall.look()
  assert.equal(stall.reason, undefined)
  assert.equal(changes.length, 2)
})

test('lines that are not fed raise an alarm; a long queue that moves does not', async () => {
  const { state, stall } = watch()
  Object.assign(state, { lines: 600_000, oldestMs: 600_000, fed: 1_000 })
  await stall.look()
  assert.equal(stall.reason, undefined)
  Object.assign(state, { fed: 0, oldestMs: 60_000 })
  await stall.look()
  assert.equal(stall.reason, undefined, 'a new job waits for its turn')
  state.oldestMs = 600_000
  await stall.look()
  assert.equal(stall.reason, '600,000 lines of batch jobs wait, and none was fed in the last minute')
  state.lines = 0
  await stall.look()
  assert.equal(stall.reason, undefined, 'nothing waits')
})
