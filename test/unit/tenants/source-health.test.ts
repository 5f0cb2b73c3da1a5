import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ingest } from '../../../pipelines/ingest.ts'
import type { SourceFacts } from '../../../schemas/api-key.ts'
import {
  healthOf,
  type JudgedSource,
  NO_COUNTS,
  NO_EVENTS,
  type SourceCounts,
  type SourceEvents,
} from '../../../src/tenants/sources/health.ts'
import { sourceReport } from '../../../src/tenants/sources/report.ts'
import { addressLineOf } from '../../../src/tenants/sources/setup.ts'

const HOUR_MS = 3_600_000
const NOW_MS = Date.UTC(2026, 10, 26, 12)
const LINE = 'analytics.page({ userId, context: { ip: request.ip } })'

const judge = (counts: Partial<SourceCounts>, source: Partial<JudgedSource> = {}) =>
  healthOf(
    { group: 'libraries', address: 'auto', isRevoked: false, lastUsedMs: NOW_MS, addressLine: LINE, ...source },
    { ...NO_COUNTS, ...counts },
    NOW_MS,
  )
const recent = (events: Partial<SourceEvents>) => ({ ...NO_EVENTS, ...events })
/** The only finding. */
const finding = (counts: Partial<SourceCounts>, source?: Partial<JudgedSource>) => {
  const { state, findings } = judge(counts, source)
  assert.deepEqual([state, findings.length], ['attention', 1], JSON.stringify(findings))
  return findings[0]!
}

test('a source waits for its first event, is good, or is revoked', () => {
  assert.deepEqual(judge({}, { lastUsedMs: undefined }), { state: 'waiting', findings: [] })
  assert.deepEqual(judge({}), { state: 'good', findings: [] })
  assert.equal(judge({ recent: recent({ stored: 1_000, repeats: 100 }), delayMs: 60_000 }).state, 'good')
  assert.equal(judge({ recent: recent({ stored: 5 }) }, { lastUsedMs: undefined }).state, 'good')
  assert.deepEqual(judge({ recent: recent({ noIp: 9 }) }, { isRevoked: true }), { state: 'revoked', findings: [] })
})

test('silence is measured by the longest pause of the source itself, and by requests too', () => {
  const lastEventMs = NOW_MS - 9 * HOUR_MS
  const idle = { lastUsedMs: lastEventMs }
  const found = finding({ lastEventMs, longestPauseMs: 2 * HOUR_MS }, idle)
  assert.equal(found.kind, 'silent')
  assert.equal(found.text, 'Nothing has arrived for 9 hours; its longest pause in two weeks was 2 hours.')
  assert.match(found.mend, /^Check that your program runs/)
  assert.match(finding({ lastEventMs, longestPauseMs: HOUR_MS }, { ...idle, group: 'website' }).mend, /script tag/)
  assert.equal(judge({ lastEventMs, longestPauseMs: 5 * HOUR_MS }, idle).state, 'good')
  assert.equal(judge({ lastEventMs, longestPauseMs: undefined }, idle).state, 'good', 'too new to say')
  assert.equal(judge({ lastEventMs, longestPauseMs: HOUR_MS }).state, 'good', 'requests bring noise')
  const hour = NOW_MS - HOUR_MS
  assert.equal(judge({ lastEventMs: hour, longestPauseMs: 60_000 }, { lastUsedMs: hour }).state, 'good')
})

test('events without an address name the line of code that sets it', () => {
  const found = finding({ recent: recent({ stored: 1, noIp: 4 }) })
  assert.deepEqual([found.kind, found.code], ['no_address', LINE])
  assert.equal(found.text, '4 of 5 events since yesterday had no address of a visitor, so no company can be found.')
  assert.match(finding({ recent: recent({ noIp: 3 }) }).text, /^All 3 events since yesterday had no address/)
  assert.match(finding({ recent: recent({ noIp: 3 }) }, { address: 'connection' }).mend, /Set its addresses to auto/)
  assert.equal(finding({ recent: recent({ noIp: 3 }) }, { group: 'website' }).code, undefined)
  assert.equal(judge({ recent: recent({ stored: 5, noIp: 5 }) }).state, 'good', 'half of them is not most')
})

test('texts that are no addresses are named', () => {
  const found = finding({ recent: recent({ stored: 1, invalidIp: 9 }) })
  assert.equal(found.kind, 'invalid_address')
  assert.match(found.mend, /one IPv4 or IPv6 address/)
})

test('one address only, or only one kind of infrastructure, is a proxy or a server of their own', () => {
  const one = { recent: recent({ stored: 1_234 }), onlyIp: '203.0.113.9' }
  const found = finding(one)
  assert.equal(found.text, 'All 1,234 events stored since yesterday have one address, 203.0.113.9.')
  assert.deepEqual([found.kind, found.code], ['one_address', LINE])
  assert.match(finding(one, { group: 'website' }).mend, /TRUSTED_PROXIES/)
  assert.match(finding(one, { group: 'shippers' }).mend, /X-Forwarded-For/)
  assert.equal(judge({ ...one, recent: recent({ stored: 19 }) }).state, 'good', 'too few to say')

  const filteredClasses = { reserved: 90, isp: 5 }
  const proxied = finding({ recent: recent({ filtered: 95, stored: 5 }), filteredClasses }, { group: 'website' })
  assert.equal(proxied.kind, 'proxy')
  assert.equal(
    proxied.text,
    '90 of 100 events since yesterday came from addresses of a private network, and were filtered as noise.',
  )
  assert.equal(judge({ recent: recent({ filtered: 95, stored: 5 }), filteredClasses: { isp: 95 } }).state, 'good')
})

test('a wrong clock is found for kinds that send at once, in both directions', () => {
  const slow = { recent: recent({ stored: 50 }), delayMs: 2.2 * HOUR_MS }
  assert.equal(finding(slow).text, 'Half of its events or more have a time that is 2 hours before their arrival.')
  assert.match(finding({ ...slow, delayMs: -6 * 60_000 }).text, /6 minutes after their arrival/)
  assert.equal(judge(slow, { group: 'shippers' }).state, 'good')
})

test('any rejected event is shown with its most frequent reason', () => {
  const reasons = [
    { reason: 'timestamp must be RFC 3339', events: 3 },
    { reason: 'ip must be string', events: 1 },
  ]
  const found = finding({ recent: recent({ stored: 96, rejected: 4 }), rejectedReasons: reasons })
  assert.equal(found.text, '4 of 100 events since yesterday were rejected, 3 because timestamp must be RFC 3339.')
})

test('many repeats are retries, and several findings come in a fixed order', () => {
  assert.equal(finding({ recent: recent({ stored: 70, repeats: 30 }) }).kind, 'retries')
  const { findings } = judge({ recent: recent({ stored: 70, repeats: 300, noIp: 900, rejected: 1 }) })
  assert.deepEqual(
    findings.map(({ kind }) => kind),
    ['no_address', 'rejected', 'retries'],
  )
})

test('repeats by design are no retries: log entries of one request, and updates that a page sends again', () => {
  const counts = new Map([
    ['src_1', { ...NO_COUNTS, recent: recent({ stored: 70, repeats: 300 }), lastEventMs: NOW_MS }],
  ])
  const findingsOf = (facts: Partial<SourceFacts>) => {
    const source = { kind: 'http', address: 'payload' as const, ...facts }
    const { tool } = ingest.sources.find(({ from }) => from.name === source.kind)!.from
    const createdAt = new Date(NOW_MS).toISOString()
    const stored = { prefix: 'src_1', tenantId: 'acme', createdAt, lastUsed: createdAt, revokedAt: undefined, source }
    return sourceReport(stored, tool, counts, NOW_MS).findings.map(({ kind }) => kind)
  }
  assert.deepEqual(findingsOf({ preset: 'vercel' }), [])
  assert.deepEqual(findingsOf({ preset: 'vercel', map: { ip: 'proxy.ip' } }), [])
  assert.deepEqual(findingsOf({ preset: 'vercel', map: { event_id: 'id' } }), ['retries'])
  assert.deepEqual(findingsOf({ preset: 'cloudflare' }), ['retries'])
  assert.deepEqual(findingsOf({}), ['retries'])
  assert.deepEqual(findingsOf({ kind: 'mixpanel' }), [])
  assert.deepEqual(findingsOf({ kind: 'segment' }), ['retries'])
})

test('the setup text of each library has the line that sets the address', () => {
  const tools = ingest.sources.flatMap(({ from }) => (from.tool === undefined ? [] : [from.tool]))
  for (const tool of tools) {
    const { title, group = 'libraries' } = tool
    if (group === 'libraries') assert.match(addressLineOf(tool) ?? '', /\bip\b|Ip|cip/, title)
  }
})
