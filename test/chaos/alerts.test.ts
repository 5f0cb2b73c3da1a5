import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { alertAdmin } from '../../src/alerts/admin.ts'
import { readConfig } from '../../src/config/config.ts'
import { systemClock } from '../../src/run/clock.ts'
import { connectRedis } from '../../src/stores/redis/connect.ts'
import { keys } from '../../src/stores/redis/keys.ts'
import { Receiver } from '../support/alerts.ts'
import { startInstance, VICTIMS } from '../support/instance.ts'
import { quiet } from '../support/pipeline.ts'
import { receivedDays } from '../support/received-days.ts'
import { TestSite } from '../support/site.ts'
import { until } from '../support/until.ts'

const COMPANIES = 400
const PER_REQUEST = 20
const TENANT = 'demo'
/** An alert fires within this of the visit. */
const FIRED_WITHIN_MS = 60_000

const addressOf = (n: number) => `11.${n >> 8}.${n & 255}.1`

/** Counts attempts: the receiver refuses the first attempt of some messages, or answers it late. */
function isFirst(counts: Map<string, number>, id: string): boolean {
  counts.set(id, (counts.get(id) ?? 0) + 1)
  return counts.get(id) === 1
}

test('every process is killed amid 400 occurrences: each is received under one id', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'ipid-alerts-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const rows = Array.from(
    { length: COMPANIES + 1 },
    (_, n) => `11.${n >> 8}.${n & 255}.0/24,Company ${n},Company ${n},c${n}.example,Software,Technology,business,US`,
  )
  const head = 'network,business_name,org_name,domain,industry,industry_category,classification,country_code'
  await writeFile(join(folder, 'organisations.csv'), [head, ...rows, ''].join('\n'))
  const secretsKey = 'ef'.repeat(32)
  const settings = {
    WEBHOOK_PRIVATE: 'on',
    ALERT_MESSAGES_PER_HOUR: '1000',
    SECRETS_KEY: secretsKey,
    ARCHIVE_PART_AGE_MS: '200',
  }
  const instance = await startInstance(t, { ENRICH_DIR: folder, ...settings })
  const site = new TestSite(t, { DATA_DIR: instance.dataDir })
  const ipid = async (...args: string[]) => {
    const { code, stdout, stderr } = await site.ipid(...args)
    assert.equal(code, 0, stderr)
    return JSON.parse(stdout)
  }
  await ipid('tenant', 'set', TENANT, '--archive', 'on', '--json')
  const receiver = await Receiver.start(t)
  const counts = new Map<string, number>()
  receiver.answer = (_, response, { id }) => {
    const n = Number.parseInt(id.slice(-2), 16)
    if (!isFirst(counts, id)) response.end('ok')
    else if (n % 8 === 0) response.writeHead(500).end()
    else if (n % 8 === 1) setTimeout(() => response.end('late'), 1_000)
    else response.end('ok')
  }
  const client = quiet(connectRedis(instance.ready.redis_url, { name: 'test', kind: 'loop', timeoutMs: 10_000 }))
  t.after(() => client.disconnect())
  await until(
    () => client.ping(),
    (pong) => pong === 'PONG',
  )
  const admin = alertAdmin(client, readConfig({ ...settings, DATA_DIR: instance.dataDir }), systemClock)
  const { alert, secret } = await admin.create(TENANT, {
    ...{ name: 'New', on: 'company.first_seen', to: 'webhook', target: receiver.url },
  })
  receiver.key = secret
  const events = Array.from({ length: COMPANIES }, (_, n) => ({ ip: addressOf(n), event_id: `e${n}` }))
  const send = async () => {
    for (let at = 0; at < events.length; at += PER_REQUEST) {
      // A killed ingress or Redis answers nothing, or 500: the same events are sent again.
      await until(
        async () => {
          const answer = await instance.post('/v1/ingest', { events: events.slice(at, at + PER_REQUEST) })
          await answer.arrayBuffer()
          return answer.status
        },
        (status) => status === 200,
      )
    }
  }
  const known = new Set<string>()
  let seen = 0
  const companies = () => {
    for (; seen < receiver.received.length; seen++)
      known.add(JSON.parse(receiver.received[seen]!.body).data.company.company_id)
    return known
  }
  const sending = send()
  for (const [i, victim] of VICTIMS.entries()) {
    await until(() => companies().size >= (i + 1) * 0.15 * COMPANIES)
    await until(
      () => instance.kill(victim),
      (pid) => pid > 0,
    )
  }
  await sending
  await until(
    () => companies().size,
    (size) => size === COMPANIES,
    240_000,
  )
  await until(
    () => client.exists(keys.waitingDeliveries(alert.id, 'due'), keys.touchedCompanies(TENANT)),
    (exists) => exists === 0,
  )
  const ids = new Set(receiver.received.map(({ id }) => id))
  assert.deepEqual([ids.size, companies().size, receiver.invalid], [COMPANIES, COMPANIES, []])

  const last = await instance.post('/v1/ingest', { events: [{ ip: addressOf(COMPANIES), event_id: 'last' }] })
  assert.equal(last.status, 200)
  await until(
    () => companies().has(`c${COMPANIES}.example`),
    (isReceived) => isReceived,
    FIRED_WITHIN_MS,
  )
  await until(
    () => client.exists(keys.waitingDeliveries(alert.id, 'due'), keys.touchedCompanies(TENANT)),
    (exists) => exists === 0,
  )

  // The same events again, a replay of lost rows, and another evaluation of all companies, send nothing.
  const before = receiver.received.length
  await send()
  const replay = (...flags: string[]) => ipid('replay', '--tenant', TENANT, ...receivedDays(), ...flags, '--json')
  await instance.query('ALTER TABLE events DELETE WHERE cityHash64(event_id) % 3 = 0 SETTINGS mutations_sync = 2')
  assert.ok((await replay()).replayed > COMPANIES / 4)
  assert.equal((await replay('--reenrich')).events.changed, 0)
  await client.zadd(keys.touchedCompanies(TENANT), Date.now() * 1_000, '*')
  await until(
    () => client.exists(keys.touchedCompanies(TENANT)),
    (exists) => exists === 0,
  )
  assert.equal(await client.exists(keys.waitingDeliveries(alert.id, 'due')), 0)
  assert.equal(receiver.received.length, before)
})
