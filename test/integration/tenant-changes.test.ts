import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { UnavailableError } from '../../src/run/errors.ts'
import { connectRedis } from '../../src/stores/redis/connect.ts'
import { keys } from '../../src/stores/redis/keys.ts'
import { generateRawKey } from '../../src/tenants/key.ts'
import { RedisTenantChanges } from '../../src/tenants/redis/tenant-store.ts'
import { quiet } from '../support/pipeline.ts'
import { startTestRedis } from '../support/redis.ts'
import { handClock, startTenants } from '../support/tenants.ts'
import { until } from '../support/until.ts'

test('changes by one process apply in another at once: new key, plan, revocation', async (t) => {
  const redis = await startTestRedis(t)
  const clock = handClock()
  const here = await startTenants(t, redis.url, { clock })
  const there = await startTenants(t, redis.url, { clock })
  await here.admin.createTenant('acme')
  const { key, prefix } = await here.admin.createKey('acme')
  const caller = () => Promise.resolve(there.authenticator.authenticate(key))
  assert.equal((await caller())?.tenant.plan, 'starter')
  // A late announcement keeps an answer out of the cache.
  await until(() => !(there.authenticator.authenticate(key) instanceof Promise))
  await here.admin.setTenant('acme', { plan: 'custom' })
  // The clock is stopped, so only the announcement can empty the cache.
  const upgraded = await until(caller, (found) => found?.tenant.plan === 'custom')
  assert.equal(upgraded?.plan.burst, 500)
  await here.admin.revokeKey(prefix)
  await until(caller, (found) => found === undefined)
})

test('with Redis down known keys work and others fail; missed changes apply afterwards', async (t) => {
  const redis = await startTestRedis(t)
  const clock = handClock()
  const here = await startTenants(t, redis.url, { clock })
  await here.admin.createTenant('acme')
  const kept = await here.admin.createKey('acme')
  await until(
    async () => {
      const found = here.authenticator.authenticate(kept.key)
      await found
      return !(found instanceof Promise)
    },
    (cached) => cached,
  )
  await redis.kill()
  assert.equal((await here.authenticator.authenticate(kept.key))?.tenant.id, 'acme')
  await assert.rejects(async () => here.authenticator.authenticate(generateRawKey()), UnavailableError)
  await redis.restart()
  // Revoked before the other process has its subscription again, as far as it knows.
  const elsewhere = await startTenants(t, redis.url, { clock })
  await elsewhere.admin.revokeKey(kept.prefix)
  await until(
    async () => here.authenticator.authenticate(kept.key),
    (found) => found === undefined,
  )
})

test('a listener for changes survives a Redis that goes as soon as it comes', async (t) => {
  const connections: Socket[] = []
  const channel = keys.tenantChanges()
  const server = createServer((socket) => {
    const number = connections.push(socket.on('error', () => {}))
    socket.on('data', (data) => {
      for (const [, command] of data.toString().matchAll(/\$\d+\r\n(client|info|subscribe)\r\n/gi)) {
        const name = command!.toLowerCase()
        if (name === 'client') socket.write('+OK\r\n')
        else if (name === 'info') socket.write('$9\r\nloading:0\r\n')
        else if (number === 2) socket.destroy()
        else socket.write(`*3\r\n$9\r\nsubscribe\r\n$${channel.length}\r\n${channel}\r\n:1\r\n`)
      }
    })
  })
  const dir = await mkdtemp(join(tmpdir(), 'ipid-changes-'))
  server.listen(join(dir, 's'))
  await once(server, 'listening')
  const changes = new RedisTenantChanges(
    quiet(connectRedis(`unix://${join(dir, 's')}`, { name: 'test', kind: 'loop' })),
  )
  t.after(async () => {
    changes.close()
    server.close()
    for (const socket of connections) socket.destroy()
    await rm(dir, { recursive: true })
  })
  let heard = 0
  changes.watch(() => heard++)
  await until(() => heard > 0)
  connections[0]!.destroy()
  await until(() => connections.length > 1)
  const before = heard
  await until(() => connections.length > 2 && heard > before)
})
