import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { build } from 'esbuild'
import type { Request } from 'playwright-core'
import { sharedChromium } from '../support/chromium.ts'
import { startInstance } from '../support/instance.ts'
import { startReverseProxy } from '../support/reverse-proxy.ts'
import { companiesDir, createSource, installSdks, SDKS } from '../support/source-sdks.ts'
import { until } from '../support/until.ts'
import { type Answer, openVisitor } from '../support/visitor.ts'

/*
 * Pages whose HTML has a snippet as its vendor prints it, with what `source create` prints for it: in its place, and beside it. The
 * vendors' hosts are answered here, with the libraries of test/sdks.
 */

const browser = await sharedChromium()
const skip = typeof browser === 'string' ? browser : await installSdks()

interface Vendor {
  /** Of the source. Default: the vendor's name. */
  readonly kind?: string
  /** The snippet up to the line with the key. */
  readonly snippet: string
  /** The line with the key, as the vendor prints it. */
  readonly init: string
  /** What follows it. */
  readonly rest?: string
  /** An event `Early` that the page sends right after what is printed, before the library is there. */
  readonly early?: string
  /** What is printed follows the line with the key, and does not replace it. */
  readonly isAfter?: boolean
  /** Files of test/sdks/node_modules by the URLs at which the vendor has them; a function makes the text. */
  readonly scripts: Readonly<Record<string, string | (() => string | Promise<string>)>>
  /** Where the vendor takes events: the start of the URLs. */
  readonly events: string
  /** The answer to events. */
  readonly taken?: string
  /** Answers to other requests, by the start of their URLs. */
  readonly settings?: Readonly<Record<string, object>>
  /** The types of the events of a page view. */
  readonly page: readonly string[]
  /** A call of the page's own beside the vendor. Undefined: its library has one instance in a page. */
  readonly ownCall?: string
}

/** A stub as snippets of this kind have it: calls wait in an array until the library is there. */
const queue = (name: string, methods: string) => `
  window.${name} = window.${name} || []
  for (const method of '${methods}'.split(' ')) ${name}[method] = (...values) => ${name}.push([method, ...values])`
const load = (url: string) => `
  document.head.append(Object.assign(document.createElement('script'), { async: true, src: ${url} }))`

const KINDS: Readonly<Record<string, Vendor>> = {
  posthog: {
    snippet: `${queue('posthog', 'capture identify group register')}
      Object.assign(posthog, {
        _i: [], __SV: 1, people: [],
        init: (key, config, name) => {
          ${load("config.api_host.replace('.i.posthog.com', '-assets.i.posthog.com') + '/static/array.js'")}
          posthog._i.push([key, config, name ?? 'posthog'])
        },
      })`,
    init: "posthog.init('phc_vendor', { api_host: 'https://us.i.posthog.com' })",
    early: "posthog.capture('Early')",
    scripts: {
      'https://us-assets.i.posthog.com/static/array.js': 'posthog-js/dist/array.js',
      'https://us-assets.i.posthog.com/array/phc_vendor/config.js': () => '',
    },
    events: 'https://us.i.posthog.com/e/',
    settings: {
      'https://us.i.posthog.com/flags/': { featureFlags: {} },
      'https://us-assets.i.posthog.com/array/phc_vendor/config': { hasFeatureFlags: false },
    },
    page: ['$pageview'],
    ownCall: "posthog.ipid.capture('Signed up')",
  },
  segment: {
    snippet: `${queue('analytics', 'page track identify group addSourceMiddleware')}
      analytics.load = (key, options) => {
        ${load("'https://cdn.segment.com/analytics.js/v1/' + key + '/analytics.min.js'")}
        analytics._loadOptions = options
      }
      analytics._writeKey = 'vendor'`,
    init: "analytics.load('vendor')",
    rest: 'analytics.page()',
    isAfter: true,
    scripts: {
      'https://cdn.segment.com/analytics.js/v1/vendor/analytics.min.js':
        '@segment/analytics-next/dist/umd/standalone.js',
    },
    events: 'https://api.segment.io/v1/',
    settings: {
      'https://cdn.segment.com/v1/projects/vendor/settings': { integrations: { 'Segment.io': { apiKey: 'vendor' } } },
    },
    page: ['page'],
    ownCall: "analytics.track('Signed up')",
  },
  rudderstack: {
    snippet: `${queue('rudderanalytics', 'load ready page track identify group')}
      ${load("'https://cdn.rudderlabs.com/v3/modern/rsa.min.js'")}`,
    init: "rudderanalytics.load('vendor', 'https://acme.dataplane.rudderstack.com')\nrudderanalytics.page()",
    scripts: {
      'https://cdn.rudderlabs.com/v3/modern/rsa.min.js': () =>
        bundled("import { RudderAnalytics } from '@rudderstack/analytics-js/bundled'; new RudderAnalytics()"),
    },
    events: 'https://acme.dataplane.rudderstack.com/v1/',
    settings: {
      'https://api.rudderstack.com/sourceConfig/': {
        source: { id: 'a', name: 'a', enabled: true, workspaceId: 'a', config: {}, destinations: [], dataplanes: {} },
      },
    },
    page: ['page'],
  },
  mixpanel: {
    snippet: fileOf('mixpanel-browser/dist/mixpanel-jslib-snippet.min.js'),
    init: "mixpanel.init('vendor', { track_pageview: true })",
    scripts: { 'http://cdn.mxpnl.com/libs/mixpanel-2-latest.min.js': 'mixpanel-browser/dist/mixpanel.min.js' },
    events: 'https://api-js.mixpanel.com/track/',
    taken: '1',
    page: ['$mp_web_page_view'],
    ownCall: "mixpanel.ipid.track('Signed up')",
  },
  amplitude: {
    snippet: fileOf('@amplitude/analytics-browser/lib/scripts/amplitude-snippet-min.js'),
    init: "amplitude.init('vendor')",
    scripts: {
      'https://cdn.amplitude.com/libs/analytics-browser-2.48.1-min.js.gz':
        '@amplitude/analytics-browser/lib/scripts/amplitude-min.js',
    },
    events: 'https://api2.amplitude.com/2/httpapi',
    taken: '{"code":200}',
    settings: { 'https://sr-client-cfg.amplitude.com/config': { configs: {} } },
    page: ['$identify', '[Amplitude] Page Viewed', 'session_start'],
    ownCall: "ipid.track('Signed up')",
  },
  snowplow: {
    snippet: `window.snowplow = (...call) => snowplow.q.push(call)
      snowplow.q = []
      ${load("'https://acme.example/sp.js'")}`,
    init: "snowplow('newTracker', 'sp', 'https://collector.acme.example', { appId: 'my-app' })",
    rest: "snowplow('trackPageView')",
    scripts: { 'https://acme.example/sp.js': snowplowTag },
    events: 'https://collector.acme.example/com.snowplowanalytics.snowplow/tp2',
    page: ['page'],
    ownCall: "snowplow('trackStructEvent:ipid', { category: 'a', action: 'Signed up' })",
  },
}

const VENDORS: Readonly<Record<string, Vendor>> = {
  ...KINDS,
  // `load` had no options and noted no key.
  "segment's first snippet": {
    ...{ ...KINDS.segment!, kind: 'segment', ownCall: undefined },
    snippet: `${queue('analytics', 'page track identify group')}
      analytics.load = (key) => {
        ${load("'https://cdn.segment.com/analytics.js/v1/' + key + '/analytics.min.js'")}
      }`,
  },
}

function fileOf(path: string): string {
  return typeof skip === 'string' ? '' : readFileSync(join(SDKS, 'node_modules', path), 'utf8')
}

/** Snowplow's sp.js is on no registry. This is its tracker, with the calls of its tag. */
function snowplowTag(): Promise<string> {
  return bundled(`import * as tracker from '@snowplow/browser-tracker'
    const call = ([name, ...values]) => {
      const [method, trackers] = name.split(':')
      tracker[method](...values, ...(trackers ? [trackers.split(';')] : []))
    }
    const { q } = window.snowplow
    window.snowplow = (...values) => call(values)
    q.forEach(call)`)
}

async function bundled(contents: string): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: SDKS },
    ...{ bundle: true, write: false, format: 'iife', logLevel: 'error' },
  })
  return outputFiles[0]!.text
}

test('HTML with the snippets of vendors: what is printed sends to ipid, in place and beside', { skip }, async (t) => {
  const names = Object.keys(VENDORS)
  const dir = companiesDir(names.length)
  t.after(() => rmSync(dir, { recursive: true, force: true }))
  let html = ''
  const site = createServer((_, response) => response.setHeader('content-type', 'text/html').end(html))
  site.listen(0, '127.0.0.1')
  await once(site, 'listening')
  t.after(() => {
    site.close()
    site.closeAllConnections()
  })
  const origin = `http://localhost:${(site.address() as AddressInfo).port}`
  const instance = await startInstance(t, { ENRICH_DIR: dir, SINK_LINGER_MS: '100' })
  const proxy = await startReverseProxy(t, () => instance.ready.url)

  const visit = async (
    t: TestContext,
    name: string,
    scripts: readonly string[],
    key: string,
    types: readonly string[],
    ownCall?: string,
  ) => {
    const vendor = VENDORS[name]!
    const sent: string[] = []
    const texts = await textsOf(vendor)
    const answer = (url: URL, request: Request): Answer => {
      const text = texts[url.origin + url.pathname]
      if (text !== undefined) return { contentType: 'text/javascript', body: text }
      if (request.method() === 'OPTIONS') return { status: 204 }
      if (url.href.startsWith(vendor.events)) {
        sent.push(url.href)
        return { body: vendor.taken ?? '{}' }
      }
      const [, settings] = Object.entries(vendor.settings ?? {}).find(([start]) => url.href.startsWith(start)) ?? []
      return settings && { contentType: 'application/json', body: JSON.stringify(settings) }
    }
    const { page, wrong } = await openVisitor(t, [origin, proxy.url], answer)
    html = `<!doctype html><link rel="icon" href="data:,"><title>Pricing</title>${scripts
      .map((script) => (script.startsWith('<') ? script : `<script>${script}</script>`))
      .join('\n')}<h1>Pricing</h1>`
    const first = proxy.requests.length
    await page.goto(`${origin}/pricing`)
    const stored = () =>
      instance.query(`SELECT event_type FROM events WHERE source_id LIKE '%${key.slice(4, 11)}' ORDER BY event_type`)
    await until(stored, (found) => found === types.join('\n'))
    if (ownCall !== undefined) {
      await page.evaluate(ownCall)
      await until(stored, (found) => found === [...types, 'Signed up'].sort().join('\n'))
    }
    assert.deepEqual(wrong, [])
    assert.deepEqual(
      proxy.requests.slice(first).filter(({ status }) => status >= 400),
      [],
    )
    return sent
  }

  for (const [n, name] of names.entries()) {
    const { kind = name, snippet, init, rest = '', early, isAfter, page, ownCall } = VENDORS[name]!
    proxy.visitor = `17.${n}.0.1`
    await t.test(`${name}, in place`, async (t) => {
      const { browser_key: key, blocks } = await createSource(instance, kind, 'demo', proxy.url)
      const { code } = blocks.find(({ title }) => title.startsWith('HTML'))!
      const line = isAfter ? `${init}\n${code}` : code
      const scripts = code.startsWith('<') ? [code, early ?? ''] : [`${snippet};\n${line}\n${rest}`]
      const types = early === undefined ? page : [...page, 'Early']
      assert.deepEqual(await visit(t, name, scripts, key!, types), [])
    })
    if (ownCall === undefined) continue
    await t.test(`${name}, beside`, async (t) => {
      const { browser_key: key, blocks } = await createSource(instance, kind, 'demo', proxy.url)
      const { code } = blocks.find(({ title }) => title.startsWith('JavaScript beside'))!
      const sent = await visit(t, name, [`${snippet};\n${init}\n${rest}`, code], key!, page, ownCall)
      assert.ok(sent.length > 0, 'the vendor gets its events')
    })
  }
})

async function textsOf({ scripts }: Vendor): Promise<Readonly<Record<string, string>>> {
  const found = Object.entries(scripts).map(async ([url, file]) => [
    url,
    typeof file === 'string' ? fileOf(file) : await file(),
  ])
  return Object.fromEntries(await Promise.all(found))
}
