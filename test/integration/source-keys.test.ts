import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { runCommand } from '../support/command.ts'
import { startInstance, type TestInstance } from '../support/instance.ts'
import { type CreatedSource, createSource } from '../support/source-sdks.ts'
import { until } from '../support/until.ts'

/* The limits of a stranger with a key from a public page. 17/8 and 18/8 are businesses. */

const DAY_MS = 86_400_000
const VISITOR = '17.1.2.3'
const hooks: (() => Promise<void>)[] = []
let instance: TestInstance

before(async () => {
  instance = await startInstance({ after: (hook) => void hooks.push(hook) }, { SINK_LINGER_MS: '100' })
})
after(async () => {
  for (const hook of hooks) await hook()
})

async function command(...args: readonly string[]) {
  const { code, stdout, stderr } = await runCommand([...args, '--json'], { env: { DATA_DIR: instance.dataDir } })
  assert.equal(code, 0, stderr)
  return JSON.parse(stdout)
}

/** The key in public pages. */
function publicKey({ key, browser_key }: CreatedSource): string {
  return browser_key ?? key
}

async function post(path: string, body: unknown): Promise<number> {
  const headers = { 'x-forwarded-for': VISITOR, origin: 'https://shop.example' }
  return (await fetch(instance.ready.url + path, { method: 'POST', headers, body: JSON.stringify(body) })).status
}

async function untilStored(id: string, events: number): Promise<void> {
  await until(
    () => instance.query(`SELECT count() FROM events WHERE source_id = '${id}'`),
    (found) => found === String(events),
  )
}

/** Four people of a company on four days, at an address of another one. */
function forged(ids: string) {
  return Array.from({ length: 16 }, (_, i) => ({
    ...{ type: 'identify', messageId: `${ids}-${i}`, userId: `u${i % 4}` },
    traits: { email: `p${i % 4}@evil-corp.com` },
    context: { ip: '17.253.144.77' },
    timestamp: new Date(Date.now() - Math.floor(i / 4) * DAY_MS).toISOString(),
  }))
}

test('one request with a public key proposes no network, and changes no accuracy', async () => {
  const source = await createSource(instance, 'segment')
  assert.equal(await post('/s/segment/v1/batch', { writeKey: publicKey(source), batch: forged('page') }), 200)
  await untilStored(source.source_id, 16)
  const learned = await command('learn', 'demo')
  assert.deepEqual([learned.proposals, learned.left_out], [[], 16])
  const quality = await command('quality', 'demo')
  assert.deepEqual([quality.all.events, quality.left_out], [0, 16])
  assert.equal(
    await instance.query(
      `SELECT arrayStringConcat(groupUniqArray(ip)), count(), countIf(known_domain != ''), countIf(browser_key = 2),
        countIf(abs(dateDiff('second', timestamp, received_at)) < 3600) FROM events WHERE source_id = '${source.source_id}'`,
    ),
    `${VISITOR}\t16\t0\t16\t16`,
  )
})

test('requests with a public key make one company for each address that sends, whatever they name', async () => {
  const source = await createSource(instance, 'amplitude')
  const events = Array.from({ length: 1_000 }, (_, i) => ({
    event_type: 'page',
    insert_id: `many-${i}`,
    device_id: `d${i}`,
    groups: { company: `invented-${i}` },
    ip: `${i % 2 === 0 ? 17 : 18}.${i >> 8}.${i & 255}.9`,
  }))
  assert.equal(await post('/s/amplitude/2/httpapi', { api_key: publicKey(source), events }), 200)
  await untilStored(source.source_id, 1_000)
  const companies = `SELECT count(DISTINCT company_id), any(ip) FROM events WHERE source_id = '${source.source_id}'`
  assert.equal(await instance.query(companies), `1\t${VISITOR}`)
})

test('a server key is believed, and a browser key that a server library uses has no address', async () => {
  const source = await createSource(instance, 'segment')
  assert.match(source.key, /^src_[0-9a-f]{40}$/)
  assert.match(source.browser_key!, /^pub_[0-9a-f]{40}$/)
  assert.equal(await post('/s/segment/v1/batch', { writeKey: source.key, batch: forged('server') }), 200)
  const context = { ip: '17.9.9.9', library: { name: '@segment/analytics-node' } }
  const batch = [{ type: 'page', messageId: 'from a server', userId: 'u', context }]
  assert.equal(await post('/s/segment/v1/batch', { writeKey: source.browser_key, batch }), 200)
  await until(
    () =>
      instance.query(`SELECT sum(events) FROM outcomes WHERE source_id = '${source.source_id}' AND status = 'no_ip'`),
    (found) => found === '1',
  )
  await until(
    () => command('learn', 'demo'),
    ({ proposals }) => proposals[0]?.rule === 'is 17.253.144.77/32 evil-corp.com' && proposals[0]?.people === 4,
  )
})

test('a public key sends events up to its own limit, and the server key of its source is not bound by it', async () => {
  await command('tenant', 'create', 'small', '--plan', 'starter')
  const source = await createSource(instance, 'segment', 'small')
  const batch = (ids: string, events: number) => ({
    batch: Array.from({ length: events }, (_, i) => ({
      ...{ type: 'track', event: 'x', messageId: `${ids}-${i}`, anonymousId: 'a', context: { ip: VISITOR } },
    })),
  })
  const path = (key: string | undefined) => `/s/segment/${key}/v1/batch`
  const send = (key: string | undefined, ids: string, events: number) => post(path(key), batch(ids, events))
  // A burst of 20 requests has 2,000 events: a larger request takes all of them.
  assert.equal(await send(source.browser_key, 'a', 2_500), 200)
  assert.equal(await send(source.browser_key, 'b', 2_000), 429)
  assert.equal(await send(source.key, 'c', 2_500), 200)
  await untilStored(source.source_id, 5_000)
})

test('the key of a page may have any age, and both keys end with their source', async () => {
  const source = await createSource(instance, 'web')
  assert.match(source.key, /^pub_[0-9a-f]{40}$/)
  const event = { id: 'old', type: 'page', at: Date.now() - 30 * DAY_MS, url: 'https://shop.example/' }
  const recent = { ...event, id: 'recent', at: Date.now() - 1_800_000 }
  assert.equal(await post(`/s/web/${source.key}`, { events: [event, recent], sent_at: Date.now() }), 204)
  await untilStored(source.source_id, 2)
  const ages = `SELECT arrayStringConcat(groupArray(toString(intDiv(dateDiff('second', timestamp, received_at) + 5, 1800))), ' ')
    FROM (SELECT * FROM events WHERE source_id = '${source.source_id}' ORDER BY event_id)`
  assert.equal(await instance.query(ages), '0 1')
  const shown = await command('source', 'show', source.source_id)
  assert.deepEqual([shown.browser_key, shown.blocks[0].code], [source.key, source.blocks[0]!.code])
  assert.equal(shown.blocks[0].code, `<script async src="${instance.ready.url}/s/web/${source.key}.js"></script>`)
  assert.match(shown.warning, /can be reached from this machine or network only/)

  const both = await createSource(instance, 'posthog')
  const keys = [both.key, both.browser_key!]
  const statuses = () =>
    Promise.all(
      keys.map((api_key, i) =>
        post('/s/posthog/e/', { api_key, event: 'x', uuid: `u${i}`, properties: { $ip: VISITOR } }),
      ),
    )
  assert.deepEqual(await statuses(), [200, 200])
  await command('source', 'revoke', both.source_id)
  await until(statuses, (found) => found.every((status) => status === 401))
  assert.equal(await post('/s/posthog/e/', { api_key: `${both.browser_key!.slice(0, -1)}0`, event: 'x' }), 401)
})

test('the image for pages without JavaScript is a page view, which no cache keeps and a visitor may refuse', async () => {
  const source = await createSource(instance, 'web')
  const [, path] = /src="([^"]+)"/.exec(source.blocks.find(({ code }) => code.startsWith('<noscript>'))!.code)!
  const load = async (headers: Record<string, string>) => {
    const answer = await fetch(path!, { headers: { 'x-forwarded-for': VISITOR, ...headers } })
    const of = (name: string) => answer.headers.get(name)
    return [answer.status, of('content-type'), of('cache-control'), of('cross-origin-resource-policy')].join(' ')
  }
  const shown = '200 image/gif no-store cross-origin'
  assert.equal(await load({ referer: 'https://shop.example/refused', 'sec-gpc': '1' }), shown)
  assert.equal(await load({ referer: 'https://shop.example/refused', dnt: '1' }), shown)
  assert.equal(await load({ referer: 'https://shop.example/a', dnt: '0', 'sec-fetch-dest': 'image' }), shown)
  await untilStored(source.source_id, 1)
  const stored = `SELECT event_type, url, ip, browser_key FROM events WHERE source_id = '${source.source_id}'`
  assert.equal(await instance.query(stored), `page\thttps://shop.example/a\t${VISITOR}\t1`)
  assert.equal((await fetch(path!.replace(source.key, `pub_${'0'.repeat(40)}`))).status, 401)
})

test("requests as the tools send them have the tool's time and key, and nothing of their query", async () => {
  const [matomo, mixpanel, amplitude, posthog, segment] = await Promise.all(
    ['matomo', 'mixpanel', 'amplitude', 'posthog', 'segment'].map((kind) => createSource(instance, kind)),
  )
  const nowMs = Date.now()
  const iso = (ageHours: number) => new Date(nowMs - ageHours * 3_600_000).toISOString()
  const base64 = (value: unknown) => encodeURIComponent(Buffer.from(JSON.stringify(value)).toString('base64'))
  const get = async (path: string) => (await fetch(instance.ready.url + path)).status
  const ip = '17.0.0.1'
  const tracked = { event: 'mixpanel', properties: { token: 't', distinct_id: 'd', $insert_id: 'i', time: nowMs, ip } }
  const delivered = { type: 'track', event: 'segment', messageId: 'm', context: { ip }, timestamp: iso(3) }
  const person = { id: 'p', properties: { plan: 'pro' } }
  const captured = (event: string, ageHours: number) => ({
    ...{ event, uuid: `${event}-uuid`, distinct_id: 'd', properties: { $ip: ip }, timestamp: iso(ageHours) },
  })
  const answers = [
    await get(`/s/matomo/${matomo!.key}/matomo.php?rec=1&e_a=matomo&cip=${ip}&cdo=10800`),
    await get(`/s/mixpanel/${mixpanel!.key}/track?ip=0&verbose=0&data=${base64(tracked)}`),
    await post(`/s/amplitude/${amplitude!.key}/2/httpapi`, {
      events: ['A', 'B', 'A'].map((device_id) => ({ event_type: 'amplitude', insert_id: 'open-1', device_id, ip })),
    }),
    await post(`/s/posthog/${posthog!.key}/e/?ip=1&_=${nowMs + 48 * 3_600_000}`, captured('posthog', -45)),
    await post(`/s/posthog/${posthog!.key}`, { event: captured('webhook', 3), person }),
    await post(`/s/segment/${segment!.key}/`, { ...delivered, sentAt: iso(2.5), receivedAt: iso(2.4) }),
  ]
  assert.deepEqual(answers, Array(6).fill(200))
  const sources = [matomo, mixpanel, amplitude, posthog, segment].map((source) => `'${source!.source_id}'`).join()
  const found = `SELECT event_type, count(), uniqExact(event_id), round(avg(dateDiff('minute', timestamp, received_at)) / 60),
      min(JSONExtractKeys(properties)), min(user_properties)
    FROM events WHERE source_id IN (${sources}) GROUP BY event_type ORDER BY event_type FORMAT TSV`
  const expected = [
    `amplitude\t2\t2\t0\t['amplitude']\t{"device_id":"A"}`,
    `matomo\t1\t1\t3\t['e_a']\t`,
    `mixpanel\t1\t1\t0\t['$insert_id']\t{"distinct_id":"d"}`,
    `posthog\t1\t1\t3\t[]\t{"distinct_id":"d"}`,
    `segment\t1\t1\t3\t[]\t`,
    `webhook\t1\t1\t3\t[]\t{"plan":"pro","distinct_id":"d"}`,
  ]
  await until(
    () => instance.query(found),
    (text) => text === expected.join('\n'),
  )
})
