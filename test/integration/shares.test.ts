import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { LeaseLostError } from '../../src/run/errors.ts'
import { connectRedis } from '../../src/stores/redis/connect.ts'
import { keys } from '../../src/stores/redis/keys.ts'
import { Lease } from '../../src/stores/redis/lease.ts'
import { Shares, type SharesOptions, shareOf } from '../../src/stores/redis/shares.ts'
import { quiet } from '../support/pipeline.ts'
import { startTestRedis } from '../support/redis.ts'
import { until } from '../support/until.ts'

async function start(t: TestContext) {
  const redis = await startTestRedis(t)
  const client = quiet(connectRedis(redis.url, { name: 'test', kind: 'loop' }))
  const stopping = new AbortController()
  const opened: Shares[] = []
  t.after(async () => {
    stopping.abort()
    for (const shares of opened) await shares.release().catch(() => {})
    client.disconnect()
  })
  const open = (count: number, options: Partial<SharesOptions> = {}) => {
    const shares = new Shares({ client, name: 'work', count, ...options })
    opened.push(shares)
    return shares
  }
  return { client, open, signal: stopping.signal }
}

const SHARES = 5
const heldBy = (shares: Shares) => Array.from({ length: SHARES }, (_, i) => i).filter((share) => shares.has(share))
const isLost = (shares: Shares) => {
  try {
    shares.assertHeld()
    return false
  } catch (error) {
    return error instanceof LeaseLostError
  }
}

/** Each gives back what it is to give back until they hold so many; none holds what another one holds. */
async function settled(members: readonly Shares[], wanted: readonly number[]): Promise<void> {
  await until(
    async () => {
      const all = members.flatMap(heldBy)
      assert.equal(new Set(all).size, all.length, `a share of two: ${all}`)
      for (const member of members) if (member.hasSpare) await member.giveBack()
      return members.map((member) => heldBy(member).length)
    },
    (counts) => `${counts}` === `${wanted}`,
  )
}

test('shares of a member whose end a step of the clock of Redis has put off are free in time', async (t) => {
  const { client, open } = await start(t)
  const farMs = Date.now() + 3_600_000
  await client.set(keys.lease('work'), `shares:${SHARES}`, 'PX', 3_600_000)
  await client.zadd(keys.leaseMembers('work'), farMs, 'somebody who died')
  for (let share = 0; share < SHARES; share++) await client.hset(keys.leaseShares('work'), share, 'somebody who died')
  const shares = open(SHARES)
  assert.equal(await shares.acquire(AbortSignal.timeout(30_000)), true)
  assert.equal(heldBy(shares).length, SHARES)
})

test('a lease that is held as a whole ends in time for those who would share it', async (t) => {
  const { client, open } = await start(t)
  await client.set(keys.lease('work'), 'somebody who died', 'PX', 3_600_000)
  assert.equal(await open(SHARES).acquire(AbortSignal.timeout(30_000)), true)
})

test('a renewal that is on its way while a share is given back loses no other', async (t) => {
  const { client, open, signal } = await start(t)
  let held: Promise<void> | undefined
  let goOn = () => {}
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
  await first.acquire(signal)
  const came = open(SHARES).acquire(signal)
  await until(() => first.hasSpare)
  const before = asked
  held = new Promise((resolve) => {
    goOn = resolve
  })
  await until(() => asked > before)
  const given = first.giveBack()
  held = undefined
  goOn()
  await given
  assert.equal(isLost(first), false)
  assert.equal(heldBy(first).length, 3)
  await came
})

test('shares are divided among those who are there: who comes gets its part as others give it back, and who dies leaves it to them', async (t) => {
  const { client, open, signal } = await start(t)
  const [first, second, third] = [open(SHARES), open(SHARES), open(SHARES)]
  assert.equal(await first.acquire(signal), true)
  assert.deepEqual(heldBy(first), [0, 1, 2, 3, 4])
  assert.equal(first.hasSpare, false)

  const came = second.acquire(signal)
  await until(() => first.hasSpare)
  assert.deepEqual([heldBy(first).length, heldBy(second).length], [5, 0], 'nothing is taken from who works on it')
  await first.giveBack()
  await came
  await settled([first, second], [3, 2])
  void third.acquire(signal)
  await settled([first, second, third], [2, 2, 1])

  // The second one was held up until its place ended.
  const owners = await client.hgetall(keys.leaseShares('work'))
  const secondName = owners[heldBy(second)[0]!]!
  await client.zadd(keys.leaseMembers('work'), 'XX', 1, secondName)
  await until(() => isLost(second))
  assert.deepEqual(heldBy(second), [])
  await until(() => heldBy(first).length + heldBy(third).length === SHARES)
  assert.equal(isLost(first) || isLost(third), false)
  void second.acquire(signal)
  await settled([first, second, third], [2, 1, 2])

  await first.release()
  assert.ok(isLost(first))
  await until(() => heldBy(second).length + heldBy(third).length === SHARES)
  await Promise.all([second.release(), third.release()])
  assert.deepEqual(await client.keys('{lease:work}*'), [], 'the last one leaves nothing behind')
})

test('with one share, or fewer than there are members, the others wait, and one of them takes what becomes free', async (t) => {
  const { open, signal } = await start(t)
  const [first, second] = [open(1), open(1)]
  assert.equal(await first.acquire(signal), true)
  const stopping = new AbortController()
  const waiting = second.acquire(stopping.signal)
  stopping.abort()
  assert.equal(await waiting, false)
  assert.deepEqual([first.has(0), first.hasSpare, second.has(0)], [true, false, false])
  const next = second.acquire(signal)
  await first.release()
  assert.equal(await next, true)

  const now = performance.now.bind(performance)
  t.mock.method(performance, 'now', () => now() + 3_000)
  assert.ok(isLost(second), 'nobody has renewed it')
})

test('who was started for a member that ended has its shares at once, and that one takes nothing back', async (t) => {
  const { open, signal } = await start(t)
  const ended = open(SHARES, { place: 'main/worker' })
  const other = open(SHARES, { place: 'main/worker 2' })
  await ended.acquire(signal)
  void other.acquire(signal)
  await settled([ended, other], [3, 2])
  const next = open(SHARES, { place: 'main/worker' })
  // The one before renews all the time here.
  await next.acquire(signal)
  await until(() => isLost(ended))
  await until(() => heldBy(next).length + heldBy(other).length === SHARES)
  assert.deepEqual([isLost(next), isLost(other)], [false, false])
})

test('nobody works while others share in another number, or hold the whole: it waits, says so once, and goes on when they are gone', async (t) => {
  const { client, open, signal } = await start(t)
  let told = 0
  const four = open(4, { onOthers: () => told++ })
  const whole = new Lease(client, 'work')
  await whole.acquire(signal)
  const waiting = four.acquire(signal)
  await until(() => told > 0)
  const looked = new AbortController()
  assert.equal(await open(2, { onOthers: () => looked.abort() }).acquire(looked.signal), false)
  await whole.release()
  assert.equal(await waiting, true)

  const five = open(SHARES, { onOthers: () => told++ })
  const later = five.acquire(signal)
  await until(() => told > 1 || heldBy(five).length > 0)
  const leaseWaits = new AbortController()
  const lease = new Lease(client, 'work').acquire(leaseWaits.signal)
  // It renews, and does not go by itself.
  await until(async () => (await client.pttl(keys.lease('work'))) > 2_700)
  assert.deepEqual([told, heldBy(five), isLost(four)], [2, [], false])
  leaseWaits.abort()
  assert.equal(await lease, false)
  await four.release()
  assert.equal(await later, true)
  assert.deepEqual(heldBy(five), [0, 1, 2, 3, 4])

  // Started again in its place with another number: what was shared before is nobody's any more.
  const before = open(SHARES, { place: 'main/worker' })
  await five.release()
  await before.acquire(signal)
  await open(3, { place: 'main/worker' }).acquire(signal)
  await until(() => isLost(before))
})

test('the share of a name is always the same, and names are spread over all', () => {
  const names = Array.from({ length: 200 }, (_, i) => `tenant-${i}`)
  const counts = Array.from({ length: 4 }, (_, share) => names.filter((name) => shareOf(name, 4) === share).length)
  assert.ok(
    counts.every((count) => count > 30),
    `${counts}`,
  )
  assert.deepEqual([shareOf('acme', 64), shareOf('acme', 1)], [shareOf('acme', 64), 0])
})
