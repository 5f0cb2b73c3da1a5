import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { TenantCopy } from '../../schemas/backup.ts'
import { alertAdmin } from '../../src/alerts/admin.ts'
import { removeAddressesOf } from '../../src/alerts/redis/address-store.ts'
import { RedisAlerts } from '../../src/alerts/redis/alert-store.ts'
import { readConfig } from '../../src/config/config.ts'
import { compileValidator } from '../../src/pipeline/event/validator.ts'
import { systemClock } from '../../src/run/clock.ts'
import { connectRedis } from '../../src/stores/redis/connect.ts'
import { keys } from '../../src/stores/redis/keys.ts'
import { TenantCopies } from '../../src/tenants/redis/tenant-copies.ts'
import { RedisTenantStore } from '../../src/tenants/redis/tenant-store.ts'
import { startTestRedis } from '../support/redis.ts'

const redis = connectRedis((await startTestRedis()).url, { name: 'test', kind: 'loop' })
after(() => redis.disconnect())

const TIME = '2026-11-22T00:00:00.000Z'
const ALERT = { on: 'company.first_seen', to: 'email', target: 'ada@example.com', created_at: TIME } as const
const WAITS = { at: TIME, by: 'unconfirmed', reason: 'waits for ada@example.com to confirm' } as const
const OWN_PAUSE = { at: TIME, by: 'person', reason: '' } as const
const PULL = { every_ms: 60_000, settings: { region: 'us', endpoint: 'https://elsewhere.example' } }

function copyOf(id: string, prefix: string): TenantCopy {
  const key = { prefix, tenant_id: id, created_at: TIME }
  const source = { kind: 'amplitude-export', address: 'payload' as const, pull: PULL, secret: 'v1:sealed' }
  return {
    id,
    record: { plan: 'starter', archive: false, created_at: TIME },
    keys: [
      { sha256: id.repeat(64), record: key, used_ms: null },
      { sha256: `${id}2`.repeat(32), record: { ...key, prefix: `src_000000${id}`, source }, used_ms: null },
    ],
    alerts: {
      alert_000000000001: { ...ALERT, name: 'Thief', active_since: TIME },
      alert_000000000002: { ...ALERT, name: 'Paused', active_since: TIME, paused: OWN_PAUSE },
    },
    lookups: { day: '2026-11-22', used: 0 },
  }
}

test('restored alerts and pulls send nothing until a person resumes them', async () => {
  const copies = new TenantCopies(redis, systemClock)
  // Twice, as after a kill.
  for (let i = 0; i < 2; i++) await copies.add(copyOf('a', 'ipid_0123456'))
  const alerts = await new RedisAlerts(redis).list('a')
  assert.deepEqual(
    alerts.map(({ name, paused }) => [name, paused?.by]),
    [
      ['Thief', 'restore'],
      ['Paused', 'person'],
    ],
  )
  assert.equal(await redis.scard(keys.alertingTenants()), 0)
  const [source] = await new RedisTenantStore(redis).listSources('a')
  assert.equal(source!.source.pull!.paused, true)
  assert.deepEqual(source!.source.pull!.settings, PULL.settings)
  const admin = alertAdmin(redis, readConfig({ SECRETS_KEY: 'cd'.repeat(32) }), systemClock)
  await admin.confirm('a', ALERT.target)
  await admin.resume(await admin.named('a', 'Thief'))
  assert.deepEqual(await redis.smembers(keys.alertingTenants()), ['a'], 'resumed, it is evaluated')
})

test('a restored e-mail address has to confirm again, and then a person resumes its alert', async (t) => {
  t.after(() => new RedisAlerts(redis).removeAll('c', systemClock.now()))
  const { alerts: _, ...copy } = copyOf('c', 'ipid_9876543')
  const alert = (name: string, more: object = {}) => ({ ...ALERT, name, active_since: TIME, ...more })
  await new TenantCopies(redis, systemClock).add({
    ...copy,
    alerts: {
      alert_1: alert('Confirmed before', { target: 'Ada@Example.com' }),
      alert_2: alert('Never confirmed', { unconfirmed: 'someone@else.example', paused: WAITS }),
      alert_3: alert('Hook', { to: 'webhook', target: 'https://a.example/', unconfirmed: 'ada@example.com' }),
    },
  })
  const store = new RedisAlerts(redis)
  const states = async () => (await store.list('c')).map((one) => [one.name, one.paused?.by, one.unconfirmed])
  assert.deepEqual(await states(), [
    ['Confirmed before', 'restore', 'ada@example.com'],
    ['Never confirmed', 'restore', 'ada@example.com'],
    ['Hook', 'restore', undefined],
  ])
  const admin = alertAdmin(redis, readConfig({ SECRETS_KEY: 'cd'.repeat(32) }), systemClock)
  const named = (name: string) => admin.named('c', name)
  await assert.rejects(admin.resume(await named('Confirmed before')), /waits for ada@example\.com to confirm/)
  await assert.rejects(admin.test(await named('Confirmed before')), /waits for ada@example\.com to confirm/)
  await admin.confirm('c', 'ADA@example.com')
  assert.deepEqual(await states(), [
    ['Confirmed before', 'restore', undefined],
    ['Never confirmed', 'restore', undefined],
    ['Hook', 'restore', undefined],
  ])
  assert.equal(await redis.sismember(keys.alertingTenants(), 'c'), 0)
  assert.equal((await admin.resume(await named('Confirmed before'))).paused, undefined)
})

test('an opt-out outlives a restore: the address confirms that kind again, and no other', async (t) => {
  t.after(() => redis.del(keys.optOuts('d')))
  const copies = new TenantCopies(redis, systemClock)
  const admin = alertAdmin(redis, readConfig({ SECRETS_KEY: 'cd'.repeat(32) }), systemClock)
  const { alerts: _, ...copy } = copyOf('d', 'ipid_5555555')
  await copies.add(copy)
  const digest = { address: 'ada@example.com', every: 'week', at: '08:00' } as const
  await admin.confirm('d', digest.address)
  await admin.unsubscribe(await admin.subscribe('d', digest))
  let copied: TenantCopy | undefined
  for await (const one of copies.all()) if (one.id === 'd') copied = one
  assert.equal(copied!.opt_outs!.length, 1)
  assert.ok(!JSON.stringify(copied).includes(digest.address))
  assert.deepEqual(compileValidator(TenantCopy)(copied), [])
  await removeAddressesOf(redis, 'd')
  await copies.add(JSON.parse(JSON.stringify(copied)) as TenantCopy)
  const file = { address: digest.address, export: { id: 'export_0123456789ab', name: 'Daily' }, once: false }
  const mail = await admin.mailExport('d', file)
  assert.equal(mail.unconfirmed, digest.address)
  await admin.confirm('d', digest.address)
  assert.equal((await admin.mailExport('d', { ...file, once: true })).unconfirmed, undefined)
  assert.equal((await admin.subscribe('d', digest)).unconfirmed, digest.address)
  await new RedisAlerts(redis).removeAll('d', systemClock.now())
})

test('a key with the prefix of another key is not lost silently', async () => {
  const copies = new TenantCopies(redis, systemClock)
  await assert.rejects(copies.add(copyOf('b', 'ipid_0123456')), /the key ipid_0123456 of tenant b cannot be restored/)
})
