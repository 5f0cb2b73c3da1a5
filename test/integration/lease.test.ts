import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LeaseLostError } from '../../src/core/run/errors.ts'
import { connectRedis } from '../../src/redis/connect.ts'
import { keys } from '../../src/redis/keys.ts'
import { Lease } from '../../src/redis/lease.ts'
import { quiet } from '../support/pipeline.ts'
import { startTestRedis } from '../support/redis.ts'
import { until } from '../support/until.ts'

test('a lease is one owner’s at a time, is renewed while it is held, and is free at once when given back', async (t) => {
  const redis = await startTestRedis(t)
  const client = quiet(connectRedis(redis.url, { name: 'test', kind: 'loop' }))
  t.after(() => client.disconnect())
  const [first, second] = [new Lease(client, 'work'), new Lease(client, 'work')]
  const stopping = new AbortController()
  assert.equal(await first.acquire(stopping.signal), true)
  assert.throws(() => second.assertHeld(), LeaseLostError)

  const waited = second.acquire(stopping.signal)
  let lowestMs = Number.POSITIVE_INFINITY
  await until(async () => {
    const leftMs = await client.pttl(keys.lease('work'))
    lowestMs = Math.min(lowestMs, leftMs)
    return leftMs > lowestMs + 100
  })
  first.assertHeld()
  stopping.abort()
  assert.equal(await waited, false)

  await first.release()
  // A renewal is on its way at this moment, and must not take back what is given back.
  assert.equal(await second.acquire(new AbortController().signal), true)
  await second.release()
  assert.throws(() => second.assertHeld(), LeaseLostError)
  assert.equal(await first.acquire(new AbortController().signal), true)
  await first.release()
})
