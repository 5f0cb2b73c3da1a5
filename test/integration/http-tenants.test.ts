import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { startHttp } from '../support/http.ts'
import { startTestRedis, type TestRedis } from '../support/redis.ts'
import { startTenants } from '../support/tenants.ts'

/** So slow that nothing flows in while a test runs. */
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

test('the rate limit of a tenant holds over its keys and over all ingress processes, and for it alone', async (t) => {
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

test('with Redis stopped or gone, requests are 500 with a time to wait, within two seconds', async (t) => {
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
    assert.equal((await post('ipid_garbage')).status, 401, 'what is no key needs no store')
  }
})
