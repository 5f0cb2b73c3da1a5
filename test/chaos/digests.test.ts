import assert from 'node:assert/strict'
import { test } from 'node:test'
import { alertAdmin } from '../../src/alerts/admin.ts'
import { Segments } from '../../src/companies/segments/segments.ts'
import { readConfig } from '../../src/config/config.ts'
import { ExportAdmin } from '../../src/exports/admin.ts'
import { systemClock } from '../../src/run/clock.ts'
import { connectRedis } from '../../src/stores/redis/connect.ts'
import { startInstance, VICTIMS } from '../support/instance.ts'
import { headerOf, readMail, startMailServer } from '../support/mail.ts'
import { quiet } from '../support/pipeline.ts'
import { until } from '../support/until.ts'

const SUBSCRIBERS = 90
const TENANT = 'demo'

test('every process is killed while digests and an export are due: each subscriber gets each mail under one Message-ID', async (t) => {
  const smtp = await startMailServer(t)
  const settings = { SMTP_URL: smtp.url, SMTP_FROM: 'ipid@site.example', SECRETS_KEY: 'ef'.repeat(32) }
  const instance = await startInstance(t, settings)
  const client = quiet(connectRedis(instance.ready.redis_url, { name: 'test', kind: 'loop', timeoutMs: 10_000 }))
  t.after(() => client.disconnect())
  await until(
    () => client.ping(),
    (pong) => pong === 'PONG',
  )
  const admin = alertAdmin(client, readConfig({ ...settings, DATA_DIR: instance.dataDir }), systemClock)
  const addresses = Array.from({ length: SUBSCRIBERS }, (_, i) => `p${i}@site.example`)
  for (const address of addresses) await admin.confirm(TENANT, address)
  // All subscriptions must be older than the due time.
  const dueMs = Math.ceil((Date.now() + 20_000) / 60_000) * 60_000
  const at = new Date(dueMs).toISOString().slice(11, 16)
  for (const address of addresses) await admin.subscribe(TENANT, { address, every: 'day', at, sendsEmpty: true })
  await new Segments(client, systemClock).create(TENANT, 'All', 'visits>=0')
  const daily = { name: 'Daily', segment: 'All', every: 'day', at, format: 'csv', keep: 2 } as const
  const { id, name } = await new ExportAdmin(client, systemClock).create(TENANT, daily)
  for (const address of addresses) await admin.mailExport(TENANT, { address, export: { id, name }, once: false })
  assert.ok(Date.now() < dueMs, 'the subscriptions took too long')
  const isFile = (mail: string) => headerOf(mail, 'Subject').startsWith(`${TENANT}: Daily with `)
  /** The Message-IDs of the digests, or of the files, of each subscriber. */
  const idsOf = (ofFiles: boolean) => {
    const ids = new Map<string, Set<string>>(addresses.map((address) => [address, new Set()]))
    for (const mail of smtp.mails.filter((one) => headerOf(one, 'List-Unsubscribe') !== ''))
      if (isFile(mail) === ofFiles) ids.get(readMail(mail).to)!.add(headerOf(mail, 'Message-ID'))
    return ids
  }
  const reachedBy = (ofFiles: boolean) => [...idsOf(ofFiles).values()].filter(({ size }) => size > 0).length
  const reached = () => Math.min(reachedBy(false), reachedBy(true))
  for (const [i, victim] of VICTIMS.entries()) {
    await until(
      () => reached() >= (i * SUBSCRIBERS) / (2 * VICTIMS.length) && Date.now() >= dueMs,
      (isSo) => isSo,
      240_000,
    )
    await until(
      () => instance.kill(victim),
      (pid) => pid > 0,
    )
  }
  await until(reached, (count) => count === SUBSCRIBERS, 240_000)
  const doubled = [...idsOf(false), ...idsOf(true)].filter(([, ids]) => ids.size !== 1)
  assert.deepEqual(doubled, [])
  const listed = await until(
    () => admin.digests(TENANT),
    (all) => all.length === SUBSCRIBERS,
  )
  assert.deepEqual(
    listed.filter(({ paused }) => paused !== undefined),
    [],
  )
})
