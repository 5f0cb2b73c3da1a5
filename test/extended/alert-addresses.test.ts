import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { after, type TestContext, test } from 'node:test'
import { type AlertAdmin, alertAdmin } from '../../src/alerts/admin.ts'
import type { ConfirmMessage } from '../../src/alerts/messages.ts'
import { RedisAddresses } from '../../src/alerts/redis/address-store.ts'
import { type Alert, RedisAlerts } from '../../src/alerts/redis/alert-store.ts'
import { RedisDeliveries } from '../../src/alerts/redis/delivery-store.ts'
import { readConfig } from '../../src/config/config.ts'
import { RedisTenantRemoval } from '../../src/operations/erasure/redis/tenant-removal.ts'
import { systemClock } from '../../src/run/clock.ts'
import { SecretBox } from '../../src/secrets/secret-box.ts'
import { connectRedis, type RedisClient } from '../../src/stores/redis/connect.ts'
import { keys } from '../../src/stores/redis/keys.ts'
import { RedisTenantStore } from '../../src/tenants/redis/tenant-store.ts'
import { startDashboard } from '../support/dashboard.ts'
import { startTestRedis } from '../support/redis.ts'

/* E-mail addresses that confirm by a link before their alerts send anything. */

const { url } = await startTestRedis()
const redis = connectRedis(url, { name: 'test', kind: 'loop' })
after(() => redis.disconnect())
const config = readConfig({ SECRETS_KEY: 'cd'.repeat(32) })
const secrets = new SecretBox(config)
const [store, deliveries, addresses] = [
  new RedisAlerts(redis),
  new RedisDeliveries(redis),
  new RedisAddresses(redis),
] as const
const adminOn = (client: RedisClient) => alertAdmin(client, config, systemClock)

async function create(admin: AlertAdmin, tenantId: string, name: string, target: string): Promise<Alert> {
  return (await admin.create(tenantId, { name, on: 'company.first_seen', to: 'email', target })).alert
}

/** The links in the mails of an alert, oldest first. */
async function tokensOf({ tenantId, id: alertId }: Pick<Alert, 'tenantId' | 'id'>): Promise<string[]> {
  const { deliveries: found } = await deliveries.page(tenantId, { limit: 50, alertId })
  return [...found].reverse().map(({ id, body }) => {
    const { link } = (JSON.parse(body) as ConfirmMessage).data
    return new URL(secrets.open(link, id)).searchParams.get('token')!
  })
}

async function removeAll(tenantId: string): Promise<void> {
  await store.removeAll(tenantId, systemClock.now())
  await addresses.removeAll(tenantId)
}

const waitsFor = async ({ tenantId, id }: Alert) => (await store.get(tenantId, id))!.unconfirmed

async function startPages(t: TestContext) {
  const dashboard = await startDashboard(t, redis, [])
  const page = async (response: Response) => [response.status, await response.text()] as const
  return {
    open: async (token: string) => page(await fetch(`${dashboard.url}/confirm?token=${encodeURIComponent(token)}`)),
    press: async (token: string, more: Record<string, string> = {}) =>
      page(
        await fetch(`${dashboard.url}/confirm`, {
          ...{ method: 'POST', headers: { origin: dashboard.url }, body: new URLSearchParams({ token, ...more }) },
        }),
      ),
  }
}

test('a process that dies at any command of a creation leaves an alert with its mail, or neither', async (t) => {
  t.after(() => removeAll('dies'))
  let isMade = false
  for (let commands = 0; !isMade; commands++) {
    const dying = connectRedis(url, { name: 'test', kind: 'loop' })
    await dying.ping()
    const send = dying.sendCommand.bind(dying)
    let left = commands
    const sendCommand = (...args: Parameters<typeof send>) =>
      left-- > 0 ? Reflect.apply(send, dying, args) : Promise.reject(new Error('killed'))
    Object.assign(dying, { sendCommand })
    await create(adminOn(dying), 'dies', `Alert ${commands}`, `a${commands}@b.example`).then(
      () => {
        isMade = true
      },
      () => {},
    )
    dying.disconnect()
    for (const alert of await store.list('dies')) {
      const tokens = await tokensOf(alert)
      assert.equal(tokens.length, 1, `${alert.name} after ${commands} commands`)
      assert.equal((await addresses.addressOf(tokens[0]!))!.address, alert.unconfirmed)
      assert.equal(await deliveries.waitingOf(alert.id), 1)
    }
    assert.ok(commands < 50)
  }
  assert.equal((await store.list('dies')).at(-1)!.paused!.by, 'unconfirmed')
})

test('a link confirms its own address in its own tenant, and opening it confirms nothing', async (t) => {
  t.after(() => Promise.all(['acme', 'other'].map(removeAll)))
  const pages = await startPages(t)
  const admin = adminOn(redis)
  const [ada, eve, elsewhere] = [
    await create(admin, 'acme', 'Ada', 'ada@b.example'),
    await create(admin, 'acme', 'Eve', 'eve@b.example'),
    await create(admin, 'other', 'Ada', 'ada@b.example'),
  ]
  const [token] = await tokensOf(eve)
  for (let i = 0; i < 3; i++) assert.equal((await pages.open(token!))[0], 200)
  assert.equal(await waitsFor(eve), 'eve@b.example')
  assert.equal((await pages.press(token!, { address: 'ada@b.example', tenant: 'other' }))[0], 200)
  assert.deepEqual(
    [await waitsFor(eve), await waitsFor(ada), await waitsFor(elsewhere)],
    [undefined, 'ada@b.example', 'ada@b.example'],
  )
  const third = await create(admin, 'acme', 'Third', 'third@b.example')
  assert.equal(await waitsFor(third), 'third@b.example', 'a confirmed address of the tenant helps no other')
  assert.equal(await waitsFor(await create(admin, 'acme', 'Again', 'EVE@b.example')), undefined)
})

test('each of several links works once; after the first, the others say that the address is confirmed', async (t) => {
  t.after(() => removeAll('acme'))
  const pages = await startPages(t)
  const admin = adminOn(redis)
  const alert = await create(admin, 'acme', 'Several', 'bob@b.example')
  await admin.askAgain(alert)
  const [first, second] = await tokensOf(alert)
  assert.equal((await pages.press(second!))[0], 200)
  assert.equal((await pages.press(second!))[0], 404)
  const [status, text] = await pages.press(first!)
  assert.deepEqual([status, /bob@b\.example is confirmed/.test(text)], [200, true])
  await assert.rejects(admin.askAgain((await store.get('acme', alert.id))!), /does not have to confirm/)
})

test('a link ends after 7 days, and another confirms', async (t) => {
  t.after(() => removeAll('acme'))
  const pages = await startPages(t)
  const admin = adminOn(redis)
  const alert = await create(admin, 'acme', 'Late', 'late@b.example')
  const [token] = await tokensOf(alert)
  const stored = keys.confirmation(hash('sha256', token!, 'hex'))
  const leftMs = await redis.pttl(stored)
  assert.ok(leftMs > 7 * 86_400_000 - 60_000 && leftMs <= 7 * 86_400_000, String(leftMs))
  await redis.del(stored)
  for (const [status, text] of [await pages.open(token!), await pages.press(token!)]) {
    assert.deepEqual([status, /older than 7 days/.test(text)], [404, true])
  }
  assert.equal(await waitsFor(alert), 'late@b.example')
  await admin.askAgain(alert)
  const [, fresh] = await tokensOf(alert)
  assert.equal((await pages.press(fresh!))[0], 200)
  assert.equal(await waitsFor(alert), undefined)
})

test('an address and a token are no HTML on the page of a link', async (t) => {
  t.after(() => removeAll('acme'))
  const pages = await startPages(t)
  const alert = await create(adminOn(redis), 'acme', '<b>Bold', "o'neil&lt$&@b.example")
  const [token] = await tokensOf(alert)
  for (const [status, text] of [await pages.open(token!), await pages.press(token!)]) {
    assert.equal(status, 200)
    assert.ok(!text.includes("o'neil") && !text.includes('&lt;b'), text)
  }
  const [status, text] = await pages.open('"><script>alert(1)</script>')
  assert.deepEqual([status, text.includes('<script>alert')], [404, false])
})

test('a tenant that is deleted leaves no address: no link, and no confirmation', async (t) => {
  t.after(() => removeAll('other'))
  await new RedisTenantStore(redis).createTenant({
    ...{ id: 'gone', plan: 'starter', archive: false, addresses: 'full', createdAt: '2026-01-01T00:00:00.000Z' },
  })
  const admin = adminOn(redis)
  const gone = await create(admin, 'gone', 'Gone', 'gone@b.example')
  await admin.confirm('gone', 'confirmed@b.example')
  const kept = await create(admin, 'other', 'Kept', 'kept@b.example')
  const [[ended], [link]] = [await tokensOf(gone), await tokensOf(kept)]
  const removal = new RedisTenantRemoval(redis)
  await removal.mark('gone')
  await removal.removeKeys('gone')
  assert.equal(await addresses.addressOf(ended!), undefined)
  assert.equal(await addresses.isConfirmed({ tenantId: 'gone', address: 'confirmed@b.example' }, 'digest'), false)
  assert.deepEqual(await addresses.addressOf(link!), { tenantId: 'other', address: 'kept@b.example' })
})

test('the address of an alert of an earlier version counts as confirmed in its tenant', async (t) => {
  t.after(() => Promise.all(['acme', 'other'].map(removeAll)))
  const at = '2026-11-01T00:00:00.000Z'
  await store.create({
    ...{ id: 'alert_0', tenantId: 'acme', name: 'Earlier', on: 'company.first_seen', to: 'email' },
    ...{ target: 'Old@b.example', created_at: at, active_since: at },
  })
  const admin = adminOn(redis)
  const next = await create(admin, 'acme', 'Next', 'old@b.example')
  assert.deepEqual([next.unconfirmed, next.paused, await tokensOf(next)], [undefined, undefined, []])
  assert.equal((await create(admin, 'other', 'Next', 'old@b.example')).unconfirmed, 'old@b.example')
})
