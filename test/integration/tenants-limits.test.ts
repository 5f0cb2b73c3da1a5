import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Plan } from '../../schemas/plans.ts'
import { UnavailableError } from '../../src/run/errors.ts'
import { connectRedis, type RedisClient } from '../../src/stores/redis/connect.ts'
import { keys } from '../../src/stores/redis/keys.ts'
import {
  DAILY_LOOKUPS,
  type Limit,
  type LimitDecision,
  type Limiter,
  REQUEST_RATE,
  SharedLimit,
  sharedLimits,
} from '../../src/tenants/limits/limits.ts'
import { RedisTokenCounters } from '../../src/tenants/limits/redis/token-counters.ts'
import {
  NO_CHANGE,
  type TokenCounters,
  type TokenDemand,
  TokenReservation,
} from '../../src/tenants/limits/shared-tokens.ts'
import type { Caller } from '../../src/tenants/tenancy.ts'
import { quiet } from '../support/pipeline.ts'
import { randomOf } from '../support/random.ts'
import { startTestRedis } from '../support/redis.ts'
import { handClock } from '../support/tenants.ts'
import { until } from '../support/until.ts'

/*
 * Limits are exact over all processes. Processes reserve tokens; in any order of their work they grant exactly the plan, and
 * sequential requests see the exact count.
 */

const redis = await startTestRedis()

/** So slow that no tokens flow in while a test runs. */
const SLOW = 0.000_1
const NOW_MS = Date.UTC(2026, 10, 21, 23, 59, 30)
const TODAY = '2026-11-21'

const plan = (size: number, rate = SLOW): Plan => ({ rate, burst: size, daily_lookups: size, monthly_accounts: 1 })
const caller = (id: string, its: Plan): Caller => ({
  tenant: { id, plan: 'p', archive: false, addresses: 'full', createdAt: '' },
  plan: its,
})
const source = (id: string, isBrowser: boolean) => ({ id, isBrowser, kind: 'web', address: 'auto' }) as const

function connect(t: TestContext, { url } = redis): RedisClient {
  const client = quiet(connectRedis(url, { name: 'test', kind: 'loop' }))
  t.after(() => client.disconnect())
  return client
}

const limitsOf = (client: RedisClient, clock = handClock(NOW_MS)) => sharedLimits(new RedisTokenCounters(client), clock)

const KINDS = [
  // The first request after 51, when a plan of 100,000 becomes one of 20; and the next, when it becomes one of 200.
  { limit: REQUEST_RATE, shrunk: { allowed: true, left: 19 }, grown: 18 },
  { limit: DAILY_LOOKUPS, shrunk: { allowed: false, left: -31 }, grown: 148 },
]

let tenants = 0

for (const { limit, shrunk, grown } of KINDS) {
  const { name, counter: slug } = limit
  const make = (client: RedisClient) => new SharedLimit(limit, new RedisTokenCounters(client), handClock(NOW_MS))
  /** Tokens in Redis outside of all reservations. */
  const leftIn = async (client: RedisClient, who: Caller) => (await make(client).read(who)).left

  test(`${name}: granted and left make the plan, and nothing is refused before all is granted`, async (t) => {
    const clients = [1, 2, 3].map(() => connect(t))
    let fromMemory = 0
    for (let round = 0; round < 12; round++) {
      const random = randomOf(round + 1)
      const size = [10, 100, 1_000, 4_000][round % 4]!
      const who = caller(`${slug}-r${round}`, plan(size))
      const limiters = clients.map((client) => make(client))
      const asked = Math.floor(size * (random(2) === 0 ? 0.7 : 1.2))
      const answers: (LimitDecision | Promise<LimitDecision>)[] = []
      while (answers.length < asked) {
        // Some ask for much, some for little, alone or together; some stop in between, and continue as others.
        const which = random(8) === 0 ? random(3) : round % 3
        const together = Math.min(1 + random(60), asked - answers.length)
        for (let i = 0; i < together; i++) answers.push(limiters[which]!.take(who, 1))
        if (random(3) === 0) await answers.at(-1)
        else await new Promise(setImmediate)
        if (random(40) === 0) {
          const leaving = limiters[which]!
          limiters[which] = make(clients[which]!)
          await leaving.stop()
        }
      }
      const decisions = await Promise.all(answers)
      const granted = decisions.filter(({ allowed }) => allowed).length
      assert.equal(granted, Math.min(asked, size), `round ${round}: all that was asked for, and no more than the plan`)
      await until(
        () => leftIn(clients[0]!, who),
        (left) => left === size - granted,
      )
      for (const limiter of limiters) await limiter.stop()
      assert.equal(await leftIn(clients[0]!, who), size - granted, `round ${round}: all reservations came back`)
      fromMemory += answers.filter((answer) => !(answer instanceof Promise)).length
    }
    assert.ok(fromMemory > 2_000, `${fromMemory} were given from memory`)
  })

  test(`${name}: sequential requests see the plan counted down, also by several processes`, async (t) => {
    const limiters = [1, 2].map(() => make(connect(t)))
    const who = caller(`${slug}-${++tenants}`, plan(100))
    const seen: [boolean, number][] = []
    for (let i = 0; i < 101; i++) {
      const answer = limiters[i % 3 === 0 ? 0 : 1]!.take(who, 1)
      assert.ok(answer instanceof Promise)
      const { allowed, left } = await answer
      seen.push([allowed, left])
    }
    assert.deepEqual(seen, [...Array.from({ length: 100 }, (_, i) => [true, 99 - i]), [false, 0]])
    const other = await limiters[0]!.take(caller(`${slug}-${++tenants}`, plan(100)), 1)
    assert.equal(other.left, 99, 'a tenant has its own')
  })

  test(`${name}: a reservation counts down by one, and returns by itself when idle`, async (t) => {
    const client = connect(t)
    const limiter = make(client)
    const who = caller(`${slug}-${++tenants}`, plan(100_000))
    // On a busy machine the reservation would return before the test reads it.
    const takenMs = performance.now()
    const now = t.mock.method(performance, 'now', () => takenMs).mock
    const together = await Promise.all(Array.from({ length: 50 }, () => limiter.take(who, 1)))
    assert.deepEqual(
      together.map(({ left }) => left),
      Array.from({ length: 50 }, (_, i) => 99_999 - i),
    )
    assert.ok((await leftIn(client, who)) < 99_950, 'some are reserved')
    const fromMemory = limiter.take(who, 1)
    assert.ok(!(fromMemory instanceof Promise))
    assert.deepEqual([fromMemory.allowed, fromMemory.left], [true, 99_949])
    now.restore()
    await until(
      () => leftIn(client, who),
      (left) => left === 99_949,
    )
    assert.equal((await make(connect(t)).take(who, 1)).left, 99_948)
  })

  test(`${name}: a stop answers the waiting requests, and leaves no reservation`, async (t) => {
    const client = connect(t)
    const limiter = make(client)
    const who = caller(`${slug}-${++tenants}`, plan(100_000))
    await Promise.all(Array.from({ length: 50 }, () => limiter.take(who, 1)))
    await until(
      () => leftIn(client, who),
      (left) => left === 99_950,
    )
    const first = limiter.take(who, 1)
    // After one turn it is in flight: later requests queue after it.
    await new Promise(setImmediate)
    const waiting = Array.from({ length: 50 }, () => limiter.take(who, 1))
    await limiter.stop()
    const decisions = await Promise.all([first, ...waiting])
    assert.ok(decisions.every(({ allowed }) => allowed))
    assert.equal(await leftIn(client, who), 99_899)
  })

  test(`${name}: a changed plan applies to the next request, whatever is reserved`, async (t) => {
    const limiter = make(connect(t))
    const before = caller(`${slug}-changes`, plan(100_000))
    await Promise.all(Array.from({ length: 50 }, () => limiter.take(before, 1)))
    assert.ok(!(limiter.take(before, 1) instanceof Promise))
    const smaller = await limiter.take(caller(before.tenant.id, plan(20)), 1)
    assert.deepEqual(smaller, { ...smaller, ...shrunk, limit: 20 })
    const larger = await limiter.take(caller(before.tenant.id, plan(200)), 1)
    assert.equal(larger.left, grown, 'what was used stays used')
  })

  test(`${name}: a killed process loses only its reservation`, async (t) => {
    const [client, killed] = [connect(t), connect(t)]
    const who = caller(`${slug}-${++tenants}`, plan(2_000))
    await Promise.all(Array.from({ length: 50 }, () => make(killed).take(who, 1)))
    const lost = make(killed)
    await Promise.all(Array.from({ length: 50 }, () => lost.take(who, 1)))
    killed.disconnect()
    const left = await leftIn(client, who)
    assert.ok(left < 1_900 && left >= 1_900 * (15 / 16) - 1, `${left} are left`)
    const limiter = make(client)
    const rest = await Promise.all(Array.from({ length: left + 1 }, () => limiter.take(who, 1)))
    assert.equal(rest.filter(({ allowed }) => allowed).length, left)
  })

  test(`${name}: a Redis that lost its scripts or is full still grants; one that hangs is unavailable`, async (t) => {
    const own = await startTestRedis(t)
    const client = quiet(connectRedis(own.url, { name: 'test', kind: 'request', timeoutMs: 1_000 }))
    t.after(() => client.disconnect())
    const limiter = make(client)
    const who = caller('acme', plan(2))
    await until(() => client.status === 'ready')
    assert.equal((await limiter.take(who, 0)).allowed, true)
    await client.call('SCRIPT', 'FLUSH')
    await client.config('SET', 'maxmemory', '1')
    await assert.rejects(client.set('refused', '1'), /OOM/)
    const allowed: boolean[] = []
    for (let i = 0; i < 3; i++) allowed.push((await limiter.take(who, 1)).allowed)
    assert.deepEqual(allowed, [true, true, false])
    own.signal('SIGSTOP')
    const hung = await Promise.allSettled([limiter.take(who, 1), limiter.read(who)])
    assert.ok(hung.every((one) => one.status === 'rejected' && one.reason instanceof UnavailableError))
    own.signal('SIGCONT')
  })
}

test('a bucket says when it is full again, and when the next token comes', async (t) => {
  const { requests } = limitsOf(connect(t))
  const who = caller('rate-times', plan(20))
  const all: LimitDecision[] = []
  for (let i = 0; i < 21; i++) all.push(await requests.take(who, 1))
  assert.deepEqual(
    { ...all[0]!, resetSeconds: 0 },
    {
      ...{ name: 'rate limit', allowed: true, limit: 20, left: 19, used: 1 },
      ...{ windowSeconds: 200_000, resetAt: '', resetSeconds: 0, retryAfterSeconds: 0 },
    },
  )
  const { retryAfterSeconds, resetSeconds } = all[20]!
  assert.ok(retryAfterSeconds > 9_000 && retryAfterSeconds <= 10_000)
  assert.ok(resetSeconds > 199_000 && resetSeconds <= 200_000)
})

test('tokens flow in at the rate of the plan, up to the burst; a full bucket is removed', async (t) => {
  const client = connect(t)
  const { requests } = limitsOf(client)
  const key = keys.tokens('flows', 'bucket')
  const take = async (count: number) => {
    const answers = Array.from({ length: count }, () => requests.take(caller('flows', plan(5, 0.001)), 1))
    return (await Promise.all(answers)).filter(({ allowed }) => allowed).length
  }
  assert.equal(await take(10), 5)
  const ttlMs = await client.pttl(key)
  assert.ok(ttlMs > 4_900_000 && ttlMs <= 5_000_000, `${ttlMs} ms`)
  // The bucket is set back in time instead of waiting: 2,000 s are two tokens, hours are no more than the burst.
  for (const [seconds, granted] of [
    [2_000, 2],
    [36_000, 5],
  ] as const) {
    const [held, at] = (await client.get(key))!.split(' ').map(Number) as [number, number]
    await client.set(key, `${held} ${at - seconds * 1_000_000}`)
    assert.equal(await take(10), granted)
  }
})

test('a quota refuses whole requests, says when it restarts, and restarts with each UTC day', async (t) => {
  const clock = handClock(NOW_MS)
  const [one, other] = [1, 2].map(() => limitsOf(connect(t), clock).lookups) as [Limiter, Limiter]
  const who = caller('quota', plan(10))
  const first = await one.take(who, 4)
  assert.deepEqual(first, {
    ...{ name: 'daily quota', allowed: true, limit: 10, left: 6, used: 4 },
    ...{ windowSeconds: 86_400, resetAt: '2026-11-22T00:00:00+00:00', resetSeconds: 30, retryAfterSeconds: 0 },
  })
  assert.deepEqual(await other.take(who, 7), { ...first, allowed: false, retryAfterSeconds: 30 })
  clock.nowMs += 30_000
  const { allowed, left, resetAt } = await other.take(who, 10)
  assert.deepEqual([allowed, left, resetAt], [true, 0, '2026-11-23T00:00:00+00:00'])
})

test('requests asked together count as if each had come alone, in few calls', async (t) => {
  const own = await startTestRedis(t)
  const client = connect(t, own)
  const { lookups } = limitsOf(client)
  const random = randomOf(7)
  const calls = async () => Number(/cmdstat_evalsha:calls=(\d+)/.exec(await client.info('commandstats'))?.[1] ?? 0)
  for (let round = 0; round < 20; round++) {
    const ids = 1 + random(4)
    const asked = Array.from({ length: 200 }, () => {
      // A plan change in between, requests without an address, and bulk requests.
      const who = caller(`r${round}-${random(ids)}`, plan(random(20) === 0 ? 60 : 150))
      return { who, tokens: random(3) > 0 ? 1 : random(12) }
    })
    const before = await calls()
    const decisions = await Promise.all(asked.map(({ who, tokens }) => lookups.take(who, tokens)))
    const used = new Map<string, number>()
    const alone = asked.map(({ who: { tenant, plan }, tokens }) => {
      const taken = used.get(tenant.id) ?? 0
      const allowed = taken + tokens <= plan.daily_lookups
      used.set(tenant.id, allowed ? taken + tokens : taken)
      return [allowed, plan.daily_lookups, plan.daily_lookups - used.get(tenant.id)!]
    })
    assert.deepEqual(
      decisions.map(({ allowed, limit, left }) => [allowed, limit, left]),
      alone,
      `round ${round}`,
    )
    assert.ok((await calls()) - before <= 2, 'one call, and one more while Redis does not know the script')
  }
})

test('another limit is one declaration: what it counts, for whom, in which time', async (t) => {
  const client = connect(t)
  const scopes: [scope: Limit['scope'], alone: string[]][] = [
    ['tenant', []],
    ['source key', ['page', 'server']],
    ['key', ['one', 'two', 'page', 'server']],
  ]
  const windows = [
    ['hour', '2026-11-21T23', '2026-11-22T00:00:00+00:00', 2],
    ['day', '2026-11-21', '2026-11-22T00:00:00+00:00', 48],
    ['month', '2026-11', '2026-12-01T00:00:00+00:00', 62 * 24],
  ] as const
  for (const [scope, alone] of scopes) {
    for (const [window, start, resetAt, keptHours] of windows) {
      const clock = handClock(NOW_MS)
      const counter = `${scope}-${window}`
      const added: Limit = { name: 'quota', counter, counts: 'requests', scope, refill: window, size: () => 1 }
      const { requests } = sharedLimits(new RedisTokenCounters(client), clock, [REQUEST_RATE, added])
      const tenant = caller(counter.replace(' ', '-'), plan(100))
      const callers: Record<string, Caller> = {
        dashboard: tenant,
        one: { ...tenant, keyPrefix: 'ipid_1111111' },
        two: { ...tenant, keyPrefix: 'ipid_2222222' },
        page: { ...tenant, source: source('src_1111111', true) },
        server: { ...tenant, source: source('src_1111111', false) },
      }
      const ask = async () => {
        const decisions: Record<string, LimitDecision> = {}
        for (const [name, who] of Object.entries(callers)) decisions[name] = await requests.take(who, 1)
        return decisions
      }
      const first = await ask()
      const allowed = Object.keys(first).filter((name) => first[name]!.allowed)
      assert.deepEqual(allowed, ['dashboard', ...alone], counter)
      assert.deepEqual([first.dashboard!.name, first.dashboard!.left], ['rate limit', 99])
      const again = Object.values(await ask())
      assert.ok(again.every((one) => !one.allowed && one.name === 'quota' && one.resetAt === resetAt))
      const { left } = await new SharedLimit(REQUEST_RATE, new RedisTokenCounters(client), clock).read(tenant)
      assert.equal(left, scope === 'key' ? 97 : 99, 'what this limit refused costs no token of the rate')
      const ttlMs = await client.pttl(keys.tokens(tenant.tenant.id, counter, undefined, start))
      assert.ok(ttlMs > (keptHours - 1) * 3_600_000 && ttlMs <= keptHours * 3_600_000, `${counter}: ${ttlMs} ms`)
      clock.nowMs = Date.parse(resetAt)
      assert.ok((await ask()).server!.allowed === alone.length > 0, `${counter} starts anew`)
    }
  }
})

test('counters have the keys and values of the last release', async (t) => {
  const client = connect(t)
  const endMicros = (Date.now() + 2_000) * 1_000
  const bucket = `5000000 ${Date.now() * 1_000} other.1 3 ${endMicros}`
  await client.mset({
    '{tenant:old}:bucket': bucket,
    '{tenant:old}:bucket:src_1111111': bucket,
    '{tenant:old}:bucket:src_1111111:browser': bucket,
    [`{tenant:old}:lookups:${TODAY}`]: `7 other.1 3 ${endMicros}`,
  })
  const { requests, lookups } = limitsOf(client)
  const who = caller('old', plan(100))
  for (const its of [undefined, source('src_1111111', false), source('src_1111111', true)]) {
    assert.equal((await requests.take({ ...who, source: its }, 1)).left, 4)
  }
  assert.equal((await lookups.take(who, 2)).left, 91)
  assert.match((await client.get('{tenant:old}:bucket'))!, new RegExp(`^40000\\d\\d \\d{16} other\\.1 3 ${endMicros}$`))
  assert.equal(await client.get(`{tenant:old}:lookups:${TODAY}`), `9 other.1 3 ${endMicros}`)
})

test('a bucket and its reservations never exceed the plan, however fast tokens flow in', async (t) => {
  const client = connect(t)
  const buckets = new RedisTokenCounters(client)
  const counter = { key: 'a bucket', rate: 1_000_000, size: 1_600 }
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
  const [held, at] = (await client.get(counter.key))!.split(' ').map(Number) as [number, number]
  await client.set(counter.key, `${held} ${at - 90_000_000} gone 600 ${at - 1_000}`)
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
  const counter = { key: 'set-back', rate: SLOW, size: 1_600 }
  const nowMicros = Date.now() * 1_000
  await client.set(counter.key, `1000000 ${nowMicros} gone 100 ${nowMicros + 3_600_000_000}`)
  assert.equal((await buckets.take([{ counter, tokens: [1], change: NO_CHANGE }])[0])!.othersHold, 100)
  const [, , , , end] = (await client.get(counter.key))!.split(' ')
  assert.ok(Number(end) <= (Date.now() + 4_000) * 1_000, end)
})

test('a spent reservation is returned too, so that no other process waits for it', () => {
  const counter = { key: 't', rate: SLOW, size: 100 }
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

test('each request gets its own share of a common grant', async () => {
  const demands: TokenDemand[][] = []
  const store: TokenCounters = {
    take(all) {
      demands.push([...all])
      return all.map(async ({ tokens }) => ({
        ...{ allowed: tokens.map((_, i) => i < 2), left: 0.5 },
        ...{ more: 0, kept: 0, othersHold: 0 },
      }))
    },
    left: async () => 0,
  }
  const limiter = new SharedLimit(REQUEST_RATE, store, handClock())
  const a = caller('a', plan(10, 1))
  const b = caller('b', plan(10, 0.25))
  const decisions = await Promise.all([a, b, a, a].map((who) => limiter.take(who, 1)))
  assert.deepEqual(demands, [
    [
      { counter: { key: '{tenant:a}:bucket', rate: 1, size: 10 }, tokens: [1, 1, 1], change: NO_CHANGE },
      { counter: { key: '{tenant:b}:bucket', rate: 0.25, size: 10 }, tokens: [1], change: NO_CHANGE },
    ],
  ])
  assert.deepEqual(
    decisions.map(({ allowed, left, resetSeconds, retryAfterSeconds }) => [
      allowed,
      left,
      resetSeconds,
      retryAfterSeconds,
    ]),
    [
      [true, 1, 9, 0],
      [true, 0, 38, 0],
      [true, 0, 10, 0],
      [false, 0, 10, 1],
    ],
  )
})
