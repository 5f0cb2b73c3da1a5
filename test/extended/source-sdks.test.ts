import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import dns from 'node:dns'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { ingest } from '../../pipelines/ingest.ts'
import { runCommand } from '../support/command.ts'
import { startInstance, type TestInstance, type VICTIMS } from '../support/instance.ts'
import { startReverseProxy } from '../support/reverse-proxy.ts'
import { companiesDir, createSource, installSdks, nodeLibraries, SDKS } from '../support/source-sdks.ts'
import { until } from '../support/until.ts'

/*
 * The real Node libraries of seven tools, against a whole instance: what they send is stored; then requests fail and processes are
 * killed, and whatever a library reports as delivered is stored once.
 */

const skip = await installSdks()

/** The types of the events that `first` of test/sdks/node.mjs sends, in order of their names. */
const EVENTS: Readonly<Record<string, readonly string[]>> = {
  segment: ['Item Purchased', 'group', 'identify', 'page'],
  rudderstack: ['Item Purchased', 'group', 'identify', 'page'],
  posthog: ['$pageview', 'grouped', 'movie played'],
  'posthog, version 1': ['$pageview', 'grouped', 'movie played'],
  amplitude: ['$groupidentify', '$identify', '$identify', 'Button Clicked', 'Page Viewed', 'grouped'],
  mixpanel: ['Page View', 'group', 'grouped', 'identify', 'identify', 'old event', 'old too', 'played_game'],
  snowplow: ['add-to-basket', 'page', 'viewed_product'],
  matomo: ['page', 'page', 'rightButton'],
}

/** How a page has the object of lines that import none. */
const IMPORTS: Readonly<Record<string, string>> = {
  segment: `import { AnalyticsBrowser } from '@segment/analytics-next'
const analytics = AnalyticsBrowser.load({ writeKey: 'vendor' })`,
  rudderstack: '',
  posthog: "import posthog from 'posthog-js'",
  amplitude: "import * as amplitude from '@amplitude/analytics-browser'",
  mixpanel: "import mixpanel from 'mixpanel-browser'",
}

/** Libraries with groups: a group is an account. */
const GROUPS = ['segment', 'rudderstack', 'posthog', 'posthog, version 1', 'amplitude', 'mixpanel']

let started: Promise<TestInstance> | undefined

/** The instance of both tests. */
function sharedInstance(): Promise<TestInstance> {
  started ??= nodeLibraries().then((libraries) => {
    const dir = companiesDir(Object.keys(libraries).length)
    ends.push(async () => rmSync(dir, { recursive: true, force: true }))
    const settings = { ENRICH_DIR: dir, SINK_LINGER_MS: '100' }
    return startInstance({ after: (end) => void ends.unshift(end) }, settings)
  })
  return started
}

const ends: (() => Promise<void>)[] = []
after(async () => {
  for (const end of ends) await end()
})

test('what is printed for packages in pages compiles with their own types', { skip }, (t) => {
  // Packages are found from here only.
  const dir = mkdtempSync(join(SDKS, 'node_modules', '.printed-'))
  t.after(() => rmSync(dir, { recursive: true }))
  const files: string[] = []
  for (const [kind, line] of Object.entries(IMPORTS)) {
    const { tool } = ingest.sources.find(({ from }) => from.name === kind)!.from
    const place = { base: 'https://ipid.acme.com', id: 'src_0123abc', key: 'src_key', browserKey: 'pub_key' }
    for (const { title, code, key } of tool!.setup(place)) {
      if (key !== 'browser' || title.startsWith('HTML') || title.endsWith('its snippet')) continue
      files.push(`${kind}-${files.length}.ts`)
      writeFileSync(join(dir, files.at(-1)!), `${code.startsWith('import') ? '' : line}\n${code}\nexport {}\n`)
    }
  }
  assert.equal(files.length, 9, `${files}`)
  const options = [
    '--ignoreConfig',
    '--noEmit',
    '--strict',
    '--skipLibCheck',
    '--module',
    'esnext',
    '--moduleResolution',
    'bundler',
  ]
  const tsc = join(import.meta.dirname, '../../node_modules/typescript/bin/tsc')
  const { stdout } = spawnSync(process.execPath, [tsc, ...options, ...files], { cwd: dir, encoding: 'utf8' })
  assert.equal(stdout, '')
})

test('Node libraries send their first example, and source keys open nothing else', { skip }, async (t) => {
  const libraries = await nodeLibraries()
  // Before the mock: the first instance of all may start a ClickHouse in this process, which binds to a host.
  const instance = await sharedInstance()
  const asked: string[] = []
  // The instance is at an address, so no library looks up a name unless it is that of its own vendor.
  t.mock.method(dns, 'lookup', (name: string, ...rest: unknown[]) => {
    asked.push(name)
    const callback = rest.at(-1) as (error: Error) => void
    callback(new Error(`${name} is not looked up in tests`))
  })
  for (const [n, [name, { kind, open }]] of Object.entries(libraries).entries()) {
    await t.test(name, async () => {
      const source = await createSource(instance, kind)
      const library = await open({ base: instance.ready.url, key: source.key, ip: `17.${n}.0.1` })
      await library.first()
      await library.close()
      const types = `SELECT event_type FROM events WHERE source_id = '${source.source_id}' ORDER BY event_type`
      await until(
        () => instance.query(types),
        (found) => found === EVENTS[name]!.join('\n'),
      )
      const stored = EVENTS[name]!.length
      const accounts = `SELECT sum(events), any(business_name) FROM accounts WHERE domain = 'c${n}.example'`
      assert.equal(await instance.query(accounts), `${stored}\tCompany ${n}`)
      if (GROUPS.includes(name)) {
        const group = `SELECT domain FROM accounts WHERE account_id LIKE '${kind}-group%' AND domain = 'c${n}.example'`
        assert.equal(await instance.query(group), `c${n}.example`)
      }
      const facts = `SELECT DISTINCT domain, ip FROM events WHERE source_id = '${source.source_id}'`
      assert.equal(await instance.query(facts), `c${n}.example\t17.${n}.0.1`)
    })
  }
  assert.deepEqual(asked, [])
  await t.test('a source key opens its own source and nothing else, in every place', () => opensOnly(instance))
  await t.test('an answer names each event at its place in the request', () => answersByPlace(instance))
  await t.test('pages of other origins may use /s/… and nothing else', () => sharesOnly(instance))
  await t.test('a stranger with a public key stores no more than requests of the rate, with bounded events', () =>
    isBounded(instance),
  )
})

/** Small batches and short waits, so that every fault meets requests. The number of tries is the libraries' own. */
const OPTIONS: Readonly<Record<string, object>> = {
  segment: { flushAt: 4, flushInterval: 100 },
  // Without a handler, the library throws for unsent events.
  rudderstack: { flushAt: 4, flushInterval: 100, logLevel: 'none', errorHandler: () => {} },
  posthog: { flushAt: 4, flushInterval: 100, fetchRetryDelay: 300 },
  'posthog, version 1': { flushAt: 4, flushInterval: 100, fetchRetryDelay: 300 },
  amplitude: { flushQueueSize: 4, flushIntervalMillis: 100, logLevel: 0 },
  snowplow: { bufferSize: 2 },
}
const PER_BURST = 6
/** Libraries that send an event again when its answer is an error, and where. The other ones report the error. */
const REPEATING: Readonly<Record<string, string>> = {
  segment: '/s/segment/',
  rudderstack: '/s/rudderstack/',
  posthog: '/s/posthog/batch/',
  'posthog, version 1': '/s/posthog/i/v1/',
  amplitude: '/s/amplitude/',
  snowplow: '/s/snowplow/',
}

test('an event that a Node library reports as delivered is stored once, despite any failure', { skip }, async (t) => {
  // PostHog's library prints a line about unsent events.
  t.mock.method(console, 'error', () => {})
  const instance = await sharedInstance()
  const proxy = await startReverseProxy(t, () => instance.ready.url)
  const senders: Sender[] = []
  for (const [name, { kind, open }] of Object.entries(await nodeLibraries())) {
    const { source_id: id, key } = await createSource(instance, kind)
    const place = { base: proxy.url, key, ip: '17.0.0.1', ...(OPTIONS[name] && { options: OPTIONS[name] }) }
    senders.push(new Sender(name, id, await open(place)))
  }
  t.after(async () => {
    for (const { library } of senders) await Promise.resolve(library.close()).catch(() => {})
  })
  const burst = () => {
    for (const sender of senders) for (let i = 0; i < PER_BURST; i++) sender.send()
  }
  const requests = () => proxy.requests.length
  const isReady = () => fetch(`${instance.ready.url}/readyz`).then(({ ok }) => ok)

  for (const lasting of [500, 'answer lost'] as const) {
    const before = requests()
    proxy.lasting = lasting
    burst()
    // Every library that repeats has met the fault.
    await until(() => {
      const paths = proxy.requests.slice(before).map(({ path }) => path)
      return Object.values(REPEATING).every((prefix) => paths.some((path) => path.startsWith(prefix)))
    })
    proxy.lasting = 'open'
  }
  for (const victim of ['ipid ingress', 'ipid process,sink', 'redis-server'] satisfies (typeof VICTIMS)[number][]) {
    burst()
    const before = requests()
    await until(() => requests() > before)
    instance.kill(victim)
    burst()
    await until(isReady, Boolean)
  }
  burst()

  for (const sender of senders) {
    await t.test(sender.name, async () => {
      await sender.untilDelivered()
      const { delivered, sent } = sender
      const inEvents = `FROM events WHERE source_id = '${sender.id}'`
      const names = `SELECT count(), uniqExact(event_id), groupUniqArray(coalesce(
        nullIf(JSONExtractString(properties, 'name'), ''), nullIf(JSONExtractString(properties, 'se_pr'), ''),
        JSONExtractString(properties, 'e_c'))) AS names ${inEvents} FORMAT JSONCompactEachRow`
      const found = await until(
        () => instance.query(names),
        (text) => [...delivered].every((name) => text.includes(`"${name}"`)),
      )
      const [count, ids, stored] = JSON.parse(found) as [string, string, string[]]
      assert.equal(Number(count), stored.length, 'no event is stored twice')
      assert.equal(count, ids)
      assert.ok(stored.every((name) => sent.has(name)))
      assert.ok(delivered.size >= PER_BURST)
    })
  }
  await t.test('repeats of stored events are counted as duplicates', async () => {
    // A lost answer may be that of a library's last try, so not each of them repeats.
    const ids = senders.map(({ id }) => `'${id}'`)
    const repeats = `SELECT uniqExact(source_id) FROM outcomes WHERE status = 'duplicates' AND source_id IN (${ids})`
    await until(
      () => instance.query(repeats),
      (count) => Number(count) > 0,
    )
  })
})

/** Sends events with one library, and notes what it reports. */
class Sender {
  readonly name: string
  readonly id: string
  readonly library: { send(name: string): Promise<unknown>; close(): Promise<unknown> }
  readonly sent = new Set<string>()
  readonly delivered = new Set<string>()

  constructor(name: string, id: string, library: Sender['library']) {
    this.name = name
    this.id = id
    this.library = library
  }

  send(): string {
    const name = `n${this.sent.size}.`
    this.sent.add(name)
    // A failure that it reports is no promise.
    this.library.send(name).then(
      () => this.delivered.add(name),
      () => {},
    )
    return name
  }

  /** Sends until it has delivered one that was sent now. */
  async untilDelivered(): Promise<void> {
    await until(async () => {
      const name = this.send()
      await until(() => this.delivered.has(name), Boolean, 5_000).catch(() => {})
      return this.delivered.has(name)
    })
  }
}

const call = (instance: TestInstance, path: string, init: RequestInit = {}) => fetch(instance.ready.url + path, init)
const post = (body: unknown, headers: Record<string, string> = {}): RequestInit => ({
  method: 'POST',
  headers,
  body: typeof body === 'string' ? body : JSON.stringify(body),
})
const basic = (key: string) => ({ authorization: `Basic ${btoa(`${key}:`)}` })
const bearer = (key: string) => ({ authorization: `Bearer ${key}` })

async function opensOnly(instance: TestInstance): Promise<void> {
  const [segment, posthog, web] = [
    await createSource(instance, 'segment'),
    await createSource(instance, 'posthog'),
    await createSource(instance, 'web'),
  ]
  const event = { type: 'track', event: 'x', messageId: 'm1', context: { ip: '17.0.0.1' } }
  const sent = (key: string, headers = {}, query = '', path = '') =>
    call(instance, `/s/segment${path}/v1/track${query}`, post({ ...event, ...(key && { writeKey: key }) }, headers))
  const { key } = segment
  const opened = [
    await sent(key),
    await sent('', basic(key)),
    await sent('', bearer(key)),
    await sent('', { 'x-source-key': key }),
    await sent('', {}, `?writeKey=${key}`),
    await sent('', {}, '', `/${key}`),
    await sent(segment.browser_key!),
    await sent('', basic(segment.browser_key!)),
    await sent('', {}, '', `/${segment.browser_key}`),
  ]
  assert.deepEqual(new Set(opened.map(({ status }) => status)), new Set([200]))

  const wrong = [
    posthog.key,
    posthog.browser_key!,
    web.key,
    key.replace('src_', 'pub_'),
    instance.apiKey,
    key.toUpperCase(),
    `${key} `,
    `${key}0`,
    'x'.repeat(10_000),
    '../x',
    '',
  ]
  for (const other of wrong) {
    const path = encodeURIComponent(other).slice(0, 1_000)
    const refused = [
      await sent(other),
      await sent('', basic(other)),
      await sent('', { 'x-source-key': other.trim() === key ? 'x' : other }),
      await sent('', {}, `?writeKey=${path}`),
      ...(other === '' ? [] : [await sent('', {}, '', `/${path}`)]),
    ]
    for (const { status } of refused) assert.equal(status, 401, other)
  }
  // The key in the path wins over those in headers: a key cannot lend its rights to another.
  assert.equal((await sent(key, basic(posthog.key))).status, 401)
  assert.equal((await sent('', basic(key), '', `/${posthog.key}`)).status, 401)
  // Written in another way, a key is another key.
  const escaped = `%73${key.slice(1)}`
  assert.equal((await sent('', {}, '', `/${escaped}`)).status, 401)

  const reasonOf = async (answer: Response) => ((await answer.json()) as { detail: string }).detail
  const ofOther = await sent('', basic(posthog.key))
  assert.equal(await reasonOf(ofOther), 'the key is that of a source of kind posthog, and this path takes segment')
  const apiKey = await sent('', basic(instance.apiKey))
  assert.equal(await reasonOf(apiKey), 'this path takes a source key: ./ipid source create makes one')
  const closed: (readonly [string, RequestInit])[] = [
    ['/v1/ingest', post({ events: [{ ip: '17.0.0.1' }] })],
    ['/v1/ingest/batch', post('{"ip":"17.0.0.1"}')],
    ['/v1/lookup', post({ ip: '17.0.0.1' })],
    ['/v1/bulk', post({ ips: ['17.0.0.1'] })],
    ['/v1/bulk/job', {}],
    ['/v1/events/m1', {}],
  ]
  for (const [path, init] of closed) {
    for (const sourceKey of [segment.key, posthog.key, web.key, segment.browser_key!]) {
      const answer = await call(instance, path, { ...init, headers: { ...init.headers, 'x-api-key': sourceKey } })
      const reason = await reasonOf(answer)
      if (answer.status === 404 || answer.status === 405) assert.fail(`${path} is no path of the API: ${reason}`)
      assert.equal(answer.status, 401, path)
      assert.equal(reason, 'a source key only sends events of its source: use an API key here')
    }
  }

  // The script is the same for every key, and a path is not part of it.
  const script = await call(instance, `/s/web/${web.key}.js`)
  const [text, other] = [
    await script.text(),
    await call(instance, `/s/web/${(await createSource(instance, 'web')).key}.js`),
  ]
  assert.equal(await other.text(), text)
  assert.equal(script.headers.get('content-type'), 'text/javascript; charset=utf-8')
  assert.equal(script.headers.get('x-content-type-options'), 'nosniff')
  // It takes nothing of the rate: a browser does not ask again.
  assert.equal(script.headers.get('ratelimit-limit'), null)
  assert.ok(gzipSync(text).length <= 3_072)
  for (const path of [
    '<script>alert(1)</script>',
    '%0d%0aset-cookie:%20a=b',
    '..%2f..%2fv1',
    `${segment.key.slice(1)}.js`,
  ]) {
    const answer = await call(instance, `/s/web/${path}`)
    assert.ok([401, 404].includes(answer.status), path)
    assert.match(answer.headers.get('content-type')!, /^application\/json/)
    assert.equal(answer.headers.get('set-cookie'), null)
    assert.ok(!(await answer.text()).includes('alert'))
  }
}

async function answersByPlace(instance: TestInstance): Promise<void> {
  const { key } = await createSource(instance, 'posthog')
  const event = (uuid: string, of: object) => ({ event: 'x', uuid, distinct_id: 'u', ...of })
  const valid = { properties: { $ip: '17.0.0.1' } }
  const batch = [event('without', {}), event('valid', valid), event('bad', { ...valid, event: 'x'.repeat(257) })]
  const answer = await call(instance, '/s/posthog/i/v1/analytics/events', post({ batch }, bearer(key)))
  const { results } = (await answer.json()) as { results: Record<string, { result: string }> }
  assert.deepEqual(
    Object.entries(results).map(([uuid, { result }]) => [uuid, result]),
    [
      ['without', 'ok'],
      ['valid', 'ok'],
      ['bad', 'drop'],
    ],
  )
}

async function sharesOnly(instance: TestInstance): Promise<void> {
  const { key } = await createSource(instance, 'web')
  const origin = 'https://site.example'
  const asked = {
    origin,
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'x-any,authorization',
  }
  const preflight = (path: string) => call(instance, path, { method: 'OPTIONS', headers: asked })
  const allowed = await preflight(`/s/web/${key}`)
  assert.equal(allowed.headers.get('access-control-allow-origin'), origin)
  assert.equal(allowed.headers.get('access-control-allow-headers'), 'x-any,authorization')
  const others = [
    '/v1/ingest',
    '/v1/lookup',
    '/v1/bulk',
    '/v1/ingest/batch',
    '/healthz',
    '/openapi.json',
    '/docs',
    '/',
    '/s',
    '/s/none',
  ]
  for (const path of others) {
    const answers = [
      await preflight(path),
      await call(instance, path, { headers: { origin, 'x-api-key': instance.apiKey } }),
    ]
    for (const { headers } of answers) {
      for (const [name] of headers) assert.ok(!name.startsWith('access-control-'), `${path} ${name}`)
    }
  }
}

async function isBounded(instance: TestInstance): Promise<void> {
  const created = await runCommand(['tenant', 'create', 'small', '--plan', 'starter'], {
    env: { DATA_DIR: instance.dataDir },
  })
  assert.equal(created.code, 0, created.stderr)
  const [one, two] = [
    await createSource(instance, 'segment', 'small'),
    await createSource(instance, 'segment', 'small'),
  ]
  const batch = (count: number, call: object) =>
    post({ batch: Array.from({ length: count }, (_, n) => ({ ...call, messageId: `b${n}` })) })
  const send = (key: string, init: RequestInit) => call(instance, `/s/segment/${key}/v1/batch`, init)
  const track = { type: 'track', event: 'x', context: { ip: '17.0.0.1' } }
  assert.equal((await send(one.key, batch(2_501, track))).status, 413)
  const bomb = gzipSync(JSON.stringify({ batch: [], x: ' '.repeat(20_000_000) }))
  assert.equal((await send(one.key, { method: 'POST', body: bomb })).status, 413)

  // A sender's text does not become a reason: the number of reasons stays small.
  const odd = Array.from({ length: 100 }, (_, n) => ({
    ...{ type: 'track', event: `${n}`.padEnd(300, 'x'), messageId: { [`key${n}`]: n }, timestamp: `t${n}` },
    ...{ context: { ip: `nowhere${n}`, [`k${n}`]: n }, [`top${n}`]: n },
  }))
  assert.equal((await send(one.key, post({ batch: odd }))).status, 200)
  const reasons = await until(
    () =>
      instance.query(
        `SELECT DISTINCT reason FROM outcomes WHERE source_id = '${one.source_id}' AND status = 'rejected'`,
      ),
    (text) => text !== '',
  )
  assert.equal(reasons.split('\n').length, 1, reasons)
  assert.ok(!/\d/.test(reasons.replace(/256/g, '')), reasons)

  // Each key has a rate of its own: 20 at once, 5 a second.
  const answers = await Promise.all(
    Array.from({ length: 60 }, (_, n) => send(n % 2 ? one.key : two.key, batch(1, track))),
  )
  const refused = answers.filter(({ status }) => status === 429)
  assert.ok(refused.length > 0)
  assert.ok(refused.every(({ headers }) => Number(headers.get('retry-after')) >= 1))
}
