import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { ExportMailListed, ExportsAnswer, ListedExport } from '../../schemas/dashboard/exports.ts'
import { RedisAlerts } from '../../src/alerts/redis/alert-store.ts'
import { RedisDeliveries } from '../../src/alerts/redis/delivery-store.ts'
import { Segments } from '../../src/companies/segments/segments.ts'
import { RedisPersonStore } from '../../src/dashboard/redis/people.ts'
import { exportRoutes } from '../../src/dashboard/server/routes/exports.ts'
import { sessionRoute } from '../../src/dashboard/server/routes/session.ts'
import type { DashboardClient } from '../support/dashboard.ts'
import { startDashboard, testAlertAdmin } from '../support/dashboard.ts'
import { member, tenant } from '../support/dashboard-access.ts'
import { KEY, SIX, startExports } from '../support/exports.ts'
import { until } from '../support/until.ts'
import { withPuts } from '../support/with-puts.ts'

const DAY_MS = 86_400_000
const FILE = '2026-11-25T06-00Z.csv'

/** The dashboard with the calls of exports; its member is one of acme, which has the segment Keen. */
async function startPage(t: TestContext, archiveLocation: Parameters<typeof exportRoutes>[0]['archiveLocation']) {
  const world = await startExports(t)
  const { admin, client, clock, tenants, store } = world
  await tenants.createTenant(tenant('other'))
  const segments = new Segments(client, clock)
  const [alerts, alertActivity, deliveries] = [
    testAlertAdmin(client, clock),
    new RedisAlerts(client),
    new RedisDeliveries(client),
  ]
  const mailing = { alerts, alertActivity, deliveries, canEmail: true, persons: new RedisPersonStore(client) }
  const routes = exportRoutes({
    ...{ scheduledExports: admin, segments, archiveLocation, exportFiles: store, clock, ...mailing },
  })
  const all = [sessionRoute({ tenants, version: '1.2.3', apiUrl: null }), ...routes]
  const dashboard = await startDashboard(t, client, all)
  const [segment] = await segments.list('acme')
  const daily = { name: 'Daily', segment_id: segment!.id, every: 'day', at: '06:00', format: 'csv' }
  return { ...world, ...mailing, dashboard, routes, segments, daily }
}

const BUCKET = { bucket: 'lists', prefix: 'ipid', endpoint: undefined, region: undefined }
const at = (path = '') => `/api/tenants/acme/exports${path}`
const read = (client: DashboardClient) => client.read<ExportsAnswer>(at())

async function post<T>(client: DashboardClient, path: string, body: unknown): Promise<T> {
  const response = await client.post(at(path), body)
  const text = await response.text()
  assert.equal(response.status, 200, text)
  return JSON.parse(text) as T
}

/** The text of a refusal, and the field that it names. */
async function refusal(client: DashboardClient, path: string, body: unknown) {
  const response = await client.post(at(path), body)
  const { detail, errors = [] } = (await response.json()) as { detail: string; errors?: { path: string }[] }
  assert.equal(response.status, 422, detail)
  return [detail, errors[0]?.path] as const
}

test('no call about exports answers for another tenant, without a session or its token', async (t) => {
  const { alerts, dashboard, routes, segments, admin, daily, create } = await startPage(t, BUCKET)
  const client = await dashboard.signIn(member)
  const segment = await segments.create('other', 'Theirs', 'country=DE')
  const theirs = await admin.create('other', { ...daily, segment: 'Theirs', keep: 1, every: 'day', format: 'csv' })
  const theirMail = await alerts.mailExport('other', {
    ...{ address: 'bob@site.example', export: { id: theirs.id, name: theirs.name }, once: false },
  })
  const mine = await create()
  for (const { method, path } of routes) {
    const of = path.replace(':tenant', 'other')
    const bodies: Record<string, unknown> = {
      '': { ...daily, segment_id: segment.id },
      '/mail': { export_id: theirs.id, address: 'eve@site.example', once: false },
      '/mail/ask-again': { mail_id: theirMail.id },
      '/mail/remove': { mail_id: theirMail.id },
    }
    const body = bodies[path.replace('/api/tenants/:tenant/exports', '')] ?? { export_id: theirs.id }
    const query = path.endsWith('/file') ? `?${new URLSearchParams({ export_id: theirs.id, file: FILE })}` : ''
    const answer = method === 'GET' ? await client.get(of + query) : await client.post(of, body)
    assert.deepEqual(
      [answer.status, await answer.json()],
      [404, { detail: 'tenant not found', code: 'unknown_workspace' }],
      `${method} ${path}`,
    )
    const none = await fetch(dashboard.url + of, { method, ...(method === 'POST' && { body: '{}' }) })
    assert.equal(none.status, 401, `${method} ${path}`)
    if (query !== '') assert.equal((await client.get(of.replace('other', 'acme') + query)).status, 422)
    if (method === 'GET') continue
    const forged = await client.post(of.replace('other', 'acme'), body, { 'x-csrf-token': 'x' })
    assert.equal(forged.status, 403, `${method} ${path}`)
    // An id of the other tenant in a call for one's own.
    assert.match((await refusal(client, path.replace('/api/tenants/:tenant/exports', ''), body))[0], /no such/)
  }
  assert.deepEqual(await admin.exports.list('other'), [theirs])
  assert.deepEqual(await admin.exports.list('acme'), [mine])
  assert.equal(await admin.exports.asked(theirs.id), 0)
  assert.deepEqual([await alerts.exportMails('other'), await alerts.exportMails('acme')], [[theirMail], []])
})

test('an export is made, run, paused, resumed and removed, and shows its files', async (t) => {
  const { dashboard, daily, clock, start, files, read: readFile, client: redis } = await startPage(t, BUCKET)
  const client = await dashboard.signIn(member)
  assert.deepEqual(await read(client), {
    ...{ exports: [], exports_max: 20, can_email: true, own_address: null },
    store: { kind: 'bucket', place: 's3://lists/ipid' },
  })
  const made = await post<ListedExport>(client, '', { ...daily, name: ' Daily ' })
  assert.deepEqual(
    [made.name, made.segment.name, made.folder, made.keep, made.next_at, made.open_since, made.last, made.runs],
    ['Daily', 'Keen', 'exports/acme/Daily/', 30, new Date(SIX).toISOString(), null, null, []],
  )
  assert.deepEqual(await refusal(client, '', { ...daily, name: 'daily' }), [
    'tenant acme has an export named "daily"',
    'name',
  ])
  assert.equal((await refusal(client, '', { ...daily, name: 'a b' }))[1], 'name')
  assert.equal((await refusal(client, '', { ...daily, name: 'B', at: '6' }))[1], 'at')
  assert.equal((await refusal(client, '', { ...daily, name: 'B', segment_id: 'segment_1' }))[1], 'segment')
  const { export_id } = made
  clock.nowMs = SIX
  assert.equal((await read(client)).exports[0]!.open_since, new Date(SIX).toISOString())
  await start()
  const listed = await until(
    () => read(client),
    ({ exports: [one] }) => one!.last !== null,
  )
  const [written] = listed.exports as [ListedExport]
  const { last, runs } = written
  assert.deepEqual([last!.object, last!.rows, written.open_since, written.error], [KEY, 2, null, null])
  assert.deepEqual(runs, [{ at: last!.written_at, object: KEY, rows: 2, bytes: last!.bytes, error: null }])
  assert.equal(written.next_at, new Date(SIX + DAY_MS).toISOString())

  const fileAt = (file: string, id = export_id) =>
    client.get(at(`/file?${new URLSearchParams({ export_id: id, file })}`))
  const file = await fileAt(FILE)
  assert.deepEqual(
    ['content-type', 'content-disposition'].map((name) => file.headers.get(name)),
    ['text/csv; charset=utf-8', `attachment; filename="Daily-${FILE}"`],
  )
  assert.equal(Buffer.from(await file.arrayBuffer()).toString(), await readFile(KEY))
  for (const [name, status] of [
    ['2026-11-24T06-00Z.csv', 404],
    ['../../../Daily/x.csv', 422],
    ['', 422],
  ] as const)
    assert.equal((await fileAt(name)).status, status, name)
  assert.deepEqual(written.upcoming.length, 7)
  assert.deepEqual(
    [written.upcoming[0], written.upcoming[6]],
    [SIX + DAY_MS, SIX + 7 * DAY_MS].map((ms) => new Date(ms).toISOString()),
  )

  const paused = await post<ListedExport>(client, '/pause', { export_id })
  assert.deepEqual([paused.paused?.by, paused.next_at, paused.upcoming], ['person', null, []])
  clock.nowMs += 120_000
  const asked = await post<ListedExport>(client, '/run', { export_id })
  assert.equal(asked.open_since, new Date(clock.nowMs).toISOString())
  const { exports: again } = await until(
    () => read(client),
    ({ exports: [one] }) => one!.runs.length === 2,
  )
  assert.deepEqual(
    again[0]!.runs.map(({ object }) => object),
    [KEY.replace('06-00', '06-02'), KEY],
  )
  assert.equal((await post<ListedExport>(client, '/resume', { export_id })).paused, null)
  await post(client, '/remove', { export_id })
  assert.deepEqual((await read(client)).exports, [])
  assert.equal((await files()).length, 2)
  for (const verb of ['run', 'pause', 'resume', 'remove'])
    assert.deepEqual(await refusal(client, `/${verb}`, { export_id }), ['there is no such export any more', undefined])
  assert.deepEqual(await redis.keys('*exports*:state:*'), [])
})

test('a failure is shown with its reason and its next attempt, and a folder only to operators', async (t) => {
  const { dashboard, daily, clock, start, store, folder } = await startPage(t, { folder: '/srv/ipid/archive' })
  const client = await dashboard.signIn(member)
  await post(client, '', daily)
  await start({
    store: withPuts(store, async () => {
      throw new Error('s3://lists: AccessDenied')
    }),
  })
  clock.nowMs = SIX
  const { exports, store: shown } = await until(
    () => read(client),
    ({ exports: [one] }) => one!.error !== null,
  )
  const at = new Date(SIX).toISOString()
  const [message, retry_at] = ['s3://lists: AccessDenied', new Date(SIX + 60_000).toISOString()]
  assert.deepEqual(exports[0]!.error, { at, message, failures: 1, retry_at })
  assert.deepEqual(exports[0]!.runs, [{ at, object: null, rows: null, bytes: null, error: message }])
  assert.equal(exports[0]!.open_since, at)
  assert.deepEqual(shown, { kind: 'folder', place: null })
  const operator = await dashboard.signIn()
  assert.deepEqual((await read(operator)).store, { kind: 'folder', place: '/srv/ipid/archive' })
  assert.ok(folder)
})

test('files are sent to an address, which is listed until somebody ends it, and needs SMTP_URL', async (t) => {
  const { alerts, clock, dashboard, create } = await startPage(t, BUCKET)
  const client = await dashboard.signIn(member)
  const { id: export_id } = await create()
  const wanted = { export_id, address: ' Ann@Site.example ', once: false }
  const made = await post<ExportMailListed>(client, '/mail', wanted)
  assert.deepEqual(made, {
    ...{ mail_id: made.mail_id, address: 'ann@site.example', once: false, paused: made.paused },
    ...{ unconfirmed: 'ann@site.example', waiting: 1, last_attempt: null },
  })
  assert.equal(made.paused?.by, 'unconfirmed')
  await post(client, '/mail/ask-again', { mail_id: made.mail_id })
  await alerts.confirm('acme', 'ann@site.example')
  clock.nowMs += 1_000
  const once = await post<ExportMailListed>(client, '/mail', { ...wanted, once: true })
  const { exports } = await read(client)
  assert.deepEqual(
    exports[0]!.mails.map(({ address, once: isOnce, unconfirmed }) => [address, isOnce, unconfirmed]),
    [
      ['ann@site.example', false, null],
      ['ann@site.example', true, null],
    ],
  )
  assert.equal((await refusal(client, '/mail', { ...wanted, address: 'ann, bob@site.example' }))[1], 'target')
  for (const { mail_id } of [made, once]) await post(client, '/mail/remove', { mail_id })
  assert.deepEqual((await read(client)).exports[0]!.mails, [])
  const alert = await alerts.create('acme', {
    ...{ name: 'New', on: 'company.first_seen', to: 'email', target: 'ann@site.example' },
  })
  const [detail] = await refusal(client, '/mail/remove', { mail_id: alert.alert.id })
  assert.equal(detail, 'this is no subscription to an export')
})

test('files that a person requests are limited while they are mailed', async (t) => {
  const { alerts, dashboard, create } = await startPage(t, BUCKET)
  const client = await dashboard.signIn(member)
  const { id, name } = await create()
  const run = async () => (await client.post(at('/run'), { export_id: id })).status
  for (let i = 0; i < 6; i++) assert.equal(await run(), 200, 'nobody gets them')
  await alerts.confirm('acme', 'ann@site.example')
  await alerts.mailExport('acme', { address: 'ann@site.example', export: { id, name }, once: false })
  const statuses: number[] = []
  for (let i = 0; i < 6; i++) statuses.push(await run())
  assert.deepEqual(statuses, [...Array(5).fill(200), 429])
})
