import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Plan } from '../../schemas/plans.ts'
import { systemClock } from '../../src/run/clock.ts'
import { connectRedis, type RedisClient } from '../../src/stores/redis/connect.ts'
import { keys } from '../../src/stores/redis/keys.ts'
import { SharedDailyQuota } from '../../src/tenants/quota.ts'
import { SharedRateLimiter } from '../../src/tenants/rate-limiter.ts'
import { RedisTokenCounters } from '../../src/tenants/redis/token-counters.ts'
import { NO_CHANGE, TokenReservation } from '../../src/tenants/shared-tokens.ts'
import type { Caller } from '../../src/tenants/tenancy.ts'
import { quiet } from '../support/pipeline.ts'
import { startTestRedis } from '../support/redis.ts'
import { until } from '../support/until.ts'

/*
 * Processes reserve rate tokens and daily lookups. In any order of their work, they grant exactly the plan, and
 * sequential requests see the exact count.
 */

const redis = await startTestRedis()

/** So slow that no tokens flow in while a test runs. */
const SLOW = 0.000_1

const plan = (size: number, rate = SLOW): Plan => ({ rate, burst: size, daily_lookups: size, monthly_accounts: 1 })
const caller = (id: string, its: Plan): Caller => ({
  tenant: { id, plan: 'p', archive: false, addresses: 'full', createdAt: '' },
  plan: its,
})

interface Decision {
  readonly allowed: boolean
  readonly left: number
  /** Whether it was granted without a call to Redis. */
  readonly held: boolean
}

/** One of the two counters, as a process uses it. */
interface Counter {
  take(caller: Caller): Decision | Promise<Decision>
  stop(): Promise<void>
}

interface Kind {
  make(client: RedisClient): Counter
  /** The first request after 51, when a plan of 100,000 becomes one of 20. */
  readonly afterShrinking: Omit<Decision, 'held'>
  /** The rest in Redis, outside of all reservations. */
  left(client: RedisClient, caller: Caller): Promise<number>
}

const held = <D extends object>(decision: D | Promise<D>, read: (decision: D) => Omit<Decision, 'held'>) =>
  decision instanceof Promise
    ? decision.then((it) => ({ ...read(it), held: false }))
    : { ...read(decision), held: true }

const KINDS: Record<string, Kind> = {
  'rate tokens': {
    afterShrinking: { allowed: true, left: 19 },
    make(client) {
      const limiter = new SharedRateLimiter(new RedisTokenCounters(client))
      return {
        take: (who) => held(limiter.take(who), ({ allowed, remaining }) => ({ allowed, left: remaining })),
        stop: () => limiter.stop(),
      }
    },
    async left(client, { tenant, plan: { rate, burst } }) {
      const counter = { tenantId: tenant.id, rate, size: burst }
      const [grant] = new RedisTokenCounters(client).take([{ counter, tokens: [], change: NO_CHANGE }])
      return Math.floor((await grant!).left)
    },
  },
  'daily lookups': {
    afterShrinking: { allowed: false, left: -31 },
    make(client) {
      const quota = new SharedDailyQuota(new RedisTokenCounters(client), systemClock)
      return {
        take: (who) => held(quota.take(who, 1), ({ allowed, limit, used }) => ({ allowed, left: limit - used })),
        stop: () => quota.stop(),
      }
    },
    async left(client, { tenant, plan: { daily_lookups } }) {
      return daily_lookups - (await new SharedDailyQuota(new RedisTokenCounters(client), systemClock).used(tenant.id))
    },
  },
}

function connect(t: TestContext): RedisClient {
  const client = quiet(connectRedis(redis.url, { name: 'test', kind: 'loop' }))
  t.after(() => client.disconnect())
  return client
}

function seeded(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31
    return Math.floor((state / 2 ** 31) * below)
  }
}

let tenants = 0

for (const [name, kind] of Object.entries(KINDS)) {
  const slug = name.replace(' ', '-')
  test(`${name}: granted and left make the plan, and nothing is refused before all is granted`, async (t) => {
    const clients = [1, 2, 3].map(() => connect(t))
    let fromMemory = 0
    for (let round = 0; round < 12; round++) {
      const random = seeded(round + 1)
      const size = [10, 100, 1_000, 4_000][round % 4]!
      const who = caller(`${slug}-r${round}`, plan(size))
      const counters = clients.map((client) => kind.make(client))
      const decisions: Decision[] = []
      const asked = Math.floor(size * (random(2) === 0 ? 0.7 : 1.2))
      const answers: (Decision | Promise<Decision>)[] = []
      while (answers.length < asked) {
        // Some ask for much, some for little, alone or together; some stop in between, and continue as others.
        const which = random(8) === 0 ? random(3) : round % 3
        const together = Math.min(1 + random(60), asked - answers.length)
        for (let i = 0; i < together; i++) answers.push(counters[which]!.take(who))
        if (random(3) === 0) await answers.at(-1)
        else await new Promise(setImmediate)
        if (random(40) === 0) {
          const leaving = counters[which]!
          counters[which] = kind.make(clients[which]!)
          await leaving.stop()
        }
      }
      decisions.push(...(await Promise.all(answers)))
      const granted = decisions.filter(({ allowed }) => allowed).length
      assert.equal(granted, Math.min(asked, size), `round ${round}: all that was asked for, and no more than the plan`)
      await until(
        () => kind.left(clients[0]!, who),
        (left) => left === size - granted,
      )
      for (const counter of counters) await counter.stop()
      assert.equal(await kind.left(clients[0]!, who), size - granted, `round ${round}: all reservations came back`)
      fromMemory += decisions.filter((decision) => decision.held).length
    }
    assert.ok(fromMemory > 2_000, `${fromMemory} were given from memory`)
  })

  test(`${name}: sequential requests see the plan counted down, also by several processes`, async (t) => {
    const clients = [1, 2].map(() => connect(t))
    const counters = clients.map((client) => kind.make(client))
    const who = caller(`${slug}-${++tenants}`, plan(200))
    const seen: Decision[] = []
    for (let i = 0; i < 200; i++) seen.push(await counters[i % 3 === 0 ? 0 : 1]!.take(who))
    assert.deepEqual(
      seen,
      Array.from({ length: 200 }, (_, i) => ({ allowed: true, left: 199 - i, held: false })),
    )
    assert.deepEqual(await counters[0]!.take(who), { allowed: false, left: 0, held: false })
  })

  test(`${name}: a reservation counts down by one, and returns by itself when idle`, async (t) => {
    const client = connect(t)
    const counter = kind.make(client)
    const who = caller(`${slug}-${++tenants}`, plan(100_000))
    // On a busy machine the reservation would return before the test reads it.
    const takenMs = performance.now()
    const now = t.mock.method(performance, 'now', () => takenMs).mock
    const together = await Promise.all(Array.from({ length: 50 }, () => counter.take(who)))
    assert.deepEqual(
      together.map(({ left }) => left),
      Array.from({ length: 50 }, (_, i) => 99_999 - i),
    )
    assert.ok((await kind.left(client, who)) < 99_950, 'some are reserved')
    assert.deepEqual(await counter.take(who), { allowed: true, left: 99_949, held: true })
    now.restore()
    const other = kind.make(connect(t))
    await until(
      () => kind.left(client, who),
      (left) => left === 99_949,
    )
    assert.deepEqual(await other.take(who), { allowed: true, left: 99_948, held: false })
  })

  test(`${name}: a stop answers the waiting requests, and leaves no reservation`, async (t) => {
    const client = connect(t)
    const counter = kind.make(client)
    const who = caller(`${slug}-${++tenants}`, plan(100_000))
    await Promise.all(Array.from({ length: 50 }, () => counter.take(who)))
    await until(
      () => kind.left(client, who),
      (left) => left === 99_950,
    )
    const first = counter.take(who)
    // After one turn it is in flight: later requests queue after it.
    await new Promise(setImmediate)
    const waiting = Array.from({ length: 50 }, () => counter.take(who))
    await counter.stop()
    const decisions = await Promise.all([first, ...waiting])
    assert.ok(decisions.every(({ allowed }) => allowed))
    assert.equal(await kind.left(client, who), 99_899)
  })

  test(`${name}: a changed plan applies to the next request, whatever is reserved`, async (t) => {
    const counter = kind.make(connect(t))
    const before = caller(`${slug}-changes`, plan(100_000))
    await Promise.all(Array.from({ length: 50 }, () => counter.take(before)))
    assert.equal((await counter.take(before)).held, true)
    const { allowed, left } = await counter.take(caller(before.tenant.id, plan(20)))
    assert.deepEqual({ allowed, left }, kind.afterShrinking)
    const grown = await counter.take(caller(before.tenant.id, plan(200)))
    assert.equal(grown.left, name === 'rate tokens' ? 18 : 148, 'what was used stays used')
  })

  test(`${name}: a killed process loses only its reservation`, async (t) => {
    const [client, killed] = [connect(t), connect(t)]
    const who = caller(`${slug}-${++tenants}`, plan(2_000))
    await Promise.all(Array.from({ length: 50 }, () => kind.make(killed).take(who)))
    const lost = kind.make(killed)
    await Promise.all(Array.from({ length: 50 }, () => lost.take(who)))
    killed.disconnect()
    const left = await kind.left(client, who)
    assert.ok(left < 1_900 && left >= 1_900 * (15 / 16) - 1, `${left} are left`)
    const counter = kind.make(client)
    const rest = await Promise.all(Array.from({ length: left + 1 }, () => counter.take(who)))
    assert.equal(rest.filter(({ allowed }) => allowed).length, left)
  })
}

test('a bucket and its reservations never exceed the plan, however fast tokens flow in', async (t) => {
  const client = connect(t)
  const buckets = new RedisTokenCounters(client)
  const counter = { tenantId: 'acme', rate: 1_000_000, size: 1_600 }
  const take = async (change = NO_CHANGE) => (await buckets.take([{ counter, tokens: [], change }])[0])!
  const first = await take({ ended: '', returned: 0, kept: 0, name: 'a', wanted: 1_000 })
  assert.deepEqual([first.more, first.othersHold], [100, 0])
  assert.deepEqual(await take(), { allowed: [], left: 1_500, more: 0, kept: 0, othersHold: 100 })
  const second = await take({ ended: '', returned: 0, kept: 0, name: 'b', wanted: 50 })
  assert.deepEqual([second.more, second.othersHold], [50, 100])
  // A renewal sent twice, because the answer was lost, counts once.
  const renewal = { ended: 'a', returned: 0, kept: 30, name: 'c', wanted: 10 }
  assert.deepEqual([(await take(renewal)).kept, (await take(renewal)).kept], [30, 0])
  const back = { ended: 'b', returned: 50, kept: 0, name: '', wanted: 0 }
  await take(back)
  await take(back)
  const { left, othersHold } = await take()
  assert.ok(left + othersHold <= 1_600, `${left} and ${othersHold}`)
  // An expired reservation counts as granted until its end: it leaves room from then on.
  const [held, at] = (await client.get(keys.rateBucket('acme')))!.split(' ').map(Number) as [number, number]
  await client.set(keys.rateBucket('acme'), `${held} ${at - 90_000_000} gone 600 ${at - 1_000}`)
  const tokens = Array.from({ length: 1_600 }, () => 1)
  const { allowed } = (await buckets.take([{ counter: { ...counter, rate: 100 }, tokens, change: NO_CHANGE }])[0])!
  const granted = allowed.filter(Boolean).length
  assert.ok(
    granted >= 1_000 && granted < 1_600,
    `${granted}: 1,000 at the end of the reservation, and the tokens that flowed in since`,
  )
})

test('a reservation of a dead process ends, even when the clock of Redis is set back', async (t) => {
  const client = connect(t)
  const buckets = new RedisTokenCounters(client)
  const counter = { tenantId: 'set-back', rate: SLOW, size: 1_600 }
  const nowMicros = Date.now() * 1_000
  await client.set(keys.rateBucket(counter.tenantId), `1000000 ${nowMicros} gone 100 ${nowMicros + 3_600_000_000}`)
  assert.equal((await buckets.take([{ counter, tokens: [1], change: NO_CHANGE }])[0])!.othersHold, 100)
  const [, , , , end] = (await client.get(keys.rateBucket(counter.tenantId)))!.split(' ')
  assert.ok(Number(end) <= (Date.now() + 4_000) * 1_000, end)
})

test('a spent reservation is returned too, so that no other process waits for it', () => {
  const counter = { tenantId: 't', rate: SLOW, size: 100 }
  const reservation = new TokenReservation(counter)
  const change = reservation.replacement(50, 1_000)
  const grant = { allowed: [], left: 92, more: 8, kept: 0, othersHold: 0 }
  reservation.granted(counter, change, grant, 1_000)
  assert.notEqual(reservation.spend(counter, 8, 1_001), undefined)
  assert.equal(reservation.left, 0)
  assert.ok(reservation.isDue(1_100))
  assert.equal(reservation.replacement(0, 1_100).ended, change.name)
  assert.ok(!reservation.isDue(1_200))
})
