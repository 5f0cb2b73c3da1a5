import assert from 'node:assert/strict'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { build } from 'esbuild'
import type { Page } from 'playwright-core'
import { sharedChromium } from '../support/chromium.ts'
import { startInstance, type TestInstance } from '../support/instance.ts'
import { type ReverseProxy, startReverseProxy } from '../support/reverse-proxy.ts'
import { type CreatedSource, companiesDir, createSource, installSdks, SDKS } from '../support/source-sdks.ts'
import { until } from '../support/until.ts'
import { openVisitor } from '../support/visitor.ts'

/* The real browser libraries of seven tools, and our own script, in pages of another origin, against a whole instance. */

const browser = await sharedChromium()
const skip = typeof browser === 'string' ? browser : await installSdks()

/** The types of the events that each example of test/sdks/browser sends, in order of their names. */
const EXAMPLES: Readonly<Record<string, readonly string[]>> = {
  segment: ['group', 'hello world', 'identify', 'page'],
  rudderstack: ['Order Completed', 'group', 'identify', 'page'],
  posthog: ['$groupidentify', '$identify', '$pageview', 'user_signed_up'],
  amplitude: [
    ...['$groupidentify', '$identify', '$identify', '$identify'],
    ...['Sign Up', '[Amplitude] Page Viewed', 'session_start'],
  ],
  mixpanel: ['$identify', '$mp_web_page_view', 'Sign Up', 'group', 'identify', 'identify', 'identify'],
  snowplow: ['add-to-basket', 'page', 'signed_up'],
  matomo: ['Buy', 'outlink', 'page', 'page'],
}
/** An example's return value, if any: the report of its library. */
const RESULTS: Readonly<Record<string, unknown>> = {
  mixpanel: [1, 1, 1],
  matomo: { image: 'load', bulk: { status: 'success', tracked: 1, invalid: 0 } },
}
/** The event of a page that is left, of libraries that have one. */
const LEAVING: Readonly<Record<string, string>> = { posthog: '$pageleave' }
/** Libraries with groups: a group is an account. */
const GROUPS = ['segment', 'rudderstack', 'posthog', 'amplitude', 'mixpanel']

interface Site {
  readonly origin: string
  /** Scripts by their paths. */
  readonly scripts: Record<string, string>
  /** The head of all other pages. */
  head: string
  /** `Content-Security-Policy` of all other pages. */
  policy: string | undefined
}

/** A site of another origin than the API. A path with a script is a page with that script; all other paths have `head`. */
async function startSite(t: TestContext, scripts: Record<string, string>): Promise<Site> {
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url!, 'http://localhost')
    const script = scripts[pathname.replace(/\.js$/, '')]
    if (script !== undefined && pathname.endsWith('.js'))
      return void response.setHeader('content-type', 'text/javascript').end(script)
    response.setHeader('content-type', 'text/html; charset=utf-8')
    if (script === undefined && site.policy !== undefined) response.setHeader('content-security-policy', site.policy)
    const head = script === undefined ? site.head : `<script src="${pathname}.js"></script>`
    response.end(`<!doctype html><link rel="icon" href="data:,"><title>Pricing</title>${head}<h1>Pricing</h1>`)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  const origin = `http://localhost:${(server.address() as AddressInfo).port}`
  const site: Site = { origin, scripts, head: '', policy: undefined }
  return site
}

async function bundleExamples(): Promise<Record<string, string>> {
  const names = Object.keys(EXAMPLES)
  const { outputFiles } = await build({
    entryPoints: names.map((name) => join(SDKS, 'browser', `${name}.js`)),
    ...{ bundle: true, write: false, format: 'iife', outdir: '/', logLevel: 'error' },
  })
  return Object.fromEntries(names.map((name, i) => [`/${name}`, outputFiles[i]!.text]))
}

interface World {
  readonly instance: TestInstance
  readonly site: Site
  readonly proxy: ReverseProxy
  readonly hosts: readonly string[]
}

test('browser libraries and the script tag send their events, and the company is found', { skip }, async (t) => {
  const names = Object.keys(EXAMPLES)
  const dir = companiesDir(names.length + 1)
  t.after(() => rmSync(dir, { recursive: true, force: true }))
  const site = await startSite(t, await bundleExamples())
  const instance = await startInstance(t, { ENRICH_DIR: dir, SINK_LINGER_MS: '100' })
  const proxy = await startReverseProxy(t, () => instance.ready.url)
  const world = { instance, site, proxy, hosts: [site.origin, proxy.url] }
  for (const [n, name] of names.entries()) {
    await t.test(name, async (t) => {
      proxy.visitor = `17.${n}.0.1`
      await tryExample(t, world, name, `c${n}.example`)
    })
  }
  proxy.visitor = `17.${names.length}.0.1`
  await t.test('the script tag reports pages, navigation, events and people', (t) => reportsVisits(t, world))
  await t.test('the script tag: events in flight when the page is left arrive once', (t) => arrivesOnce(t, world))
  await t.test('the script tag: an event that cannot be sent while leaving is sent by the next page', (t) =>
    sendsLater(t, world),
  )
  await t.test('the script tag repeats with the same ids after 500, 429 and network errors', (t) => repeats(t, world))
  await t.test('the script tag sends nothing for visitors who refuse to be tracked', (t) => respects(t, world))
  await t.test('the script tag works under the content security policy of its setup text', (t) => obeys(t, world))
  await t.test('the script tag may have crossorigin, and be a module', (t) => isFetchedWithCors(t, world))
})

async function tryExample(t: TestContext, { instance, site, proxy, hosts }: World, name: string, domain: string) {
  const {
    source_id: id,
    key: server,
    browser_key: key = server,
  } = await createSource(instance, name, 'demo', proxy.url)
  const { page, wrong } = await openVisitor(t, hosts)
  const first = proxy.requests.length
  await page.goto(`${site.origin}/${name}?utm_source=news#top`)
  const result = await page.evaluate(
    (place) => (globalThis as unknown as { example(place: object): unknown }).example(place),
    { base: proxy.url, key },
  )
  assert.deepEqual(result, RESULTS[name])
  const types = () => instance.query(`SELECT event_type FROM events WHERE source_id = '${id}' ORDER BY event_type`)
  await until(types, (found) => found === EXAMPLES[name]!.join('\n'))
  assert.equal(
    await instance.query(`SELECT DISTINCT domain, ip FROM events WHERE source_id = '${id}'`),
    `${domain}\t${proxy.visitor}`,
  )
  const accounts = await instance.query(`SELECT sum(events) FROM accounts WHERE domain = '${domain}'`)
  assert.equal(accounts, String(EXAMPLES[name]!.length))
  if (GROUPS.includes(name)) {
    const group = `SELECT account_id FROM accounts WHERE domain = '${domain}' AND account_id = '${name}-group'`
    assert.equal(await instance.query(group), `${name}-group`)
  }
  const left = LEAVING[name]
  if (left !== undefined) {
    await page.goto('about:blank')
    const stored = `SELECT count() FROM events WHERE source_id = '${id}' AND event_type = '${left}' AND ip = '${proxy.visitor}'`
    await until(
      () => instance.query(stored),
      (count) => count === '1',
    )
  }
  const refused = proxy.requests.slice(first).filter(({ status }) => status >= 400)
  assert.deepEqual(
    refused.map(({ method, path, status }) => `${method} ${path} ${status}`),
    [],
  )
  assert.deepEqual(wrong, [])
}

interface Stored {
  readonly event_type: string
  readonly ip: string
  readonly session_id: string
  readonly properties: { readonly title?: string; readonly plan?: string }
  readonly user_properties: { readonly email?: string }
  readonly page: { readonly url?: string; readonly referrer?: string; readonly utm_source?: string }
}

/** The events of a source, as they happened. Waits until there are this many. */
async function storedOf(instance: TestInstance, { source_id: id }: CreatedSource, count: number): Promise<Stored[]> {
  const found = await until(
    () =>
      instance.query(
        `SELECT * FROM events WHERE source_id = '${id}' ORDER BY timestamp, event_type FORMAT JSONEachRow`,
      ),
    (text) => text !== '' && text.split('\n').length === count,
  )
  return found.split('\n').map((line) => {
    const row = JSON.parse(line)
    const objectOf = (text: string) => (text === '' ? {} : JSON.parse(text))
    return {
      ...row,
      properties: objectOf(row.properties),
      user_properties: objectOf(row.user_properties),
      page: row.url === undefined ? objectOf(row.extra) : row,
    }
  })
}

async function webSource({ instance, site, proxy }: World): Promise<CreatedSource> {
  const source = await createSource(instance, 'web', 'demo', proxy.url)
  site.head = source.blocks[0]!.code
  assert.equal(site.head, `<script async src="${proxy.url}/s/web/${source.key}.js"></script>`)
  proxy.requests.length = 0
  return source
}

/** Calls `ipid` in a page, once the script has loaded. */
async function call(page: Page, ...args: readonly unknown[]): Promise<void> {
  await page.waitForFunction('window.ipid?.on')
  await page.evaluate((given) => {
    ;(globalThis as unknown as { ipid(...args: readonly unknown[]): void }).ipid(...given)
  }, args)
}

/** The requests of the script with events. */
function postsOf({ requests }: ReverseProxy) {
  return requests.filter(({ method }) => method === 'POST')
}

async function reportsVisits(t: TestContext, world: World) {
  const { instance, site, proxy, hosts } = world
  const source = await webSource(world)
  site.head = `<script>
    window.ipid ||= (...call) => (ipid.q ||= []).push(call)
    ipid('track', 'Before the script', { plan: 'free' })
  </script>${site.head}`
  const { context, page, wrong } = await openVisitor(t, hosts)
  const start = `${site.origin}/nav?utm_source=news`
  await page.goto(`${start}#part`, { referer: 'http://ref.example/' })
  await storedOf(instance, source, 2)
  const navigate = async (method: string, path: string, title: string) => {
    await page.evaluate(
      ([name, to, text]) => {
        const { history, document } = globalThis as unknown as {
          history: Record<string, (...state: unknown[]) => void>
          document: { title: string }
        }
        history[name!]!(null, '', to)
        document.title = text!
      },
      [method, path, title],
    )
  }
  await navigate('pushState', '/nav/two', 'Two')
  await storedOf(instance, source, 3)
  await navigate('replaceState', '/nav/three', 'Three')
  await storedOf(instance, source, 4)
  await navigate('replaceState', '/nav/three#again', 'Three')
  await page.goBack()
  await storedOf(instance, source, 5)
  await call(page, 'identify', { email: 'jane@acme.example' })
  await storedOf(instance, source, 6)
  await call(page, 'track', 'Signed up', { plan: 'pro' })
  const stored = await storedOf(instance, source, 7)
  const pages = stored.filter(({ event_type: type }) => type === 'page')
  assert.deepEqual(
    pages.map(({ page: { url, referrer, utm_source }, properties: { title } }) => [
      url,
      referrer,
      utm_source ?? '',
      title,
    ]),
    [
      [start, 'http://ref.example/', 'news', 'Pricing'],
      [`${site.origin}/nav/two`, start, '', 'Two'],
      [`${site.origin}/nav/three`, `${site.origin}/nav/two`, '', 'Three'],
      [start, `${site.origin}/nav/three`, 'news', 'Three'],
    ],
  )
  const { properties, user_properties: user } = stored.at(-1)!
  assert.deepEqual([properties.plan, user.email], ['pro', 'jane@acme.example'])
  assert.deepEqual(
    stored.map(({ event_type: type }) => type).filter((type) => type !== 'page'),
    [...['Before the script', 'identify', 'Signed up']],
  )
  assert.deepEqual(new Set(stored.map(({ ip }) => ip)), new Set([proxy.visitor]))
  assert.equal(new Set(stored.map(({ session_id: id }) => id)).size, 1)
  assert.ok(stored[0]!.session_id !== null)
  assert.deepEqual(await context.cookies(), [])
  assert.deepEqual(new Set(proxy.requests.map(({ method }) => method)), new Set(['GET', 'POST']), 'no preflight')
  assert.deepEqual(wrong, [])
}

async function arrivesOnce(t: TestContext, world: World) {
  const { instance, site, proxy, hosts } = world
  const source = await webSource(world)
  const { page } = await openVisitor(t, hosts)
  proxy.next.push('open')
  proxy.lasting = 'held'
  await page.goto(`${site.origin}/leaving`)
  await until(() => postsOf(proxy).length === 1)
  await call(page, 'track', 'One')
  await call(page, 'track', 'Two')
  proxy.next.push('open')
  await page.goto('about:blank')
  await until(() => postsOf(proxy).length === 2)
  // Now the request that was in flight arrives too.
  proxy.lasting = 'open'
  const repeats = `SELECT sum(events) FROM outcomes WHERE status = 'duplicates' AND source_id = '${source.source_id}'`
  await until(
    () => instance.query(repeats),
    (count) => count === '1',
  )
  const stored = await storedOf(instance, source, 3)
  assert.deepEqual(stored.map(({ event_type: type }) => type).sort(), ['One', 'Two', 'page'])
}

async function sendsLater(t: TestContext, world: World) {
  const { instance, site, proxy, hosts } = world
  const source = await webSource(world)
  const { page } = await openVisitor(t, hosts)
  proxy.next.push('open')
  proxy.lasting = 500
  await page.goto(`${site.origin}/first`)
  await until(() => postsOf(proxy).length === 1)
  await call(page, 'track', 'Lost otherwise')
  proxy.lasting = 'cut'
  await page.goto('about:blank')
  await until(() => postsOf(proxy).length >= 2)
  proxy.lasting = 'open'
  await page.goto(`${site.origin}/second`)
  const stored = await storedOf(instance, source, 3)
  assert.deepEqual(stored.map(({ event_type: type, page: { url } }) => `${type} ${new URL(url!).pathname}`).sort(), [
    'Lost otherwise /first',
    'page /first',
    'page /second',
  ])
}

async function repeats(t: TestContext, world: World) {
  const { instance, site, proxy, hosts } = world
  const source = await webSource(world)
  const { page } = await openVisitor(t, hosts)
  proxy.next.push('open', 500, 429, 'cut', 'answer lost')
  await page.goto(`${site.origin}/repeated`)
  await until(() => postsOf(proxy).length === 5)
  const ids = postsOf(proxy).map(({ body }) => JSON.parse(body.toString()).events.map(({ id }: { id: string }) => id))
  assert.deepEqual(new Set(ids.map(String)).size, 1)
  assert.deepEqual(
    postsOf(proxy).map(({ status }) => status),
    [500, 429, 0, 500, 204],
  )
  const repeated = `SELECT sum(events) FROM outcomes WHERE status = 'duplicates' AND source_id = '${source.source_id}'`
  await until(
    () => instance.query(repeated),
    (count) => count === '1',
  )
  await storedOf(instance, source, 1)
}

async function respects(t: TestContext, world: World) {
  const { site, proxy, hosts } = world
  await webSource(world)
  for (const refusal of ['doNotTrack', 'globalPrivacyControl']) {
    const { context, page } = await openVisitor(t, hosts)
    const value = refusal === 'doNotTrack' ? `'1'` : 'true'
    await context.addInitScript(`Object.defineProperty(Navigator.prototype, '${refusal}', { get: () => ${value} })`)
    await page.goto(`${site.origin}/private`)
    await call(page, 'track', 'Not sent')
    assert.equal(await page.evaluate('sessionStorage.length'), 0)
    await page.goto('about:blank')
  }
  assert.deepEqual(postsOf(proxy), [])
}

async function obeys(t: TestContext, world: World) {
  const { instance, site, hosts } = world
  const source = await webSource(world)
  const { code } = source.blocks.find(({ title }) => title.includes('Content-Security-Policy'))!
  site.policy = `default-src 'none'; img-src data:; ${code}`
  const { page, wrong } = await openVisitor(t, hosts)
  await page.goto(`${site.origin}/strict`)
  await storedOf(instance, source, 1)
  assert.deepEqual(wrong, [])
}

async function isFetchedWithCors(t: TestContext, world: World) {
  const { instance, site, hosts } = world
  site.policy = undefined
  for (const attribute of ['crossorigin', 'type="module"']) {
    const source = await webSource(world)
    site.head = site.head.replace('<script async', `<script async ${attribute}`)
    const { page, wrong } = await openVisitor(t, hosts)
    await page.goto(`${site.origin}/cors`)
    await storedOf(instance, source, 1)
    assert.deepEqual(wrong, [], attribute)
  }
}
