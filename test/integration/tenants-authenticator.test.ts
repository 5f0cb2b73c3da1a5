import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pino } from 'pino'
import { UnavailableError } from '../../src/run/errors.ts'
import { connectRedis } from '../../src/stores/redis/connect.ts'
import {
  CachedAuthenticator,
  KEYS_MAX,
  KeyUses,
  KNOWN_KEY_TTL_MS,
  UNKNOWN_KEY_TTL_MS,
} from '../../src/tenants/authenticator.ts'
import { generateRawKey, hashKey } from '../../src/tenants/key.ts'
import { RedisTenantStore } from '../../src/tenants/redis/tenant-store.ts'
import type { Tenant } from '../../src/tenants/tenancy.ts'
import { silent } from '../support/pipeline.ts'
import { startTestRedis } from '../support/redis.ts'
import { handClock, startTenants } from '../support/tenants.ts'
import { until } from '../support/until.ts'

const tenant: Tenant = {
  id: 'acme',
  plan: 'growth',
  archive: false,
  addresses: 'full',
  createdAt: '2026-01-01T00:00:00.000Z',
}

const starter = { rate: 5, burst: 20, daily_lookups: 1, monthly_accounts: 1 }

/** An authenticator over a store that counts its reads and answers on request. */
function counted(t: import('node:test').TestContext, answer: () => Promise<Tenant | undefined>) {
  const clock = handClock()
  let onChange = () => {}
  let reads = 0
  const used: string[] = []
  const warnings: string[] = []
  const log = pino({ level: 'warn' }, { write: (line: string) => void warnings.push(line) })
  const authenticator = new CachedAuthenticator({
    store: {
      findHolder(rawKey) {
        reads++
        return answer().then((tenant) => tenant && { tenant, keyHash: hashKey(rawKey) })
      },
      async recordUses(uses) {
        used.push(...uses.keys())
      },
    },
    changes: {
      watch(listener) {
        onChange = listener
      },
      close() {},
    },
    plans: new Map([
      ['starter', starter],
      ['growth', { ...starter, rate: 15 }],
    ]),
    clock,
    log,
  })
  t.after(() => authenticator.stop())
  return { authenticator, clock, used, warnings, change: () => onChange(), reads: () => reads }
}

test('text without the shape of a key is refused without a read of the store', async (t) => {
  const { authenticator, reads } = counted(t, async () => tenant)
  for (const garbage of ['', 'x', 'ipid_', 'ipid_1234567••••••••', `ipid_${'G'.repeat(64)}`, 'a'.repeat(4_000)]) {
    assert.equal(authenticator.authenticate(garbage), undefined)
  }
  assert.equal(reads(), 0)
})

test('a known key is answered without a promise for a minute, and not longer', async (t) => {
  const { authenticator, clock, reads } = counted(t, async () => tenant)
  const key = generateRawKey()
  assert.deepEqual(await authenticator.authenticate(key), {
    ...{ tenant, plan: { ...starter, rate: 15 } },
    keyPrefix: key.slice(0, 12),
  })
  clock.nowMs += KNOWN_KEY_TTL_MS - 1
  assert.ok(!(authenticator.authenticate(key) instanceof Promise))
  assert.equal(reads(), 1)
  clock.nowMs += 1
  assert.ok(authenticator.authenticate(key) instanceof Promise)
  assert.equal(reads(), 2)
  assert.ok(KNOWN_KEY_TTL_MS <= 60_000)
})

test('setting the clock back does not extend the minute of a known key', async (t) => {
  const { authenticator, clock, reads } = counted(t, async () => (reads() === 1 ? tenant : undefined))
  const key = generateRawKey()
  await authenticator.authenticate(key)
  clock.nowMs -= 3_600_000
  assert.equal(await authenticator.authenticate(key), undefined)
  clock.nowMs += 3_600_000
  assert.equal(await authenticator.authenticate(key), undefined)
})

test('when too many keys are cached, the least recently used one is dropped', async (t) => {
  const { authenticator } = counted(t, async () => tenant)
  const [used, unused] = [generateRawKey(), generateRawKey()]
  await authenticator.authenticate(unused)
  await authenticator.authenticate(used)
  for (let i = 0; i < KEYS_MAX - 2; i++) await authenticator.authenticate(generateRawKey())
  assert.ok(!(authenticator.authenticate(used) instanceof Promise))
  await authenticator.authenticate(generateRawKey())
  assert.ok(!(authenticator.authenticate(used) instanceof Promise))
  assert.ok(authenticator.authenticate(unused) instanceof Promise)
})

test('the store learns the hash of a used key, also of a cached one', async (t) => {
  const { authenticator, used } = counted(t, async () => tenant)
  const keys = [generateRawKey(), generateRawKey()]
  for (const key of [...keys, ...keys]) await authenticator.authenticate(key)
  await authenticator.stop()
  assert.deepEqual(used, keys.map(hashKey))
})

test('an unknown key is cached for two seconds at most', async (t) => {
  const { authenticator, clock, reads } = counted(t, async () => undefined)
  const key = generateRawKey()
  assert.equal(await authenticator.authenticate(key), undefined)
  assert.equal(await authenticator.authenticate(key), undefined)
  assert.equal(reads(), 1)
  clock.nowMs += UNKNOWN_KEY_TTL_MS
  await authenticator.authenticate(key)
  assert.equal(reads(), 2)
  assert.ok(UNKNOWN_KEY_TTL_MS <= 2_000)
})

test('nothing keeps the store from being asked again for a key that was known', async (t) => {
  let found: Tenant | undefined = tenant
  const { authenticator, clock } = counted(t, async () => found)
  const key = generateRawKey()
  const refuse = () => {
    throw new Error('too many unknown keys')
  }
  assert.throws(() => authenticator.authenticate(key, refuse), /too many/)
  await authenticator.authenticate(key)
  clock.nowMs += KNOWN_KEY_TTL_MS
  assert.equal((await authenticator.authenticate(key, refuse))?.tenant, tenant)
  clock.nowMs += KNOWN_KEY_TTL_MS
  found = undefined
  assert.equal(await authenticator.authenticate(key, refuse), undefined)
  clock.nowMs += UNKNOWN_KEY_TTL_MS
  assert.throws(() => authenticator.authenticate(key, refuse), /too many/)
})

test('a change empties the cache, of known and of unknown keys', async (t) => {
  let found: Tenant | undefined = tenant
  const { authenticator, change, reads } = counted(t, async () => found)
  await authenticator.start()
  const [known, unknown] = [generateRawKey(), generateRawKey()]
  const ask = async (key: string, answer: Tenant | undefined) => {
    found = answer
    return (await authenticator.authenticate(key))?.tenant
  }
  for (let i = 0; i < 2; i++) {
    assert.equal(await ask(known, tenant), tenant)
    assert.equal(await ask(unknown, undefined), undefined)
  }
  assert.equal(reads(), 2)
  change()
  assert.equal(await ask(known, undefined), undefined)
  change()
  assert.equal(await ask(unknown, tenant), tenant)
})

test('concurrent requests with one key share one read, also when it fails', async (t) => {
  let fail = true
  const { authenticator, reads } = counted(t, async () => {
    if (fail) throw new UnavailableError('down')
    return tenant
  })
  const key = generateRawKey()
  const attempt = () => Promise.allSettled(Array.from({ length: 20 }, () => authenticator.authenticate(key)))
  for (const result of await attempt()) assert.equal(result.status, 'rejected')
  assert.equal(reads(), 1)
  fail = false
  for (const result of await attempt()) assert.equal(result.status, 'fulfilled')
  assert.equal(reads(), 2)
})

test('an answer in flight during a change is not cached', async (t) => {
  let release = (_: Tenant | undefined) => {}
  const { authenticator, change, reads } = counted(t, () => new Promise((resolve) => (release = resolve)))
  await authenticator.start()
  const key = generateRawKey()
  const before = authenticator.authenticate(key)
  change()
  const releaseOld = release
  const after = authenticator.authenticate(key)
  assert.equal(reads(), 2, 'a request after the change reads the store again')
  releaseOld(tenant)
  release(undefined)
  assert.deepEqual((await before)?.tenant, tenant)
  assert.equal(await after, undefined)
  assert.equal(await authenticator.authenticate(key), undefined)
})

test('a plan that no longer exists counts as starter, with a warning', async (t) => {
  const { authenticator, warnings } = counted(t, async () => ({ ...tenant, plan: 'gone' }))
  assert.equal((await authenticator.authenticate(generateRawKey()))?.plan, starter)
  assert.match(warnings[0]!, /"tenant_id":"acme","plan":"gone"/)
})

test('the last use is written, once for all uses since the last write, also after an outage', async () => {
  const written: [string, number][][] = []
  let down = true
  const uses = new KeyUses({
    log: silent,
    store: {
      async recordUses(all) {
        if (down) throw new UnavailableError('down')
        written.push([...all])
      },
    },
  })
  uses.note('k', 1)
  await uses.flush()
  down = false
  await uses.flush()
  assert.deepEqual(written, [[['k', 1]]])
  for (let ms = 2; ms < 1_000; ms++) uses.note('k', ms)
  await uses.flush()
  await uses.flush()
  assert.deepEqual(written.slice(1), [[['k', 999]]])
  uses.note('k', 1_001)
  await uses.stop()
  assert.deepEqual(written.slice(2), [[['k', 1_001]]])
})

test('a use after a pause is written at once', async (t) => {
  const clock = handClock()
  const written: string[] = []
  const uses = new KeyUses({
    log: silent,
    store: { recordUses: async (all) => void written.push(...all.keys()) },
  })
  t.after(() => uses.stop())
  t.mock.timers.enable({ apis: ['setTimeout'] })
  await uses.start()
  await new Promise(setImmediate)
  uses.note('k', clock.nowMs)
  await new Promise(setImmediate)
  assert.deepEqual(written, ['k'])
  uses.note('l', clock.nowMs)
  await new Promise(setImmediate)
  assert.deepEqual(written, ['k'])
  t.mock.timers.tick(1_000)
  await new Promise(setImmediate)
  assert.deepEqual(written, ['k', 'l'])
  t.mock.timers.reset()
})

test('the last use is listed, soon after it', async (t) => {
  const redis = await startTestRedis(t)
  const clock = handClock()
  const { admin, authenticator } = await startTenants(t, redis.url, { clock })
  await admin.createTenant('acme')
  const { key } = await admin.createKey('acme')
  clock.nowMs += 1_000
  await authenticator.authenticate(key)
  const [listed] = await until(
    () => admin.listKeys('acme'),
    ([first]) => first?.lastUsed !== undefined,
  )
  assert.equal(listed?.lastUsed, new Date(clock.nowMs).toISOString())
  clock.nowMs += 3_000
  await authenticator.authenticate(key)
  const later = new Date(clock.nowMs).toISOString()
  const again = performance.now()
  await until(
    () => admin.listKeys('acme'),
    ([first]) => first?.lastUsed === later,
  )
  assert.ok(performance.now() - again < 10_000, 'it does not wait for a minute')
  // A process whose clock is late never moves the time back.
  const client = connectRedis(redis.url, { name: 'test', kind: 'loop' })
  t.after(() => client.disconnect())
  await new RedisTenantStore(client).recordUses(new Map([[hashKey(key), clock.nowMs - 1]]))
  assert.equal((await admin.listKeys('acme'))[0]?.lastUsed, later)
})
