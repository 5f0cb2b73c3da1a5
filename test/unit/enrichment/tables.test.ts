import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { loadTable } from '../../../src/enrichment/providers/tables/provider.ts'
import { decodeText } from '../../../src/enrichment/providers/text/text-file.ts'
import { InputError } from '../../../src/run/errors.ts'
import { address } from '../../support/enrichment-data.ts'

const load = (text: string, format: 'csv' | 'ndjson' = 'csv', rowsMax = 100) =>
  loadTable({ name: 'table', format, text: Buffer.from(text), rowsMax })

const refused = (reason: RegExp) => (error: unknown) => error instanceof InputError && reason.test(error.message)

test('a table answers with the values of its rows', async () => {
  const table = await load(
    [
      '# who sits where',
      'network, business_name, domain, hostname, industry, industry_category, classification, description, asn, as_name, country_code, org_name',
      '81.2.69.0/24,"Example, ""the"" GmbH",HTTPS://www.Example.com/,Mail.Example.COM,Software,IT,Business,"two\nlines",AS64500,EXAMPLE,de,Example Holding',
      '',
      '2001:218::/32,Other,,,,,,,,,,',
    ].join('\r\n'),
  )
  assert.deepEqual(table.find(address('81.2.69.1'))?.data, {
    business_name: 'Example, "the" GmbH',
    org_name: 'Example Holding',
    hostname: 'mail.example.com',
    domain: 'www.example.com',
    industry: 'Software',
    industry_category: 'IT',
    description: 'two lines',
    asn: 64_500,
    as_name: 'EXAMPLE',
    country_code: 'DE',
  })
  assert.equal(table.find(address('81.2.69.1'))?.evidence.explicit, 'business')
  assert.deepEqual(table.find(address('2001:218::1'))?.data, { business_name: 'Other' })
  assert.equal(table.find(address('81.2.70.1')), undefined)
  assert.equal(table.records, 2)
})

test('NDJSON gives the same as CSV', async () => {
  const table = await load(
    '{"network":"81.2.69.0/24","business_name":"Example","asn":64500,"domain":null}\n\n{"network":"AS64501","business_name":"Other"}\n',
    'ndjson',
  )
  assert.deepEqual(table.find(address('81.2.69.1'))?.data, { business_name: 'Example', asn: 64_500 })
  assert.deepEqual(table.findAs?.(64_501)?.data, { business_name: 'Other' })
  assert.equal(table.findAs?.(64_500), undefined)
})

test('\\N, with which databases export NULL, is empty in every column', async () => {
  const columns =
    'network,business_name,org_name,hostname,domain,industry,industry_category,classification,description,asn,as_name,country_code'
  const names = columns.split(',').slice(1)
  const row = Object.fromEntries(names.map((name) => [name, '\\N']))
  const rows = [
    { network: '81.2.69.0/24', ...row, business_name: 'Example' },
    { network: '81.2.70.0/24', ...row },
  ]
  const csv = [columns, ...rows.map((each) => Object.values(each).join()), `81.2.71.0/24,Third,${'"\\N",'.repeat(9)}\\N`]
  const json = rows.map((each) => JSON.stringify(each))
  for (const table of [await load(csv.join('\n')), await load(json.join('\n'), 'ndjson')]) {
    assert.deepEqual(table.find(address('81.2.69.1'))?.data, { business_name: 'Example' })
    assert.deepEqual(table.find(address('81.2.70.1'))?.data ?? {}, {})
  }
  assert.deepEqual((await load(csv.join('\n'))).find(address('81.2.71.1'))?.data, { business_name: 'Third' })
})

test('inside one table the most specific network wins', async () => {
  const table = await load(
    [
      'network,business_name',
      '81.2.69.160/27,Floor',
      '81.2.0.0/16,City',
      '81.2.69.0-81.2.69.199,Block',
      '81.2.69.161,Desk',
      '81.2.69.161/32,Chair',
    ].join('\n'),
  )
  const name = (ip: string) => table.find(address(ip))?.data.business_name
  assert.deepEqual(['81.2.1.1', '81.2.69.1', '81.2.69.170', '81.2.69.161', '81.2.69.195', '81.2.69.200'].map(name), [
    'City',
    'Block',
    'Floor',
    'Chair',
    'Block',
    'City',
  ])
  assert.equal(table.networkOf(address('81.2.69.195')), '81.2.69.0-81.2.69.199')
  assert.equal(table.networkOf(address('81.2.69.170')), '81.2.69.160/27')
})

test('a wrong row refuses the table, with its line and the reason', async () => {
  const header = 'network,business_name,domain,classification,asn,country_code'
  const wrong: Record<string, RegExp> = {
    ',Example,,,,': /^line 3: `network` is missing/,
    '81.2.69.0/33,Example,,,,': /^line 3: "81\.2\.69\.0\/33" has a prefix length out of range/,
    'somewhere,Example,,,,': /^line 3: "somewhere" is not a network/,
    '81.2.69.9-81.2.69.1,Example,,,,': /^line 3: .*ends before it starts/,
    '81.2.69.0/24,Example,,firm,,': /^line 3: "firm" is not a classification: business, /,
    '81.2.69.0/24,Example,,reserved,,': /^line 3: "reserved" is not a classification/,
    '81.2.69.0/24,Example,,,ASX,': /^line 3: "ASX" is not an AS number/,
    '81.2.69.0/24,Example,,,,DEU': /^line 3: "DEU" is not a country code/,
    '81.2.69.0/24,Example,example,,,': /^line 3: "example" is not a domain/,
    '81.2.69.0/24,Example,co.uk,,,': /^line 3: "co.uk" is not a domain/,
    '81.2.69.0/24,Example': /^line 3: /,
    '81.2.69.0/24,"Example,,,,': /^line 3: /,
    '81.2.69.0/24,Exa"mple,,,,': /^line 3: /,
  }
  for (const [row, reason] of Object.entries(wrong)) {
    const text = `${header}\n81.2.70.0/24,Good,,,,\n${row}`
    await assert.rejects(load(text), refused(reason), row)
  }
  await assert.rejects(load('{"network":"81.2.69.0/24"}\n{"network":', 'ndjson'), refused(/^line 2: not JSON/))
  await assert.rejects(load('{"network":"81.2.69.0/24"}\n[1]', 'ndjson'), refused(/^line 2: not a JSON object/))
  await assert.rejects(
    load('{"network":"81.2.69.0/24","asn":[1]}', 'ndjson'),
    refused(/^line 1: `asn` must be text or a number/),
  )
  await assert.rejects(load('{"business_name":"x"}', 'ndjson'), refused(/^line 1: `network` is missing/))
})

test('a wrong header refuses the table; unknown columns are reported', async () => {
  await assert.rejects(load('ip,business_name\n81.2.69.1,Example'), refused(/^line 1: .*no column "network": ip, /))
  await assert.rejects(
    load('network,org_name,org_name\n81.2.69.1,A,B'),
    refused(/^line 1: .*the column "org_name" twice/),
  )
  await assert.rejects(load(''), refused(/no header/))
  await assert.rejects(load('network,business_name\n'), refused(/no rows/))
  const table = await load('network,bussiness_name\n81.2.69.1,Example')
  assert.deepEqual(table.warnings, ['unknown columns: bussiness_name'])
})

test('a table with more rows than the limit is refused', async () => {
  const rows = Array.from({ length: 101 }, (_, i) => `81.2.${i}.0/24,Example`)
  await assert.rejects(load(`network,business_name\n${rows.join('\n')}`), refused(/^line 102: more than 100 rows/))
})

test('text is decompressed, bounded, and must be UTF-8', async () => {
  const text = Buffer.from('\ufeffnetwork,business_name\n81.2.69.0/24,Bäcker')
  assert.equal((await decodeText(gzipSync(text), 1_000)).toString(), text.toString().slice(1))
  await assert.rejects(decodeText(gzipSync(text).subarray(0, 30), 1_000), refused(/cannot be decompressed/))
  await assert.rejects(decodeText(gzipSync(Buffer.alloc(100_000)), 1_000), refused(/larger than 1000 bytes/))
  await assert.rejects(decodeText(Buffer.alloc(2_000, 'x'), 1_000), refused(/larger than 1000 bytes/))
  await assert.rejects(decodeText(Buffer.from('B\xe4cker', 'latin1'), 1_000), refused(/not UTF-8/))
  await assert.rejects(decodeText(Buffer.alloc(0), 1_000), refused(/empty/))
})

test('rows that name one organisation belong together, even if only one of them has the domain', async () => {
  const table = await load(
    ['network,business_name,domain', '81.2.69.0/24,Example GmbH,', '81.2.70.0/24,EXAMPLE GmbH,www.example.com'].join(
      '\n',
    ),
  )
  const organisations = ['81.2.69.1', '81.2.70.1'].map((ip) => table.find(address(ip))?.organisation?.domain)
  assert.deepEqual(organisations, ['example.com', 'example.com'])
  assert.equal(table.find(address('81.2.69.1'))?.data.domain, undefined)
})
