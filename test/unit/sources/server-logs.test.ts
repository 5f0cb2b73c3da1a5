import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Checkpoint, headOf } from '../../../src/pipeline/sources/sync/checkpoint.ts'
import { LogFile } from '../../../src/pipeline/sources/sync/log-file.ts'
import { LogSync } from '../../../src/pipeline/sources/sync/log-sync.ts'

/*
 * Lines that servers of Debian 12 wrote: Apache 2.4, Caddy 2.6, HAProxy 2.6, lighttpd 1.4, nginx 1.22 and Varnish 7.1. Each of them got
 * the same 33 requests, from 127.0.0.1: pages with odd URLs, headers and clients, and requests that are no pages, or no HTTP.
 */

const FOLDER = fileURLToPath(new URL('server-logs/', import.meta.url))
const LONG = `/long/${'a'.repeat(1_200)}`

/** The pages, in their order, with the address that `X-Forwarded-For` names. */
const PAGES: readonly (readonly [path: string, forwarded?: string])[] = [
  ...[['/plain'], ['/quote"x'], ['/back\\slash'], ['/café/日本'], ['/pct%20sp%22q%C3%A9?a=%2F&b=1'], ['/sp ace']],
  ...[[LONG], ['//double//slash'], ['http://www.example.com/absolute?x=1'], ['/empty-ua'], ['/no-ua']],
  ...[['/quoted-ua'], ['/utf-ua'], ['/xff', '17.0.0.1'], ['/xff6', '2001:db8::1'], ['/xff-forged', '17.0.0.1']],
  ...[
    ['/xff-one', '17.0.0.1'],
    ['/ref'],
    ['/style.css'],
    ['/brackets[x]{y}|z'],
    ['/hash%23x'],
    ['/auth'],
    ['/auth-empty'],
  ],
  ...[['/old10'], ['/pipe|x'], ['/a']],
] as [string, string?][]

interface Server {
  readonly format: string
  /** Before paths. */
  readonly origin?: string
  /** Paths of the list above that are no pages there: refused, not recognised as a page, or without a user agent. */
  readonly without: readonly string[]
  readonly forwarded?: boolean
  /** Paths as the server writes them. */
  readonly written?: Readonly<Record<string, string>>
  readonly rejected?: number
}

const NO_AGENT = ['/empty-ua', '/no-ua']
const SPACE = '/sp ace'
const ASSET = '/style.css'
/** Apache and HAProxy refuse what is no URI. */
const FRAGMENTS = ['/hash%23x', '/a']
const SITE = 'http://www.example.com'
const absolute = { 'http://www.example.com/absolute?x=1': '/absolute?x=1' }

const nginx = { without: [SPACE, ASSET, ...NO_AGENT] }
const apache = { without: [SPACE, ASSET, ...NO_AGENT, ...FRAGMENTS] }
const haproxy = { without: [SPACE, ASSET, '/café/日本', ...FRAGMENTS] }

const SERVERS: Readonly<Record<string, Server>> = {
  'apache-combined': { format: 'combined', ...apache },
  'apache-common': { format: 'common', without: [SPACE, ASSET, ...FRAGMENTS] },
  // A visitor that sends quotes in X-Forwarded-For is not counted if the format does not quote it.
  'apache-proxied': { format: 'combined', without: [...apache.without, '/xff-forged'], forwarded: true, rejected: 1 },
  'apache-vhost': { format: 'combined', ...apache, origin: SITE },
  caddy: { format: 'caddy', without: [SPACE, ...NO_AGENT], forwarded: true, origin: SITE, written: absolute },
  'haproxy-clf': { format: 'syslog+haproxy', ...haproxy, without: [...haproxy.without, LONG], forwarded: true },
  'haproxy-raw': { format: 'haproxy', ...haproxy },
  'haproxy-rfc5424': { format: 'syslog+haproxy', ...haproxy, forwarded: true, origin: SITE },
  'haproxy-rsyslog': { format: 'syslog+haproxy', ...haproxy, forwarded: true, origin: SITE },
  'haproxy-tls': { format: 'syslog+haproxy', ...haproxy, origin: 'https://www.example.com' },
  lighttpd: { format: 'combined', without: [ASSET, ...NO_AGENT], origin: 'https://www.example.com', written: absolute },
  'nginx-combined': { format: 'combined', ...nginx },
  'nginx-json': { format: 'json-access', ...nginx, forwarded: true, origin: SITE },
  'nginx-json2': { format: 'json-access', ...nginx, forwarded: true, written: absolute },
  'nginx-main': { format: 'combined', ...nginx, forwarded: true },
  'nginx-rsyslog': { format: 'syslog+combined', ...nginx },
  varnish: { format: 'combined', without: [SPACE, ASSET, ...NO_AGENT], origin: SITE },
}

/** What `ipid sync` sends of a log. */
async function synced(path: string, site?: string) {
  const sent: { readonly ip?: string; readonly url?: string }[] = []
  const checkpoint = new Checkpoint([], { replace() {}, append() {} })
  const sync = new LogSync({
    ...{ format: undefined, mapping: undefined, all: false, site, checkpoint, stop: new AbortController().signal },
    async send(lines) {
      sent.push(...lines.map((line) => JSON.parse(line)))
      return { rejected: 0, filtered: {}, invalidIp: 0, noIp: 0, jobId: undefined }
    },
    judged: async () => undefined,
  })
  const log = await LogFile.open(path)
  try {
    const head = (await headOf(log, true))!
    const record = await checkpoint.recordOf(log, head, () => sync.formatFor(path, head).name, 0)
    await sync.read(log, record, true)
    await sync.settle()
    return { sent, format: record.format, tally: sync.tally }
  } finally {
    await log.close()
  }
}

/** HAProxy and Varnish cut long lines. */
function withoutEnd(url: string): string {
  return url.includes('/long/aaaa') ? '/long/…' : url
}

for (const [name, server] of Object.entries(SERVERS)) {
  test(`${name}: every page that the server delivered is sent once, with its address, and nothing else`, async () => {
    const { sent, format, tally } = await synced(`${FOLDER}${name}.txt`)
    assert.equal(format, server.format)
    const { without, origin = '', forwarded = false, written = {} } = server
    const expected = PAGES.filter(([path]) => !without.includes(path)).map(([path, address]) => {
      const own = written[path] ?? path
      return `${(forwarded && address) || '127.0.0.1'} ${withoutEnd(`${own.startsWith('/') ? origin : ''}${own}`)}`
    })
    assert.deepEqual(
      sent.map(({ ip, url }) => `${ip} ${withoutEnd(url!)}`),
      expected,
    )
    assert.equal(tally.rejected, server.rejected ?? 0)
  })
}

test('--site completes the paths of a log, and leaves absolute URLs', async () => {
  const { sent } = await synced(`${FOLDER}nginx-combined.txt`, 'https://shop.example')
  const urls = sent.map(({ url }) => url)
  assert.deepEqual(urls.slice(0, 2), ['https://shop.example/plain', 'https://shop.example/quote"x'])
  assert.ok(urls.includes('https://shop.example//double//slash'))
  assert.ok(urls.includes('http://www.example.com/absolute?x=1'))
})
