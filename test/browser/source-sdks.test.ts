import assert from 'node:assert/strict'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { request as ask, createServer } from 'node:http'
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
  /** The same server under another name, for links to another site. */
  readonly otherOrigin: string
  /** Where requests to `/visits/` are passed on to, without that path. */
  ownPath: string | undefined
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
    if (site.ownPath !== undefined && pathname.startsWith('/visits/')) {
      const { method, headers } = request
      const passed = ask(site.ownPath + pathname.slice('/visits'.length), { method, headers }, (answer) => {
        response.writeHead(answer.statusCode!, answer.headers)
        answer.pipe(response)
      })
      return void request.pipe(passed)
    }
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
  const { port } = server.address() as AddressInfo
  const origin = `http://localhost:${port}`
  const otherOrigin = `http://127.0.0.1:${port}`
  const site: Site = { origin, otherOrigin, ownPath: undefined, scripts, head: '', policy: undefined }
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
  const world = { instance, site, proxy, hosts: [site.origin, site.otherOrigin, proxy.url] }
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
  await t.test('the script tag has settings, and obeys what the visitor chooses', (t) => hasSettings(t, world))
  await t.test('the script tag: a session is one over three tabs, and ends after 30 minutes', (t) =>
    hasSessions(t, world),
  )
  await t.test('the script tag works on a path of the site, from Tag Manager, and as an image', (t) => fitsIn(t, world))
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
  const { code } = source.blocks.find(({ title }) => title.startsWith('Only to send events of your own'))!
  const early = `${code}<script>ipid('track', 'Before the script', { plan: 'free' })</script>`
  site.head = early + site.head
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
    await page.evaluate('ipid.optIn(); ipid.page(); ipid.optOut()')
    assert.deepEqual(await storedNames(page), [])
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
  for (const attribute of ['crossorigin', 'crossorigin="anonymous"', 'type="module"', 'type="module" crossorigin']) {
    const source = await webSource(world)
    site.head = site.head.replace('<script async', `<script async ${attribute}`)
    const { page, wrong } = await openVisitor(t, hosts)
    await page.goto(`${site.origin}/cors`)
    await storedOf(instance, source, 1)
    assert.deepEqual(wrong, [], attribute)
  }
}

/** The names of everything that the script keeps in a browser. */
async function storedNames(page: Page): Promise<string[]> {
  return (await page.evaluate('[...Object.keys(localStorage), ...Object.keys(sessionStorage)]')) as string[]
}

interface Visit {
  readonly title: string
  readonly attributes: string
  /** Where it begins, after the address of the case. */
  readonly path?: string
  /** The page before. */
  readonly from?: string
  /** Statements in the page; a number waits until that many events are stored. `tick()` waits for the script. */
  readonly steps: readonly (string | number)[]
  /** The type, page, and referrer or target of each event. BASE is the address of the case, OTHER another site. */
  readonly events: readonly string[]
}

const SEARCH = `for (const n of [1, 2, 3, 4, 5, 6]) {
  history.replaceState(null, '', 'BASE?q=' + 'acmeco'.slice(0, n))
  await tick()
}`
const push = (...urls: readonly string[]) =>
  urls.map((url) => `history.pushState(null, '', '${url}'); await tick()`).join('\n')
const click = (attributes: string) =>
  `document.body.insertAdjacentHTML('beforeend', '<a ${attributes}><b>x</b></a>'); document.body.lastChild.firstChild.click()`

const VISITS: readonly Visit[] = [
  {
    title: 'a search as one types is one page, also when the next page follows at once',
    attributes: '',
    steps: [SEARCH, push('BASE/found', 'BASE/found'), `history.replaceState(null, '', 'BASE/found#x')`],
    events: ['page BASE', 'page BASE?q=acmeco BASE', 'page BASE/found BASE?q=acmeco'],
  },
  {
    title: 'a search as one types is one page when it ends, and a query that comes and goes is none',
    attributes: '',
    steps: [
      ...[SEARCH, 2, `history.replaceState(null, '', 'BASE?x'); history.replaceState(null, '', 'BASE?q=acmeco')`],
      push('BASE?q=acmeco&page=2'),
    ],
    events: ['page BASE', 'page BASE?q=acmeco BASE', 'page BASE?q=acmeco&page=2 BASE?q=acmeco'],
  },
  {
    title: 'data-hash: a fragment is a page',
    attributes: 'data-hash="true" data-exclude="/admin*"',
    path: '?utm_source=news#/pricing?plan=1',
    steps: [`location.hash = '#!/about'`, 2, push('#/admin/users', '#/contact', '#/contact')],
    events: [
      'page BASE/pricing?plan=1&utm_source=news',
      'page BASE/about?utm_source=news BASE/pricing?plan=1&utm_source=news',
      'page BASE/contact?utm_source=news',
    ],
  },
  {
    title: 'data-hash and data-exclude: a path hides all fragments of its page',
    attributes: 'data-hash data-exclude="/*/admin, /*/app/private/*, /*/#/secret"',
    path: '/admin#top',
    steps: [push('BASE/app/#/private/a', 'BASE/#/secret#part', 'BASE/app/#/public')],
    events: ['page BASE/app/public'],
  },
  {
    title: 'a page that is loaded before it is shown counts when it is shown',
    attributes: 'data-consent="required"',
    steps: [
      `Object.defineProperty(document, 'prerendering', { value: true, configurable: true }); ipid.optIn()`,
      push('BASE/two'),
      `delete document.prerendering; document.dispatchEvent(new Event('prerenderingchange'))`,
    ],
    events: ['page BASE/two'],
  },
  {
    title: 'data-manual: only the pages that are called for',
    attributes: 'data-manual data-hash="false"',
    steps: [push('BASE/two#part'), `ipid.page({ kind: 'shop' }); ipid('page')`, push('BASE/three')],
    events: ['page BASE/two', 'page BASE/two'],
  },
  {
    title: 'data-exclude: nothing of these paths, and they are no referrers',
    attributes: 'data-exclude="*/admin/*, */café,*.html, */[id]/(a|b)^{1}, **/50%"',
    path: '/admin/secret?token=1',
    from: '/admin/before',
    steps: [
      `ipid.track('Not sent')`,
      push('BASE/a.htm', 'BASE/caf%C3%A9', 'BASE/a.html', 'BASE/[id]/(a|b)^{1}', 'BASE/50%'),
      push('BASE/b', 'BASE/admin'),
    ],
    events: ['page BASE/a.htm', 'page BASE/b', 'page BASE/admin BASE/b'],
  },
  {
    title: 'optOut: nothing more is sent or stored',
    attributes: 'data-downloads',
    steps: [
      ...[1, `ipid.optOut(); ipid.track('Not sent'); ipid.identify({ plan: 'x' }); ipid.page()`, push('BASE/two')],
      ...[click('download href=BASE/a'), `assertStored('ipid.choice'); ipid.optIn(); ipid.optIn()`],
    ],
    events: ['page BASE', 'page BASE/two BASE'],
  },
  {
    title: 'data-consent: nothing is sent or stored before consent',
    attributes: 'data-consent="required"',
    from: '/before',
    steps: [
      ...[`ipid.track('Too early'); ipid.identify({ plan: 'x' }); ipid.page()`, push('BASE/two')],
      `assertStored(''); ipid('optIn'); ipid('optIn')`,
    ],
    events: ['page BASE/two BASE/before'],
  },
  {
    title: 'data-outbound: a link to another site, at the moment the page is left',
    attributes: 'data-outbound data-downloads="false"',
    steps: [click('href=BASE#part'), click('href=mailto:x'), click('href=OTHER/report.pdf?a=1')],
    events: ['page BASE', 'outlink BASE OTHER/report.pdf?a=1'],
  },
  {
    title: 'data-downloads: files, and no other links',
    attributes: 'data-downloads=".svg, .zip"',
    steps: [
      `document.addEventListener('click', (event) => event.preventDefault())`,
      ...['href=OTHER', 'href=BASE/a.ZIP?x', 'href=BASE/a.pdf', 'href=BASE/b download'].map(click),
    ],
    events: ['page BASE', 'download BASE BASE/a.ZIP?x', 'download BASE BASE/b'],
  },
]

async function hasSettings(t: TestContext, world: World) {
  const { instance, site, proxy, hosts } = world
  const source = await webSource(world)
  const tag = site.head
  for (const [n, visit] of VISITS.entries()) {
    const base = `${site.origin}/case${n}`
    const fill = (text: string) => text.replaceAll('BASE', base).replaceAll('OTHER', site.otherOrigin)
    const stored = async () => {
      const text = await instance.query(
        `SELECT event_type, url, if(event_type IN ('outlink', 'download'), JSONExtractString(properties, 'target'), referrer)
          FROM events WHERE source_id = '${source.source_id}' AND startsWith(url, '${base}') FORMAT JSONCompactEachRow`,
      )
      const lines =
        text === '' ? [] : text.split('\n').map((line) => (JSON.parse(line) as string[]).join(' ').trimEnd())
      return lines.sort()
    }
    site.head = tag.replace('<script async', `<script async ${visit.attributes}`)
    const { context, page, wrong } = await openVisitor(t, hosts)
    await page.goto(base + (visit.path ?? ''), visit.from === undefined ? {} : { referer: base + visit.from })
    await page.waitForFunction('window.ipid?.on')
    await page.evaluate(`
      window.tick = () => new Promise((resolve) => setTimeout(resolve))
      window.assertStored = (names) => {
        const found = [...Object.keys(localStorage), ...Object.keys(sessionStorage)].join()
        if (found !== names) throw new Error('stored ' + found)
      }
      // Before the script leaves the page, so that its last request has this event and all before it.
      addEventListener('pagehide', () => ipid.track('end'), true)`)
    for (const step of visit.steps) {
      if (typeof step === 'number') await until(stored, ({ length }) => length === step)
      else await page.evaluate(`(async () => { ${fill(step)} })()`)
    }
    await page.goto('about:blank')
    const wanted = visit.events.map(fill)
    const sent = await until(
      () =>
        postsOf(proxy)
          .flatMap(({ body }) => JSON.parse(body.toString()).events as { id: string; type: string; url: string }[])
          .filter(({ url }) => url.startsWith(base)),
      (events) => events.some(({ type }) => type === 'end'),
    )
    assert.equal(new Set(sent.map(({ id }) => id)).size, wanted.length + 1, visit.title)
    const rows = await until(stored, ({ length }) => length === wanted.length + 1)
    assert.deepEqual(
      rows.filter((row) => !row.startsWith('end ')),
      wanted.sort(),
      visit.title,
    )
    assert.deepEqual(wrong, [], visit.title)
    await context.close()
  }
}

async function hasSessions(t: TestContext, world: World) {
  const { instance, hosts, site } = world
  const source = await webSource(world)
  const { context, page } = await openVisitor(t, hosts)
  const tabs = [page, await context.newPage(), await context.newPage()]
  for (const [n, tab] of tabs.entries()) {
    await tab.goto(`${site.origin}/tab${n}`)
    await storedOf(instance, source, n + 1)
  }
  const lastEventWas = (minutes: number) =>
    page.evaluate(`localStorage.setItem('ipid.session',
      JSON.stringify({ ...JSON.parse(localStorage.getItem('ipid.session')), at: Date.now() - ${minutes * 60_000} }))`)
  await lastEventWas(29)
  await call(tabs[1]!, 'track', 'after 29 minutes')
  await storedOf(instance, source, 4)
  await lastEventWas(31)
  await call(tabs[2]!, 'track', 'after 31 minutes')
  await storedOf(instance, source, 5)
  await call(page, 'track', 'in another tab')
  const stored = await storedOf(instance, source, 6)
  const [first, ...others] = [...new Set(stored.map(({ session_id: id }) => id))]
  assert.equal(others.length, 1)
  assert.deepEqual(
    stored.filter(({ session_id: id }) => id !== first).map(({ event_type: type }) => type),
    ['after 31 minutes', 'in another tab'],
  )
  assert.deepEqual(await context.cookies(), [])

  await call(tabs[1]!, 'identify', { plan: 'pro' })
  await storedOf(instance, source, 7)
  await call(tabs[2]!, 'identify', { plan: 'free' })
  await storedOf(instance, source, 8)
  // Another site in this tab hears of no choice.
  site.head = ''
  await tabs[2]!.goto(site.otherOrigin)
  site.head = source.blocks[0]!.code
  await page.evaluate('ipid.optOut()')
  await tabs[2]!.goto(`${site.origin}/tab2`)
  // Nor does a page that the browser had frozen.
  await tabs[1]!.evaluate(`sessionStorage.setItem('ipid.person', '{}')
    dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))`)
  for (const tab of tabs) {
    await until(
      () => storedNames(tab),
      (names) => names.join() === 'ipid.choice',
    )
  }
  for (const tab of tabs) await call(tab, 'track', 'Not sent')
  await page.goto(`${site.origin}/again`)
  await call(page, 'track', 'Not sent')
  assert.deepEqual(await storedNames(page), ['ipid.choice'])
  await page.evaluate('ipid.optIn()')
  const last = (await storedOf(instance, source, 9)).at(-1)!
  assert.equal(last.page.url, `${site.origin}/again`)
}

/** Tag Manager makes a script of the text or the address of each one in its HTML, and keeps no other attribute than the id. */
const AS_TAG_MANAGER = `(html) => {
  const parsed = document.createElement('div')
  parsed.innerHTML = html
  for (const { id, src, text } of parsed.querySelectorAll('script')) {
    const made = document.createElement('script')
    Object.assign(made, { async: false, id, text }, src && { src })
    document.body.append(made)
  }
}`

async function fitsIn(t: TestContext, world: World) {
  const { instance, site, proxy, hosts } = world
  const codeOf = ({ blocks }: CreatedSource, title: string) => {
    const found = blocks.filter((block) => block.title.startsWith(title))
    assert.equal(found.length, 1, title)
    return found[0]!.code
  }

  await t.test('on a path of the site, with the strictest content security policy', async (t) => {
    const source = await webSource(world)
    site.head = codeOf(source, 'The tag for a path of your site')
    site.policy = `default-src 'none'; img-src data:; script-src 'self'; connect-src 'self'`
    site.ownPath = `${proxy.url}/s/web`
    const { page, wrong } = await openVisitor(t, [site.origin])
    await page.goto(`${site.origin}/own`)
    await call(page, 'track', 'Bought')
    await storedOf(instance, source, 2)
    assert.deepEqual(wrong, [])
    site.policy = undefined
  })

  await t.test('from Google Tag Manager, with settings', async (t) => {
    const source = await webSource(world)
    site.head = ''
    const code = codeOf(source, 'Google Tag Manager').replace(
      '  document.head',
      "  script.setAttribute('data-exclude', '/never')\n  script.setAttribute('data-outbound', '')\n  document.head",
    )
    const { page, wrong } = await openVisitor(t, hosts)
    await page.goto(`${site.origin}/managed`)
    await page.evaluate(`(${AS_TAG_MANAGER})(${JSON.stringify(code)})`)
    await page.waitForFunction('window.ipid?.on')
    await page.evaluate(click(`href=${site.otherOrigin}/`))
    const stored = await storedOf(instance, source, 2)
    assert.deepEqual(stored.map(({ event_type: type }) => type).sort(), ['outlink', 'page'])
    assert.equal(await page.evaluate('typeof window.script'), 'undefined')
    assert.deepEqual(wrong, [])
  })

  await t.test('as an image, without JavaScript', async (t) => {
    const source = await webSource(world)
    site.head += `<body>${codeOf(source, 'Only for visitors without JavaScript')}`
    const { page, wrong } = await openVisitor(t, hosts, undefined, { javaScriptEnabled: false })
    await page.goto(`${site.origin}/plain?utm_source=news`)
    const [view] = await storedOf(instance, source, 1)
    assert.deepEqual(
      [view!.event_type, view!.ip, view!.page.url, view!.page.utm_source],
      ['page', proxy.visitor, `${site.origin}/plain?utm_source=news`, 'news'],
    )
    assert.deepEqual(wrong, [])
  })
}
