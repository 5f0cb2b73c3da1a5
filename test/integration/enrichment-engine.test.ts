import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { Registry } from 'prom-client'
import { ENRICHMENT_COLUMNS } from '../../schemas/row.ts'
import { EnrichmentEngine } from '../../src/enrichment/engine.ts'
import { StartupError } from '../../src/run/errors.ts'
import { address, asnMmdb, mmdb, silent, startEngine, temporaryFolder } from '../support/enrichment-data.ts'
import { until } from '../support/until.ts'

const table = (name: string) => `network,business_name,classification\n81.2.69.0/24,${name},business\n`
const nameOf = (engine: EnrichmentEngine, ip = '81.2.69.1') => engine.enrich(address(ip)).data.business_name
const stateOf = (engine: EnrichmentEngine, name: string) =>
  engine.providers().find((provider) => provider.name === name)?.state

test('a missing folder ends the start with its name', async (t) => {
  const dir = join(await temporaryFolder(t), 'nowhere')
  const engine = new EnrichmentEngine({ dir, log: silent, metrics: new Registry() })
  await assert.rejects(engine.start(), (error: unknown) => error instanceof StartupError && error.message.includes(dir))
  await engine.stop()
})

test('a folder without readable files serves, and knows nothing', async (t) => {
  const dir = await temporaryFolder(t)
  await writeFile(join(dir, 'broken.mmdb'), 'nonsense')
  const engine = await startEngine(t, dir)
  const answer = engine.enrich(address('81.2.69.1'))
  assert.equal(answer.answerJson, '"enrichment":{},"quality":0')
  assert.deepEqual([answer.noise, answer.companyId, answer.quality], [false, '', 0])
  assert.equal(stateOf(engine, 'broken'), 'failed')
})

test('the starter data serve when no folder is set', async (t) => {
  const engine = await startEngine(t, undefined)
  assert.ok(engine.providers().length > 0)
  assert.ok(engine.providers().every((provider) => provider.state === 'ok' && provider.warnings.length === 0))
})

test('reserved addresses are noise, whatever a provider holds about them', async (t) => {
  const dir = await temporaryFolder(t)
  await writeFile(join(dir, 'companies.csv'), 'network,business_name,classification\n10.0.0.0/8,Example,business\n')
  const engine = await startEngine(t, dir)
  const answer = engine.enrich(address('10.1.2.3'))
  assert.equal(answer.noise, true)
  assert.equal(answer.classification, 'reserved')
  assert.equal(answer.answerJson, '"enrichment":{"classification":"reserved"},"quality":10')
  const lookup = engine.lookup(address('10.1.2.3'))
  assert.deepEqual(lookup.data, { classification: 'reserved', network: '10.0.0.0/8' })
  assert.equal(lookup.rule, 'reserved:private use')
})

test('an address with an embedded IPv4 address is looked up as that one', async (t) => {
  const dir = await temporaryFolder(t)
  await writeFile(join(dir, 'companies.csv'), table('Example'))
  const engine = await startEngine(t, dir)
  for (const ip of ['::ffff:81.2.69.7', '64:ff9b::81.2.69.7', '2002:5102:4507::1', '2001:0:808:808:0:ffff:aefd:baf8']) {
    assert.equal(engine.enrich(address(ip)), engine.enrich(address('81.2.69.7')), ip)
    const lookup = engine.lookup(address(ip))
    assert.deepEqual([lookup.data.business_name, lookup.data.network], ['Example', '81.2.69.0/24'], ip)
    assert.equal(lookup.address, address(ip).text)
  }
})

test('an answer lists the known values in order, and its columns match the row', async (t) => {
  const dir = await temporaryFolder(t)
  await writeFile(
    join(dir, 'companies.csv.gz'),
    gzipSync(
      'network,classification,industry_category,industry,hostname,org_name,business_name,domain,country_code,asn,as_name\n' +
        '81.2.69.0/24,business,Technology,Software,mail.example.com,Example Holding,"Ex""ample\tGmbH",www.example.com,DE,AS64500,EXAMPLE\n',
    ),
  )
  const engine = await startEngine(t, dir)
  const answer = engine.enrich(address('81.2.69.1'))
  assert.equal(
    answer.answerJson,
    '"enrichment":{"business_name":"Ex\\"ample GmbH","org_name":"Example Holding","hostname":"mail.example.com",' +
      '"industry":"Software","industry_category":"Technology","classification":"business"},"quality":95',
  )
  const columns = Object.fromEntries(answer.columns.split('\t').map((value, i) => [ENRICHMENT_COLUMNS[i], value]))
  assert.deepEqual(columns, {
    company_id: 'example.com',
    business_name: 'Ex"ample GmbH',
    org_name: 'Example Holding',
    hostname: 'mail.example.com',
    domain: 'www.example.com',
    industry: 'Software',
    industry_category: 'Technology',
    classification: 'business',
    country_code: 'DE',
    asn: '64500',
    as_name: 'EXAMPLE',
    quality: '95',
  })
})

test('equal answers are one object, whatever their networks and places', async (t) => {
  const dir = await temporaryFolder(t)
  await writeFile(join(dir, 'asn.mmdb'), asnMmdb({ '81.2.0.0/16': [64_500, 'Example Software'] }))
  const city = (name: string) => ({ city: { names: { en: name } }, country: { iso_code: 'GB' } })
  await writeFile(
    join(dir, 'city.mmdb'),
    mmdb('GeoLite2-City', { '81.2.69.0/24': city('London'), '81.2.70.0/24': city('Leeds') }),
  )
  const engine = await startEngine(t, dir)
  assert.equal(engine.enrich(address('81.2.69.1')), engine.enrich(address('81.2.70.1')))
  assert.equal(engine.enrich(address('8.8.8.8')), engine.enrich(address('2606:4700::1')))
})

test('a row for an AS covers every address whose AS another provider knows', async (t) => {
  const dir = await temporaryFolder(t)
  await writeFile(
    join(dir, 'companies.csv'),
    'network,business_name,domain,classification\nAS64500,Example,example.com,business\n81.2.69.0/24,Branch,,business\n',
  )
  const engine = await startEngine(t, dir)
  assert.equal(nameOf(engine, '81.2.70.1'), undefined)
  await writeFile(
    join(dir, 'asn.mmdb'),
    asnMmdb({ '81.2.0.0/16': [64_500, 'EXAMPLE-AS'], '2001:218::/32': [64_500, 'EXAMPLE-AS'] }),
  )
  await until(() => nameOf(engine, '81.2.70.1') === 'Example')
  assert.equal(nameOf(engine, '2001:218::1'), 'Example')
  assert.equal(engine.enrich(address('2001:218::1')).companyId, 'example.com')
  assert.equal(nameOf(engine, '81.2.69.1'), 'Branch')
})

test('a lookup names provider and network of each attribute, and asks only allowed providers', async (t) => {
  const dir = await temporaryFolder(t)
  await writeFile(join(dir, 'companies.csv'), table('Example'))
  await writeFile(join(dir, 'GeoLite2-ASN.mmdb'), asnMmdb({ '81.2.0.0/16': [64_500, 'Carrier AS'] }))
  await writeFile(join(dir, 'cloud-acme.txt'), '81.2.69.128/25\n')
  const engine = await startEngine(t, dir)
  const lookup = engine.lookup(address('81.2.69.1'))
  assert.deepEqual(lookup.data, {
    business_name: 'Example',
    org_name: 'Carrier AS',
    classification: 'business',
    asn: 64_500,
    as_name: 'Carrier AS',
    network: '81.2.69.0/24',
  })
  const own = { provider: 'companies', network: '81.2.69.0/24' }
  const carrier = { provider: 'geolite2-asn', network: '81.2.0.0/16' }
  assert.deepEqual(lookup.provenance, {
    business_name: own,
    org_name: carrier,
    classification: own,
    asn: carrier,
    as_name: carrier,
    network: own,
  })
  assert.deepEqual(lookup.answered, ['companies', 'geolite2-asn'])
  assert.equal(lookup.quality, engine.enrich(address('81.2.69.1')).quality)
  assert.equal(engine.lookup(address('81.2.69.1'), { allow: ['geolite2-asn'] }).data.network, '81.2.0.0/16')
  const denied = engine.lookup(address('81.2.69.200'), { deny: ['companies'] })
  assert.equal(denied.classification, 'cloud')
  assert.equal(denied.noise, true)
  assert.deepEqual(engine.lookup(address('81.2.69.1'), { allow: ['nobody'] }).data, {})
})

test('a report describes each file', async (t) => {
  const dir = await temporaryFolder(t)
  await writeFile(join(dir, 'GeoLite2-ASN.mmdb'), asnMmdb({ '81.2.0.0/16': [64_500, 'Example'] }))
  await writeFile(join(dir, 'LICENSE.txt'), 'You may not.')
  await writeFile(join(dir, 'companies.csv'), 'network,business_name,colour\n81.2.69.0/24,Example,red\n')
  const engine = await startEngine(t, dir)
  const reports = engine.providers().map(({ name, state, kind, recognisedAs, records, warnings, builtAt }) => {
    return { name, state, kind, recognisedAs, records, warnings, builtAt: builtAt?.getTime() }
  })
  assert.deepEqual(reports, [
    {
      name: 'geolite2-asn',
      state: 'ok',
      kind: 'asn',
      recognisedAs: 'MaxMind ASN',
      records: 1,
      warnings: [],
      builtAt: 1_760_000_000_000,
    },
    {
      name: 'license',
      state: 'ignored',
      kind: undefined,
      recognisedAs: undefined,
      records: 0,
      warnings: [],
      builtAt: undefined,
    },
    {
      name: 'companies',
      state: 'ok',
      kind: 'table',
      recognisedAs: 'organisation table',
      records: 1,
      warnings: ['unknown columns: colour'],
      builtAt: undefined,
    },
  ])
})

test('the cache of answers stays within its limit', async (t) => {
  const dir = await temporaryFolder(t)
  const metrics = new Registry()
  await writeFile(join(dir, 'asn.mmdb'), asnMmdb({ '0.0.0.0/0': [64_500, 'Example Software'] }))
  const engine = await startEngine(t, dir, { metrics, limits: { answersBytesMax: 60_000 } })
  for (let i = 0; i < 5_000; i++) engine.enrich(address(`81.2.${i >> 8}.${i & 255}`))
  const cached = Number(/ipid_enrichment_cached_answers (\d+)/.exec(await metrics.metrics())?.[1])
  assert.ok(cached > 0 && cached <= 1_000, `${cached}`)
})

test('start and stop may be called twice, and stop before start', async (t) => {
  const dir = await temporaryFolder(t)
  const engine = new EnrichmentEngine({ dir, log: silent, metrics: new Registry(), pollIntervalMs: 5 })
  await engine.stop()
  await engine.start()
  await engine.start()
  await engine.stop()
  await engine.stop()
})
