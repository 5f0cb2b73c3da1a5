import assert from 'node:assert/strict'
import { test } from 'node:test'
import { OriginTally, originWarning } from '../../src/pipeline/event/origins.ts'
import { connectRedis } from '../../src/stores/redis/connect.ts'
import { keys } from '../../src/stores/redis/keys.ts'
import { RedisOriginCounts } from '../../src/tenants/redis/origin-counts.ts'
import { quiet } from '../support/pipeline.ts'
import { startTestRedis } from '../support/redis.ts'
import { handClock } from '../support/tenants.ts'

const DAY_MS = 86_400_000

test('the counts of a day are bounded, and a late network with most events is found', async (t) => {
  const redis = await startTestRedis(t)
  const client = quiet(connectRedis(redis.url, { name: 'test', kind: 'loop' }))
  t.after(() => client.disconnect())
  const clock = handClock()
  await client.hset(keys.tenants(), 'acme', '{}')
  const counts = new RedisOriginCounts(client, clock)
  const add = (origins: readonly string[], events: number) => {
    const tally = new OriginTally()
    for (const origin of origins) tally.add(origin, events)
    return counts.add('acme', tally)
  }
  for (let i = 0; i < 40; i++) {
    await add(
      Array.from({ length: 10 }, (_, n) => `hosting AS${i * 10 + n} H`),
      5,
    )
  }
  const [key] = await client.keys('*origins*')
  assert.ok((await client.hlen(key!)) <= 65, 'and one of all events')
  let sum = await counts.read('acme')
  assert.equal(sum.events, 2_000)
  assert.equal(originWarning(sum), undefined)
  for (let i = 0; i < 30; i++) sum = await add(['cdn AS13335 C', `hosting AS${5_000 + i} H`], 100)
  assert.equal(sum.events, 8_000)
  const late = sum.byOrigin.get('cdn AS13335 C')!
  assert.ok(late <= 3_000 && late >= 3_000 - 8_000 / 65, String(late))
  sum = await add(['cdn AS13335 C'], 4_000)
  assert.equal(originWarning(sum)?.origin, 'cdn AS13335 C')

  clock.nowMs += DAY_MS
  assert.deepEqual((await counts.read('acme')).events, 12_000, 'since yesterday')
  clock.nowMs += DAY_MS
  assert.deepEqual(await counts.read('acme'), { events: 0, byOrigin: new Map() })
})
