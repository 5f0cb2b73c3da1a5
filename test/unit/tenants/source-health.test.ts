import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ingest } from '../../../pipelines/ingest.ts'
import type { SourceFacts } from '../../../schemas/api-key.ts'
import type { FilteredCounts } from '../../../schemas/filtered.ts'
import { commonOf } from '../../../src/tenants/sources/counts.ts'
import {
  healthOf,
  type JudgedSource,
  NO_COUNTS,
  NO_EVENTS,
  type SourceCounts,
  type SourceEvents,
} from '../../../src/tenants/sources/health.ts'
import { healthLines, sourceReport } from '../../../src/tenants/sources/report.ts'
import { addressLineOf } from '../../../src/tenants/sources/setup.ts'

const HOUR_MS = 3_600_000
const NOW_MS = Date.UTC(2026, 10, 26, 12)
const LINE = 'analytics.page({ userId, context: { ip: request.ip } })'

const judge = (counts: Partial<SourceCounts>, source: Partial<JudgedSource> = {}) =>
  healthOf(
    {
      id: 'src_1',
      tenantId: 'acme',
      group: 'libraries',
      address: 'auto',
      isRevoked: false,
      lastUsedMs: NOW_MS,
      addressLine: LINE,
      ...source,
    },
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

const filtered = (filteredRecent: FilteredCounts, stored = 0) => ({
  recent: recent({ stored, filtered: Object.values(filteredRecent).reduce((sum, n) => sum + n, 0) }),
  filteredRecent,
})

test('ten events of infrastructure name the machine in between, and the setting', () => {
  const website = { group: 'website' } as const
  const cases: [classes: FilteredCounts, source: Partial<JudgedSource>, mend: RegExp, code?: string][] = [
    [{ reserved: 10 }, website, /your proxy or load balancer: name its network in TRUSTED_PROXIES/],
    [{ cdn: 10 }, website, /your CDN: name it in TRUSTED_PROXIES: cloudflare, fastly, google, or its networks/],
    [{ cloud: 10 }, { address: 'connection' }, /name its network in TRUSTED_PROXIES/],
    [{ hosting: 10 }, {}, /your own server: give each event the address of its visitor/, LINE],
    [
      { reserved: 10 },
      { group: 'shippers' },
      /log X-Forwarded-For\. nginx: .* which field/,
      './ipid source set src_1 --map ip=FIELD',
    ],
    [{ cdn: 10 }, { group: 'pulls' }, /X-Forwarded-For, and name it in .* \(ipid sync: --trusted-proxies\)\.$/],
    [{ vpn: 10 }, { group: 'pulls' }, /let the server log X-Forwarded-For\.$/],
  ]
  for (const [classes, source, mend, code] of cases) {
    const found = finding(filtered(classes), source)
    assert.deepEqual([found.kind, found.code], ['proxy', code], found.mend)
    assert.match(
      found.text,
      /^All 10 events since yesterday came from addresses of a .*, and were filtered as noise\.$/,
    )
    assert.match(found.mend, mend)
  }
  assert.match(finding(filtered({ reserved: 90, isp: 5 }, 5), website).text, /^90 of 100 events .* a private network,/)
  const mixed = finding(filtered({ reserved: 6, cloud: 5, no_page: 90 }, 1), { ...website, isOnThisMachine: true })
  assert.match(mixed.text, /^11 of 12 events .* of infrastructure, 6 of them of a private network, and were filtered/)
  assert.equal(judge(filtered({ reserved: 9 })).state, 'good', 'nine prove nothing')
  assert.equal(judge(filtered({ reserved: 79, isp: 11 }, 10)).state, 'good', 'a fifth comes from elsewhere')
  assert.equal(judge(filtered({ own: 50, bot: 20 }, 30)).state, 'good', 'what rules filter is no proxy')
})

test('a page on this machine says that its own visits are filtered, and not that there is a proxy', () => {
  const here = { group: 'website', isOnThisMachine: true } as const
  const found = finding(filtered({ reserved: 12 }), here)
  assert.equal(found.text, 'All 12 events since yesterday were filtered, because 127.0.0.1 is your own machine.')
  assert.match(found.mend, /^Open the page from another network, .*it must send X-Forwarded-For\.$/)
  assert.match(finding(filtered({ cdn: 12 }), here).text, /content delivery network/)
  assert.match(finding(filtered({ reserved: 12 }), { ...here, group: 'shippers' }).text, /a private network/)
})

test('ten filtered events and no other are a finding, with what to do about their reason', () => {
  const cases: [FilteredCounts, text: RegExp, mend: RegExp, code?: string][] = [
    [
      { isp: 20, bot: 5 },
      /^All 25 .*noise: 20 from access providers, 5 from bots\.$/,
      /at home/,
      './ipid rules add acme keep isp',
    ],
    [
      { no_page: 30 },
      /^All 30 .*noise: 30 that read no page\.$/,
      /^A page view is a GET .* 304/,
      './ipid source set src_1 --all',
    ],
    [{ no_page: 90, bot: 10 }, /^All 100 .*: 90 that read no page, 10 from bots\.$/, /the user agent of the visitor/],
    [{ bot: 10 }, /10 from bots/, /the user agent of the visitor/],
    [
      { own: 6, always_noise: 4 },
      /6 by your rule own, 4 by your rule always-noise/,
      /Rules of your own/,
      './ipid rules list acme',
    ],
    [{ other: 10 }, /10 for other reasons/, /for one address/, './ipid rules check acme ADDRESS'],
  ]
  for (const [classes, text, mend, code] of cases) {
    const found = finding(filtered(classes))
    assert.deepEqual([found.kind, found.code], ['filtered', code])
    assert.match(found.text, text)
    assert.match(found.mend, mend)
  }
  assert.equal(judge(filtered({ isp: 9 })).state, 'good')
  assert.equal(judge(filtered({ isp: 900 }, 1)).state, 'good')
})

test('ten stored events of one address or network are a proxy, if there are more visitors', () => {
  const one = { recent: recent({ stored: 1_234 }), onlyFrom: '203.0.113.9' }
  const found = finding(one)
  assert.equal(found.text, 'All 1,234 events stored since yesterday have one address, 203.0.113.9.')
  assert.deepEqual([found.kind, found.code], ['one_address', LINE])
  assert.match(
    found.mend,
    /^If you are the only visitor so far, all is well\. If not: that is most likely your own server/,
  )
  assert.match(finding(one, { group: 'website' }).mend, /TRUSTED_PROXIES/)
  assert.match(finding(one, { group: 'shippers' }).mend, /X-Forwarded-For/)
  const network = finding({ ...one, recent: recent({ stored: 10 }), onlyFrom: '203.0.113.0/24' })
  assert.deepEqual(
    [network.kind, network.text],
    ['one_network', 'All 10 events stored since yesterday have addresses of one network, 203.0.113.0/24.'],
  )
  assert.equal(finding({ ...one, onlyFrom: '203.0.113.0/24#0011223344556677' }).kind, 'one_address', 'a pseudonym')
  assert.equal(judge({ ...one, recent: recent({ stored: 9 }) }).state, 'good', 'too few to say')
})

test('the network of all addresses follows from the first and the last text', () => {
  const cases: [first: string, last: string, common: string | undefined][] = [
    ['203.0.113.10', '203.0.113.9', '203.0.113.0/24'],
    ['203.0.112.10', '203.0.113.9', undefined],
    ['203.0.11.10', '203.0.113.9', undefined],
    ['2001:db8:5::1', '2001:db8:5:7::9', '2001:db8:5::/48'],
    ['2001:db8::1', '2001:db8::9', '2001:db8::/48'],
    ['2001:db8:5::1', '2001:db8:6::1', undefined],
    ['2001::1', '2001::1:5', undefined],
    ['203.0.113.10', '2001:db8::9', undefined],
    ['203.0.113.0/24#0a', '203.0.113.0/24#0b', '203.0.113.0/24'],
    ['#0a', '#0b', undefined],
    ['#0a', '#0a', '#0a'],
  ]
  for (const [first, last, common] of cases) assert.equal(commonOf(first, last), common, `${first} ${last}`)
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

test('the list says how many events of today were filtered, and why; and when all were', () => {
  const report = (today: Partial<SourceEvents>, filteredToday: FilteredCounts, base = 'https://ipid.example.com') => {
    const { tool } = ingest.sources.find(({ from }) => from.name === 'web')!.from
    const createdAt = new Date(NOW_MS).toISOString()
    const source = { kind: 'web', address: 'auto' as const, base }
    const counts = {
      ...NO_COUNTS,
      today: recent(today),
      recent: recent(today),
      filteredToday,
      filteredRecent: filteredToday,
    }
    const stored = { prefix: 'pub_1', tenantId: 'acme', createdAt, lastUsed: createdAt, revokedAt: undefined, source }
    return sourceReport(stored, tool, new Map([['pub_1', counts]]), NOW_MS)
  }
  const some = report({ stored: 1, filtered: 7 }, { bot: 2, reserved: 5 })
  assert.deepEqual(some.filtered_reasons, [
    { reason: 'reserved', label: 'from private addresses', events: 5 },
    { reason: 'bot', label: 'from bots', events: 2 },
  ])
  assert.equal(some.filtered_all, null)
  assert.deepEqual(healthLines(some), ['pub_1: today filtered: 5 from private addresses, 2 from bots'])
  const all = report({ filtered: 3 }, { isp: 3 })
  assert.equal(all.filtered_all, 'received, and filtered as noise: 3 from access providers')
  for (const host of ['127.0.0.1:8080', 'localhost:8080', '[::1]:8080']) {
    const own = report({ filtered: 1 }, { reserved: 1 }, `http://${host}`)
    assert.equal(own.filtered_all, 'received, and filtered because 127.0.0.1 is your own machine')
    assert.equal(own.filtered_reasons[0]!.label, 'from your own machine')
    assert.deepEqual(healthLines(own), [`pub_1: today ${own.filtered_all}`])
  }
  assert.match(report({ filtered: 1 }, { reserved: 1 }).filtered_all!, /1 from private addresses$/)
  assert.deepEqual(healthLines(report({ stored: 4 }, {})), [])
})
