import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ingest } from '../../../pipelines/ingest.ts'
import { Janitor } from '../../../src/pipeline/streams/janitor.ts'
import type { RedisClient } from '../../../src/stores/redis/connect.ts'
import { mockTimeouts, settled } from '../../support/mock-timeouts.ts'
import { silent } from '../../support/pipeline.ts'

test('an idle janitor checks less often, and at full rate when entries were finished', async (t) => {
  mockTimeouts(t)
  let nowMs = 0
  t.mock.method(Date, 'now', () => nowMs)
  let rounds = 0
  let removed = 0
  const client = {
    zrangebyscore: async () => [],
    async callBuffer(_command: string, _digest: string, count: number) {
      // Trimming covers all streams, everything else one key.
      if (count === 1) return 0
      rounds++
      return removed
    },
  } as unknown as RedisClient
  const roundsIn = async (ms: number) => {
    const before = rounds
    await settled(60)
    for (let passed = 0; passed < ms; passed += 250) {
      nowMs += 250
      t.mock.timers.tick(250)
      await settled(60)
    }
    return rounds - before
  }
  const janitor = new Janitor({ client, pipeline: ingest, partitions: 1, log: silent })
  t.after(() => janitor.stop())
  await janitor.start()
  await settled(60)
  assert.equal(await roundsIn(10_000), 5)
  assert.equal(await roundsIn(30_000), 3)
  removed = 1
  janitor.finished()
  assert.equal(await roundsIn(1_000), 3, 'at once, and then twice a second')
  removed = 0
  await roundsIn(20_000)
  assert.equal(await roundsIn(30_000), 3)
})
