import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Redis } from 'ioredis'
import { LeaseLostError } from '../../src/run/errors.ts'
import { connectRedis } from '../../src/stores/redis/connect.ts'
import { joinedCalls } from '../../src/stores/redis/joined-calls.ts'
import { keys } from '../../src/stores/redis/keys.ts'
import { Lease } from '../../src/stores/redis/lease.ts'
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

test('who is about to wait has a lease renewed at once, with one call for all, and none when that was done a moment ago', async (t) => {
  const redis = await startTestRedis(t)
  const client = quiet(connectRedis(redis.url, { name: 'test', kind: 'loop' }))
  t.after(() => client.disconnect())
  const lease = new Lease(client, 'work')
  await lease.acquire(new AbortController().signal)
  const now = performance.now.bind(performance)
  const laterMs = now() + 500
  const calls = t.mock.method(client as Redis, 'callBuffer').mock
  const clock = t.mock.method(performance, 'now', () => laterMs).mock
  const before = calls.callCount()
  await Promise.all([lease.renew(), lease.renew()])
  assert.equal(calls.callCount(), before + 1)
  assert.ok(lease.leftMs() > 2_750, `${lease.leftMs()} ms are left`)
  await lease.renew()
  assert.equal(calls.callCount(), before + 1)

  await client.set(keys.lease('work'), 'another')
  clock.mockImplementation(() => now() + 1_000)
  await lease.renew()
  assert.throws(() => lease.assertHeld(), LeaseLostError)
  await lease.release()
})

test('a lease whose end a step of the clock of Redis has put off ends in time', async (t) => {
  const redis = await startTestRedis(t)
  const client = quiet(connectRedis(redis.url, { name: 'test', kind: 'loop' }))
  t.after(() => client.disconnect())
  await client.set(keys.lease('work'), 'somebody who died', 'PX', 3_600_000)
  const lease = new Lease(client, 'work')
  assert.equal(await lease.acquire(AbortSignal.timeout(30_000)), true)
  await lease.release()
})

test('what is asked in one turn goes out as one, and each has its own answer', async (t) => {
  const redis = await startTestRedis(t)
  const client = quiet(connectRedis(redis.url, { name: 'test', kind: 'loop' }))
  t.after(() => client.disconnect())
  const joined = joinedCalls(client)
  const made = t.mock.method(client as Redis, 'pipeline')
  const answers = await Promise.allSettled([
    joined.callBuffer('SET', 'key', 'value'),
    joined.callBuffer('NONSENSE'),
    joined.callBuffer('GET', 'key'),
  ])
  assert.equal(made.mock.callCount(), 1)
  assert.deepEqual(
    answers.map((answer) => (answer.status === 'fulfilled' ? String(answer.value) : 'failed')),
    ['OK', 'failed', 'value'],
  )
  const never = new AbortController().signal
  const leases = ['one', 'other'].map((name) => new Lease(joined, name))
  assert.deepEqual(await Promise.all(leases.map((lease) => lease.acquire(never))), [true, true])
  for (const lease of leases) lease.assertHeld()
  await Promise.all(leases.map((lease) => lease.release()))
  assert.equal(await client.exists(keys.lease('one'), keys.lease('other')), 0)
})

test('who was started for an owner that ended takes its lease at once, and the one that ended writes nothing more', async (t) => {
  const redis = await startTestRedis(t)
  const client = quiet(connectRedis(redis.url, { name: 'test', kind: 'loop' }))
  t.after(() => client.disconnect())
  const never = new AbortController().signal
  const ended = new Lease(client, 'work', 'main/worker')
  assert.equal(await ended.acquire(never), true)
  const stopping = new AbortController()
  const others = ['main/worker 2', 'other/worker', undefined].map((place) => new Lease(client, 'work', place))
  const waiting = others.map((lease) => lease.acquire(stopping.signal))

  const next = new Lease(client, 'work', 'main/worker')
  // The owner before renews its lease all the time here: waiting for its end would never end.
  assert.equal(await next.acquire(never), true)
  await assert.rejects(ended.write('{lease:work}:key', 'late'), LeaseLostError)
  await next.write('{lease:work}:key', 'mine')
  assert.equal(await client.get('{lease:work}:key'), 'mine')
  stopping.abort()
  assert.deepEqual(await Promise.all(waiting), [false, false, false])
  await ended.release()
  next.assertHeld()
  await next.release()
})

test('an owner that was held up is fenced off: by its own clock, by Redis, and when the lease was free in between', async (t) => {
  const redis = await startTestRedis(t)
  const client = quiet(connectRedis(redis.url, { name: 'test', kind: 'loop' }))
  t.after(() => client.disconnect())
  const held = new Lease(client, 'work')
  const note = keys.sinkIntent('work')
  const isLost = () => {
    try {
      held.assertHeld()
      return false
    } catch (error) {
      return error instanceof LeaseLostError
    }
  }
  const signal = new AbortController().signal
  await held.acquire(signal)
  await held.write(note, 'ours')
  const now = performance.now.bind(performance)
  t.mock.method(performance, 'now', () => now() + 3_000)
  assert.ok(isLost(), 'nobody has renewed it')
  t.mock.restoreAll()

  // Another one has it, and we have not noticed yet.
  await client.set(keys.lease('work'), 'another')
  await assert.rejects(held.write(note, 'late'), LeaseLostError)
  assert.equal(await client.get(note), 'ours')

  await client.del(keys.lease('work'))
  await held.acquire(signal)
  assert.ok(!isLost())
  // Whoever had it meanwhile may have done anything.
  await client.del(keys.lease('work'))
  await until(isLost, (lost) => lost, 5_000)
  await held.release()
})
