import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiKeyRecord } from '../../schemas/api-key.ts'
import { TenantRecord } from '../../schemas/tenant.ts'
import { RULES_MAX } from '../../schemas/tenant-rules.ts'
import { RedisTenantRemoval } from '../../src/operations/erasure/redis/tenant-removal.ts'
import { compileValidator } from '../../src/pipeline/event/validator.ts'
import { InputError, UnavailableError } from '../../src/run/errors.ts'
import { keys } from '../../src/stores/redis/keys.ts'
import { hashKey } from '../../src/tenants/key.ts'
import { startTestRedis } from '../support/redis.ts'
import { handClock, startTenants } from '../support/tenants.ts'
import { until } from '../support/until.ts'

const refuses = (work: Promise<unknown>, message: RegExp) =>
  assert.rejects(work, (error) => {
    assert.ok(error instanceof InputError)
    assert.match(error.message, message)
    assert.doesNotMatch(error.message, /\n/)
    return true
  })

test('tenants are created once, listed in order, changed in part; bad input says its fault', async (t) => {
  const redis = await startTestRedis(t)
  const clock = handClock()
  const { admin } = await startTenants(t, redis.url, { clock })
  const acme = await admin.createTenant('zz-first')
  const created = { id: 'zz-first', plan: 'starter', archive: false, addresses: 'full' }
  assert.deepEqual(acme, { ...created, createdAt: '2026-11-21T00:00:00.000Z' })
  clock.nowMs += 1
  await admin.createTenant('b', { plan: 'growth', archive: true })
  assert.deepEqual(
    (await admin.listTenants()).map((tenant) => tenant.id),
    ['zz-first', 'b'],
  )
  assert.deepEqual(await admin.setTenant('zz-first', { archive: true }), { ...acme, archive: true })
  assert.deepEqual(await admin.setTenant('zz-first', { plan: 'custom' }), { ...acme, plan: 'custom', archive: true })
  assert.deepEqual(await admin.getTenant('zz-first'), { ...acme, plan: 'custom', archive: true })
  await refuses(admin.createTenant('zz-first'), /already exists/)
  assert.equal((await admin.createTenant('zoned', { time_zone: 'Asia/Kolkata' })).timeZone, 'Asia/Kolkata')
  assert.equal((await admin.setTenant('zoned', { time_zone: 'Europe/Berlin' })).timeZone, 'Europe/Berlin')
  assert.equal((await admin.getTenant('zoned')).timeZone, 'Europe/Berlin')
  for (const zone of ['europe/berlin', '+01:00', 'Berlin', ''])
    await refuses(admin.setTenant('zoned', { time_zone: zone }), /is no time zone: write its IANA name, such as Europe/)
  for (const slug of ['', 'A', 'a_b', 'ä', 'x'.repeat(65), 'a\n', '{p0}']) {
    await refuses(admin.createTenant(slug), /1 to 64/)
  }
  assert.equal((await admin.createTenant('x'.repeat(64))).id.length, 64)
  await refuses(admin.createTenant('c', { plan: 'gold' }), /unknown plan "gold": must be one of starter, growth/)
  await refuses(admin.setTenant('b', { plan: 'gold' }), /unknown plan/)
  await refuses(admin.setTenant('nobody', { plan: 'growth' }), /unknown tenant "nobody"/)
  await refuses(admin.getTenant('nobody'), /unknown tenant/)
  await refuses(admin.createKey('nobody'), /unknown tenant/)
  await refuses(admin.listKeys('nobody'), /unknown tenant/)
})

test('addresses are kept or not, with one key for ever, and not beside an archive', async (t) => {
  const redis = await startTestRedis(t)
  const { admin, client } = await startTenants(t, redis.url)
  const keyOf = async (name: string) => (await admin.getTenant(name)).addressKey?.export().toString('hex')
  await admin.createTenant('acme')
  assert.equal((await admin.getTenant('acme')).addresses, 'full')
  assert.equal(await keyOf('acme'), undefined)
  // As a version without the choice wrote it.
  await client.hset(keys.tenants(), 'old', '{"plan":"starter","archive":false,"created_at":""}')
  assert.equal((await admin.getTenant('old')).addresses, 'full')

  assert.equal((await admin.setTenant('acme', { addresses: 'dropped' })).addresses, 'dropped')
  const key = await keyOf('acme')
  assert.match(key!, /^[0-9a-f]{64}$/)
  for (const addresses of ['truncated', 'full', 'dropped'] as const) await admin.setTenant('acme', { addresses })
  assert.equal(await keyOf('acme'), key, 'or a visit of today would be counted twice')
  await admin.createTenant('other', { addresses: 'truncated' })
  assert.match((await keyOf('other'))!, /^[0-9a-f]{64}$/)
  assert.notEqual(await keyOf('other'), key)
  // When two processes turn it on at once, both get the same key.
  await admin.createTenant('both')
  const twice = await Promise.all([1, 2].map(() => admin.setTenant('both', { addresses: 'dropped' })))
  assert.ok(twice[0]!.addressKey!.equals(twice[1]!.addressKey!))

  const archive = /an archive keeps full addresses: --archive on needs --addresses full/
  await refuses(admin.setTenant('acme', { archive: true }), archive)
  await refuses(admin.setTenant('acme', { archive: true, addresses: 'truncated' }), archive)
  await refuses(admin.createTenant('third', { archive: true, addresses: 'dropped' }), archive)
  await refuses(admin.getTenant('third'), /unknown tenant/)
  await admin.setTenant('old', { archive: true })
  await refuses(admin.setTenant('old', { addresses: 'dropped' }), archive)
  assert.deepEqual(await admin.getTenant('old'), {
    ...{ id: 'old', plan: 'starter', archive: true, addresses: 'full', createdAt: '' },
  })
  assert.equal((await admin.setTenant('old', { archive: false, addresses: 'dropped' })).addresses, 'dropped')
  assert.equal((await admin.setTenant('old', { archive: true, addresses: 'full' })).archive, true)
})

test('a key is shown once, stored as a hash, listed by its prefix, and revoked for ever', async (t) => {
  const redis = await startTestRedis(t)
  const clock = handClock()
  const { admin, client } = await startTenants(t, redis.url, { clock })
  await admin.createTenant('acme')
  const created = await admin.createKey('acme')
  assert.match(created.key, /^ipid_[0-9a-f]{64}$/)
  assert.deepEqual([created.tenant_id, created.created_at], ['acme', '2026-11-21T00:00:00.000Z'])
  clock.nowMs += 1_000
  const second = await admin.createKey('acme')
  const listed = await admin.listKeys('acme')
  assert.deepEqual(
    listed.map((key) => key.prefix),
    [created.prefix, second.prefix],
  )
  assert.deepEqual([listed[0]!.lastUsed, listed[0]!.revokedAt], [undefined, undefined])
  const stored = JSON.stringify([
    await client.hgetall(keys.apiKeys()),
    await client.hgetall(keys.apiKeyPrefixes()),
    await client.lrange(keys.apiKeysOf('acme'), 0, -1),
  ])
  assert.ok(stored.includes(hashKey(created.key)))
  assert.ok(!stored.includes(created.key.slice(12)), 'nothing of the key after its prefix is stored')

  const revoked = await admin.revokeKey(created.prefix)
  assert.equal(revoked.revokedAt, '2026-11-21T00:00:01.000Z')
  clock.nowMs += 5_000
  assert.deepEqual(await admin.revokeKey(created.key.slice(0, 12)), revoked, 'a second time changes nothing')
  assert.deepEqual((await admin.listKeys('acme')).length, 2)
  await refuses(admin.revokeKey('ipid_0000000'), /no key has the prefix ipid_0000000/)
  await assert.rejects(admin.revokeKey(second.key), (error: Error) => !error.message.includes(second.key))
})

test('a prefix belongs to one key for ever', async (t) => {
  const redis = await startTestRedis(t)
  const { admin, store } = await startTenants(t, redis.url)
  await admin.createTenant('acme')
  const { key, prefix } = await admin.createKey('acme')
  await admin.revokeKey(prefix)
  const twin = { prefix: key.slice(0, 12), tenantId: 'acme', createdAt: '', revokedAt: undefined, lastUsed: undefined }
  assert.equal(await store.createKey('00', twin), 'prefix taken')
  assert.equal((await admin.listKeys('acme')).length, 1)
})

test('revoked keys and keys of a tenant being deleted are not found; its name is not free yet', async (t) => {
  const redis = await startTestRedis(t)
  const { admin, store, client } = await startTenants(t, redis.url)
  await admin.createTenant('acme')
  const { key } = await admin.createKey('acme')
  assert.equal((await store.findHolder(key))?.tenant.id, 'acme')
  const { key: revoked, prefix } = await admin.createKey('acme')
  await admin.revokeKey(prefix)
  assert.equal(await store.findHolder(revoked), undefined)
  await new RedisTenantRemoval(client).mark('acme')
  assert.equal(await store.findHolder(key), undefined)
  await refuses(admin.createTenant('acme'), /acme/)
})

test('answered changes survive kill -9, and a killed store is reported', async (t) => {
  const redis = await startTestRedis(t, ['--appendfsync', 'always'])
  const { admin } = await startTenants(t, redis.url)
  await admin.createTenant('acme')
  const created = [await admin.createKey('acme')]
  // The kill comes while keys are being created.
  const more = Promise.allSettled(Array.from({ length: 50 }, () => admin.createKey('acme')))
  await redis.kill()
  for (const result of await more) {
    if (result.status === 'fulfilled') created.push(result.value)
    else assert.ok(result.reason instanceof UnavailableError)
  }
  await assert.rejects(admin.getTenant('acme'), UnavailableError)
  await redis.restart()
  const listed = await until(
    () => admin.listKeys('acme'),
    () => true,
  )
  const prefixes = new Set(listed.map((key) => key.prefix))
  for (const key of created) assert.ok(prefixes.has(key.prefix))
  for (const key of listed) assert.ok(await admin.revokeKey(key.prefix), 'every listed key is whole')
})

test('a rule changes in one step, rules are limited, and answered changes survive kill -9', async (t) => {
  const redis = await startTestRedis(t, ['--appendfsync', 'always'])
  const { admin, store } = await startTenants(t, redis.url)
  await admin.createTenant('acme', { unclassified: 'event' })
  await admin.createTenant('other')
  const numbered = (from: number, count: number) =>
    Array.from({ length: count }, (_, i) => `own 10.${(from + i) >> 8}.${(from + i) & 255}.0/24`)
  const rulesOf = async (name: string) => (await admin.getTenant(name)).rules ?? []
  // Parallel changes lose neither each other nor other settings.
  await Promise.all([
    ...numbered(0, 40).map((rule) => admin.changeRules('acme', { add: [rule] })),
    admin.setTenant('acme', { plan: 'growth' }),
  ])
  assert.deepEqual([...(await rulesOf('acme'))].sort(), numbered(0, 40).sort())
  const { plan, unclassified } = await admin.getTenant('acme')
  assert.deepEqual([plan, unclassified, await rulesOf('other')], ['growth', 'event', []])

  await store.changeRules('acme', numbered(40, RULES_MAX - 40), [])
  await refuses(admin.changeRules('acme', { add: ['keep isp'] }), /a tenant has at most 1000 rules/)
  await admin.changeRules('acme', { add: [numbered(7, 1)[0]!] })
  await admin.changeRules('acme', { add: ['keep isp'], remove: numbered(0, 1) })
  assert.deepEqual((await rulesOf('acme')).slice(-1), ['keep isp'])
  await refuses(admin.changeRules('acme', { remove: numbered(0, 1) }), /tenant acme has no rule "own 10\.0\.0\.0\/24"/)
  await refuses(admin.changeRules('nobody', { add: ['keep isp'] }), /unknown tenant/)
  await store.changeRules('acme', [], await rulesOf('acme'))
  assert.equal('rules' in (await admin.getTenant('acme')), false)

  const changes = numbered(0, 50).map((rule) => ({ rule, done: admin.changeRules('other', { add: [rule] }) }))
  const settled = Promise.allSettled(changes.map(({ done }) => done))
  await changes[0]!.done
  await redis.kill()
  const results = await settled
  await redis.restart()
  const kept = await until(
    () => rulesOf('other'),
    () => true,
  )
  for (const [i, result] of results.entries()) {
    if (result.status === 'rejected') assert.ok(result.reason instanceof UnavailableError, String(result.reason))
    else assert.ok(kept.includes(changes[i]!.rule), changes[i]!.rule)
  }
})

test('tenants and keys in Redis match the schemas, before and after changes', async (t) => {
  const redis = await startTestRedis(t)
  const { admin, client } = await startTenants(t, redis.url)
  await admin.createTenant('acme')
  await admin.createTenant('other', { plan: 'growth', archive: true })
  await admin.setTenant('acme', { archive: true })
  await admin.createTenant('third', { addresses: 'truncated' })
  await admin.createTenant('fourth')
  await admin.setTenant('fourth', { addresses: 'dropped' })
  const { prefix } = await admin.createKey('acme')
  await admin.createKey('other')
  await admin.revokeKey(prefix)
  const records = async (key: string) => Object.values(await client.hgetall(key)).map((json) => JSON.parse(json))
  const tenants = await records(keys.tenants())
  const apiKeys = await records(keys.apiKeys())
  assert.deepEqual([tenants.length, apiKeys.length], [4, 2])
  for (const record of tenants) assertShape(TenantRecord, record)
  for (const record of apiKeys) assertShape(ApiKeyRecord, record)
})

function assertShape(schema: typeof TenantRecord | typeof ApiKeyRecord, record: object): void {
  assert.deepEqual(compileValidator(schema)(record), [], JSON.stringify(record))
  for (const member of Object.keys(record)) assert.ok(member in schema.properties, member)
}
