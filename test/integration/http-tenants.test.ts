import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { RedisBulkJobs } from '../../src/lookup/bulk/jobs.ts'
import { systemClock } from '../../src/run/clock.ts'
import { BackpressureError } from '../../src/run/errors.ts'
import type { RedisClient } from '../../src/stores/redis/connect.ts'
import { sharedLimits } from '../../src/tenants/limits/limits.ts'
import { RedisTokenCounters } from '../../src/tenants/limits/redis/token-counters.ts'
import { API_KEY, noCompanies, noData, startHttp } from '../support/http.ts'
import { freeQuota } from '../support/lookups.ts'
import { groupCommit } from '../support/pipeline.ts'
import { startTestRedis, type TestRedis } from '../support/redis.ts'
import { startTenants } from '../support/tenants.ts'
import { until } from '../support/until.ts'

/** So slow that no tokens flow in while a test runs. */
const slow = { slow: { rate: 0.000_1, burst: 12, daily_lookups: 1, monthly_accounts: 1 } }

async function startIngress(t: TestContext, redis: TestRedis) {
  const tenants = await startTenants(t, redis.url, { plans: slow })
  const server = await startHttp(t, tenants)
  const post = (key: string, signal?: AbortSignal) =>
    fetch(`${server.url}/v1/ingest`, {
      method: 'POST',
      signal,
      headers: { 'x-api-key': key },
      body: '{"events":[{"ip":"8.8.8.8"}]}',
    })
  return { ...tenants, post }
}

/** The values of all keys, by key; windows of a day are one key. */
async function stored(client: RedisClient): Promise<Map<string, string>> {
  const names = await client.keys('*')
  const values = await Promise.all(names.map((name) => client.dumpBuffer(name)))
  return new Map(names.map((name, i) => [name, String(values[i]?.toString('hex'))]))
}

/** The keys that are new or changed, without the day of a window, in order. */
async function changedIn(client: RedisClient, before: ReadonlyMap<string, string>): Promise<string[]> {
  const changed = [...(await stored(client))].filter(([name, value]) => before.get(name) !== value)
  return changed.map(([name]) => name.replace(/:\d{4}-\d\d-\d\d$/, '')).sort()
}

test("a tenant's rate limit spans its keys and all ingress processes, and no other tenant", async (t) => {
  const redis = await startTestRedis(t)
  const [one, two] = await Promise.all([startIngress(t, redis), startIngress(t, redis)])
  await one.admin.createTenant('acme', { plan: 'slow' })
  await one.admin.createTenant('other', { plan: 'slow' })
  const keys = [await one.admin.createKey('acme'), await one.admin.createKey('acme')]
  const answers = await Promise.all(
    Array.from({ length: 40 }, (_, i) => (i % 2 ? one : two).post(keys[i % 4 < 2 ? 0 : 1]!.key)),
  )
  const count = (status: number) => answers.filter((answer) => answer.status === status).length
  assert.deepEqual([count(200), count(429)], [12, 28])
  for (const answer of answers) {
    assert.equal(answer.headers.get('ratelimit-limit'), '12')
    assert.match(answer.headers.get('ratelimit-remaining')!, /^\d+$/)
    assert.match(answer.headers.get('ratelimit-reset')!, /^\d+$/)
    if (answer.status === 429) assert.ok(Number(answer.headers.get('retry-after')) >= 1)
  }
  const { key } = await one.admin.createKey('other')
  assert.equal((await two.post(key)).status, 200)
})

test("a source key uses up its own rate, not that of the tenant's API keys or of another source", async (t) => {
  const redis = await startTestRedis(t)
  const tenants = await startTenants(t, redis.url, { plans: slow })
  const { url } = await startHttp(t, { ...tenants, settings: { trustedProxies: [] } })
  const { admin } = tenants
  await admin.createTenant('acme', { plan: 'slow' })
  const [api, one, two] = [
    await admin.createKey('acme'),
    await admin.createSource('acme', { kind: 'http', address: 'auto' }),
    await admin.createSource('acme', { kind: 'http', address: 'auto' }),
  ]
  const statuses = async (requests: number, path: string, headers: Record<string, string> = {}) => {
    const answers = await Promise.all(Array.from({ length: requests }, () => fetch(url + path, { headers })))
    return answers.map(({ status }) => status).sort()
  }
  const flood = await statuses(40, `/s/http/${one.key}`)
  assert.deepEqual(flood, [...Array(12).fill(200), ...Array(28).fill(429)])
  assert.deepEqual(await statuses(12, '/v1/ingest/batch', { 'x-api-key': api.key }), Array(12).fill(200))
  assert.deepEqual(await statuses(12, `/s/http/${two.key}`), Array(12).fill(200))
  assert.deepEqual(await statuses(1, '/v1/ingest/batch', { 'x-api-key': api.key }), [429])
})

test('with a test key requests are answered like with any other, and Redis keeps nothing', async (t) => {
  const redis = await startTestRedis(t)
  const tenants = await startTenants(t, redis.url, { plans: slow })
  const { admin, client } = tenants
  await admin.createTenant('acme', { plan: 'slow', archive: true })
  const { key, prefix, ...made } = await admin.createKey('acme', undefined, true)
  const { key: realKey } = await admin.createKey('acme')
  assert.equal(made.test, true)
  assert.ok((await admin.listKeys('acme')).some((listed) => listed.prefix === prefix))
  const kept: string[] = []
  const server = await startHttp(t, {
    ...tenants,
    intake: groupCommit(client, { deadlineMs: 1_500 }),
    quota: sharedLimits(new RedisTokenCounters(client), systemClock).lookups,
    tail: { of: () => ({ enricher: noData, accepted: () => void kept.push('live view') }) },
    bulkJobs: new RedisBulkJobs({ client, openMax: 10 }),
  })
  const ask = (method: string, path: string, body?: string, apiKey = key) =>
    fetch(server.url + path, { method, body, headers: { 'x-api-key': apiKey } })
  const events = '{"events":[{"ip":"8.8.8.8","event_id":"e1"},{"ip":"nonsense","event_id":"e2"}]}'

  const before = await stored(client)
  const answer = await ask('POST', '/v1/ingest', events)
  assert.deepEqual([answer.status, answer.headers.get('ipid-test')], [200, 'true'])
  assert.equal((await ask('POST', '/v1/ingest', '{"events":[{"ip":1}]}')).status, 422)
  assert.equal((await ask('POST', '/v1/lookup', '{"ip":"8.8.8.8"}')).status, 200)
  assert.equal((await ask('GET', '/v1/lookup?ip=8.8.8.8')).status, 429, 'lookups count toward the daily quota')
  assert.equal((await ask('POST', '/v1/bulk?mode=async', '{"ips":["8.8.8.8"]}')).status, 401)
  // Its last use is written a little later.
  await until(async () => (await client.hlen('{tenants}:uses')) > 0)
  assert.deepEqual(await changedIn(client, before), [
    '{tenant:acme}:bucket:test',
    '{tenant:acme}:lookups',
    '{tenants}:uses',
  ])
  assert.deepEqual(kept, [])

  const real = await ask('POST', '/v1/ingest', events, realKey)
  assert.deepEqual([real.status, real.headers.get('ipid-test')], [200, null])
  assert.deepEqual(await answer.json(), await real.json())
  assert.deepEqual(kept, ['live view'])
  assert.ok((await changedIn(client, before)).length > 3, 'events of other keys are in Redis')
})

test('a test key is refused by every other path, those of tools too', async (t) => {
  const redis = await startTestRedis(t)
  const tenants = await startTenants(t, redis.url)
  await tenants.admin.createTenant('acme', { plan: 'custom' })
  const { key } = await tenants.admin.createKey('acme', undefined, true)
  const server = await startHttp(t, { ...tenants, settings: { trustedProxies: [] } })
  const operations = async (path: string) => {
    const { paths } = (await (await fetch(server.url + path)).json()) as {
      paths: Record<string, Record<string, { security?: object[] }>>
    }
    return Object.entries(paths).flatMap(([at, methods]) =>
      Object.entries(methods).map(([method, { security = [] }]) => ({ at, method: method.toUpperCase(), security })),
    )
  }
  const [api, tools] = [await operations('/openapi.json'), await operations('/docs/openapi-tools.json')]
  const takes = (at: string) => ['/v1/ingest', '/v1/lookup', '/v1/bulk'].includes(at)
  const own = api.filter(({ at, security }) => security.length > 0 && !takes(at))
  assert.ok(own.length > 5 && tools.length > 100, `${own.length} of ours, ${tools.length} of tools`)
  const before = await stored(tenants.client)
  const open: string[] = []
  for (const { at, method } of [...own, ...tools]) {
    const path = at.replaceAll(/{[^}]+}/g, () => key)
    const headers = {
      ...{ 'x-api-key': key, 'x-source-key': key, authorization: `Basic ${btoa(`${key}:`)}` },
      'content-type': 'application/json',
    }
    const body = ['GET', 'HEAD', 'OPTIONS'].includes(method) ? undefined : '{"ip":"8.8.8.8"}'
    const refused = await fetch(server.url + path, { method, headers, body })
    const text = await refused.text()
    if (refused.status === 401) assert.match(text, /wrong_key_kind|unknown_key|takes a source key/, `${method} ${at}`)
    else open.push(`${method} ${at} ${refused.status}`)
  }
  // They take no key: a script, and the question of a tool whether a path is ours.
  assert.deepEqual(open, ['GET /s/web/{source_key} 404', 'GET /.well-known/fastly/logging/challenge 404'])
  await until(async () => (await tenants.client.hlen('{tenants}:uses')) > 0)
  assert.deepEqual(await changedIn(tenants.client, before), ['{tenants}:uses'])
})

test('test keys have a rate of their own, which stops no other key', async (t) => {
  const redis = await startTestRedis(t)
  const { admin, post } = await startIngress(t, redis)
  await admin.createTenant('acme', { plan: 'slow' })
  const tests = [await admin.createKey('acme', undefined, true), await admin.createKey('acme', undefined, true)]
  const { key } = await admin.createKey('acme')
  const answers = await Promise.all(Array.from({ length: 40 }, (_, i) => post(tests[i % 2]!.key)))
  assert.equal(answers.filter(({ status }) => status === 200).length, 12)
  assert.equal((await post(key)).status, 200)
  await admin.revokeKey(tests[0]!.prefix)
  await until(async () => (await post(tests[0]!.key)).status === 401)
})

test('a prefix cannot authenticate, and a revoked key is 401', async (t) => {
  const redis = await startTestRedis(t)
  const { admin, post } = await startIngress(t, redis)
  await admin.createTenant('acme')
  const { key, prefix } = await admin.createKey('acme')
  assert.equal((await post(key)).status, 200)
  assert.equal((await post(prefix.slice(0, 12))).status, 401)
  await admin.revokeKey(prefix)
  let status = 200
  while (status === 200) ({ status } = await post(key))
  assert.equal(status, 401)
})

test('a key in the wrong place is 401 with the right place, and is not echoed', async (t) => {
  const { url } = await startHttp(t)
  const detailOf = async (headers: Record<string, string>, query = '') => {
    const answer = await fetch(`${url}/v1/lookup${query}`, { method: 'POST', headers })
    assert.equal(answer.status, 401)
    const { detail } = (await answer.json()) as { detail: string }
    assert.ok(!detail.includes(API_KEY))
    return detail
  }
  assert.equal(await detailOf({}), 'the x-api-key header is missing')
  for (const scheme of ['Bearer ', 'bearer ', '', 'Basic ']) {
    assert.match(await detailOf({ authorization: scheme + API_KEY }), /x-api-key header is missing.*authorization/)
  }
  assert.match(await detailOf({}, `?api_key=${API_KEY}`), /x-api-key header is missing.*address/)
  assert.match(await detailOf({ 'x-api-key': `Bearer ${API_KEY}` }), /the key alone/)
  assert.equal(await detailOf({ 'x-api-key': `ipid_${'0'.repeat(64)}` }), 'the API key is not valid')
})

test('with Redis stopped or gone, requests are 500 with Retry-After within two seconds', async (t) => {
  const redis = await startTestRedis(t)
  const { admin, post } = await startIngress(t, redis)
  await admin.createTenant('acme', { plan: 'custom' })
  const known = await admin.createKey('acme')
  const unknown = await admin.createKey('acme')
  assert.equal((await post(known.key)).status, 200)
  for (const end of [() => redis.signal('SIGSTOP'), () => redis.kill()]) {
    await end()
    for (const { key } of [known, unknown]) {
      const answer = await post(key, AbortSignal.timeout(2_000))
      assert.equal(answer.status, 500)
      assert.ok(Number(answer.headers.get('retry-after')) >= 1)
      assert.match(((await answer.json()) as { detail: string }).detail, /does not answer/)
    }
    assert.equal((await post('ipid_garbage')).status, 401, 'an invalid key needs no store')
  }
})

test('every route serves only data of the caller', async (t) => {
  const asked: [route: string, tenant: string][] = []
  let route = ''
  const note = (tenantId: string) => void asked.push([route, tenantId])
  const quota = freeQuota()
  const none = async (tenantId: string) => note(tenantId) as undefined
  const server = await startHttp(t, {
    intake: { append: async ([envelope]) => note(envelope!.row.split('\t')[1]!) },
    quota: {
      take(caller, lookups) {
        note(caller.tenant.id)
        return quota.take(caller, lookups)
      },
    },
    jobs: {
      find: none,
      cancel: none,
      rejected: none,
      repeated: none,
      async begin(tenantId) {
        note(tenantId)
        throw new BackpressureError('none')
      },
      async list(tenantId) {
        note(tenantId)
        return { jobs: [], next: null }
      },
    },
    bulkJobs: {
      find: none,
      repeated: none,
      async reserve(tenantId) {
        note(tenantId)
        return { jobId: 'j', queue: async (work) => note(work.tenantId), release: async () => {} }
      },
    },
    receipts: {
      async find({ tenantId }) {
        note(tenantId)
        return { incomplete: [] }
      },
    },
    companies: {
      ...noCompanies,
      async part(tenantId) {
        note(tenantId)
        return { companies: [], next: undefined }
      },
      company: none,
      async unknownNetworks({ id }) {
        note(id)
        return { from: '', to: '', visits: 0, total: 0, networks: [] }
      },
    },
    imports: {
      async import(tenantId) {
        note(tenantId)
        throw new BackpressureError('none')
      },
    },
  })
  const bodies: Record<string, string> = {
    'POST /v1/ingest': '{"events":[{"ip":"8.8.8.8"}]}',
    'POST /v1/ingest/batch': '{"ip":"8.8.8.8"}',
    'POST /v1/lookup': '{"ip":"8.8.8.8"}',
    'POST /v1/bulk': '{"ips":["8.8.8.8"]}',
    'POST /v1/companies': 'domain,status\nfruit.example,customer',
  }
  const queries: Record<string, string[]> = {
    'POST /v1/bulk': ['', '?mode=async'],
    'GET /v1/lookup': ['?ip=8.8.8.8'],
  }
  const document = (await (await fetch(`${server.url}/openapi.json`)).json()) as {
    paths: Record<string, Record<string, { security: object[] }>>
  }
  const routes = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { security }]) => ({ path, method: method.toUpperCase(), security })),
  )
  for (const { path, method, security } of routes) {
    // A source key belongs to one source of one tenant: `source-http.test.ts`.
    if (security.length === 0 || path.startsWith('/s/')) continue
    route = `${method} ${path}`
    for (const query of queries[route] ?? ['']) {
      const headers = { 'x-api-key': API_KEY }
      const answer = await fetch(`${server.url}${path.replace(/{[^}]+}/, 'other')}${query}`, {
        method,
        headers,
        body: bodies[route],
      })
      const text = await answer.text()
      assert.ok([200, 202, 404, 429].includes(answer.status), `${route}: ${answer.status} ${text}`)
      if (/\/v1\/(lookup|bulk)$/.test(route) && answer.status === 200) assert.equal(JSON.parse(text).tenant_id, 'acme')
      assert.ok(
        asked.some(([of]) => of === route),
        `${route} asked for nothing`,
      )
    }
  }
  assert.deepEqual(
    asked.filter(([, tenantId]) => tenantId !== 'acme'),
    [],
  )
})
