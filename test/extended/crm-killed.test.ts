import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { systemClock } from '../../src/run/clock.ts'
import { startTestClickHouse } from '../support/clickhouse.ts'
import { crmWorld, SECRETS_KEY } from '../support/crm.ts'
import type { CrmProcess } from '../support/crm-process.ts'
import { eventInserter } from '../support/event-rows.ts'
import { type Asked, TestHubSpot, TOKEN } from '../support/hubspot.ts'
import { startTestRedis } from '../support/redis.ts'
import { until } from '../support/until.ts'

const PROCESS = 'crm-test'
const COMPANIES = 60
const script = fileURLToPath(new URL('../support/crm-process.ts', import.meta.url))

/** A process that syncs until it is killed. It is gone when `kill` resolves. */
function syncing(t: TestContext, given: CrmProcess) {
  const child = spawn(process.execPath, ['--import', 'tsx', script, JSON.stringify(given)], {
    stdio: ['pipe', 'ignore', 'inherit'],
  })
  const gone = once(child, 'exit')
  const kill = async () => {
    child.kill('SIGKILL')
    await gone
  }
  t.after(kill)
  return { kill }
}

test('killed before and after each write, it leaves each company once, and no change is missing', async (t) => {
  assert.equal(SECRETS_KEY.length, 64)
  const [clickhouse, redis, server] = [
    await startTestClickHouse(t),
    await startTestRedis(t),
    await TestHubSpot.start(t),
  ]
  const at = { redisUrl: redis.url, clickhouseUrl: clickhouse.url, origin: server.url }
  const world = crmWorld({ ...at, clock: systemClock })
  t.after(() => world.close())
  const createdAt = '2026-01-01T00:00:00.000Z'
  await world.tenants.createTenant({ id: 'acme', plan: 'starter', archive: false, addresses: 'full', createdAt })
  const insert = eventInserter(clickhouse)
  const nowMs = Date.now()
  const visits = (name: string) =>
    insert(
      'acme',
      Array.from({ length: COMPANIES }, (_, i) => ({
        ...{
          event_id: `${name}-${i}`,
          company_id: `c${i}.example`,
          domain: `c${i}.example`,
          ip: `192.0.2.${name.length}`,
        },
        ...{ account_id: `c${i}.example`, received_at: nowMs, timestamp: nowMs },
      })),
    )
  await visits('a')
  // HubSpot has some already, and its search finds none of those that are made.
  for (const i of [3, 55]) server.add({ name: `HubSpot ${i}`, domain: `c${i}.example` })
  server.owners.push({ id: '1', email: 'ada@us.example' })
  server.set(server.records[0]!, { hubspot_owner_id: '1' })
  server.indexes = false
  await world.admin.connect('acme', { token: TOKEN, by: 'Ada' })

  /** Kills the process around each write, once before it has an effect and once after, until a run is complete. @returns these writes */
  const killedThrough = async (): Promise<string[]> => {
    const asked = await world.admin.sync('acme')
    const isDone = async () => (await world.crm.state('acme')).askedMs >= asked
    const struck = new Set<string>()
    for (;;) {
      let killed: Promise<void> | undefined
      const child = syncing(t, { ...at, processName: PROCESS })
      const strike = async (when: string, { call, body }: Asked) => {
        const [, kind] = /(properties\/companies\/groups|batch\/(?:create|update|upsert))$/.exec(call) ?? []
        const write = `${when} ${kind} ${body?.inputs?.[0].id ?? ''}`
        if (kind === undefined || body === undefined || struck.has(write)) return
        struck.add(write)
        killed = child.kill()
        await killed
      }
      server.answer = async (one) => {
        if (killed === undefined) await strike('before', one)
        // The process is gone: its request had no effect.
        return killed === undefined ? undefined : { status: 500, body: {} }
      }
      server.done = async (one) => {
        await strike('after', one)
        return undefined
      }
      await until(async () => killed !== undefined || (await isDone()))
      if (killed === undefined) await child.kill()
      await killed
      if (await isDone()) return [...struck].map((write) => write.split(' ').slice(0, 2).join(' '))
    }
  }

  const around = (call: string) => [`before ${call}`, `after ${call}`]
  assert.deepEqual(
    await killedThrough(),
    ['properties/companies/groups', 'batch/create', ...Array(2).fill(['batch/update', 'batch/upsert']).flat()].flatMap(
      around,
    ),
  )
  const state = await world.crm.state('acme')
  assert.deepEqual([state.runs[0]!.error, state.refused], [null, []])
  const companies = () => server.all().map((values) => [values.domain!, values.ipid_company_id!, values.ipid_visits!])
  const wanted = (visited: string) =>
    Array.from({ length: COMPANIES }, (_, i) => [`c${i}.example`, `c${i}.example`, visited])
  assert.deepEqual(companies().sort(), wanted('1').sort())
  assert.deepEqual(
    server
      .all()
      .filter(({ name }) => name!.startsWith('HubSpot'))
      .map(({ domain }) => domain),
    ['c3.example', 'c55.example'],
  )
  assert.deepEqual(
    (await world.corrections.list('acme')).map(({ company_id, owner }) => [company_id, owner]),
    [['c3.example', 'ada@us.example']],
  )
  // A change is written once, though the process is killed around it.
  await visits('bb')
  const before = new Map(server.records.map((record) => [record.id, record.history.ipid_visits!.length]))
  assert.deepEqual(await killedThrough(), Array(2).fill('batch/update').flatMap(around))
  assert.deepEqual(companies().sort(), wanted('2').sort())
  for (const { id, history } of server.records) assert.equal(history.ipid_visits!.length, before.get(id)! + 1)
  assert.equal((await world.corrections.history('acme')).length, 1)
})
