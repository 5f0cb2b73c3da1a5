import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { CrmAnswer } from '../../schemas/dashboard/crm.ts'
import { RedisTenantRemoval } from '../../src/operations/erasure/redis/tenant-removal.ts'
import { HUBSPOT } from '../../src/run/authors.ts'
import { keys } from '../../src/stores/redis/keys.ts'
import { TenantCopies } from '../../src/tenants/redis/tenant-copies.ts'
import { startTestClickHouse } from '../support/clickhouse.ts'
import { runCommand } from '../support/command.ts'
import { crmWorld, SECRETS_KEY } from '../support/crm.ts'
import { eventInserter } from '../support/event-rows.ts'
import { type HubSpotRecord, TestHubSpot, TOKEN } from '../support/hubspot.ts'
import { startTestRedis } from '../support/redis.ts'
import { handClock } from '../support/tenants.ts'
import { until } from '../support/until.ts'

const START = Date.UTC(2026, 10, 25, 5)
const HOUR_MS = 3_600_000
const clickhouse = await startTestClickHouse()
const redis = await startTestRedis()
const insert = eventInserter(clickhouse)

/** The tenant has its own name, because the tables are shared by the tests of this file. */
async function start(t: TestContext, tenant: string) {
  const server = await TestHubSpot.start(t)
  const clock = handClock(START)
  const pause = async () => {}
  const world = crmWorld({ redisUrl: redis.url, clickhouseUrl: clickhouse.url, origin: server.url, clock, pause })
  t.after(() => world.close())
  const { client, tenants, syncer, crm, admin } = world
  await client.flushall()
  const createdAt = '2026-01-01T00:00:00.000Z'
  await tenants.createTenant({ id: tenant, plan: 'starter', archive: false, addresses: 'full', createdAt })
  let events = 0
  const visits = (ids: readonly string[], given: object = {}) =>
    insert(
      tenant,
      ids.map((id) => ({
        ...{
          event_id: `${id}-${events++}`,
          company_id: id,
          account_id: id,
          domain: id,
          business_name: `Name of ${id}`,
        },
        ...{ received_at: clock.nowMs, timestamp: clock.nowMs },
        ...{ properties: JSON.stringify({ url: `https://www.shop.example/${id}` }), ...given },
      })),
    )
  const visit = (id: string, given: object = {}) => visits([id], given)
  const begin = async () => {
    const one = syncer()
    await one.start()
    t.after(() => one.stop())
    return one
  }
  /** The state after a run that a person requested. */
  const ran = async () => {
    const asked = await admin.sync(tenant)
    return await until(
      () => crm.state(tenant),
      ({ askedMs }) => askedMs >= asked,
    )
  }
  const connect = (given: { token?: string; segment_id?: string } = {}) =>
    admin.connect(tenant, { token: TOKEN, by: 'Ada', ...given })
  const run = async () => {
    const { runs } = await ran()
    const { at: _, took_ms: __, ...rest } = runs[0]!
    return rest
  }
  return { ...world, server, clock, visit, visits, begin, ran, run, connect, tenant }
}

const NOTHING = { created: 0, updated: 0, unchanged: 0, refused: 0, brought: 0, left_out: 0, error: null }
const byKey = (server: TestHubSpot) =>
  new Map(server.records.map((record) => [server.values(record).ipid_company_id, record]))

test('companies with a domain and visits go once, then what changed; the next run comes after an hour', async (t) => {
  const { server, clock, visit, begin, run, connect, segments, tenant, crm, corrections } = await start(t, 'sent')
  const old = server.add({ name: 'B Holding', domain: 'b.example' })
  await visit('a.example')
  await visit('b.example', { country_code: 'FR' })
  await visit('name:nodomain', { domain: '' })
  await visit('odd', { domain: 'localhost' })
  await visit('a-group', { domain: 'a.example' })
  await visit('hidden.example')
  await corrections.correct(tenant, { companies: ['hidden.example'], wanted: { hidden: true }, by: 'Ada' })
  await segments.create(tenant, 'German', 'country=DE')
  await segments.create(tenant, 'Hot; new', 'visits>=2')
  await connect()
  await begin()
  assert.deepEqual(await run(), { ...NOTHING, created: 1, updated: 1, refused: 2 })
  assert.deepEqual(server.all(), [
    {
      ...{
        name: 'B Holding',
        domain: 'b.example',
        ipid_company_id: 'b.example',
        ipid_visits: '1',
        ipid_pages: 'shop.example/b.example',
      },
      ...{ ipid_last_visit: new Date(START).toISOString(), ipid_heat: server.values(old).ipid_heat! },
    },
    {
      ...{ name: 'Name of a.example', domain: 'a.example', ipid_company_id: 'a.example', ipid_segments: 'German' },
      ...{ ipid_visits: '1', ipid_pages: 'shop.example/a.example', ipid_last_visit: new Date(START).toISOString() },
      ipid_heat: server.all()[1]!.ipid_heat!,
    },
  ])
  assert.ok(Number(server.all()[1]!.ipid_heat) > 0)
  const { refused, nextAtMs } = await crm.state(tenant)
  assert.deepEqual(refused.map(({ company_id, reason }) => [company_id, reason]).sort(), [
    ['a-group', 'a.example has the same domain: merge the two companies in ipid'],
    ['odd', 'localhost is not a domain that a company can have'],
  ])
  assert.equal(nextAtMs, START + HOUR_MS)

  assert.deepEqual(await run(), { ...NOTHING, unchanged: 2, refused: 2 })
  const writes = () => server.calls('batch/up').length
  const before = writes()
  clock.nowMs += HOUR_MS
  await visit('a.example', { ip: '192.0.2.9' })
  const { runs } = await until(
    () => crm.state(tenant),
    (state) => state.runs.length === 3 && state.runs[0]!.updated === 1,
  )
  assert.equal(runs[0]!.created, 0)
  assert.equal(writes(), before + 1)
  const values = server.values(byKey(server).get('a.example')!)
  assert.deepEqual([values.ipid_visits, values.ipid_segments], ['2', 'German; Hot; new'])
})

test('only companies of the chosen segment go, and a removed segment stops it', async (t) => {
  const { server, visit, begin, run, connect, segments, tenant, crm } = await start(t, 'chosen')
  await visit('a.example')
  await visit('b.example', { country_code: 'FR' })
  const { id } = await segments.create(tenant, 'French', 'country=FR')
  await connect({ segment_id: id })
  await begin()
  assert.deepEqual(await run(), { ...NOTHING, created: 1 })
  assert.deepEqual(
    server.all().map(({ domain }) => domain),
    ['b.example'],
  )
  await segments.remove(tenant, id)
  assert.match((await run()).error!, /its segment was removed/)
  assert.match((await crm.get(tenant))!.stopped!.reason, /its segment was removed/)
})

test('owner and status come back, and what a person typed later stays', async (t) => {
  const { server, clock, visits, begin, run, connect, corrections, tenant } = await start(t, 'brought')
  const ids = ['a.example', 'b.example', 'c.example', 'd.example']
  await visits(ids)
  server.owners.push({ id: '1', email: 'ada@us.example' }, { id: '2', email: 'bob@us.example' })
  await connect()
  await begin()
  await run()
  const [a, b, c, d] = ids.map((id) => byKey(server).get(id)!) as [HubSpotRecord, ...HubSpotRecord[]]
  const facts = async () =>
    (await corrections.list(tenant)).map(({ company_id, owner, status }) => [company_id, owner, status])
  const type = (id: string, wanted: object) => corrections.correct(tenant, { companies: [id], wanted, by: 'Ada' })
  server.nowMs = START
  server.set(a, { hubspot_owner_id: '1', lifecyclestage: 'customer' })
  server.set(b!, { hubspot_owner_id: '1', lifecyclestage: 'lead' })
  server.set(c!, { hubspot_owner_id: '1' })
  clock.nowMs = START + 1_000
  await type('b.example', { owner: 'Eve' })
  clock.nowMs = START + 2_000
  server.nowMs = START + 3_000
  await type('d.example', { owner: 'Old', status: 'partner' })
  server.set(d!, { hubspot_owner_id: '2' })
  clock.nowMs = START + 5_000
  assert.equal((await run()).brought, 3)
  assert.deepEqual(await facts(), [
    ['a.example', 'ada@us.example', 'customer'],
    ['b.example', 'Eve', ''],
    ['c.example', 'ada@us.example', ''],
    ['d.example', 'bob@us.example', 'partner'],
  ])
  const [change] = await corrections.history(tenant)
  assert.deepEqual([change!.by, change!.companies], [HUBSPOT, 3])
  const changes = (await corrections.history(tenant)).length
  assert.equal((await run()).brought, 0)
  assert.equal((await corrections.history(tenant)).length, changes)

  // HubSpot's clock is ahead of ours: the value that it brought is not brought again over a later one of a person.
  server.nowMs = START + 20_000
  server.set(c!, { hubspot_owner_id: '2' })
  clock.nowMs = START + 6_000
  assert.equal((await run()).brought, 1)
  clock.nowMs = START + 7_000
  await type('c.example', { owner: 'Zoe' })
  assert.equal((await run()).brought, 0)
  assert.deepEqual((await facts())[2], ['c.example', 'Zoe', ''])

  // A value that HubSpot brought ends with it; one of a person does not.
  server.nowMs = START + 6_000
  for (const record of [a, b!, c!]) server.set(record, { hubspot_owner_id: '' })
  server.set(a, { lifecyclestage: 'other' })
  clock.nowMs = START + 9_000
  await type('c.example', { owner: 'Eve' })
  assert.equal((await run()).brought, 1)
  assert.deepEqual(await facts(), [
    ['b.example', 'Eve', ''],
    ['c.example', 'Eve', ''],
    ['d.example', 'bob@us.example', 'partner'],
  ])
})

test('a bad token stops it with one request; a sync starts it again', async (t) => {
  const { server, clock, visit, begin, ran, connect, tenant, crm, admin, client } = await start(t, 'stopped')
  await visit('a.example')
  await connect({ token: 'pat-eu1-0000000000-wrong' })
  assert.doesNotMatch((await client.hget(keys.crmConnections(), tenant))!, /wrong/)
  await begin()
  const { connection } = await until(
    () => admin.shown(tenant),
    (shown) => shown.connection?.stopped != null,
  )
  assert.match(connection!.stopped!.reason, /does not accept the token/)
  assert.equal(connection!.next_at, null)
  clock.nowMs += 24 * HOUR_MS
  // Another tenant's run shows that the loop went on.
  await admin.connect('none', { token: TOKEN, by: 'Ada' })
  await until(
    () => crm.get('none'),
    (found) => found === undefined,
  ).catch(() => {})
  assert.equal(server.asked.length, 1)
  server.token = 'pat-eu1-0000000000-wrong'
  const { runs } = await ran()
  assert.deepEqual([runs[0]!.created, runs[0]!.error], [1, null])
  assert.equal((await crm.get(tenant))!.stopped, undefined)
})

test('a long wait ends the run without a failure, and it goes on when HubSpot allows it', async (t) => {
  const { server, clock, visit, begin, ran, connect, tenant, crm } = await start(t, 'waits')
  await visit('a.example')
  let isBusy = true
  server.answer = ({ call }) =>
    isBusy && call.includes('/search')
      ? { status: 429, headers: { 'retry-after': '600' }, body: { message: 'limit', policyName: 'DAILY' } }
      : undefined
  await connect()
  await begin()
  const busy = await ran()
  assert.match(busy.runs[0]!.error!, /HubSpot asks to wait: its requests of the day are used up/)
  assert.deepEqual([busy.nextAtMs, busy.failures], [START + 600_000, 0])
  assert.equal((await crm.get(tenant))!.stopped, undefined)
  isBusy = false
  clock.nowMs = START + 600_000
  await until(
    () => crm.state(tenant),
    ({ runs }) => runs[0]!.created === 1,
  )
  assert.equal(server.all().length, 1)
})

test('two processes sync one after the other, and a lost answer makes no second company', async (t) => {
  const { server, clock, visits, syncer, ran, connect, tenant, crm } = await start(t, 'two')
  await visits(Array.from({ length: 120 }, (_, i) => `c${i}.example`))
  server.indexes = false
  let open = 0
  let most = 0
  let lost = 0
  server.answer = async () => {
    most = Math.max(most, ++open)
    await new Promise(setImmediate)
    open--
    return undefined
  }
  server.done = ({ call }) => {
    return call.includes('upsert') && lost++ === 0 ? 'lost' : undefined
  }
  const both = [syncer(), syncer()]
  await Promise.all(both.map((one) => one.start()))
  t.after(() => Promise.all(both.map((one) => one.stop())))
  await connect()
  const { runs } = await ran()
  assert.ok(runs.length > 0)
  await until(async () => {
    clock.nowMs += 60_000
    return (await crm.state(tenant)).failures === 0 && server.all().length === 120
  })
  assert.equal(new Set(server.all().map(({ domain }) => domain)).size, 120)
  assert.equal(most, 1)
})

test('a sync in progress ends with its connection, and the next one does what is left', async (t) => {
  const { server, visits, begin, connect, tenant, crm, admin } = await start(t, 'replaced')
  await visits(Array.from({ length: 120 }, (_, i) => `c${i}.example`))
  let isFirst = true
  server.done = async ({ call }) => {
    if (!isFirst || !call.includes('upsert')) return undefined
    isFirst = false
    await admin.disconnect(tenant)
    await connect()
    return undefined
  }
  await connect()
  await begin()
  const { runs } = await until(
    () => crm.state(tenant),
    (state) => state.runs.length > 0,
  )
  assert.deepEqual([runs[0]!.unchanged, runs[0]!.created], [50, 70])
})

test('a deleted tenant leaves nothing, and a backup comes back stopped', async (t) => {
  const { visit, begin, run, connect, tenant, client, clock, crm, server } = await start(t, 'gone')
  await visit('a.example')
  await connect()
  const syncing = await begin()
  await run()
  const copies: unknown[] = []
  for await (const copy of new TenantCopies(client, clock).all()) copies.push(copy)
  const [copy] = copies as [Parameters<TenantCopies['add']>[0]]
  assert.equal(copy.crm!.kind, 'hubspot')
  const removal = new RedisTenantRemoval(client)
  await removal.mark(tenant)
  await removal.removeKeys(tenant)
  assert.equal(await crm.get(tenant), undefined)
  for (const key of [keys.crmConnections(), keys.crmStates(), keys.crmRequests()])
    assert.equal(await client.exists(key), 0)
  await syncing.stop()
  await client.flushall()
  const before = server.asked.length
  await new TenantCopies(client, clock).add(copy)
  await begin()
  const { stopped } = (await crm.get(tenant))!
  assert.match(stopped!.reason, /^it comes from a backup/)
  assert.equal((await run()).unchanged, 1)
  assert.equal((await crm.get(tenant))!.stopped, undefined)
  assert.ok(server.asked.length > before)
})

test('commands connect, wait for a sync, show what was refused, and disconnect', async (t) => {
  const { server, clock, visits, begin, segments, tenant } = await start(t, 'commands')
  clock.nowMs = Date.now()
  await visits(['a.example', 'b.example'])
  await segments.create(tenant, 'German', 'country=DE')
  await begin()
  const run = (args: readonly string[], token?: string) =>
    runCommand(['crm', ...args, '--tenant', tenant], {
      env: { REDIS_URL: redis.url, SECRETS_KEY, ...(token !== undefined && { HUBSPOT_TOKEN: token }) },
    })
  const refused = async (args: readonly string[], code: number, message: RegExp, token?: string) => {
    const result = await run(args, token)
    assert.deepEqual([result.code, result.stdout], [code, ''], result.stderr)
    assert.match(result.stderr, message)
  }
  await refused(['sync'], 2, /no CRM is connected/)
  await refused(['connect'], 2, /set HUBSPOT_TOKEN/)
  await refused(['connect'], 2, /no access token: copy the one of the private app/, 'short')
  await refused(['connect', '--segment', 'None'], 2, /no segment "None"; it has German/, TOKEN)
  await refused(['connect'], 1, /does not accept the token/, 'pat-eu1-0000000000-wrong')
  assert.match((await run(['status'])).stdout, /state +stopped: HubSpot does not accept the token/)
  const connected = await run(['connect', '--segment', 'German', '--json'], TOKEN)
  assert.equal(connected.code, 0, connected.stderr)
  const { connection } = JSON.parse(connected.stdout) as CrmAnswer
  assert.deepEqual([connection!.segment!.name, connection!.runs.length, connection!.runs[0]!.created], ['German', 1, 2])
  assert.doesNotMatch(connected.stdout, new RegExp(TOKEN))
  // A new token goes on with the segment.
  const segmentOf = async (args: readonly string[]) => {
    const result = await run(['connect', '--json', ...args], TOKEN)
    assert.equal(result.code, 0, result.stderr)
    return (JSON.parse(result.stdout) as CrmAnswer).connection!.segment?.name
  }
  assert.equal(await segmentOf([]), 'German')
  await refused(['connect', '--all', '--segment', 'German'], 2, /give --segment or --all: not both/, TOKEN)
  const removed = await runCommand(['segment', 'remove', tenant, 'German'], { env: { REDIS_URL: redis.url } })
  assert.match(removed.stderr, /the connection to HubSpot needs segment German: remove it first/)
  assert.equal(await segmentOf(['--all']), undefined)
  assert.equal(await segmentOf(['--segment', 'German']), 'German')
  server.records[0]!.archived = true
  const { stdout } = await run(['sync'])
  assert.match(stdout, /companies +of segment German\n/)
  assert.match(stdout, /REFUSED +DOMAIN +REASON\na\.example +a\.example +it was deleted in HubSpot/)
  assert.match((await run(['disconnect'])).stdout, /^disconnected\n$/)
  assert.match((await run(['status'])).stdout, /has no CRM/)
  assert.equal(server.all().length, 1)
})
