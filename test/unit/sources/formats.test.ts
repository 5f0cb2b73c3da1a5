import assert from 'node:assert/strict'
import { test } from 'node:test'
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
  const tail = '[26/Nov/2026:12:00:00 +0000] "GET / HTTP/2.0" 200 5 "-" "-"'
  const [forwarded, spoofed, vhost] = readAs('combined', [
    `10.0.0.2 - - ${tail} "198.51.100.1, 203.0.113.7, 10.0.0.9"`,
    `203.0.113.9 - - ${tail} "198.51.100.1"`,
    `www.example.com:443 203.0.113.8 - bob ${tail}`,
  ]).map((result) => ('event' in result ? result.event : undefined))
  assert.equal(forwarded?.ip, '203.0.113.7')
  assert.equal(spoofed?.ip, '203.0.113.9')
  assert.deepEqual([vhost?.ip, vhost?.page], ['203.0.113.8', { url: 'https://www.example.com/' }])
})

test('combined: only page views, unless all is asked for', () => {
  const line = (request: string, status: number) =>
    `203.0.113.7 - - [26/Nov/2026:12:00:00 +0000] "${request}" ${status} - "-" "-"`
  const lines = [
    ...[line('GET /a HTTP/1.1', 200), line('GET /a.html?x=/b.css HTTP/1.1', 304), line('GET /v1.2/ HTTP/1.1', 206)],
    ...[line('HEAD /a HTTP/1.1', 200), line('POST /a HTTP/1.1', 200), line('GET /a HTTP/1.1', 404)],
    ...[line('GET /A.CSS?v=1 HTTP/1.1', 200), line('\\x16\\x03', 400)],
  ]
  const kinds = readAs('combined', lines).map((result) => Object.keys(result)[0])
  assert.deepEqual(kinds, ['event', 'event', 'event', 'skipped', 'skipped', 'skipped', 'skipped', 'skipped'])
  assert.ok(readAs('combined', lines, true).every((result) => 'event' in result))
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
