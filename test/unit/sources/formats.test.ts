import assert from 'node:assert/strict'
import { test } from 'node:test'
import { trustedProxies } from '../../../src/http/engine/trusted-proxies.ts'
import { formatNamed, formatOfLines } from '../../../src/pipeline/sources/formats/formats.ts'
import type { LineResult } from '../../../src/pipeline/sources/formats/line-format.ts'

const NOW_MS = Date.UTC(2026, 10, 26, 12)

/** Reads lines with the format that recognises them, or the named one. */
function readAs(name: string, lines: readonly string[], all = false): LineResult[] {
  const found = formatOfLines(lines)
  assert.equal(found?.name, name)
  const reader = formatNamed(name)!.reader({ all, nowMs: NOW_MS })
  return lines.map((line) => reader.read(line))
}

const AGENT = 'Mozilla/5.0 (X11; Linux x86_64) \\"Q\\"'

test('combined: address, time with its zone, page, referrer, user agent and campaign', () => {
  const [page] = readAs('combined', [
    `203.0.113.7 - - [26/Nov/2026:12:00:00 +0100] "GET /pricing?utm_source=news#top HTTP/1.1" 200 512 "https://example.org/" "${AGENT}"`,
  ])
  assert.deepEqual(page, {
    event: {
      event_id: undefined,
      timestamp: '2026-11-26T12:00:00+01:00',
      event_type: 'page',
      platform: 'web',
      properties: { method: 'GET', status: 200, bytes: 512, user_agent: 'Mozilla/5.0 (X11; Linux x86_64) "Q"' },
      page: { url: '/pricing?utm_source=news', referrer: 'https://example.org/', utm_source: 'news' },
      ip: '203.0.113.7',
    },
  })
})

test('combined: a proxy in a private network names the visitor, and Apache names the virtual host', () => {
  const tail = '[26/Nov/2026:12:00:00 +0000] "GET / HTTP/2.0" 200 5 "-" "UA"'
  const [forwarded, spoofed, vhost] = readAs('combined', [
    `10.0.0.2 - - ${tail} "198.51.100.1, 203.0.113.7, 10.0.0.9"`,
    `203.0.113.9 - - ${tail} "198.51.100.1"`,
    `www.example.com:443 203.0.113.8 - bob ${tail}`,
  ]).map((result) => ('event' in result ? result.event : undefined))
  assert.equal(forwarded?.ip, '203.0.113.7')
  assert.equal(spoofed?.ip, '203.0.113.9')
  assert.deepEqual([vhost?.ip, vhost?.page], ['203.0.113.8', { url: 'https://www.example.com/' }])
})

/** The addresses of lines. @param trusted as in `TRUSTED_PROXIES` */
function addressesIn(name: string, lines: readonly string[], trusted = '127.0.0.1'): unknown[] {
  const reader = formatNamed(name)!.reader({ all: false, nowMs: NOW_MS, trusted: trustedProxies(trusted.split(',')) })
  return lines
    .map((line) => reader.read(line))
    .filter((result) => !('skipped' in result))
    .map((result) => ('event' in result ? result.event.ip : result))
}

test('combined: X-Forwarded-For is anywhere after the user agent, or first', () => {
  const request = '[28/Nov/2026:10:01:02 +0000] "GET /p HTTP/1.1" 200 10 "-" "UA"'
  const cases: [line: string, right: string | undefined][] = [
    [`10.0.0.5 - - ${request} "17.0.0.1:52614"`, '17.0.0.1'],
    [`10.0.0.5 - - ${request} "17.0.0.1:52614, 10.1.2.3:443"`, '17.0.0.1'],
    [`10.0.0.5 - - ${request} "17.253.144.10" "www.example.com"`, '17.253.144.10'],
    [`10.0.0.5 - - ${request} "www.example.com" "17.253.144.10"`, '17.253.144.10'],
    [`10.0.0.5 - - ${request} "[2001:db8::1]:443, 10.0.0.9"`, '2001:db8::1'],
    [`10.0.0.5 - - ${request} 17.0.0.1, 10.0.0.9`, '17.0.0.1'],
    [`10.0.0.5 - - ${request} 17.0.0.1`, '17.0.0.1'],
    [`10.0.0.5 - - ${request} rt=0.005 uct="0.001" ua="35.9.9.9:443" xff="17.0.0.1"`, '17.0.0.1'],
    [`10.0.0.5 - - ${request} 0.005 35.9.9.9:8080 "17.0.0.1"`, '17.0.0.1'],
    [`10.0.0.5 - - ${request} "10.0.0.9" "17.0.0.1"`, '17.0.0.1'],
    [`10.0.0.5 - - ${request} host="35.9.9.9" http_x_forwarded_for=17.0.0.1`, '17.0.0.1'],
    [`10.0.0.5 - - ${request} "\\x22, 17.0.0.1"`, '17.0.0.1'],
    [`10.0.0.5 - - ${request} "-"`, '10.0.0.5'],
    [`10.0.0.5 - - ${request} "www.example.com" 0.005 "4.2"`, '10.0.0.5'],
    [`10.0.0.5 - - ${request} upstream="35.9.9.9"`, '10.0.0.5'],
    [`unix: - - ${request} "17.0.0.1"`, '17.0.0.1'],
    [`17.0.0.9 - - ${request} "17.9.9.9"`, '17.0.0.9'],
    [`17.0.0.9:50123 - - ${request}`, '17.0.0.9'],
    [`"17.253.144.10" 10.0.0.1 - - ${request}`, '17.253.144.10'],
    [`"17.253.144.10, 10.0.0.9" 10.0.0.1 - bob ${request}`, '17.253.144.10'],
    [`17.253.144.10, 10.0.0.9 10.0.0.1 - - ${request}`, '17.253.144.10'],
    [`17.253.144.10 10.0.0.1 - - ${request}`, '17.253.144.10'],
    [`"[2001:db8::1]:50123" 10.0.0.1 - - ${request}`, '2001:db8::1'],
    [`"-" 10.0.0.1 - - ${request} "17.0.0.1"`, '17.0.0.1'],
    [`- 17.0.0.1 - - ${request}`, '17.0.0.1'],
    [`10.0.0.5 - - ${request} "17.0.0.1" "17.9.9.9, 17.0.0.1"`, '17.0.0.1'],
    [`10.0.0.5 - - ${request} "${'x'.repeat(8_000)}, 17.0.0.1" "${'x'.repeat(8_000)}"`, '17.0.0.1'],
    // Visitors write Host, Cookie and the left end of X-Forwarded-For. None of these replaces what the proxy wrote.
    [`10.0.0.5 - - ${request} "17.9.9.9" "17.0.0.1"`, '10.0.0.5'],
    [`10.0.0.5 - - ${request} "17.0.0.1" "17.9.9.9"`, '10.0.0.5'],
    [`10.0.0.5 - - ${request} "17.9.9.9:50123" "17.9.9.9, 17.0.0.1"`, '10.0.0.5'],
    [`10.0.0.5 - - ${request} "a=b, 17.9.9.9" 17.0.0.1 "-"`, '10.0.0.5'],
    [`"17.0.0.1" 10.0.0.5 - - ${request} "17.9.9.9"`, '17.0.0.1'],
    [`unix: - - ${request} "17.9.9.9" "17.0.0.1"`, undefined],
    // Nor does what cuts that off.
    [`10.0.0.5 - - ${request} "17.9.9.9" "${'x'.repeat(66_000)}, 203.0.113.7"`, '10.0.0.5'],
    [`10.0.0.5 - - ${request} "17.9.9.9 open`, '10.0.0.5'],
    [`10.0.0.5 - - ${request} 17.9.9.9 "x, 17.0.0.1`, '10.0.0.5'],
    [`10.0.0.5 - - ${request} "17.9.9.9" "17.0.0.1\\`, '10.0.0.5'],
    // The second word may be the host that a visitor wrote.
    [`203.0.113.9 17.9.9.9 - ${request}`, '203.0.113.9'],
    [`203.0.113.9 17.9.9.9 bob ${request} "17.9.9.8"`, '203.0.113.9'],
    [`"17.9.9.9" 17.0.0.1 - - ${request}`, '17.0.0.1'],
    // An address with a server's port is a virtual host.
    [`35.9.9.9:80 10.0.0.1 - - ${request}`, '10.0.0.1'],
    [`"www.example.com" 17.0.0.1 - - ${request}`, '17.0.0.1'],
  ]
  for (const [line, right] of cases) assert.deepEqual(addressesIn('combined', [line]), [right], line)
  const [host] = readAs('combined', [`"www.example.com" 17.0.0.1 - "" ${request}`])
  assert.deepEqual('event' in host! && host.event.page, { url: 'https://www.example.com/p' })
})

test('combined: a peer that is a trusted proxy names the visitor, and no other one does', () => {
  const line = (peer: string, list: string) =>
    `${peer} - - [28/Nov/2026:10:01:02 +0000] "GET /p HTTP/1.1" 200 10 "-" "UA" "${list}"`
  const lines = [
    line('172.68.10.5', '17.253.144.10'),
    line('10.0.0.5', '17.253.144.10, 172.68.10.5'),
    line('35.191.0.9', '17.253.144.10, 34.8.8.8'),
    line('17.0.0.9', '17.253.144.10'),
  ]
  const visitor = '17.253.144.10'
  assert.deepEqual(addressesIn('combined', lines, 'cloudflare,google'), [visitor, visitor, visitor, '17.0.0.9'])
  assert.deepEqual(addressesIn('combined', lines), ['172.68.10.5', '172.68.10.5', '35.191.0.9', '17.0.0.9'])
})

test('other logs name the visitor behind a proxy in the same grammar', () => {
  const w3c = (fields: string, values: string) => [
    `#Fields: date time cs-method cs-uri-stem sc-status ${fields}`,
    values,
  ]
  const get = '2026-11-28 10:01:02 GET /p 200'
  const caddy = (request: object) => [
    JSON.stringify({ ts: 1_795_680_000, status: 200, request: { method: 'GET', uri: '/p', host: 'a.b', ...request } }),
  ]
  const agent = { 'User-Agent': ['UA'] }
  const traefik = (record: object) => [
    JSON.stringify({ StartUTC: '2026-11-28T10:01:02Z', RequestMethod: 'GET', DownstreamStatus: 200, ...record }),
  ]
  const alb = (client: string) => [
    `https 2026-11-28T10:01:02.000000Z app/x/1 ${client} 10.0.0.1:80 0 0 0 200 200 1 2 "GET https://a.b:443/p HTTP/1.1" "UA" - -`,
  ]
  const cases: [name: string, lines: readonly string[], right: string][] = [
    ['w3c', w3c('c-ip X-Forwarded-For', `${get} 10.0.0.5 17.0.0.1:52614,+10.1.2.3:443`), '17.0.0.1'],
    ['w3c', w3c('c-ip cs(X-Forwarded-For)', `${get} 10.0.0.5 "[2001:db8::1]:443"`), '2001:db8::1'],
    ['w3c', w3c('c-ip X-Forwarded-For', `${get} 17.0.0.9 17.9.9.9`), '17.0.0.9'],
    ['w3c', w3c('c-ip X-Forwarded-For', `${get} 172.68.10.5 17.0.0.1`), '17.0.0.1'],
    ['cloudfront', w3c('c-ip x-forwarded-for', `${get} 172.68.10.5 17.9.9.9,%2520172.68.1.1`), '172.68.1.1'],
    ['cloudfront', w3c('c-ip x-forwarded-for', `${get} 17.0.0.9 17.9.9.9`), '17.0.0.9'],
    ['caddy', caddy({ remote_addr: '[2001:db8::1]:443' }), '2001:db8::1'],
    [
      'caddy',
      caddy({ remote_ip: '10.0.0.5', headers: { ...agent, 'X-Forwarded-For': ['17.9.9.9', '17.0.0.1, 10.0.0.6'] } }),
      '17.0.0.1',
    ],
    ['caddy', caddy({ client_ip: '17.0.0.9', headers: { ...agent, 'X-Forwarded-For': ['17.9.9.9'] } }), '17.0.0.9'],
    ['traefik', traefik({ ClientHost: '17.0.0.1, 10.0.0.9' }), '17.0.0.1'],
    ['traefik', traefik({ ClientHost: '10.0.0.9', 'request_X-Forwarded-For': '17.0.0.1:50123' }), '17.0.0.1'],
    ['alb', alb('17.0.0.1:46532'), '17.0.0.1'],
    ['alb', alb('2001:db8::1:443'), '2001:db8::1'],
    ['alb', alb('[2001:db8::1]:443'), '2001:db8::1'],
    ['json', ['{"ip":"17.0.0.1:52614, 172.68.10.5"}'], '17.0.0.1'],
  ]
  for (const [name, lines, right] of cases) {
    assert.deepEqual(addressesIn(name, lines, 'cloudflare'), [right], `${name} ${lines.at(-1)}`)
  }
})

test('combined: only page views, unless all is asked for', () => {
  const line = (request: string, status: number) =>
    `203.0.113.7 - - [26/Nov/2026:12:00:00 +0000] "${request}" ${status} - "-" "UA"`
  const lines = [
    ...[line('GET /a HTTP/1.1', 200), line('GET /a.html?x=/b.css HTTP/1.1', 304), line('GET /v1.2/ HTTP/1.1', 206)],
    ...[line('HEAD /a HTTP/1.1', 200), line('POST /a HTTP/1.1', 200), line('GET /a HTTP/1.1', 404)],
    ...[line('GET /A.CSS?v=1 HTTP/1.1', 200), line('\\x16\\x03', 400)],
  ]
  const kinds = readAs('combined', lines).map((result) => Object.keys(result)[0])
  assert.deepEqual(kinds, ['event', 'event', 'event', 'skipped', 'skipped', 'skipped', 'skipped', 'skipped'])
  assert.ok(readAs('combined', lines, true).every((result) => 'event' in result))
})

test('a request that names no user agent in a log that has them is no page view', () => {
  const clf = '203.0.113.7 - - [26/Nov/2026:12:00:00 +0000] "GET /a HTTP/1.1" 200 5'
  const w3c = (agent: string) => [
    '#Fields: date time c-ip cs-method cs-uri-stem sc-status cs(User-Agent)',
    `2026-11-26 12:00:00 203.0.113.7 GET /a 200 ${agent}`,
  ]
  const caddyLine = (headers?: object) =>
    JSON.stringify({
      ts: 1_795_680_000,
      status: 200,
      request: { method: 'GET', uri: '/a', remote_ip: '1.1.1.1', headers },
    })
  const cloudflare = (more: object) =>
    JSON.stringify({
      ...{ ClientIP: '1.1.1.1', EdgeStartTimestamp: '2026-11-26T12:00:00Z', ClientRequestMethod: 'GET' },
      ...{ EdgeResponseStatus: 200, ...more },
    })
  const traefik = (more: object) =>
    JSON.stringify({
      ...{ ClientHost: '1.1.1.1', StartUTC: '2026-11-26T12:00:00Z', RequestPath: '/a', RequestMethod: 'GET' },
      ...{ DownstreamStatus: 200, ...more },
    })
  const cases: [name: string, lines: readonly string[], isPage: boolean][] = [
    ['combined', [`${clf} "-" "-"`], false],
    ['combined', [`${clf} "-" ""`], false],
    ['combined', [`${clf} "-" "UA"`], true],
    ['common', [clf], true],
    ['w3c', w3c('-'), false],
    ['w3c', w3c('UA'), true],
    [
      'w3c',
      ['#Fields: date time c-ip cs-method cs-uri-stem sc-status', '2026-11-26 12:00:00 1.1.1.1 GET /a 200'],
      true,
    ],
    ['caddy', [caddyLine({ Accept: ['*/*'] })], false],
    ['caddy', [caddyLine({ 'User-Agent': [''] })], false],
    ['caddy', [caddyLine({ 'User-Agent': ['UA'] })], true],
    ['caddy', [caddyLine()], true],
    ['cloudflare', [cloudflare({ ClientRequestUserAgent: '' })], false],
    ['cloudflare', [cloudflare({})], true],
    ['traefik', [traefik({ 'request_User-Agent': '-' })], false],
    ['traefik', [traefik({})], true],
  ]
  for (const [name, lines, isPage] of cases) {
    const result = readAs(name, lines).at(-1)!
    if (isPage) assert.ok('event' in result, lines.at(-1))
    else assert.deepEqual(result, { skipped: 'no user agent' }, lines.at(-1))
    const [request] = readAs(name, lines, true).slice(-1)
    assert.equal('event' in request! && request.event.event_type, isPage ? 'page' : 'request', lines.at(-1))
  }
})

test('common: a line without referrer, and lines that are none', () => {
  const lines = [
    '203.0.113.7 - - [26/Nov/2026:12:00:00 +0000] "GET / HTTP/1.0" 200 5',
    'turned over',
    '203.0.113.7 - - [31/Feb/2026:12:00:00 +0000] "GET / HTTP/1.0" 200 5',
  ]
  const [good, other, badTime] = readAs('common', lines)
  assert.ok('event' in good!)
  assert.deepEqual(other, { rejected: 'is not a line of the Common Log Format' })
  assert.deepEqual(badTime, { rejected: 'has an unreadable time' })
})

test('cloudflare: time in nanoseconds or RFC 3339, the Ray ID as id, the content type decides', () => {
  const record = {
    ...{ ClientIP: '203.0.113.7', RayID: '41ddf1740f67442d', EdgeStartTimestamp: Number('1795694400123456789') },
    ...{ ClientRequestHost: 'example.com', ClientRequestScheme: 'https', ClientRequestURI: '/a?utm_medium=mail' },
    ...{ ClientRequestMethod: 'GET', EdgeResponseStatus: 200, EdgeResponseBytes: 7, ClientASN: 64500 },
    ...{ EdgeResponseContentType: 'text/html; charset=utf-8' },
  }
  const [page, image] = readAs('cloudflare', [
    JSON.stringify(record),
    JSON.stringify({ ...record, EdgeStartTimestamp: '2026-11-26T12:00:00Z', EdgeResponseContentType: 'image/png' }),
  ])
  assert.ok('event' in page!)
  assert.equal(page.event.event_id, '41ddf1740f67442d')
  assert.equal(page.event.timestamp, '2026-11-26T12:00:00.123Z')
  assert.deepEqual(page.event.page, { url: 'https://example.com/a?utm_medium=mail', utm_medium: 'mail' })
  assert.deepEqual(page.event.properties, { method: 'GET', status: 200, bytes: 7, cloudflare: { ClientASN: 64500 } })
  assert.deepEqual(image, { skipped: 'no page view' })
})

/** The same numbers for the same seed (mulberry32). */
function randomOf(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) % below
  }
}

interface Request {
  readonly ip: string
  /** Seconds since the epoch. */
  readonly time: number
  readonly method: string
  readonly path: string
  readonly query: string
  readonly status: number
  readonly bytes: number
  readonly referrer: string
  readonly agent: string
  readonly isPage: boolean
}

/** A hundred requests: pages, assets, forms and errors, of visitors with IPv4 and IPv6. */
function requests(): Request[] {
  const random = randomOf(39)
  const pick = <T>(...list: readonly T[]): T => list[random(list.length)]!
  return Array.from({ length: 100 }, (_, i) => {
    const method = pick('GET', 'GET', 'GET', 'GET', 'HEAD', 'POST')
    const status = pick(200, 200, 200, 304, 301, 404, 500)
    const path = pick('/', '/pricing', '/docs/start.html', '/whitepaper.pdf', '/app.css', '/logo.png', '/robots.txt')
    return {
      ip: pick(`203.0.113.${random(256)}`, `2001:db8::${random(9_999)}`),
      time: 1_795_694_400 + i,
      method,
      path,
      query: pick('', '', 'q=a%20b', 'utm_source=news&utm_campaign=may'),
      status,
      bytes: random(90_000),
      referrer: pick('-', 'https://www.example.org/search?q=x'),
      agent: pick('curl/8.5.0', 'Mozilla/5.0 (X11; Linux x86_64; rv:133.0) Gecko/20100101 Firefox/133.0'),
      isPage: method === 'GET' && [200, 304].includes(status) && !/\.(css|png|txt)$/.test(path),
    }
  })
}

const MONTH = new Intl.DateTimeFormat('en-US', { month: 'short', timeZone: 'UTC' })

function clfTime(seconds: number): string {
  const [date, time] = iso(seconds).slice(0, 19).split('T') as [string, string]
  const [year, , day] = date.split('-')
  return `${day}/${MONTH.format(seconds * 1_000)}/${year}:${time} +0000`
}

function iso(seconds: number): string {
  return new Date(seconds * 1_000).toISOString()
}

function target({ path, query }: Request): string {
  return query === '' ? path : `${path}?${query}`
}

/** How each server writes requests, by its documentation. `origin`: the part of the URL before the path that the log has. */
const SERVERS: Readonly<Record<string, { origin: string; header: readonly string[]; line(request: Request): string }>> =
  {
    combined: {
      origin: '',
      header: [],
      line: (r) =>
        `${r.ip} - - [${clfTime(r.time)}] "${r.method} ${target(r)} HTTP/1.1" ${r.status} ${r.bytes} "${r.referrer}" "${r.agent}"`,
    },
    traefik: {
      origin: '',
      header: [],
      line: (r) =>
        `${r.ip} - - [${clfTime(r.time)}] "${r.method} ${target(r)} HTTP/2.0" ${r.status} ${r.bytes} "${r.referrer}" "${r.agent}" ${r.time % 1_000} "web@docker" "http://172.18.0.3:80" 12ms`,
    },
    caddy: {
      origin: 'https://example.com',
      header: [],
      line: (r) =>
        JSON.stringify({
          ...{ level: 'info', ts: r.time + 0.5, logger: 'http.log.access.log0', msg: 'handled request' },
          request: {
            ...{ remote_ip: r.ip, remote_port: '51544', client_ip: r.ip, proto: 'HTTP/2.0', method: r.method },
            ...{ host: 'example.com', uri: target(r), tls: { resumed: false, version: 772 } },
            headers: { 'User-Agent': [r.agent], ...(r.referrer !== '-' && { Referer: [r.referrer] }) },
          },
          ...{ bytes_read: 0, user_id: '', duration: 0.0009, size: r.bytes, status: r.status, resp_headers: {} },
        }),
    },
    cloudfront: {
      origin: 'https://example.com',
      header: [
        '#Version: 1.0',
        '#Fields: date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status cs(Referer) cs(User-Agent) cs-uri-query cs(Cookie) x-edge-result-type x-edge-request-id x-host-header cs-protocol cs-bytes time-taken',
      ],
      line: (r) =>
        [
          ...[iso(r.time).slice(0, 10), iso(r.time).slice(11, 19), 'FRA56-P4', r.bytes, r.ip, r.method],
          ...['d111111abcdef8.cloudfront.net', r.path, r.status, r.referrer, encodeURI(r.agent)],
          ...[r.query.replaceAll('%', '%25') || '-', '-', 'Hit', `id-${r.time}==`, 'example.com', 'https', 23, 0.001],
        ].join('\t'),
    },
    alb: {
      origin: 'https://example.com',
      header: [],
      line: (r) =>
        `h2 ${iso(r.time).replace('000Z', '186641Z')} app/my-loadbalancer/50dc6c495c0c9188 ${r.ip.includes(':') ? `[${r.ip}]` : r.ip}:2817 10.0.0.1:80 0.000 0.001 0.000 ${r.status} ${r.status} 34 ${r.bytes} "${r.method} https://example.com:443${target(r)} HTTP/2.0" "${r.agent}" ECDHE-RSA-AES128-GCM-SHA256 TLSv1.2 arn:aws:elasticloadbalancing:us-east-2:123456789012:targetgroup/my-targets/73e2d6bc24d8a067 "Root=1-58337281-1d84f3d73c47ec4e58577259" "example.com" "arn:aws:acm:us-east-2:123456789012:certificate/1" 1 ${iso(r.time)} "forward" "-" "-" "10.0.0.1:80" "${r.status}" "-" "-"`,
    },
    w3c: {
      origin: 'http://example.com',
      header: [
        '#Software: Microsoft Internet Information Services 10.0',
        '#Version: 1.0',
        '#Date: 2026-11-26 12:00:00',
        '#Fields: date time s-ip cs-method cs-uri-stem cs-uri-query s-port cs-username c-ip cs(User-Agent) cs(Referer) cs-host sc-status sc-substatus sc-win32-status sc-bytes time-taken',
      ],
      line: (r) =>
        `${iso(r.time).slice(0, 10)} ${iso(r.time).slice(11, 19)} 10.0.0.5 ${r.method} ${r.path} ${r.query || '-'} 80 - ${r.ip} ${r.agent.replaceAll(' ', '+')} ${r.referrer} example.com ${r.status} 0 0 ${r.bytes} 15`,
    },
  }

for (const [name, { origin, header, line }] of Object.entries(SERVERS)) {
  test(`${name}: of a hundred requests, the page views become events with all of their fields`, () => {
    const all = requests()
    const results = readAs(name, [...header, ...all.map(line)]).slice(header.length)
    const seconds = (timestamp: unknown) => Math.floor(Date.parse(String(timestamp)) / 1_000)
    const events = results.flatMap((result) => ('event' in result ? [result.event] : []))
    const found = events.map(({ ip, timestamp, page, properties }) => ({
      ...{ ip, time: seconds(timestamp), page },
      ...{ method: properties!.method, status: properties!.status, bytes: properties!.bytes },
      agent: properties!.user_agent,
    }))
    const expected = all
      .filter(({ isPage }) => isPage)
      .map((r) => {
        const hasReferrer = r.referrer !== '-' && name !== 'alb'
        const campaign = r.query.startsWith('utm') ? { utm_source: 'news', utm_campaign: 'may' } : {}
        const page = { url: origin + target(r), ...(hasReferrer && { referrer: r.referrer }), ...campaign }
        return {
          ...{ ip: r.ip, time: r.time, page, method: r.method, status: r.status, bytes: r.bytes },
          agent: r.agent,
        }
      })
    assert.ok(expected.length > 20)
    assert.deepEqual(found, expected)
    assert.ok(results.every((result) => !('rejected' in result)))
  })
}

test('w3c: another header in the middle of a file changes the columns, and a reader continues with it', () => {
  const format = formatNamed('w3c')!
  const first = format.reader({ all: false, nowMs: NOW_MS })
  assert.deepEqual(first.read('2026-11-26 12:00:00 GET / 203.0.113.7 200'), {
    rejected: 'comes before a line that starts with "#Fields:"',
  })
  first.read('#Fields: date time c-ip cs-method cs-uri-stem sc-status')
  first.read('#Fields: date time cs-method cs-uri-stem c-ip sc-status')
  const second = format.reader({ all: false, nowMs: NOW_MS })
  second.read(first.header!)
  for (const reader of [first, second]) {
    const result = reader.read('2026-11-26 12:00:00 GET /a 203.0.113.7 200')
    assert.equal('event' in result && result.event.ip, '203.0.113.7')
  }
})

test('exports of tools: address, id and the time that the tool has corrected', () => {
  const call = {
    ...{ type: 'page', messageId: 'm1', channel: 'web', originalTimestamp: '2026-11-26T09:00:00.000Z' },
    ...{
      sentAt: '2026-11-26T09:00:01.000Z',
      timestamp: '2026-11-26T11:59:59.000Z',
      properties: { url: 'https://a.b/' },
    },
  }
  const lines = {
    segment: { ...call, context: { ip: '203.0.113.7' } },
    rudderstack: { ...call, rudderId: 'r', request_ip: '203.0.113.7', context: {} },
    posthog: {
      ...{ uuid: 'm1', event: '$pageview', distinct_id: 'd', timestamp: '2026-11-26 11:59:59.000000+00:00' },
      ...{
        properties: JSON.stringify({ $ip: '203.0.113.7', $current_url: 'https://a.b/' }),
        created_at: 'x',
        team_id: 1,
      },
    },
    amplitude: {
      ...{ event_type: 'page', event_time: '2026-11-26 11:59:59.000000', uuid: 'u', $insert_id: 'm1', session_id: -1 },
      ...{ ip_address: '203.0.113.7', event_properties: { '[Amplitude] Page URL': 'https://a.b/' }, amplitude_id: 7 },
    },
  }
  for (const [name, line] of Object.entries(lines)) {
    const [result] = readAs(name, [JSON.stringify(line)])
    assert.ok('event' in result!, name)
    const { event_id: id, timestamp, ip, page } = result.event
    assert.deepEqual(
      [id, timestamp, ip, page?.url],
      ['m1', '2026-11-26T11:59:59.000Z', '203.0.113.7', 'https://a.b/'],
      name,
    )
  }
  const server = { ...lines.rudderstack, channel: 'server' }
  const [fromServer] = readAs('rudderstack', [JSON.stringify(server)])
  assert.equal('event' in fromServer! && fromServer.event.ip, undefined, 'the address of a server is none')
})

test('Snowplow: an enriched event has its derived time, page, campaign and contexts', () => {
  const columns = Array.from({ length: 131 }, () => '')
  const set = (values: Readonly<Record<number, string>>) => {
    for (const [at, value] of Object.entries(values)) columns[Number(at)] = value
  }
  set({ 1: 'web', 3: '2026-11-26 12:00:01.000', 5: 'page_view', 6: 'c6ef3124', 13: '203.0.113.7', 29: 'https://a.b/' })
  set({
    30: 'Title',
    31: 'https://example.org/',
    48: 'news',
    77: 'agent',
    124: '2026-11-26 12:00:00.000',
    126: 'page_view',
  })
  set({ 52: '{"schema":"iglu:x","data":[{"schema":"iglu:y","data":{"a":1}}]}' })
  const [result] = readAs('snowplow', [columns.join('\t')])
  assert.ok('event' in result!)
  const { event } = result
  assert.deepEqual(
    [event.event_id, event.timestamp, event.event_type],
    ['c6ef3124', '2026-11-26T12:00:00.000Z', 'page'],
  )
  assert.deepEqual(event.page, { url: 'https://a.b/', referrer: 'https://example.org/', utm_source: 'news' })
  assert.deepEqual(event.properties, {
    ...{ page_title: 'Title', mkt_source: 'news', user_agent: 'agent' },
    contexts: [{ schema: 'iglu:y', data: { a: 1 } }],
  })
})
