import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { BackpressureError } from '../../src/run/errors.ts'
import { API_KEY, noCompanies, noData, startHttp } from '../support/http.ts'
import { freeQuota, noBulkJobs } from '../support/lookups.ts'
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

test('with a test key requests are answered like with any other, and nothing is kept', async (t) => {
  const redis = await startTestRedis(t)
  const tenants = await startTenants(t, redis.url, { plans: slow })
  const { admin, client } = tenants
  await admin.createTenant('acme', { plan: 'slow', archive: true })
  const { key, prefix, ...made } = await admin.createKey('acme', undefined, true)
  assert.equal(made.test, true)
  assert.ok((await admin.listKeys('acme')).some((listed) => listed.prefix === prefix))
  const kept: string[] = []
  const server = await startHttp(t, {
    ...tenants,
    intake: { append: async () => void kept.push('events') },
    tail: { of: () => ({ enricher: noData, accepted: () => void kept.push('live view') }) },
    bulkJobs: { ...noBulkJobs, reserve: () => Promise.reject(new Error('a job was reserved')) },
  })
  const ask = (method: string, path: string, body?: string, apiKey = key) =>
    fetch(server.url + path, { method, body, headers: { 'x-api-key': apiKey } })
  const events = '{"events":[{"ip":"8.8.8.8","event_id":"e1"},{"ip":"nonsense","event_id":"e2"}]}'

  const answer = await ask('POST', '/v1/ingest', events)
  assert.deepEqual([answer.status, answer.headers.get('ipid-test')], [200, 'true'])
  assert.deepEqual(kept, [])
  const real = await ask('POST', '/v1/ingest', events, (await admin.createKey('acme')).key)
  assert.deepEqual([real.status, real.headers.get('ipid-test')], [200, null])
  assert.deepEqual(await answer.json(), await real.json())
  assert.deepEqual(kept, ['events', 'live view'])
  assert.equal((await ask('POST', '/v1/ingest', '{"events":[{"ip":1}]}')).status, 422)
  assert.equal((await ask('POST', '/v1/lookup', '{"ip":"8.8.8.8"}')).status, 200)
  assert.equal((await ask('GET', '/v1/lookup?ip=8.8.8.8')).status, 200)
  assert.equal((await ask('POST', '/v1/bulk', '{"ips":["8.8.8.8"]}')).status, 200)

  const document = (await (await fetch(`${server.url}/openapi.json`)).json()) as {
    paths: Record<string, Record<string, { security: object[] }>>
  }
  const others = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).flatMap((method) =>
      methods[method]!.security.length === 0 || /^\/s\/|^\/v1\/(ingest|lookup|bulk)$/.test(path)
        ? []
        : [[method.toUpperCase(), path.replace(/{[^}]+}/, 'other')] as const],
    ),
  )
  assert.ok(others.length > 5)
  await client.flushall()
  await admin.createTenant('acme', { plan: 'custom' })
  const again = await admin.createKey('acme', undefined, true)
  for (const [method, path, body] of [...others, ['POST', '/v1/bulk?mode=async', '{"ips":["8.8.8.8"]}'] as const]) {
    const refused = await ask(method, path, body ?? (method === 'POST' ? '{"ip":"8.8.8.8"}' : undefined), again.key)
    const { code } = (await refused.json()) as { code: string }
    assert.deepEqual([refused.status, code], [401, 'wrong_key_kind'], `${method} ${path}`)
  }
  assert.deepEqual(kept, ['events', 'live view'])
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
