import assert from 'node:assert/strict'
import { createSecretKey } from 'node:crypto'
import { test } from 'node:test'
import { Redis } from 'ioredis'
import { parseAddress } from '../../src/pipeline/event/address.ts'
import { pseudonymOf } from '../../src/pipeline/event/pseudonym.ts'
import { keys } from '../../src/stores/redis/keys.ts'
import { runSql } from '../support/fetch-clickhouse.ts'
import { TestSite } from '../support/site.ts'
import { until } from '../support/until.ts'

const TENANTS = ['full', 'truncated', 'dropped']
/** Addresses of an organisation of the starter data. Noise and invalid addresses go the same way. */
const ADDRESSES = ['17.253.144.10', '::ffff:17.253.144.10', '17.253.144.99', '17.0.113.7', '10.55.55.55', 'nowhere']
const DAYS = ['2026-11-19', '2026-11-20', '2026-11-21']
const ADDRESS = /17\.253\.144\.(10|99)|17\.0\.113\.7|10\.55\.55\.55/

/** Events at every address on every day. Each has its own id, except one that comes both live and with the job. */
function events(lane: string): object[] {
  return ADDRESSES.flatMap((ip, i) =>
    DAYS.map((day, d) => ({
      ip,
      event_id: i === 0 && d === 0 ? 'both' : `${lane}-${i}-${d}`,
      timestamp: `${day}T23:30:00Z`,
      session_id: 1,
      ...(i === 2 ? { account_id: 'mine' } : {}),
    })),
  )
}

test('without addresses, visits are counted the same and no address is stored anywhere', async (t) => {
  const site = new TestSite(t, { SINK_LINGER_MS: '100' })
  const run = site.start()
  const ready = await run.ready()
  const redis = new Redis({ path: ready.redis_url.replace('unix://', '') })
  redis.on('error', () => {})
  t.after(() => redis.disconnect())
  const ipid = async (...args: string[]) => {
    const { code, stdout, stderr } = await site.ipid(...args)
    assert.equal(code, 0, stderr)
    return JSON.parse(stdout)
  }
  const keyOf: Record<string, string> = {}
  for (const tenant of TENANTS) {
    const { addresses } = await ipid('tenant', 'create', tenant, '--plan', 'custom', '--json')
    assert.equal(addresses, 'full')
    keyOf[tenant] = (await ipid('key', 'create', tenant, '--json')).key
  }
  const call = async (tenant: string, path: string, body?: string) => {
    const headers = { 'x-api-key': keyOf[tenant]! }
    const response = await fetch(`${ready.url}${path}`, {
      headers,
      ...(body === undefined ? {} : { method: 'POST', body }),
    })
    const text = await response.text()
    assert.ok(response.ok, text)
    return JSON.parse(text)
  }
  // The change applies from the next request on, though the ingress has cached the key.
  for (const tenant of TENANTS) await call(tenant, '/v1/lookup', '{"ip":"17.0.0.1"}')
  for (const tenant of TENANTS) {
    const set = await ipid('tenant', 'set', tenant, '--addresses', tenant, '--json')
    const facts = ['tenant_id', 'plan', 'archive', 'addresses', 'retention_days', 'created_at', 'unclassified']
    assert.deepEqual(Object.keys(set), facts)
    assert.equal(set.addresses, tenant)
  }
  const answers = await Promise.all(
    TENANTS.map((tenant) => call(tenant, '/v1/ingest', JSON.stringify({ events: events('live') }))),
  )
  assert.deepEqual(answers[1], answers[0])
  assert.deepEqual(answers[2], answers[0])
  const lines = [...events('batch').map((event) => JSON.stringify(event)), 'x"17.0.113.7"'].join('\n')
  const summaries = await Promise.all(
    TENANTS.map(async (tenant) => {
      const { job_id } = await call(tenant, '/v1/ingest/batch', lines)
      const job = await until(
        () => call(tenant, `/v1/ingest/batch/${job_id}`),
        ({ status }) => status === 'completed',
      )
      return job.result_summary
    }),
  )
  const [full, ...masked] = summaries
  assert.deepEqual([full.valid_ips, full.identified_ips, full.filtered, full.duplicates], [15, 12, 3, 1])
  for (const { errors, ...summary } of masked) {
    assert.deepEqual({ ...summary, errors: full.errors }, full)
    assert.deepEqual(errors, [{ line: 19, detail: 'is not JSON: unexpected "x" at position 0' }])
  }

  const rows = async (sql: string) => {
    const text = await runSql(ready.clickhouse_url, `${sql} FORMAT JSONEachRow`)
    return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]))
  }
  const stored = await until(
    () => rows('SELECT tenant_id, ip, event_id, toDate(timestamp) AS day FROM events ORDER BY tenant_id, event_id'),
    (all) => all.length === 3 * 23,
  )
  const views = [
    'SELECT account_id, business_name, first_seen, last_seen, events, visits FROM accounts',
    'SELECT company_id, accounts, first_seen, last_seen, events, visits FROM companies',
    'SELECT account_id, day, visits, events, unique_ips FROM daily_visits',
    'SELECT account_id, day, session_id, started_at, ended_at, events, unique_ips FROM sessions',
  ]
  for (const view of views) {
    const [expected, ...others] = await Promise.all(
      TENANTS.map((tenant) => rows(`${view} WHERE tenant_id = '${tenant}' ORDER BY ALL`)),
    )
    assert.ok(expected!.length > 0, view)
    for (const other of others) assert.deepEqual(other, expected, view)
  }
  // Addresses of one account over several days are counted by day.
  const unique = await rows(
    "SELECT tenant_id, unique_ips FROM accounts WHERE account_id = 'apple.com' ORDER BY tenant_id",
  )
  assert.deepEqual(
    unique.map(({ tenant_id, unique_ips }) => [tenant_id, Number(unique_ips)]),
    [
      ['dropped', 6],
      ['full', 2],
      ['truncated', 6],
    ],
  )

  const record = JSON.parse((await redis.hget(keys.tenants(), 'dropped'))!)
  const addressOf = new Map(
    [...events('live'), ...events('batch')].map(
      (event) => Object.values(event).slice(0, 2).reverse() as [string, string],
    ),
  )
  for (const { tenant_id, ip, event_id, day } of stored) {
    if (tenant_id === 'full') continue
    const other = JSON.parse((await redis.hget(keys.tenants(), tenant_id))!)
    const address = parseAddress(addressOf.get(event_id)!)!
    const pseudonym = `#${pseudonymOf(createSecretKey(other.address_key, 'hex'), address, day)}`
    const network = tenant_id === 'dropped' ? '' : address.text.replace(/\.\d+$/, '.0/24')
    assert.equal(ip, network + pseudonym)
  }
  assert.doesNotMatch(JSON.stringify(await rows("SELECT * FROM events WHERE tenant_id != 'full'")), ADDRESS)
  for (const text of [run.stdout(), run.stderr()]) assert.ok(!text.includes(record.address_key))
  // Redis holds only addresses of the other tenant: a rejected line is quoted by its job.
  const isOthers = (value: string) => ADDRESS.test(value) && !value.includes('tenant_id full')
  await until(async () => !(await everything(redis)).some(isOthers))

  // Two spellings, on three days, live and with the job; one came twice.
  for (const tenant of ['truncated', 'dropped']) {
    const { clickhouse } = await ipid('erase', tenant, '--ip', '::ffff:17.253.144.10', '--json')
    assert.equal(clickhouse.rows, 2 * DAYS.length * 2 - 1, tenant)
  }
})

/** All values of a Redis, of every type. */
async function everything(redis: Redis): Promise<string[]> {
  const read: Record<string, (key: string) => Promise<unknown>> = {
    string: (key) => redis.getBuffer(key),
    hash: (key) => redis.hgetallBuffer(key),
    list: (key) => redis.lrangeBuffer(key, 0, -1),
    set: (key) => redis.smembersBuffer(key),
    zset: (key) => redis.zrangeBuffer(key, '0', '-1'),
    stream: (key) => redis.xrangeBuffer(key, '-', '+'),
  }
  const names = await redis.keys('*')
  return Promise.all(
    names.map(async (name) => `${name} ${texts(await read[await redis.type(name)]?.(name)).join(' ')}`),
  )
}

function texts(value: unknown): string[] {
  if (Buffer.isBuffer(value)) return [value.toString('latin1')]
  return value !== null && typeof value === 'object' ? Object.entries(value).flatMap(([k, v]) => [k, ...texts(v)]) : []
}
