import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { Registry } from 'prom-client'
import { EnrichmentEngine } from '../../src/enrichment/engine.ts'
import { DataLookups } from '../../src/enrichment/lookup-service.ts'
import { ReverseDns } from '../../src/enrichment/providers/rdns/reverse-dns.ts'
import type { Lookup, LookupOptions } from '../../src/lookup/lookup.ts'
import { packBlock } from '../../src/pipeline/event/block.ts'
import { EnvelopeState, NO_IDENTITY } from '../../src/pipeline/event/envelope.ts'
import { rawRow } from '../../src/pipeline/event/make-row.ts'
import { acceptEvents } from '../../src/pipeline/sources/live/keep.ts'
import { sliceEvent } from '../../src/pipeline/sources/live/slice-event.ts'
import { enrich } from '../../src/pipeline/stages/enrich.ts'
import { systemClock } from '../../src/run/clock.ts'
import { DnsServer } from '../support/dns-server.ts'
import { address, asnMmdb, mmdb, silent, startEngine, temporaryFolder } from '../support/enrichment-data.ts'
import { readEvents } from '../support/read-events.ts'
import { until } from '../support/until.ts'

const NEVER_MS = 600_000

/** Two data sets, and a name server that knows 81.2.69.1. */
async function setUp(t: TestContext) {
  const dir = await temporaryFolder(t)
  await writeFile(join(dir, 'asn.mmdb'), asnMmdb({ '81.2.0.0/16': [64_500, 'Example Software'] }))
  await writeFile(join(dir, 'companies.csv'), 'network,business_name\n81.2.70.0/24,Other\n')
  const server = await DnsServer.start(t)
  server.host('81.2.69.1', 'mail.example.co.uk')
  const reverseDns = new ReverseDns({
    servers: [server.address],
    clock: systemClock,
    metrics: new Registry(),
    log: silent,
    limits: { deadlineMs: NEVER_MS, retryMs: 0 },
  })
  t.after(() => reverseDns.stop())
  const engine = await startEngine(t, dir, { hostnames: reverseDns })
  const service = new DataLookups({ engine, reverseDns, asksAlways: true })
  const onRequest = new DataLookups({ engine, reverseDns, asksAlways: false })
  const lookup = async (ip: string, options: LookupOptions = {}) => await service.lookup(address(ip), options)
  return { dir, server, reverseDns, engine, service, onRequest, lookup }
}

test('reverse DNS is the last provider', async (t) => {
  const { service, lookup } = await setUp(t)
  assert.deepEqual(service.providerNames(), ['companies', 'asn', 'rdns'])
  const found = await lookup('81.2.69.1')
  assert.equal(found.data.hostname, 'mail.example.co.uk')
  assert.equal(found.data.etld_plus_one, 'example.co.uk')
  assert.deepEqual(found.provenance.hostname, { provider: 'rdns', network: undefined })
  assert.deepEqual(found.provenance.etld_plus_one, { provider: 'rdns', network: undefined })
  assert.deepEqual(found.answered, ['asn', 'rdns'])
  assert.deepEqual(found.partial, [])
  assert.equal(found.data.network, '81.2.0.0/16')
  const without = await lookup('81.2.69.1', { deny: ['rdns'] })
  assert.equal(without.data.hostname, undefined)
  assert.equal(found.quality - without.quality, 5)
})

test('the host name of an address with an embedded IPv4 address is that of the embedded one', async (t) => {
  const { lookup } = await setUp(t)
  assert.equal((await lookup('2002:5102:4501::1')).data.hostname, 'mail.example.co.uk')
})

test('a host name of a data set wins over that of reverse DNS', async (t) => {
  const { dir, engine, lookup } = await setUp(t)
  await writeFile(join(dir, 'hosts.csv'), 'network,hostname\n81.2.69.1,www.example.com\n')
  await until(() => engine.providerNames().includes('hosts'))
  assert.equal((await lookup('81.2.69.1')).data.hostname, 'www.example.com')
})

test('the words of a generated host name tell the classifier the kind of network', async (t) => {
  const { server, lookup } = await setUp(t)
  server.host('81.2.69.2', 'dsl-81-2-69-2.example.net')
  assert.equal((await lookup('81.2.69.2', { deny: ['rdns'] })).noise, false)
  const found = await lookup('81.2.69.2')
  assert.deepEqual([found.classification, found.noise, found.rule], ['isp', true, 'hostname:dsl'])
})

test('only allowed providers are asked', async (t) => {
  const { server, service, lookup } = await setUp(t)
  for (const options of [{ deny: ['rdns'] }, { allow: ['asn'] }, { allow: ['asn', 'rdns'], deny: ['rdns'] }]) {
    const found = service.lookup(address('81.2.69.1'), options)
    assert.ok(!(found instanceof Promise))
    assert.equal(found.data.as_name, 'Example Software')
  }
  assert.deepEqual(server.queries, [])
  assert.deepEqual((await lookup('81.2.69.1', { allow: ['rdns'] })).data, {
    hostname: 'mail.example.co.uk',
    etld_plus_one: 'example.co.uk',
  })
  assert.deepEqual((await lookup('81.2.69.1', { allow: [] })).data, {})
})

test('with RDNS off, a name server is asked only when the caller names it or the host name', async (t) => {
  const { server, onRequest, lookup } = await setUp(t)
  const at = address('81.2.69.1')
  const unasked: readonly LookupOptions[] = [
    {},
    { deadlineMs: 5_000 },
    { deny: ['companies'] },
    { allow: ['asn'], hostname: true },
    { deny: ['rdns'], hostname: true },
  ]
  assert.deepEqual(onRequest.providerNames(), ['companies', 'asn', 'rdns'])
  for (const options of unasked) {
    const found = onRequest.lookup(at, options)
    assert.ok(!(found instanceof Promise), JSON.stringify(options))
    assert.deepEqual([found.data.hostname, found.partial], [undefined, []])
  }
  assert.deepEqual(server.queries, [])
  for (const options of [{ hostname: true }, { allow: ['asn', 'rdns'] }]) {
    assert.equal((await onRequest.lookup(at, options)).data.hostname, 'mail.example.co.uk')
  }
  // Work for an earlier caller does not change the answer of another one.
  assert.equal(((await onRequest.lookup(at, {})) as Lookup).data.hostname, undefined)
  assert.equal((await lookup('81.2.69.1')).data.hostname, 'mail.example.co.uk')
})

test('a source cut off by the deadline is named, and known the next time', async (t) => {
  const { server, service, reverseDns, lookup } = await setUp(t)
  server.hold()
  const cut = await lookup('81.2.69.1', { deadlineMs: 1 })
  assert.deepEqual(cut.partial, ['rdns'])
  assert.equal(cut.data.hostname, undefined)
  assert.equal(cut.data.as_name, 'Example Software')
  server.release()
  await until(() => reverseDns.known(address('81.2.69.1')) !== undefined)
  const whole = service.lookup(address('81.2.69.1'), {}) as Lookup
  assert.deepEqual([whole.partial, whole.data.hostname], [[], 'mail.example.co.uk'])
})

test('a name server that fails leaves the lookup partial', async (t) => {
  const { server, lookup } = await setUp(t)
  server.reply('PTR', '1.69.2.81.in-addr.arpa', 'SERVFAIL')
  assert.deepEqual((await lookup('81.2.69.1')).partial, ['rdns'])
  server.host('81.2.69.1', 'mail.example.co.uk')
  assert.deepEqual((await lookup('81.2.69.1')).partial, [])
})

test('equal lookups are one object until the data changes, whatever the spelling of the choice', async (t) => {
  const { dir, engine, service } = await setUp(t)
  const lookup = (options: LookupOptions) => service.lookup(address('81.2.69.3'), { deny: ['rdns'], ...options })
  const all = lookup({})
  assert.equal(lookup({}), all)
  assert.equal(lookup({ allow: ['asn', 'companies'], deny: ['rdns', 'nobody'] }), all)
  const one = lookup({ allow: ['asn'] })
  assert.notEqual(one, all)
  assert.equal(lookup({ deny: ['companies', 'rdns'] }), one)
  const other = service.lookup(address('81.2.69.4'), { deny: ['rdns'] }) as Lookup
  assert.equal(other.data, (all as Lookup).data)
  await writeFile(join(dir, 'companies.csv'), 'network,business_name\n81.2.69.0/24,New\n')
  await until(() => (lookup({}) as Lookup).data.business_name === 'New')
  assert.equal((await service.lookup(address('81.2.69.3'), {})).data.business_name, 'New')
  assert.deepEqual(engine.providerNames(), ['companies', 'asn'])
})

test('the cache of lookups stays within its limit', async (t) => {
  const dir = await temporaryFolder(t)
  await writeFile(join(dir, 'asn.mmdb'), asnMmdb({ '81.2.0.0/16': [64_500, 'Example Software'] }))
  const engine = await startEngine(t, dir, { limits: { lookupsBytesMax: 10_000 } })
  const first = engine.lookup(address('81.2.69.0'))
  assert.equal(engine.lookup(address('81.2.69.0')), first)
  for (let i = 1; i < 30; i++) engine.lookup(address(`81.2.69.${i}`))
  assert.notEqual(engine.lookup(address('81.2.69.0')), first)
})

test('a reserved address is answered at once and no provider is asked', async (t) => {
  const { server, service } = await setUp(t)
  const found = service.lookup(address('10.0.0.1'), {}) as Lookup
  assert.deepEqual([found.classification, found.noise, found.partial], ['reserved', true, []])
  assert.deepEqual(server.queries, [])
})

test('after a prefetch, ingest answers and stores the host name', async (t) => {
  const { reverseDns, engine } = await setUp(t)
  const text = '{"events":[{"ip":"81.2.69.1","event_id":"one"}]}'
  const accept = () => acceptEvents(text, readEvents(text), { tenantId: 'acme', receivedAtMs: 0 }, engine)
  assert.doesNotMatch(accept().response, /hostname/)
  await reverseDns.prefetch([address('81.2.69.1')])
  const { response, envelopes } = accept()
  assert.match(response, /"hostname":"mail\.example\.co\.uk"/)
  assert.match(envelopes[0]!.row, /\tmail\.example\.co\.uk\t/)
  assert.equal(engine.enrich(address('81.2.69.1')), engine.enrich(address('81.2.69.1')))
})

test('their step resolves the host names of batch lines, once per address', async (t) => {
  const { server, reverseDns, engine } = await setUp(t)
  const ips = ['81.2.69.1', '81.2.69.1', '81.2.69.5']
  const envelopes = ips.map((ip, i) => {
    const read = sliceEvent(`{"ip":"${ip}"}`, 0, { ip })
    const row = rawRow(read, `event ${i}`, address(ip), { tenantId: 'acme', receivedAtMs: 0 })
    return { row, identity: NO_IDENTITY, state: EnvelopeState.Raw }
  })
  const block = packBlock(envelopes, 'job')
  const tools = { enricher: engine, hostnames: reverseDns } as unknown as Parameters<typeof enrich.decide>[2]
  await enrich.gather!(block, undefined as never, tools)
  const { changed } = enrich.decide(block, undefined, tools)
  const rows = changed!.rows.toString('utf8').trimEnd().split('\n')
  const names = rows.map((row) => row.includes('\tmail.example.co.uk\t'))
  assert.deepEqual(names, [true, true, false])
  assert.equal(server.queries.filter((query) => query.startsWith('PTR')).length, 2)
})

test('a data set cannot take the name of another source', async (t) => {
  const dir = await temporaryFolder(t)
  await writeFile(join(dir, 'rdns.mmdb'), mmdb('Example', { '81.2.69.0/24': { hostname: 'www.example.com' } }))
  const engine = await startEngine(t, dir)
  assert.deepEqual(engine.providerNames(), [])
  assert.match(engine.providers()[0]?.reason ?? '', /rename/)
})

test('stop does not wait for a file being read, and a stopped engine does not load it', async (t) => {
  const dir = await temporaryFolder(t)
  const engine = new EnrichmentEngine({ dir, log: silent, metrics: new Registry(), pollIntervalMs: 5 })
  const rows = Array.from({ length: 100_000 }, (_, i) => `81.${(i >> 8) & 255}.${i & 255}.${i >> 16}/32,Example ${i}`)
  await writeFile(join(dir, 'large.csv'), `network,business_name\n${rows.join('\n')}\n`)
  let started = false
  const starting = engine.start().then(() => {
    started = true
  })
  await engine.stop()
  assert.equal(started, false)
  await starting
  assert.deepEqual(engine.providerNames(), [])
})
