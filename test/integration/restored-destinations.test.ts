import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { TenantCopy } from '../../schemas/backup.ts'
import { RedisAlerts } from '../../src/alerts/redis/alert-store.ts'
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
  await new RedisAlerts(redis).change('a', 'alert_000000000001', { paused: null })
  assert.deepEqual(await redis.smembers(keys.alertingTenants()), ['a'], 'resumed, it is evaluated')
})

test('a key whose prefix another key has is no silent loss', async () => {
  const copies = new TenantCopies(redis, systemClock)
  await assert.rejects(copies.add(copyOf('b', 'ipid_0123456')), /the key ipid_0123456 of tenant b cannot be restored/)
})
