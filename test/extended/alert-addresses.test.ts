import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { after, type TestContext, test } from 'node:test'
import { type AlertAdmin, alertAdmin } from '../../src/alerts/admin.ts'
import { eraseAddress, namesMail } from '../../src/alerts/erase-address.ts'
import type { ConfirmMessage } from '../../src/alerts/messages.ts'
import { RedisAddresses, removeAddressesOf } from '../../src/alerts/redis/address-store.ts'
import { type Alert, RedisAlerts } from '../../src/alerts/redis/alert-store.ts'
import { RedisDeliveries } from '../../src/alerts/redis/delivery-store.ts'
import { readConfig } from '../../src/config/config.ts'
import { RedisTenantRemoval } from '../../src/operations/erasure/redis/tenant-removal.ts'
import { systemClock } from '../../src/run/clock.ts'
import { SecretBox } from '../../src/secrets/secret-box.ts'
import { connectRedis, type RedisClient } from '../../src/stores/redis/connect.ts'
import { keys } from '../../src/stores/redis/keys.ts'
import { RedisTenantStore } from '../../src/tenants/redis/tenant-store.ts'
import { formOf, startDashboard } from '../support/dashboard.ts'
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
  new RedisAddresses(redis, secrets),
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
  await removeAddressesOf(redis, tenantId)
}

const waitsFor = async ({ tenantId, id }: Alert) => (await store.get(tenantId, id))!.unconfirmed

/** All keys and values of Redis. */
async function everything(): Promise<string> {
  const all = await redis.keys('*')
  const dumps = await Promise.all(all.map((key) => redis.dumpBuffer(key)))
  return all.join('\n') + Buffer.concat(dumps.map((dump) => dump ?? Buffer.alloc(0))).toString('latin1')
}

const WEEKLY = { every: 'week', at: '08:00' } as const

async function startPages(t: TestContext) {
  const dashboard = await startDashboard(t, redis, [])
  const page = async (response: Response) => [response.status, await response.text()] as const
  const open = async (token: string) => page(await fetch(`${dashboard.url}/confirm?token=${encodeURIComponent(token)}`))
  const press = async (token: string, form?: Record<string, string>) =>
    page(
      await fetch(`${dashboard.url}/confirm`, {
        ...{ method: 'POST', headers: { origin: dashboard.url } },
        body: new URLSearchParams({ token, ...(form ?? formOf((await open(token))[1])) }),
      }),
    )
  return { open, press }
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
  assert.equal((await pages.press(token!, { shown: eve.id, address: 'ada@b.example', tenant: 'other' }))[0], 200)
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
  await admin.unsubscribe(await admin.subscribe('gone', { address: 'out@b.example', ...WEEKLY }))
  const kept = await create(admin, 'other', 'Kept', 'kept@b.example')
  const [[ended], [link]] = [await tokensOf(gone), await tokensOf(kept)]
  const removal = new RedisTenantRemoval(redis)
  await removal.mark('gone')
  await removal.removeKeys('gone')
  assert.equal(await addresses.addressOf(ended!), undefined)
  assert.equal(await addresses.isConfirmed({ tenantId: 'gone', address: 'confirmed@b.example' }, 'digest'), false)
  assert.equal(await redis.exists(keys.optOuts('gone')), 0)
  assert.ok(!(await everything()).includes('gone@b.example'))
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

test('a confirmation starts what its page listed, and nothing that came later', async (t) => {
  t.after(() => removeAll('acme'))
  const pages = await startPages(t)
  const admin = adminOn(redis)
  const named = await create(admin, 'acme', 'Named', 'ann@b.example')
  const [token] = await tokensOf(named)
  const form = formOf((await pages.open(token!))[1])
  const later = await create(admin, 'acme', 'Later', 'ann@b.example')
  const digest = await admin.subscribe('acme', { address: 'ann@b.example', ...WEEKLY })
  assert.equal((await pages.press(token!, form))[0], 200)
  assert.deepEqual(
    [await waitsFor(named), await waitsFor(later), await waitsFor(digest)],
    [undefined, 'ann@b.example', 'ann@b.example'],
  )
  assert.equal((await store.get('acme', later.id))!.paused!.by, 'unconfirmed')
  const [ofDigest] = await tokensOf(digest)
  assert.match((await pages.open(ofDigest!))[1], /The alert Later<.*Digest for ann@b\.example</)
  assert.equal((await pages.press(ofDigest!))[0], 200)
  assert.deepEqual([await waitsFor(later), await waitsFor(digest)], [undefined, undefined])
})

test('when what a page listed is gone and something else waits, the page asks again', async (t) => {
  t.after(() => removeAll('acme'))
  const pages = await startPages(t)
  const admin = adminOn(redis)
  const first = await create(admin, 'acme', 'First', 'ann@b.example')
  const [token] = await tokensOf(first)
  const form = formOf((await pages.open(token!))[1])
  const second = await create(admin, 'acme', 'Second', 'ann@b.example')
  await admin.remove(first)
  for (const stale of [form, {}]) {
    const [status, text] = await pages.press(token!, stale as Record<string, string>)
    assert.deepEqual([status, /The alert Second</.test(text)], [200, true])
    assert.equal(await waitsFor(second), 'ann@b.example')
  }
  await pages.press(token!)
  assert.equal(await waitsFor(second), undefined)
})

test('the page of a link names every alert and subscription that a tenant may have, and starts them', async (t) => {
  t.after(() => removeAll('acme'))
  const pages = await startPages(t)
  const [address, at] = ['ann@b.example', '2026-11-01T00:00:00.000Z']
  const wait = { unconfirmed: address, paused: { at, by: 'unconfirmed', reason: '' } } as const
  const all = Array.from({ length: 220 }, (_, i) => `alert_${String(i).padStart(12, '0')}`)
  for (const [i, id] of all.entries()) {
    const on = i < 20 ? 'company.first_seen' : i < 120 ? 'digest' : 'export'
    const made: Alert = {
      ...{ id, tenantId: 'acme', name: id, on, to: 'email', target: address, created_at: at, active_since: at },
      ...(on === 'digest' && { ...WEEKLY, segment_id: `segment_${i}` }),
      ...(on === 'export' && { export: { id: `export_${i}`, name: `Export ${i}` } }),
      ...wait,
    }
    await store.create(made)
  }
  assert.equal((await pages.press(await addresses.newToken({ tenantId: 'acme', address })))[0], 200)
  assert.equal((await store.list('acme')).filter(({ unconfirmed }) => unconfirmed !== undefined).length, 0)
})

test('who left gets nothing without a new confirmation, by no alert, test or resumption', async (t) => {
  t.after(() => removeAll('acme'))
  const admin = adminOn(redis)
  const address = 'lea@b.example'
  const waits = /waits for lea@b\.example to confirm/
  await admin.confirm('acme', address)
  const alert = await create(admin, 'acme', 'Lea', 'Lea@b.example')
  const tested = await admin.test(alert)
  for (let i = 0; i < 2; i++) assert.equal(await admin.endMails('acme', 'LEA@b.example'), 1)
  const left = await admin.get('acme', alert.id)
  assert.deepEqual([left.unconfirmed, left.paused!.by], [address, 'person'])
  await assert.rejects(admin.resume(left), waits)
  await assert.rejects(store.change('acme', alert.id, { paused: null }), /waits for its address to confirm/)
  await assert.rejects(admin.test(left), waits)
  await assert.rejects(admin.sendAgain('acme', tested), waits)
  const file = { address, export: { id: 'export_0123456789ab', name: 'Daily' }, once: false }
  for (const made of [
    await create(admin, 'acme', 'Another', 'lea@b.example'),
    await admin.subscribe('acme', { address, ...WEEKLY }),
    await admin.mailExport('acme', file),
  ]) {
    assert.deepEqual([made.unconfirmed, made.paused?.by], [address, 'unconfirmed'])
  }
  await admin.confirm('acme', address)
  assert.equal((await admin.get('acme', alert.id)).paused!.by, 'person', 'a person resumes what a person paused')
  assert.equal((await admin.resume(await admin.get('acme', alert.id))).paused, undefined)
})

test('the end of the mails of somebody who had none stores nothing', async (t) => {
  t.after(() => removeAll('acme'))
  const admin = adminOn(redis)
  await admin.confirm('acme', 'quiet@b.example')
  const before = (await everything()).replaceAll('quiet@b.example', '')
  await admin.endMails('acme', 'quiet@b.example')
  const after = await everything()
  assert.ok(!after.includes('quiet@b.example'))
  assert.equal(await redis.exists(keys.optOuts('acme')), 0)
  assert.ok(before.length >= after.length)
})

test('an opt-out is noted for the kinds that ended, as a digest that only the secrets key can make', async (t) => {
  t.after(() => Promise.all(['acme', 'other'].map(removeAll)))
  const admin = adminOn(redis)
  const address = 'ann@b.example'
  for (const tenantId of ['acme', 'other']) {
    await admin.confirm(tenantId, address)
    await admin.subscribe(tenantId, { address, ...WEEKLY })
    await admin.endMails(tenantId, address)
  }
  const [[one], [other]] = [await redis.smembers(keys.optOuts('acme')), await redis.smembers(keys.optOuts('other'))]
  assert.match(one!, /^digest [0-9a-f]{8}:[\w-]{43}$/)
  assert.notEqual(one, other, 'the address cannot be followed from tenant to tenant')
  const likely = [address, `acme ${address}`, `digest ${address}`].flatMap((text) =>
    (['hex', 'base64url'] as const).map((form) => hash('sha256', text, form)),
  )
  assert.ok(!likely.some((digest) => one!.includes(digest)))
  assert.ok(!(await everything()).includes(address))
})

test('after the secrets key was replaced, every address confirms a kind that somebody opted out of', async (t) => {
  t.after(() => removeAll('acme'))
  const subscribed = await adminOn(redis).subscribe('acme', { address: 'zoe@b.example', ...WEEKLY })
  await adminOn(redis).unsubscribe(subscribed)
  const replaced = alertAdmin(redis, readConfig({ SECRETS_KEY: 'ef'.repeat(32) }), systemClock)
  for (const address of ['zoe@b.example', 'yan@b.example']) {
    await replaced.confirm('acme', address)
    assert.equal((await replaced.subscribe('acme', { address, ...WEEKLY })).unconfirmed, address)
    assert.equal((await create(replaced, 'acme', address, address)).unconfirmed, undefined, 'another kind')
  }
})

test('an erasure leaves nothing of an address: no alert, message, link, confirmation or opt-out', async (t) => {
  t.after(() => Promise.all(['acme', 'other'].map(removeAll)))
  const admin = adminOn(redis)
  const [max, others] = ['max@b.example', ['jo.max@b.example', 'max@b.example.org']] as const
  await create(admin, 'acme', 'Waits', 'Max@b.example')
  const asked = await create(admin, 'acme', 'Gone', max)
  await admin.remove(asked)
  await admin.confirm('acme', max)
  await admin.unsubscribe(await admin.subscribe('acme', { address: max, ...WEEKLY }))
  for (const address of others) await create(admin, 'acme', `To ${address}`, address)
  const elsewhere = await create(admin, 'other', 'Elsewhere', max)
  for (let i = 0; i < 2; i++) {
    const erased = await eraseAddress(redis, secrets, { tenantId: 'acme', address: 'MAX@b.example' }, systemClock.now())
    assert.deepEqual(erased, i === 0 ? { alerts: 1, messages: 2 } : { alerts: 0, messages: 0 })
  }
  assert.deepEqual((await store.list('acme')).map(({ target }) => target).sort(), [...others].sort())
  assert.equal((await deliveries.page('acme', { limit: 50 })).deliveries.length, 2)
  assert.equal(await redis.exists(keys.optOuts('acme')), 0)
  assert.equal(await waitsFor(elsewhere), max)
  await removeAll('other')
  await admin.remove(elsewhere)
  assert.ok(!namesMail(await everything(), max))
})

test('an address is found in any case, and not as a part of another one', () => {
  for (const text of ['ann@b.example', '<Ann@B.example>', 'x\nANN@b.example.', 'of ann@b.example, bob'])
    assert.ok(namesMail(text, 'ann@b.example'), text)
  for (const text of ['joann@b.example', 'j+ann@b.example', 'ann@b.example.org', 'ann@b.example-2.org', 'ann@b.exampl'])
    assert.ok(!namesMail(text, 'ann@b.example'), text)
  assert.ok(namesMail('joann@b.example ann@b.example', 'ann@b.example'))
})
