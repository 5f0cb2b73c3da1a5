import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { loadDataFile, providerNameOf } from '../../../src/enrichment/files/data-file.ts'
import { formatOf } from '../../../src/enrichment/files/formats/formats.ts'
import { rangeIn, vendorTable } from '../../../src/enrichment/files/formats/vendor-table.ts'
import { DEFAULT_ENRICHMENT_LIMITS } from '../../../src/enrichment/limits.ts'
import { hasKeys, jsonObjects } from '../../../src/enrichment/providers/text/json-lines.ts'
import { InputError } from '../../../src/run/errors.ts'
import { address, temporaryFolder } from '../../support/enrichment-data.ts'

async function load(t: TestContext, file: string, text: string, limits = {}) {
  const path = join(await temporaryFolder(t), file)
  await writeFile(path, file.endsWith('.gz') ? gzipSync(text) : text)
  return loadDataFile({ path, name: providerNameOf(file)!, limits: { ...DEFAULT_ENRICHMENT_LIMITS, ...limits } })
}

/** The same file in the form for big files. */
async function compile(t: TestContext, file: string, text: string) {
  const folder = await temporaryFolder(t)
  const path = join(folder, file)
  await writeFile(path, file.endsWith('.gz') ? gzipSync(text) : text)
  const { compiled } = await formatOf(path)
  const limits = DEFAULT_ENRICHMENT_LIMITS
  const about = await compiled!.write(path, limits, (part, parts) => writeFile(join(folder, part), parts))
  return await compiled!.load(folder, about, { path, name: providerNameOf(file)!, limits })
}

interface Case {
  readonly file: string
  readonly text: string
  readonly kind: string
  readonly recognisedAs: string
  readonly data: object
  readonly evidence: object
}

const LITE_ROW = {
  ...{ country: 'Australia', country_code: 'AU', continent: 'Oceania', continent_code: 'OC' },
  ...{ asn: 'AS64500', as_name: 'Example, Inc.', as_domain: 'example.com' },
}
const ndjson = (...rows: object[]) => rows.map((row) => `${JSON.stringify(row)}\n`).join('')

const AS = { asn: 64_500, as_name: 'Example, Inc.', org_name: 'Example, Inc.' }

const CASES: readonly Case[] = [
  {
    file: 'ipinfo_lite.csv.gz',
    text: `network,country,country_code,continent,continent_code,asn,as_name,as_domain
81.2.69.0/24,Australia,AU,Oceania,OC,AS64500,"Example, Inc.",example.com
81.2.70.0/24,China,CN,Asia,AS,,,
`,
    kind: 'asn',
    recognisedAs: 'IPinfo Lite table',
    data: { ...AS, country: 'Australia', country_code: 'AU', continent: 'Oceania' },
    evidence: { asn: 64_500, asName: 'Example, Inc.', asDomain: 'example.com' },
  },
  ...['ipinfo_lite.ndjson', 'ipinfo_lite.json.gz'].map((file) => ({
    file,
    text: ndjson({ network: '81.2.69.0/24', ...LITE_ROW }, { network: '81.2.70.0/24', country_code: 'CN', asn: null }),
    kind: 'asn',
    recognisedAs: 'IPinfo Lite table',
    data: { ...AS, country: 'Australia', country_code: 'AU', continent: 'Oceania' },
    evidence: { asn: 64_500, asName: 'Example, Inc.', asDomain: 'example.com' },
  })),
  {
    file: 'asn.ndjson.gz',
    text: ndjson({
      ...{ start_ip: '81.2.69.0', end_ip: '81.2.69.255', join_key: '81.2.0.0', asn: 'AS64500', domain: 'example.com' },
      ...{ name: 'Example, Inc.', type: 'hosting', country: 'US', geo: { city: 'x' } },
    }),
    kind: 'asn',
    recognisedAs: 'IPinfo ASN table',
    data: AS,
    evidence: { asn: 64_500, asName: 'Example, Inc.', asDomain: 'example.com', asType: 'hosting' },
  },
  {
    file: 'null.csv',
    text: `network,country,country_code,continent,continent_code,asn,as_name,as_domain
81.2.69.0/24,\\N,\\N,"\\N",\\N,AS64500,"Example, Inc.",\\N
81.2.70.0/24,China,CN,Asia,AS,AS64501,Other,other.example
`,
    kind: 'asn',
    recognisedAs: 'IPinfo Lite table',
    data: AS,
    evidence: { asn: 64_500, asName: 'Example, Inc.' },
  },
  {
    file: 'null.tsv',
    text: '81.2.68.0\t81.2.68.255\t\\N\t\\N\t\\N\n81.2.69.0\t81.2.69.255\t64500\t\\N\tExample, Inc.\n',
    kind: 'asn',
    recognisedAs: 'iptoasn ASN table',
    data: AS,
    evidence: { asn: 64_500, asName: 'Example, Inc.' },
  },
  {
    file: 'asn.csv',
    text: `start_ip,end_ip,join_key,asn,domain,name,type,country
81.2.69.0,81.2.69.255,81.2.0.0,AS64500,example.com,"Example, Inc.",hosting,US
2001:218::,2001:218::ffff,2001:218::,AS64501,,Other,,US
`,
    kind: 'asn',
    recognisedAs: 'IPinfo ASN table',
    data: AS,
    evidence: { asn: 64_500, asName: 'Example, Inc.', asDomain: 'example.com', asType: 'hosting' },
  },
  {
    file: 'company.csv',
    text: `start_ip,end_ip,join_key,name,domain,type,asn,as_name,as_domain,as_type,country
81.2.69.0,81.2.69.255,81.2.0.0,Acme GmbH,acme.example,business,AS64500,Carrier,carrier.example,isp,DE
`,
    kind: 'company',
    recognisedAs: 'IPinfo company table',
    data: {
      business_name: 'Acme GmbH',
      org_name: 'Acme GmbH',
      domain: 'acme.example',
      asn: 64_500,
      as_name: 'Carrier',
      country_code: 'DE',
    },
    evidence: {
      asn: 64_500,
      asName: 'Carrier',
      asDomain: 'carrier.example',
      asType: 'isp',
      orgName: 'Acme GmbH',
      domain: 'acme.example',
      orgType: 'business',
    },
  },
  {
    file: 'dbip-country-lite-2026-06.csv.gz',
    text: '0.0.0.0,0.255.255.255,ZZ\n81.2.69.0,81.2.69.255,GB\n2001:218::,2001:218:ffff:ffff:ffff:ffff:ffff:ffff,JP\n',
    kind: 'location',
    recognisedAs: 'DB-IP location table',
    data: { country_code: 'GB' },
    evidence: {},
  },
  {
    file: 'renamed.csv',
    text: '81.2.68.0,81.2.68.255,0,\n81.2.69.0,81.2.69.255,64500,"Example, Inc."\n',
    kind: 'asn',
    recognisedAs: 'DB-IP ASN table',
    data: AS,
    evidence: { asn: 64_500, asName: 'Example, Inc.' },
  },
  {
    file: 'dbip-city-lite-2026-06.csv',
    text: '0.0.0.0,0.255.255.255,ZZ,ZZ,,,0,0\n81.2.69.0,81.2.69.255,OC,AU,Queensland,"South Brisbane",-27.4767,153.017\n',
    kind: 'location',
    recognisedAs: 'DB-IP location table',
    data: {
      ...{ continent: 'Oceania', country_code: 'AU', region: 'Queensland', city: 'South Brisbane' },
      ...{ latitude: -27.4767, longitude: 153.017 },
    },
    evidence: {},
  },
  {
    file: 'IP2LOCATION-LITE-DB1.CSV',
    text: '"0","16777215","-","-"\r\n"1359103232","1359103487","GB","United Kingdom"\r\n',
    kind: 'location',
    recognisedAs: 'IP2Location location table',
    data: { country: 'United Kingdom', country_code: 'GB' },
    evidence: {},
  },
  {
    file: 'IP2LOCATION-LITE-DB1.CIDR.CSV',
    text: '0.0.0.0/8,"-","-"\n81.2.69.0/24,"GB","United Kingdom"\n',
    kind: 'location',
    recognisedAs: 'IP2Location location table',
    data: { country: 'United Kingdom', country_code: 'GB' },
    evidence: {},
  },
  {
    // IPv4 as IPv6 addresses; the first row reaches into both.
    file: 'IP2LOCATION-LITE-DB3.IPV6.CSV',
    text: `"0","281470698520575","-","-","-","-"
"281472040846592","281472040846847","GB","United Kingdom","England","London"
"42540530628270950406235306564857626624","42540530707499112920499644158401576959","JP","Japan","Tokyo","Tokyo"
`,
    kind: 'location',
    recognisedAs: 'IP2Location location table',
    data: { country: 'United Kingdom', country_code: 'GB', region: 'England', city: 'London' },
    evidence: {},
  },
  {
    file: 'DB11.csv',
    text: `"0","16777215","-","-","-","-","0.000000","0.000000","-","-"
"1359103232","1359103487","GB","United Kingdom","England","London","51.508530","-0.125740","EC1A","+00:00"
`,
    kind: 'location',
    recognisedAs: 'IP2Location location table',
    data: {
      ...{ country: 'United Kingdom', country_code: 'GB', region: 'England', city: 'London', postal_code: 'EC1A' },
      ...{ latitude: 51.50853, longitude: -0.12574, timezone: '+00:00' },
    },
    evidence: {},
  },
  {
    file: 'IP2LOCATION-LITE-ASN.CSV',
    text: `"1359102976","1359103231","81.2.68.0/24","-","-"
"1359103232","1359103487","81.2.69.0/24","64500","Example, Inc."
`,
    kind: 'asn',
    recognisedAs: 'IP2Location ASN table',
    data: AS,
    evidence: { asn: 64_500, asName: 'Example, Inc.' },
  },
  {
    file: 'IP2PROXY-LITE-PX2.CSV',
    text: '"1359102976","1359103231","-","-","-"\n"1359103232","1359103487","TOR","GB","United Kingdom"\n',
    kind: 'location',
    recognisedAs: 'IP2Location location table',
    data: { country: 'United Kingdom', country_code: 'GB' },
    evidence: { isTor: true },
  },
  {
    file: 'IP2PROXY-LITE-PX11.CSV',
    text: `"1359102976","1359102976","EPN","GB","United Kingdom","England","London","Acme","acme.example","COM","64501","Acme","1","-","-"
"1359103232","1359103487","VPN","GB","United Kingdom","England","London","Carrier Ltd","carrier.example","DCH","64500","Example, Inc.","3","-","A"
`,
    kind: 'isp',
    recognisedAs: 'IP2Location ISP table',
    data: {
      ...{ country: 'United Kingdom', country_code: 'GB', region: 'England', city: 'London' },
      ...{ asn: 64_500, as_name: 'Example, Inc.', org_name: 'Carrier Ltd' },
    },
    evidence: {
      ...{ asn: 64_500, asName: 'Example, Inc.', ispName: 'Carrier Ltd', orgType: 'DCH', isAnonymousVpn: true },
    },
  },
  {
    file: 'privacy.csv',
    text: 'start_ip,end_ip,join_key,hosting,proxy,tor,vpn,relay,service\n81.2.69.0,81.2.69.255,81.2.0.0,,,true,,,\n',
    kind: 'anonymity',
    recognisedAs: 'IPinfo anonymity table',
    data: {},
    evidence: { isTor: true },
  },
  {
    file: 'GeoLite2-ASN-Blocks-IPv4.csv',
    text: `network,autonomous_system_number,autonomous_system_organization
81.2.69.0/24,64500,"Example, Inc."
`,
    kind: 'asn',
    recognisedAs: 'by its fields: ASN table',
    data: AS,
    evidence: { asn: 64_500, asName: 'Example, Inc.' },
  },
  {
    file: 'ip2asn-combined.tsv.gz',
    text: `81.2.0.0\t81.2.68.255\t0\tNone\tNot routed
81.2.69.0\t81.2.69.255\t64500\tUS\tExample, Inc.
2001:218::\t2001:218:ffff:ffff:ffff:ffff:ffff:ffff\t64501\tJP\tOther
`,
    kind: 'asn',
    recognisedAs: 'iptoasn ASN table',
    data: AS,
    evidence: { asn: 64_500, asName: 'Example, Inc.' },
  },
  {
    file: 'ip2asn-v4-u32.tsv',
    text: '1359103232\t1359103487\t64500\tUS\tExample, Inc.\n',
    kind: 'asn',
    recognisedAs: 'iptoasn ASN table',
    data: AS,
    evidence: { asn: 64_500, asName: 'Example, Inc.' },
  },
  {
    file: 'ip2country-v4.tsv',
    text: '81.2.68.0\t81.2.68.255\tNone\n81.2.69.0\t81.2.69.255\tGB\n',
    kind: 'location',
    recognisedAs: 'iptoasn location table',
    data: { country_code: 'GB' },
    evidence: {},
  },
]

for (const { file, text, kind, recognisedAs, data, evidence } of CASES) {
  test(`${file} is read as an ${recognisedAs}`, async (t) => {
    const direct = await load(t, file, text)
    const compiled = await compile(t, file, text)
    assert.deepEqual([direct.recognisedAs, compiled.recognisedAs], [recognisedAs, `${recognisedAs}, compiled`])
    for (const provider of [direct, compiled]) {
      assert.equal(provider.kind, kind)
      const at = address('81.2.69.7')
      assert.equal(provider.networkOf(at), '81.2.69.0/24')
      const facts = provider.find(at)
      assert.deepEqual({ ...facts?.data }, data)
      assert.deepEqual(facts?.evidence, evidence)
      assert.equal(facts?.scope, 'address')
      assert.equal(provider.find(address('81.2.60.1')), undefined)
      if (text.includes('JP'))
        assert.equal(provider.find(address('2001:218:5::1'))?.data.country_code, countryOfV6(kind))
    }
  })
}

/** An AS's country is not that of its addresses. */
function countryOfV6(kind: string): string | undefined {
  return kind === 'location' ? 'JP' : undefined
}

test('a format of JSON lines is made of its rows, loads, and answers the same when it is compiled', async (t) => {
  const acme = vendorTable({
    name: 'acme',
    vendor: 'Acme',
    ending: /\.ndjson$/,
    recognises: (line) => hasKeys(line, ['from', 'to']),
    async *rows(text) {
      for await (const { line, object } of jsonObjects(text)) {
        const range = rangeIn(line, `${object.from}-${object.to}`)
        yield { line, range, record: { business_name: String(object.name), asn: Number(object.as), is_vpn: true } }
      }
    },
  })
  const line = '{"from":"81.2.69.0","to":"81.2.69.255","name":"Acme GmbH","as":64500}'
  assert.deepEqual(
    [line, '{"from":"81.2.69.0"}', '[1]', 'from,to', undefined].map((first) => acme.recognises!(first, 'a.ndjson')),
    [true, false, false, false, false],
  )
  const folder = await temporaryFolder(t)
  const path = join(folder, 'a.ndjson')
  await writeFile(path, `\n${line}\n`)
  const file = { path, name: 'a', limits: DEFAULT_ENRICHMENT_LIMITS }
  const direct = await acme.load(file)
  const about = await acme.compiled!.write(path, file.limits, (part, parts) => writeFile(join(folder, part), parts))
  const compiled = await acme.compiled!.load(folder, about, file)
  assert.deepEqual([direct.recognisedAs, compiled.recognisedAs], ['Acme company table', 'Acme company table, compiled'])
  for (const provider of [direct, compiled]) {
    const { data, evidence } = provider.find(address('81.2.69.7'))!
    assert.deepEqual({ ...data }, { asn: 64_500, business_name: 'Acme GmbH', org_name: 'Acme GmbH' })
    assert.deepEqual([evidence.isAnonymousVpn, provider.kind], [true, 'company'])
    assert.equal(provider.find(address('81.2.70.1')), undefined)
  }
  await writeFile(path, `${line}\n{"from":}\n`)
  await assert.rejects(acme.load(file), /^InputError: line 2: not JSON: unexpected "}" at position 8$/)
})

test('a file is recognised by its first line with content, plain or gzip', async (t) => {
  const comments = `${'# a comment of some length\n'.repeat(20_000)}\n \n`
  const csv = 'network,as_domain,continent_code\r\n81.2.69.0/24,x.example,EU\r\n'
  for (const [file, text, kind] of [
    ['a.csv', `\ufeff${comments}${csv}`, 'IPinfo'],
    ['a.csv.gz', comments + csv, 'IPinfo'],
    ['a.csv', `${comments}81.2.69.0/24,DE,,,`, 'geofeed'],
    ['a.csv', `${comments}network,business_name\n81.2.69.0/24,x\n`, 'organisation'],
    ['a.ndjson', `\ufeff\n${ndjson({ network: '81.2.69.0/24', ...LITE_ROW })}`, 'IPinfo'],
    ['a.ndjson', ndjson({ network: '81.2.69.0/24', business_name: 'x', as_domain: 'x.example' }), 'organisation'],
    ['a.ndjson', ndjson({ network: '81.2.69.0/24', asn: 64_500, as_name: 'x' }), 'organisation'],
    ['a.csv', `\ufeff${comments}81.2.69.0,81.2.69.255,GB\n`, 'DB-IP'],
    ['a.csv', '81.2.69.7,DE,,,', 'geofeed'],
    ['cidr.csv', '81.2.69.0/24,"GB","GB-LND"', 'geofeed'],
    ['a.csv', 'start_ip,end_ip,country_code\n1359103232,1359103487,GB\n', 'IPinfo location'],
  ] as const) {
    assert.match((await load(t, file, text)).recognisedAs, new RegExp(`^${kind}`), file)
  }
})

test('a table of organisations stays one, whatever other columns it has', async (t) => {
  const own = await load(
    t,
    'a.csv',
    'network,business_name,as_domain,country_name\n81.2.69.0/24,Acme,x.example,France\n',
  )
  assert.equal(own.kind, 'table')
  const plain = await load(t, 'b.csv', 'network,asn,as_name,country_code\n81.2.69.0/24,64500,Acme,FR\n')
  assert.equal(plain.kind, 'table')
})

const DB6 = '"United Kingdom","England","London","51.5","-0.1"'
/** Tables without a header that are nearly a known one. */
const HEADERLESS: readonly (readonly [text: string, reason: RegExp])[] = [
  [
    '81.2.69.0,81.2.69.9\n',
    /^line 1: "" after the addresses, .* is no row of the lite files .* of DB-IP: take the MMDB/,
  ],
  ['81.2.69.0,81.2.69.9,GB,London\n', /^line 1: "GB,London" after the addresses, without a header, .* of DB-IP/],
  ['81.2.69.0,81.2.69.9,GB\n81.2.70.0,81.2.70.9,Acme\n', /^line 2: "Acme" after the addresses/],
  ['81.2.69.0,81.2.69.9,1,Acme\n81.2.70.0,81.2.70.9,1\n', /^line 2: /],
  [
    '"1359103232","1359103240","GB","United Kingdom","Carrier"\n',
    /^line 1: .* DB11, ASN and PX2 to PX12 of IP2Location/,
  ],
  // A provider in place of a postal code: DB6.
  [`"0","9","-","-","-","-","0.0","0.0","-"\n"10","19","GB",${DB6},"Carrier"\n`, /^line 2: .* of IP2Location/],
  // A domain in place of a time zone: DB8.
  [`"10","19","GB",${DB6},"CARRIER","carrier.example"\n`, /^line 1: .* of IP2Location: .* or add a header/],
  ['"16777216","16777471","17"\n', /^line 1: "17" after the addresses/],
  ['"19","10","GB","United Kingdom"\n', /^line 1: "19-10" ends before it starts/],
  [`"1","${2n ** 128n}","GB","United Kingdom"\n`, /^line 1: .* is not a range of addresses/],
  [
    '"0","16777215","-","-"\n',
    /^it adds nothing: no row of the table has a known value; fetch it again, or remove it$/,
  ],
  ['81.2.69.0,81.2.69.9,ZZ\n', /^it adds nothing: /],
]

test("an error in a vendor's table is reported with its line", async (t) => {
  const wrong: readonly (readonly [file: string, text: string, reason: RegExp])[] = [
    [
      'a.csv',
      'start_ip,end_ip,asn,name\n81.2.69.0,81.2.68.0,AS1,x\n',
      /^line 2: "81\.2\.69\.0-81\.2\.68\.0" ends before it starts/,
    ],
    ['a.csv', 'start_ip,end_ip,asn,name\n81.2.69.0,81.2.69.9,AS1\n', /^line 2: /],
    ['a.csv', 'start_ip,end_ip,colour\n81.2.69.0,81.2.69.9,red\n', /^not recognised: a table with the columns colour$/],
    ['a.csv', 'network,as_domain\nAS64500,x.example\n', /^line 2: "AS64500" is not a network/],
    ['a.csv', 'start_ip,end_ip,asn,name\n', /no rows/],
    ...HEADERLESS.map(([text, reason]) => ['a.csv', text, reason] as const),
    ['a.tsv', '81.2.69.0\t81.2.69.9\t1\tUS\tx\nnetwork\tname\n', /^line 2: "network-name" is not a range/],
    ['a.tsv', '81.2.69.0\t81.2.69.9\tAcme\tUS\n', /^line 1: "Acme" is not an AS number: a file of iptoasn\.com/],
    ['a.tsv', '81.2.69.0\t81.2.69.9\t0\tNone\tNot routed\n', /no rows/],
    ['a.ndjson', ndjson({ network: '81.2.69.0/24', ...LITE_ROW }, LITE_ROW), /^line 2: `network` is missing$/],
    ['a.ndjson', ndjson({ network: 'AS64500', ...LITE_ROW }), /^line 1: "AS64500" is not a network/],
    ['a.json', `${ndjson({ network: '81.2.69.0/24', ...LITE_ROW })}{"network":}\n`, /^line 2: not JSON: /],
  ]
  for (const [file, text, reason] of wrong) {
    await assert.rejects(load(t, file, text), (error: unknown) => {
      assert.ok(error instanceof InputError)
      assert.match(error.message, reason)
      return true
    })
  }
  await assert.rejects(
    load(t, 'a.tsv', '81.2.69.0\t81.2.69.9\t1\tUS\tx\n81.2.70.0\t81.2.70.9\t1\tUS\tx\n', { tableRowsMax: 1 }),
    /^InputError: line 2: more than 1 rows: take the MMDB of these data$/,
  )
})

test('an endless line is refused with its number, in every kind of file', async (t) => {
  const long = 'x'.repeat(1_100_000)
  for (const [file, text] of [
    ['a.csv', `network,business_name\n81.2.69.0/24,${long}\n`],
    ['a.csv', `network,business_name\n81.2.69.0/24,"${long}\n${long}\n`],
    ['a.csv', `network,business_name\n81.2.69.0/24,"open\n${'81.2.70.0/24,Acme\n'.repeat(80_000)}`],
    ['a.ndjson', `{"network":"81.2.69.0/24"}\n{"network":"81.2.70.0/24","description":"${long}"}\n`],
    ['a.tsv', `81.2.69.0\t81.2.69.9\t1\tUS\tx\n81.2.70.0\t81.2.70.9\t1\tUS\t${long}\n`],
    ['cloud-a.txt', `81.2.69.0/24\n${long}\n`],
    ['a.csv', long],
  ] as const) {
    await assert.rejects(load(t, file, text), /^InputError: line \d+: (?:longer than 1048576 bytes|Max Record Size)/)
  }
})

test('only a list below a size limit is read in the serving process', async (t) => {
  await assert.rejects(
    load(t, 'cloud-a.txt.gz', '81.2.69.0/24\n'.repeat(10), { listBytesMax: 100 }),
    /^InputError: a list of more than 100 bytes$/,
  )
})

test('a table whose rows have no known value is blank, also when it is compiled', async (t) => {
  const rows = 'network,colour,business_name\n81.2.69.0/24,red,-\nAS64500,blue,\n'
  for (const make of [load, compile]) {
    const blank = await make(t, 'a.csv', rows)
    assert.deepEqual([blank.isBlank, blank.records], [true, 2])
    assert.equal((await make(t, 'a.csv', `${rows}81.2.70.0/24,,Acme\n`)).isBlank, false)
  }
})
