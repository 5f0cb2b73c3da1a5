import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { reverseName } from '../../src/enrichment/providers/rdns/ask.ts'
import type { ReverseDnsLimits } from '../../src/enrichment/providers/rdns/limits.ts'
import { ReverseDns } from '../../src/enrichment/providers/rdns/reverse-dns.ts'
import { DnsServer } from '../support/dns-server.ts'
import { address } from '../support/enrichment-data.ts'
import { until } from '../support/until.ts'

/** So long that a test which waits for it fails by its own time-out. */
const NEVER_MS = 600_000

async function setUp(t: TestContext, limits: Partial<ReverseDnsLimits> = {}, servers?: readonly string[]) {
  const server = await DnsServer.start(t)
  const clock = { ms: 1_000_000, now: () => clock.ms }
  const metrics = new Registry()
  const lines: string[] = []
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line).msg) })
  const reverseDns = new ReverseDns({
    servers: servers ?? [server.address],
    clock,
    metrics,
    log,
    limits: { deadlineMs: NEVER_MS, retryMs: 0, ...limits },
  })
  t.after(() => reverseDns.stop())
  const hostname = async (ip: string, deadlineMs?: number) => {
    const known = await reverseDns.find(address(ip), deadlineMs)
    return known === undefined ? 'not known' : known.facts?.data.hostname
  }
  return { server, clock, metrics, lines, reverseDns, hostname }
}

test('a name counts when it leads back to the address, IPv4 and IPv6', async (t) => {
  const { server, hostname } = await setUp(t)
  server.host('81.2.69.1', 'Mail.Example.COM')
  server.reply('A', 'mail.example.com', [
    { type: 'A', name: 'mail.example.com', data: '81.2.69.200', ttl: 300 },
    { type: 'A', name: 'mail.example.com', data: '81.2.69.1', ttl: 300 },
  ])
  assert.equal(await hostname('81.2.69.1'), 'mail.example.com')
  const reverse = reverseName(address('2001:218::1'))
  assert.equal(reverse, `1.${'0.'.repeat(23)}8.1.2.0.1.0.0.2.ip6.arpa`)
  server.reply('PTR', reverse, [{ type: 'PTR', name: reverse, data: 'v6.example.com' }])
  server.reply('AAAA', 'v6.example.com', [{ type: 'AAAA', name: 'v6.example.com', data: '2001:218::1', ttl: 300 }])
  assert.equal(await hostname('2001:218::1'), 'v6.example.com')
})

test('a name that does not lead back is dropped, and the first one that does counts', async (t) => {
  const { server, hostname } = await setUp(t)
  const ptr = (ip: string, ...names: string[]) => {
    const name = reverseName(address(ip))
    server.reply(
      'PTR',
      name,
      names.map((data) => ({ type: 'PTR', name, data })),
    )
  }
  server.host('81.2.69.9', 'www.bank.example.com')
  ptr('81.2.69.1', 'www.bank.example.com')
  assert.equal(await hostname('81.2.69.1'), undefined)
  ptr('81.2.69.2', 'nowhere.example.com')
  assert.equal(await hostname('81.2.69.2'), undefined)
  server.host('81.2.69.3', 'good.example.com')
  ptr('81.2.69.3', 'bad name', 'localhost', '81.2.69.3', 'nowhere.example.com', 'good.example.com')
  assert.equal(await hostname('81.2.69.3'), 'good.example.com')
  ptr('81.2.69.4', ...['a', 'b', 'c', 'd'].map((label) => `${label}.example.com`), 'late.example.com')
  server.reply('A', 'late.example.com', [{ type: 'A', name: 'late.example.com', data: '81.2.69.4' }])
  assert.equal(await hostname('81.2.69.4'), undefined)
  assert.equal(server.queries.includes('A late.example.com'), false)
})

test('names after an alias are found, and so are answers that need TCP', async (t) => {
  const { server, hostname } = await setUp(t)
  const reverse = reverseName(address('81.2.69.1'))
  const delegated = '1.0-63.69.2.81.in-addr.arpa'
  server.reply('PTR', reverse, [
    { type: 'CNAME', name: reverse, data: delegated },
    { type: 'PTR', name: delegated, data: 'mail.example.com' },
  ])
  server.reply('A', 'mail.example.com', [{ type: 'A', name: 'mail.example.com', data: '81.2.69.1' }])
  assert.equal(await hostname('81.2.69.1'), 'mail.example.com')
  const many = reverseName(address('81.2.69.2'))
  const names = Array.from({ length: 60 }, (_, i) => `host-${i}.long-name.example.com`)
  server.reply(
    'PTR',
    many,
    names.map((data) => ({ type: 'PTR', name: many, data })),
  )
  for (const name of names) server.reply('A', name, [{ type: 'A', name, data: '81.2.69.2' }])
  assert.match(String(await hostname('81.2.69.2')), /^host-\d+\.long-name\.example\.com$/)
})

test('answers are cached: names by TTL within bounds, absence for its own time', async (t) => {
  const { server, clock, hostname } = await setUp(t, { foundMinMs: 10_000, foundMaxMs: 50_000, noneMs: 5_000 })
  const asked = (text: string) => server.queries.filter((query) => query.endsWith(text)).length
  server.host('81.2.69.1', 'short.example.com', 1)
  server.host('81.2.69.2', 'middle.example.com', 20)
  server.host('81.2.69.3', 'long.example.com', 86_400)
  const all = ['81.2.69.1', '81.2.69.2', '81.2.69.3', '81.2.69.4']
  const counts: number[][] = []
  for (const ms of [0, 4_999, 5_000, 10_000, 20_000, 50_000]) {
    clock.ms = 1_000_000 + ms
    for (const ip of all) await hostname(ip)
    counts.push(['short.example.com', 'middle.example.com', 'long.example.com', '4.69.2.81.in-addr.arpa'].map(asked))
  }
  assert.deepEqual(counts, [
    [1, 1, 1, 1],
    [1, 1, 1, 1],
    [1, 1, 1, 2],
    [2, 1, 1, 3],
    [3, 2, 1, 4],
    [4, 3, 2, 5],
  ])
})

test('SERVFAIL, refusal and silence are not cached as answers', async (t) => {
  const { server, metrics, hostname } = await setUp(t, { queryTimeoutMs: 50, queryTries: 1 })
  const reverse = reverseName(address('81.2.69.1'))
  for (const failure of ['SERVFAIL', 'REFUSED', 'silent'] as const) {
    server.reply('PTR', reverse, failure)
    assert.equal(await hostname('81.2.69.1'), 'not known', failure)
  }
  server.host('81.2.69.1', 'mail.example.com')
  server.reply('A', 'mail.example.com', 'SERVFAIL')
  assert.equal(await hostname('81.2.69.1'), 'not known')
  server.host('81.2.69.1', 'mail.example.com')
  assert.equal(await hostname('81.2.69.1'), 'mail.example.com')
  assert.match(await metrics.metrics(), /ipid_rdns_asked_total\{result="failed"\} 4/)
})

test('after a failure an address is not asked for a while', async (t) => {
  const { server, clock, hostname } = await setUp(t, { retryMs: 1_000 })
  server.reply('PTR', reverseName(address('81.2.69.1')), 'SERVFAIL')
  await hostname('81.2.69.1')
  const queries = server.queries.length
  server.host('81.2.69.1', 'mail.example.com')
  assert.equal(await hostname('81.2.69.1'), 'not known')
  assert.equal(server.queries.length, queries)
  clock.ms += 1_000
  assert.equal(await hostname('81.2.69.1'), 'mail.example.com')
})

test('an answer after the deadline is known the next time', async (t) => {
  const { server, reverseDns, hostname } = await setUp(t)
  server.host('81.2.69.1', 'mail.example.com')
  server.hold()
  assert.equal(await hostname('81.2.69.1', 1), 'not known')
  server.release()
  await until(() => reverseDns.known(address('81.2.69.1')) !== undefined)
  assert.equal(await hostname('81.2.69.1', 1), 'mail.example.com')
})

test('parallel requests for one address share one answer', async (t) => {
  const { server, hostname } = await setUp(t)
  server.host('81.2.69.1', 'mail.example.com')
  server.hold()
  const all = Promise.all(Array.from({ length: 50 }, () => hostname('81.2.69.1')))
  await until(() => server.queries.length > 0)
  server.release()
  assert.deepEqual(new Set(await all), new Set(['mail.example.com']))
  assert.deepEqual(server.queries, ['PTR 1.69.2.81.in-addr.arpa', 'A mail.example.com'])
})

test('queries are limited, and so is their queue; the rest is skipped', async (t) => {
  const { server, metrics, hostname } = await setUp(t, { concurrencyMax: 3, queueMax: 4 })
  server.hold()
  const all = Array.from({ length: 10 }, (_, i) => hostname(`81.2.69.${i}`))
  assert.deepEqual(await Promise.all(all.slice(7)), ['not known', 'not known', 'not known'])
  await until(() => server.queries.length === 3)
  assert.match(await metrics.metrics(), /ipid_rdns_waiting 7/)
  server.release()
  assert.deepEqual(new Set(await Promise.all(all.slice(0, 7))), new Set([undefined]))
  assert.match(await metrics.metrics(), /ipid_rdns_asked_total\{result="refused"\} 3/)
  assert.match(await metrics.metrics(), /ipid_rdns_waiting 0/)
})

test('an address has a deadline, and does not delay the others', async (t) => {
  const { server, hostname } = await setUp(t, { askMaxMs: 100, queryTimeoutMs: NEVER_MS, concurrencyMax: 2 })
  server.reply('PTR', reverseName(address('81.2.69.1')), 'silent')
  server.host('81.2.69.2', 'mail.example.com')
  const silent = hostname('81.2.69.1')
  assert.equal(await silent, 'not known')
  await until(async () => (await hostname('81.2.69.2')) === 'mail.example.com')
})

test('reserved addresses are never asked for', async (t) => {
  const { server, reverseDns, hostname } = await setUp(t)
  for (const ip of ['10.1.2.3', '127.0.0.1', '192.0.2.1', '::1', 'fe80::1', '2001:db8::1'])
    assert.equal(await hostname(ip), undefined)
  await reverseDns.prefetch([address('192.168.1.1')])
  assert.deepEqual(server.queries, [])
})

test('a prefetch asks for all at once and ends with its deadline', async (t) => {
  const { server, reverseDns } = await setUp(t, { deadlineMs: 100 })
  const addresses = Array.from({ length: 20 }, (_, i) => address(`81.2.69.${i}`))
  for (const { text } of addresses) server.host(text, `host-${text.replaceAll('.', '-')}.example.com`)
  server.reply('PTR', reverseName(addresses[0]!), 'silent')
  await reverseDns.prefetch([...addresses, ...addresses])
  assert.equal(reverseDns.known(addresses[0]!), undefined)
  await until(() => reverseDns.known(addresses[19]!)?.facts?.data.hostname === 'host-81-2-69-19.example.com')
})

test('stop ends every wait', async (t) => {
  const { server, reverseDns, hostname } = await setUp(t, { concurrencyMax: 1 })
  server.hold()
  const waiting = [hostname('81.2.69.1'), hostname('81.2.69.2')]
  await until(() => server.queries.length === 1)
  await reverseDns.stop()
  await reverseDns.stop()
  assert.deepEqual(await Promise.all(waiting), ['not known', 'not known'])
  assert.equal(await hostname('81.2.69.3'), 'not known')
})

const SILENT = { queryTimeoutMs: 20, queryTries: 1, silentAfter: 3, pauseMinMs: 2_000, pauseMaxMs: 5_000 }

test('silent name servers are skipped, longer each time, and no caller waits', async (t) => {
  const { server, clock, metrics, lines, reverseDns, hostname } = await setUp(t, SILENT)
  const ip = (i: number) => `81.2.69.${i}`
  for (let i = 0; i < 200; i++) server.reply('PTR', reverseName(address(ip(i))), 'silent')
  const isSilent = async () => /ipid_rdns_silent 1/.test(await metrics.metrics())
  await hostname(ip(0))
  await hostname(ip(1))
  assert.equal(await isSilent(), false, 'two may be bad luck')
  await hostname(ip(2))
  assert.equal(await isSilent(), true)
  assert.deepEqual(lines, ['name servers do not answer; addresses get no host names for now'])
  const asked: number[] = []
  let next = 3
  for (const ms of [0, 1_999, 2_000, 5_999, 6_000, 10_999, 11_000]) {
    clock.ms = 1_000_000 + ms
    // The deadline is ten minutes: a caller that waited for it would not come back.
    for (let i = 0; i < 5; i++) assert.equal(await hostname(ip(next++)), 'not known')
    await reverseDns.prefetch([address(ip(next++))])
    await until(async () => /ipid_rdns_waiting 0/.test(await metrics.metrics()))
    asked.push(server.queries.length)
  }
  assert.deepEqual(asked, [3, 3, 6, 6, 9, 9, 12], 'a few are tried after 2, 4, 5 and 5 seconds')
  assert.match(await metrics.metrics(), /ipid_rdns_asked_total\{result="silent"\} 33/)

  server.host(ip(0), 'back.example.com')
  clock.ms += 5_000
  await hostname(ip(0))
  await until(() => reverseDns.known(address(ip(0))) !== undefined)
  assert.equal(await isSilent(), false)
  assert.equal(lines[1], 'name servers answer again')
  server.host(ip(1), 'mail.example.com')
  assert.equal(await hostname(ip(1)), 'mail.example.com')
})

test('waiting callers continue when name servers turn out to be silent', async (t) => {
  const { server, hostname } = await setUp(t, { ...SILENT, concurrencyMax: 3 })
  const all = Array.from({ length: 9 }, (_, i) => `81.2.69.${i}`)
  for (const ip of all) server.reply('PTR', reverseName(address(ip)), 'silent')
  assert.deepEqual(new Set(await Promise.all(all.map((ip) => hostname(ip)))), new Set(['not known']))
  // The third silence in a row counts; the two before it may each have let one in.
  assert.ok(server.queries.length <= 5, `${server.queries.length} were asked`)
})

test('name servers that answer anything are not silent', async (t) => {
  const { server, metrics, hostname } = await setUp(t, SILENT)
  for (let i = 0; i < 12; i++) {
    const ip = `81.2.69.${i}`
    if (i % 3 === 2) {
      server.reply('PTR', reverseName(address(ip)), [
        { type: 'PTR', name: reverseName(address(ip)), data: 'a.example' },
      ])
      server.reply('A', 'a.example', 'silent')
    } else server.reply('PTR', reverseName(address(ip)), i % 3 === 0 ? 'SERVFAIL' : 'REFUSED')
    await hostname(ip)
  }
  assert.match(await metrics.metrics(), /ipid_rdns_silent 0/)
})

test('a closed port counts as silence', async (t) => {
  const { metrics, reverseDns } = await setUp(t, SILENT, ['127.0.0.1:9'])
  for (let i = 0; i < 3; i++) await reverseDns.find(address(`81.2.69.${i}`))
  assert.match(await metrics.metrics(), /ipid_rdns_silent 1/)
})
