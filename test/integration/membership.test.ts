import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Redis } from 'ioredis'
import { pino } from 'pino'
import { LeaseLostError } from '../../src/run/errors.ts'
import { connectRedis } from '../../src/stores/redis/connect.ts'
import { keys } from '../../src/stores/redis/keys.ts'
import { Membership, type MembershipOptions, type ShareLease, shareOf } from '../../src/stores/redis/membership.ts'
import { pipelinedCalls } from '../../src/stores/redis/pipelined-calls.ts'
import { withRewriteLease } from '../../src/terminal/rewrite-lease.ts'
import { quiet } from '../support/pipeline.ts'
import { startTestRedis } from '../support/redis.ts'
import { until } from '../support/until.ts'

/** Ways in which processes divide shares of work: a lease with one share, or several shares. */

const SHARES = 5
const NOTE = '{lease:work}:note'
const NEVER = new AbortController().signal

async function start(t: TestContext) {
  const redis = await startTestRedis(t)
  const client = quiet(connectRedis(redis.url, { name: 'test', kind: 'loop' }))
  const stopping = new AbortController()
  const opened: Membership[] = []
  t.after(async () => {
    t.mock.restoreAll()
    stopping.abort()
    for (const member of opened) await member.release().catch(() => {})
    client.disconnect()
  })
  const open = (shares: number, options: Partial<MembershipOptions> = {}) => {
    const member = new Membership({ client, name: 'work', shares, ...options })
    opened.push(member)
    return member
  }
  return { client, open, lease: () => open(1).share(0), signal: stopping.signal }
}

const NUMBERS = Array.from({ length: SHARES }, (_, number) => number)
const heldBy = (member: Membership) => NUMBERS.filter((number) => member.has(number))

const isLost = (held: Pick<ShareLease, 'assertHeld'>) => {
  try {
    held.assertHeld()
    return false
  } catch (error) {
    return error instanceof LeaseLostError
  }
}

/** Members give back their surplus until they hold these numbers of shares. No share is ever held twice. */
async function balanced(members: readonly Membership[], wanted: readonly number[]): Promise<void> {
  await until(
    async () => {
      const all = members.flatMap(heldBy)
      assert.equal(new Set(all).size, all.length, `a share has two holders: ${all}`)
      for (const member of members) if (member.hasSpare) await member.giveBack()
      return members.map((member) => heldBy(member).length)
    },
    (counts) => `${counts}` === `${wanted}`,
  )
}

test('a lease has one holder, who renews it, and is free at once when released', async (t) => {
  const { client, lease } = await start(t)
  const [first, second] = [lease(), lease()]
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
  assert.equal(await second.acquire(NEVER), true)
  await second.release()
  assert.throws(() => second.assertHeld(), LeaseLostError)
  assert.deepEqual(await client.keys('{lease:work}*'), [], 'the last member leaves nothing')
})

test('a lease is renewed on demand, one call for all, and not again right after a renewal', async (t) => {
  const { client, lease } = await start(t)
  const held = lease()
  await held.acquire(NEVER)
  const now = performance.now.bind(performance)
  const laterMs = now() + 500
  const calls = t.mock.method(client as Redis, 'callBuffer').mock
  const clock = t.mock.method(performance, 'now', () => laterMs).mock
  const before = calls.callCount()
  await Promise.all([held.renew(), held.renew()])
  assert.equal(calls.callCount(), before + 1)
  assert.ok(held.leftMs() > 2_750, `${held.leftMs()} ms are left`)
  await held.renew()
  assert.equal(calls.callCount(), before + 1)

  await client.set(keys.lease('work'), 'another')
  clock.mockImplementation(() => now() + 1_000)
  await held.renew()
  assert.throws(() => held.assertHeld(), LeaseLostError)
})

test('a holder that hung past its lease is fenced by its own clock, and by Redis', async (t) => {
  const { client, open } = await start(t)
  for (const shares of [1, SHARES]) {
    const [mine, others] = [open(shares), open(shares)]
    const held = mine.share(0)
    await held.acquire(NEVER)
    await held.write(NOTE, 'ours')
    assert.throws(() => others.share(0).assertHeld(), LeaseLostError)
    await assert.rejects(others.share(0).write(NOTE, 'not ours'), LeaseLostError)
    const now = performance.now.bind(performance)
    const clock = t.mock.method(performance, 'now', () => now() + 3_000)
    assert.ok(isLost(held), 'its own clock says so')
    await assert.rejects(held.write(NOTE, 'late'), LeaseLostError)
    clock.mock.restore()

    // Another member has the share, and the old holder has not noticed yet.
    const holder = (await client.hget(keys.leaseShares('work'), '0'))!
    await client.hset(keys.leaseShares('work'), '0', 'another')
    await assert.rejects(held.write(NOTE, 'late'), LeaseLostError)
    // The lease ended, and no other member has asked since.
    await client.hset(keys.leaseShares('work'), '0', holder)
    await client.zadd(keys.leaseMembers('work'), 1, holder)
    await assert.rejects(held.write(NOTE, 'late'), LeaseLostError)
    assert.equal(await client.get(NOTE), 'ours')
    await mine.release()
  }
})

test('a share that was free meanwhile is lost, not reassigned, and comes back on request', async (t) => {
  const { client, open } = await start(t)
  for (const shares of [1, SHARES]) {
    const member = open(shares)
    const held = member.share(0)
    await held.acquire(NEVER)
    await client.hdel(keys.leaseShares('work'), '0')
    const isAssigned = async () => (await client.hexists(keys.leaseShares('work'), '0')) === 1
    await until(async () => isLost(held) || (await isAssigned()))
    assert.deepEqual([isLost(held), await isAssigned()], [true, false])
    await held.acquire(NEVER)
    await held.write(NOTE, 'ours')
    await member.release()
  }
})

test('a member that rejoins after its lease ended has a new name; its late writes are refused', async (t) => {
  const { client, open } = await start(t)
  const member = open(2)
  const [first, second] = [member.share(0), member.share(1)]
  await first.acquire(NEVER)
  const name = (await client.hget(keys.leaseShares('work'), '0'))!
  await client.zrem(keys.leaseMembers('work'), name)
  await second.acquire(NEVER)
  assert.ok(isLost(first), 'a new lease does not revive the old one')
  await first.acquire(NEVER)
  assert.notEqual(await client.hget(keys.leaseShares('work'), '0'), name)
  await Promise.all([first.write(NOTE, 'ours'), second.write(NOTE, 'ours')])
})

test('setting the clock of Redis back does not keep the shares of dead members', async (t) => {
  const { client, open } = await start(t)
  const farMs = Date.now() + 3_600_000
  const isTaken = (name: string, shares: number) => open(shares, { name }).acquireAny(AbortSignal.timeout(30_000))
  const taken = ['assigned', 'number of shares', 'earlier version'].map(async (name, i) => {
    if (i === 2) await client.set(keys.lease(name), 'its owner', 'PX', 3_600_000)
    else {
      await client.set(keys.lease(name), `shares:${SHARES}`)
      await client.zadd(keys.leaseMembers(name), farMs, 'dead')
      for (const share of NUMBERS) await client.hset(keys.leaseShares(name), `${share}`, 'dead')
    }
    return await isTaken(name, i === 0 ? SHARES : 1)
  })
  assert.deepEqual(await Promise.all(taken), [true, true, true])
})

test('a renewal in flight while a share is given back loses no other share', async (t) => {
  const { client, open, signal } = await start(t)
  let held: Promise<void> | undefined
  let letGo = () => {}
  let asked = 0
  const slow = Object.assign(Object.create(client) as typeof client, {
    async callBuffer(command: string, ...args: string[]) {
      const answer = await client.callBuffer(command, ...args)
      asked++
      await held
      return answer
    },
  })
  const first = open(SHARES, { client: slow })
  await first.acquireAny(signal)
  const joined = open(SHARES).acquireAny(signal)
  await until(() => first.hasSpare)
  const before = asked
  held = new Promise((resolve) => {
    letGo = resolve
  })
  await until(() => asked > before)
  const given = first.giveBack()
  held = undefined
  letGo()
  await given
  assert.equal(isLost(first), false)
  assert.equal(heldBy(first).length, 3)
  await joined
})

test('new members get their part as others release it; shares of a hung member are taken over', async (t) => {
  const { client, open, signal } = await start(t)
  const [first, second, third] = [open(SHARES), open(SHARES), open(SHARES)]
  assert.equal(await first.acquireAny(signal), true)
  assert.deepEqual(heldBy(first), [0, 1, 2, 3, 4])
  assert.equal(first.hasSpare, false)

  const joined = second.acquireAny(signal)
  await until(() => first.hasSpare)
  assert.deepEqual([heldBy(first).length, heldBy(second).length], [5, 0], 'no share is taken from a worker')
  await first.giveBack()
  await joined
  await balanced([first, second], [3, 2])
  void third.acquireAny(signal)
  await balanced([first, second, third], [2, 2, 1])

  const owners = await client.hgetall(keys.leaseShares('work'))
  await client.zadd(keys.leaseMembers('work'), 'XX', 1, owners[heldBy(second)[0]!]!)
  await until(() => isLost(second))
  assert.deepEqual(heldBy(second), [])
  await until(() => heldBy(first).length + heldBy(third).length === SHARES)
  assert.equal(isLost(first) || isLost(third), false)
  void second.acquireAny(signal)
  await balanced([first, second, third], [2, 1, 2])

  await first.release()
  assert.ok(isLost(first))
  await until(() => heldBy(second).length + heldBy(third).length === SHARES)
  await Promise.all([second.release(), third.release()])
  assert.deepEqual(await client.keys('{lease:work}*'), [keys.lease('work')], 'only the number of shares is left')
})

test("workers of single shares take at most their process's part, and release one at a time", async (t) => {
  const { client, open } = await start(t)
  const acquire = (member: Membership, numbers: readonly number[], signal = NEVER) =>
    numbers.map((number) => member.share(number).acquire(signal))
  const [first, second, third] = ['a', 'b', 'c'].map((processName) => open(3, { processName })) as [
    Membership,
    Membership,
    Membership,
  ]
  const stopping = new AbortController()
  await Promise.all(acquire(first, [0]))
  const [one, other] = acquire(second, [1, 2], stopping.signal)
  assert.equal(await one, true)
  assert.deepEqual([first.held, second.held], [1, 1], 'the third share is for the first process')
  await Promise.all(acquire(first, [2]))
  assert.deepEqual([first.held, second.held], [2, 1])
  stopping.abort()
  assert.equal(await other, false)

  const waiting = new AbortController()
  const waits = acquire(third, [0, 1, 2], waiting.signal)
  await until(
    () => client.zcard(keys.leaseMembers('work')),
    (members) => members === 3,
  )
  await Promise.all(acquire(first, [0, 2]))
  assert.deepEqual(
    [first.share(0).givesBack(), first.share(2).givesBack(), second.share(1).givesBack()],
    [true, false, false],
  )
  await first.share(0).release()
  assert.equal(await waits[0], true)
  waiting.abort()
  await Promise.all(waits)
})

test('with fewer shares than members, the others wait, and one takes a share that becomes free', async (t) => {
  const { open, signal } = await start(t)
  const [first, second] = [open(1), open(1)]
  assert.equal(await first.acquireAny(signal), true)
  const stopping = new AbortController()
  const waiting = second.acquireAny(stopping.signal)
  stopping.abort()
  assert.equal(await waiting, false)
  assert.deepEqual([first.has(0), first.hasSpare, second.has(0)], [true, false, false])
  const next = second.acquireAny(signal)
  await first.release()
  assert.equal(await next, true)

  const now = performance.now.bind(performance)
  t.mock.method(performance, 'now', () => now() + 3_000)
  assert.ok(isLost(second), 'its own clock says so')
})

test('a process gets the shares of the one it replaces at once, which then writes nothing', async (t) => {
  const { open, signal } = await start(t)
  const replaced = open(SHARES, { processName: 'main/worker' })
  const other = open(SHARES, { processName: 'main/worker 2' })
  await replaced.acquireAny(signal)
  const theirs = other.acquireAny(signal)
  await balanced([replaced, other], [3, 2])
  await theirs
  const [share] = heldBy(replaced)
  const next = open(SHARES, { processName: 'main/worker' })
  // The replaced process renews all the time, so its leases would never end.
  await next.acquireAny(signal)
  await assert.rejects(replaced.share(share!).write(NOTE, 'late'), LeaseLostError)
  await until(() => isLost(replaced))
  await until(() => heldBy(next).length + heldBy(other).length === SHARES)
  assert.deepEqual([isLost(next), isLost(other)], [false, false])
  await Promise.all([next.release(), other.release()])

  // With another number of shares, too.
  const before = open(SHARES, { processName: 'main/worker' })
  await before.acquireAny(signal)
  await open(3, { processName: 'main/worker' }).acquireAny(signal)
  await until(() => isLost(before))
})

test('one number of shares is in force; a member with another one waits, and logs that once', async (t) => {
  const { client, open, signal } = await start(t)
  const logged: unknown[] = []
  const log = pino({ level: 'warn' }, { write: (line) => void logged.push(JSON.parse(line).before) })
  const [whole, four] = [open(1), open(4, { log })]
  await whole.acquireAny(signal)
  const waiting = four.acquireAny(signal)
  await until(() => logged.length > 0)
  await whole.release()
  assert.equal(await waiting, true)

  const five = open(SHARES, { log })
  const later = five.acquireAny(signal)
  await until(() => logged.length > 1 || heldBy(five).length > 0)
  const stopping = new AbortController()
  const lease = open(1).acquireAny(stopping.signal)
  const members = keys.leaseMembers('work')
  const endMs = async () => Number((await client.zrange(members, '0', '-1', 'WITHSCORES'))[1])
  const firstEndMs = await endMs()
  await until(async () => (await endMs()) > firstEndMs + 1_000)
  assert.deepEqual([logged, heldBy(five), isLost(four)], [[1, 4], [], false])
  stopping.abort()
  assert.equal(await lease, false)
  await four.release()
  assert.equal(await later, true)
  assert.deepEqual(heldBy(five), [0, 1, 2, 3, 4])
})

test('an open intent keeps its number of shares until it is finished under its own lease', async (t) => {
  const { client, open } = await start(t)
  const intentKey = (share: number, of: number) => `{lease:work}:intent ${share} of ${of}`
  const [two, three] = [open(2, { intentKey }), open(3, { intentKey })]
  await two.share(1).acquire(NEVER)
  await two.share(1).write(intentKey(1, 2), 'open')
  const finished: unknown[] = []
  const acquired = three.share(0).acquire(NEVER, async (share) => {
    finished.push(share.number, share.of, three.held, await client.get(keys.lease('work')))
    await assert.rejects(two.share(1).write(intentKey(1, 2), 'late'), LeaseLostError)
    await share.write(intentKey(1, 2), '')
  })
  // As when its process was killed.
  const [name] = await client.zrange(keys.leaseMembers('work'), '0', '-1')
  await client.zadd(keys.leaseMembers('work'), 'XX', 1, name!)
  assert.equal(await acquired, true)
  assert.deepEqual(finished, [1, 2, 0, 'shares:2'])
  assert.equal(await client.get(keys.lease('work')), 'shares:3')
})

test('state of an earlier version stays valid: its owners are waited for, its intents finished', async (t) => {
  const { client, open } = await start(t)
  const intentKey = (share: number, of: number) => `{lease:work}:intent ${share} of ${of}`
  const logged: unknown[] = []
  const log = pino({ level: 'warn' }, { write: (line) => void logged.push(JSON.parse(line).before) })
  await client.set(keys.lease('work'), 'shares 2')
  await client.set(keys.lease('work', 1), 'owner of an earlier version')
  await client.set(intentKey(0, 2), 'open')
  const finished: unknown[] = []
  const three = open(3, { intentKey, log })
  const acquired = three.share(0).acquire(NEVER, async (share) => {
    finished.push(share.number, share.of)
    await share.write(intentKey(0, 2), '')
  })
  await until(() => logged.length > 0)
  assert.deepEqual(finished, [])
  await client.del(keys.lease('work', 1))
  assert.equal(await acquired, true)
  assert.deepEqual([finished, logged], [[0, 2], [2]])
})

test('calls of one turn are sent as one write, and each has its own answer', async (t) => {
  const { client } = await start(t)
  const joined = pipelinedCalls(client)
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
  const leases = ['one', 'other'].map((name) => new Membership({ client: joined, name }).share(0))
  assert.deepEqual(await Promise.all(leases.map((lease) => lease.acquire(NEVER))), [true, true])
  for (const lease of leases) lease.assertHeld()
  await Promise.all(leases.map((lease) => lease.release()))
  assert.equal(await client.exists(keys.lease('one'), keys.lease('other')), 0)
})

test('all keys of a lease share one slot of a Redis Cluster', () => {
  const names = [keys.lease('work'), keys.lease('work', 1), keys.leaseMembers('work'), keys.leaseShares('work')]
  const ofSinks = [keys.sinkIntent('work'), keys.sinkIntent('work', 1), keys.sinkRunIds('work')]
  const tags = [...names, ...ofSinks].map((name) => /^\{([^}]+)\}/.exec(name)?.[1])
  assert.deepEqual(new Set(tags), new Set(['lease:work']))
})

test('a name always has the same share, and names are spread over all shares', () => {
  const names = Array.from({ length: 200 }, (_, i) => `tenant-${i}`)
  const counts = Array.from({ length: 4 }, (_, share) => names.filter((name) => shareOf(name, 4) === share).length)
  assert.ok(
    counts.every((count) => count > 30),
    `${counts}`,
  )
  assert.deepEqual([shareOf('acme', 64), shareOf('acme', 1)], [shareOf('acme', 64), 0])
})

test('work that lost the lease for replacing events says so, and to run it again', async (t) => {
  const redis = await startTestRedis(t)
  const client = quiet(connectRedis(redis.url, { name: 'test', kind: 'loop' }))
  t.after(() => client.disconnect())
  const work = withRewriteLease(client, 'a replay', async (hold) => {
    await client.flushall()
    for (;;) {
      hold.assertHeld()
      await client.ping()
    }
  })
  await assert.rejects(work, { name: 'StartupError', message: /^a replay is not finished: for 3 s .*; run it again$/ })
})
