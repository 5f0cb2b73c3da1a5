import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RedisTenantRemoval } from '../../src/operations/erasure/redis/tenant-removal.ts'
import { OriginTally } from '../../src/pipeline/event/origins.ts'
import { hashKey } from '../../src/tenants/key.ts'
import { RedisOriginCounts } from '../../src/tenants/redis/origin-counts.ts'
import { startTestRedis } from '../support/redis.ts'
import { handClock, startTenants } from '../support/tenants.ts'

test('counts that processes write for a tenant being deleted or gone are dropped', async (t) => {
  const redis = await startTestRedis(t)
  const clock = handClock()
  const { client, admin, store } = await startTenants(t, redis.url, { clock })
  const removal = new RedisTenantRemoval(client)
  const counts = new RedisOriginCounts(client, clock)
  const tally = new OriginTally()
  tally.add('cdn AS1 Edge', 200)
  for (const name of ['acme', 'kept']) await admin.createTenant(name)
  const { key } = await admin.createKey('acme')
  const { key: other } = await admin.createKey('kept')
  const write = async () => {
    const uses = [key, other].map((one) => [hashKey(one), clock.nowMs] as const)
    await store.recordUses(new Map(uses))
    await counts.add('kept', tally)
    return await counts.add('acme', tally)
  }
  const named = async () => {
    const names = [...(await client.keys('{tenant:*')), ...(await client.hkeys('{tenants}:uses'))]
    return names.map((name) => name.replace(hashKey(key), 'use of acme').replace(hashKey(other), 'use of kept')).sort()
  }
  const ofKept = ['use of kept', '{tenant:kept}:origins:2026-11-21']
  const ofAcme = ['use of acme', '{tenant:acme}:origins:2026-11-21']

  assert.equal((await write()).events, 200)
  assert.deepEqual(await named(), [...ofKept, ...ofAcme].sort())
  await removal.mark('acme')
  assert.equal(await removal.removeKeys('acme'), 1)
  assert.deepEqual(await write(), { events: 0, byOrigin: new Map() })
  assert.deepEqual(await named(), ofKept, 'being deleted')
  await removal.removeRecord('acme')
  await write()
  assert.deepEqual(await named(), ofKept, 'gone')
})
