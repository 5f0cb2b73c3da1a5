import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ingest } from '../../../pipelines/ingest.ts'
import { IntakeGate } from '../../../src/pipeline/streams/intake-gate.ts'
import type { RedisClient } from '../../../src/stores/redis/connect.ts'
import { counterFields } from '../../../src/stores/redis/keys.ts'
import { mockTimeouts, settled } from '../../support/mock-timeouts.ts'
import { silent } from '../../support/pipeline.ts'

test('an unused gate rests; a request makes it check at once, and a closed gate keeps checking', async (t) => {
  mockTimeouts(t)
  t.mock.method(Date, 'now', () => 0)
  const pass = async (ms: number) => {
    t.mock.timers.tick(ms)
    await settled()
  }
  let waiting = 0
  let looks = 0
  const client = {
    hgetall: async () => ({ [counterFields.added('intake', 'live', 'events')]: String(waiting) }),
    async info() {
      looks++
      return ''
    },
  } as unknown as RedisClient
  const gate = new IntakeGate({ client, pipeline: ingest, partitions: 1, waitingEventsMax: 10, log: silent })
  t.after(() => gate.stop())
  await gate.start()
  await settled()
  for (let i = 0; i < 9; i++) await pass(1_000)
  assert.equal(looks, 1)

  waiting = 11
  assert.equal(gate.closedBecause(false), undefined)
  await settled()
  assert.equal(looks, 2)
  assert.match(gate.closedBecause(false) ?? '', /11 events wait/)
  await pass(500)
  assert.equal(looks, 3)

  // Without requests too, so that a returning client is not refused without need.
  await pass(500)
  waiting = 0
  await pass(500)
  assert.equal(looks, 5)
  assert.equal(gate.closedBecause(false), undefined)
})
