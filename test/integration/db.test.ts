import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { type AsnResponse, open } from 'maxmind'
import { readFolder } from '../../src/enrichment/files/read-folder.ts'
import { dataSetsOf, reportOf } from '../../src/enrichment/files/report.ts'
import { runCommand } from '../support/command.ts'
import { address, asnMmdb, mmdb, startEngine, temporaryFolder } from '../support/enrichment-data.ts'

const MMDBLOOKUP = '/usr/bin/mmdblookup'

test('db list names the providers in order of trust, reverse DNS last', async (t) => {
  const dir = await temporaryFolder(t)
  await writeFile(join(dir, 'GeoLite2-ASN.mmdb'), asnMmdb({ '81.2.0.0/16': [64_500, 'Example'] }))
  await writeFile(join(dir, 'zebra.csv'), 'network,business_name\n81.2.69.0/24,Example\n')
  const json = await runCommand(['db', 'list', '--json'], { env: { ENRICH_DIR: dir } })
  assert.deepEqual([json.code, json.stderr], [0, ''])
  const undated = { built_at: null, age_days: null, too_old: false, attribution: null }
  const listed = JSON.parse(json.stdout) as { age_days: number }[]
  assert.deepEqual(listed, [
    { name: 'zebra', kind: 'table', recognised_as: 'organisation table', records: 1, ...undated },
    {
      name: 'geolite2-asn',
      kind: 'asn',
      recognised_as: 'MaxMind ASN',
      built_at: '2025-10-09T08:53:20.000Z',
      age_days: listed[1]?.age_days,
      too_old: false,
      records: 1,
      attribution:
        'This product includes GeoLite Data created by MaxMind, available from https://www.maxmind.com; ' +
        'GeoLite End User License Agreement, which requires you to delete old versions',
    },
    { name: 'rdns', kind: 'rdns', recognised_as: 'reverse DNS', records: null, ...undated },
  ])
  assert.ok(listed[1]!.age_days > 400)
  const text = await runCommand(['db', 'list', '--enrich-dir', dir])
  assert.match(
    text.stdout,
    /^PROVIDER +KIND +RECOGNISED AS +BUILT +DAYS OLD +RECORDS\nzebra +table .*\ngeolite2-asn +asn .*\nrdns /,
  )
})

test('db check reports the kind of each file and its errors', async (t) => {
  const dir = await temporaryFolder(t)
  const good = asnMmdb({ '81.2.0.0/16': [64_500, 'Example'] })
  await writeFile(join(dir, 'asn.mmdb'), good)
  await writeFile(join(dir, 'firms.mmdb'), mmdb('Acme Firms', { '81.2.69.0/24': { firm: 'Example', kind: 'x' } }))
  const whole = await runCommand(['db', 'check', dir, '--json'])
  assert.equal(whole.code, 0)
  const [asn, firms] = JSON.parse(whole.stdout).files
  assert.deepEqual(asn, {
    file: 'asn.mmdb',
    name: 'asn',
    state: 'ok',
    reason: null,
    kind: 'asn',
    recognised_as: 'MaxMind ASN',
    built_at: '2025-10-09T08:53:20.000Z',
    size_bytes: good.length,
    records: 1,
    warnings: [],
  })
  assert.deepEqual([firms.state, firms.database_type, firms.keys], ['unknown', 'Acme Firms', ['firm', 'kind']])
  assert.match(firms.hint, /^map them in firms\.mmdb\.json beside it, such as .*business_name/)
  await writeFile(join(dir, 'empty.mmdb'), '')
  await writeFile(join(dir, 'cut.mmdb'), good)
  await truncate(join(dir, 'cut.mmdb'), 400)
  await writeFile(join(dir, 'table.csv'), 'network,business_name\nnonsense,Example\n')
  const broken = await runCommand(['db', 'check', dir])
  assert.equal(broken.code, 1)
  assert.match(broken.stdout, /^empty\.mmdb +broken/m)
  assert.match(broken.stdout, /^cut\.mmdb: the file has no metadata: it is truncated/m)
  assert.match(broken.stdout, /^empty\.mmdb: the file is empty$/m)
  assert.match(broken.stdout, /^table\.csv: line 2: "nonsense" is not a network$/m)
  assert.match(broken.stdout, /^firms\.mmdb: unknown database_type "Acme Firms"\n {2}keys of its records: firm, kind$/m)
})

test('a file that adds nothing says so, and what to do, in db check and in the status', async (t) => {
  const dir = await temporaryFolder(t)
  await writeFile(join(dir, 'blank.mmdb'), mmdb('X-City', { '81.2.69.0/24': { country: { iso_code: 'ZZ' } } }))
  await writeFile(join(dir, 'colours.csv'), 'network,colour\n81.2.69.0/24,red\n')
  await writeFile(join(dir, 'empty.mmdb'), mmdb('GeoLite2-ASN', {}))
  await writeFile(join(dir, 'ip2location.csv'), '"0","16777215","-","-"\n')
  await writeFile(join(dir, 'used.csv'), 'network,business_name\n81.2.69.0/24,Example\n')
  const { stdout, code } = await runCommand(['db', 'check', dir])
  assert.equal(code, 1)
  const nothing = {
    blank:
      /^it adds nothing: no record has a value that ipid reads; map its members in a \.mmdb\.json beside it, or remove it$/,
    colours:
      /^it adds nothing: no record has a value that ipid reads; name its columns business_name, .*, or remove it$/,
    empty: /^the file holds no networks, so it adds nothing: fetch it again, or remove it$/,
    ip2location: /^it adds nothing: no row of the table has a known value; fetch it again, or remove it$/,
  }
  const sets = dataSetsOf(
    (await readFolder(dir)).files.map((file) => reportOf(file)),
    Date.now(),
  )
  for (const [name, reason] of Object.entries(nothing)) {
    const set = sets.find((each) => each.name === name)
    assert.match(set?.reason ?? '', reason)
    assert.ok(
      stdout.split('\n').some((line) => line.startsWith(name) && line.endsWith(set!.reason!)),
      name,
    )
  }
  assert.equal(sets.find(({ name }) => name === 'used')?.reason, null)
})

test('a path that is no folder is wrong usage', async (t) => {
  const dir = join(await temporaryFolder(t), 'nowhere')
  const { code, stdout, stderr } = await runCommand(['db', 'check', dir, '--json'])
  assert.deepEqual([code, stdout, stderr], [2, '', `ipid: ${dir} is not a folder\n`])
})

const TABLE = [
  'network,business_name,domain,classification,asn,country_code,colour',
  '81.2.0.0/16,General,,business,,,',
  '81.2.69.0/24,Example,www.example.co.uk,business,64500,gb,red',
  '81.2.70.10-81.2.70.20,Range,,,,,',
  '2001:218::/32,Six,six.example.com,education,,,',
  '::ffff:81.2.71.0/120,Mapped,,,,,',
].join('\n')

test('db build compiles tables into a file that any MMDB reader opens', async (t) => {
  const dir = await temporaryFolder(t)
  const [table, output] = [join(dir, 'organisations.csv.gz'), join(dir, 'out.mmdb')]
  await writeFile(table, gzipSync(TABLE))
  const { code, stdout, stderr } = await runCommand(['db', 'build', table, '-o', output, '--json'])
  assert.deepEqual([code, stderr], [0, 'ipid: unknown columns: colour\n'])
  const { size_bytes, ...built } = JSON.parse(stdout)
  assert.deepEqual(built, { file: output, rows: 5, networks: built.networks, as_file: null, as_unknown: [] })
  assert.equal((await readFile(output)).length, size_bytes)

  const reader = await open(output)
  assert.deepEqual(reader.get('81.2.69.7'), {
    business_name: 'Example',
    domain: 'www.example.co.uk',
    classification: 'business',
    asn: 64_500,
    country_code: 'GB',
  })
  assert.deepEqual(reader.get('81.2.70.20'), { business_name: 'Range' })
  assert.deepEqual(reader.get('81.2.70.21'), { business_name: 'General', classification: 'business' })
  assert.deepEqual(reader.get('2001:218::1'), {
    business_name: 'Six',
    domain: 'six.example.com',
    classification: 'education',
  })
  assert.deepEqual(reader.get('81.2.71.1'), { business_name: 'Mapped' })
  assert.equal(reader.get('8.8.8.8'), null)
  assert.deepEqual((await readdir(dir)).sort(), ['organisations.csv.gz', 'out.mmdb'])
})

test('mmdblookup reads it as well', { skip: !existsSync(MMDBLOOKUP) && 'mmdblookup is not installed' }, async (t) => {
  const dir = await temporaryFolder(t)
  await writeFile(join(dir, 'organisations.csv'), TABLE)
  await runCommand(['db', 'build', join(dir, 'organisations.csv'), '-o', join(dir, 'out.mmdb')])
  const lookUp = (ip: string) =>
    promisify(execFile)(MMDBLOOKUP, ['--file', join(dir, 'out.mmdb'), '--ip', ip, 'business_name'])
  assert.match((await lookUp('81.2.69.7')).stdout, /"Example"/)
  assert.match((await lookUp('2001:218::1')).stdout, /"Six"/)
})

test('a compiled table answers like its source', async (t) => {
  const [source, compiled] = [await temporaryFolder(t), await temporaryFolder(t)]
  const table = [
    'network,business_name,org_name,domain,hostname,industry,classification,description,as_name',
    'AS64500,Carrier,,carrier.example.net,,,isp,,',
    'AS64501,Maker,Maker Holding,,,Machines,,Makes things,',
    '81.3.0.0/16,Maker,,www.maker.example.com,,,,,',
    '81.2.69.0/24,,Only A Holding,,mail.example.org,,,,EXAMPLE-AS',
    '81.2.70.0/24,,,only-domain.example.com,,,,,',
    '81.2.71.0/24,,,,,,,,',
  ].join('\n')
  const asn = asnMmdb({
    '81.2.0.0/16': [64_500, 'CARRIER-AS'],
    '81.4.0.0/16': [64_501, 'MAKER-AS'],
    '2001:218::/32': [64_501, 'MAKER-AS'],
  })
  const company = mmdb('ipinfo standard_company.mmdb', {
    '81.2.80.0/24': { name: 'Tenant', domain: 'tenant.example.com', type: 'business', asn: 'AS64500', as_name: 'C' },
  })
  for (const dir of [source, compiled]) {
    await writeFile(join(dir, 'asn.mmdb'), asn)
    await writeFile(join(dir, 'company.mmdb'), company)
  }
  await writeFile(join(source, 'organisations.csv'), table)
  const build = ['db', 'build', join(source, 'organisations.csv'), '-o', join(compiled, 'organisations.mmdb')]
  const { code, stderr } = await runCommand(build, { env: { ENRICH_DIR: source } })
  assert.deepEqual([code, stderr], [0, ''])
  const [before, after] = [await startEngine(t, source), await startEngine(t, compiled)]
  assert.deepEqual(after.providerNames(), before.providerNames())
  const seen = new Set<string>()
  for (const ip of [
    '81.2.1.1',
    '81.2.69.1',
    '81.2.70.1',
    '81.2.71.1',
    '81.2.80.1',
    '81.3.1.1',
    '81.4.1.1',
    '2001:218::1',
  ]) {
    const { partial: _, ...expected } = before.lookup(address(ip))
    const { partial: __, ...found } = after.lookup(address(ip))
    assert.deepEqual(found, expected, ip)
    seen.add(`${expected.data.business_name} ${expected.companyId} ${expected.classification}`)
  }
  assert.ok(seen.has('Maker example.com business') && seen.has('Tenant example.com business'), [...seen].join())
})

test('rows about an AS need a provider that knows AS numbers', async (t) => {
  const dir = await temporaryFolder(t)
  const [table, output] = [join(dir, 'organisations.ndjson'), join(dir, 'out.mmdb')]
  await writeFile(
    table,
    '{"network":"AS64500","business_name":"Example"}\n{"network":"AS64999","business_name":"Nowhere"}\n' +
      '{"network":"81.2.69.0/24","business_name":"Own"}\n',
  )
  const without = await runCommand(['db', 'build', table, '-o', output, '--enrich-dir', dir])
  assert.deepEqual([without.code, without.stdout, existsSync(output)], [2, '', false])
  assert.match(without.stderr, /^ipid: rows for AS numbers need an MMDB with AS numbers: .*--asn FILE\.mmdb\n$/)
  const asn = join(await temporaryFolder(t), 'asn.mmdb')
  const city = mmdb('GeoLite2-City', { '81.2.0.0/16': { city: { names: { en: 'London' } } } })
  await writeFile(asn, city)
  assert.equal((await runCommand(['db', 'build', table, '-o', output, '--asn', asn])).code, 2)
  await writeFile(
    asn,
    asnMmdb({ '81.2.64.0/18': [64_500, 'EX'], '2001:218::/32': [64_500, 'EX'], '81.9.0.0/16': [1, 'X'] }),
  )
  const built = await runCommand(['db', 'build', table, '-o', output, '--asn', asn, '--json'])
  assert.deepEqual([built.code, built.stderr], [0, 'ipid: no known networks of AS64999\n'])
  assert.deepEqual(JSON.parse(built.stdout).as_unknown, ['AS64999'])
  const reader = await open<AsnResponse & { business_name: string }>(output)
  const names = ['81.2.64.1', '81.2.127.255', '2001:218::9', '81.2.69.1', '81.9.0.1'].map(
    (ip) => reader.get(ip)?.business_name,
  )
  assert.deepEqual(names, ['Example', 'Example', 'Example', 'Own', undefined])
})

test('a table with an error builds nothing, and leaves the existing file', async (t) => {
  const dir = await temporaryFolder(t)
  await writeFile(join(dir, 'out.mmdb'), 'before')
  await writeFile(join(dir, 'bad.csv'), 'network,business_name\n81.2.69.0/99,Example\n')
  const wrong: [table: string, stderr: RegExp][] = [
    ['bad.csv', /bad\.csv: line 2: "81\.2\.69\.0\/99" has a prefix length out of range\n$/],
    ['missing.csv', /missing\.csv: the file does not exist\n$/],
    ['out.mmdb', /out\.mmdb: a table is a \.csv or \.ndjson file, plain or \.gz\n$/],
  ]
  for (const [table, stderr] of wrong) {
    const result = await runCommand(['db', 'build', join(dir, table), '-o', join(dir, 'out.mmdb')])
    assert.deepEqual([result.code, result.stdout], [2, ''])
    assert.match(result.stderr, stderr)
  }
  assert.equal(await readFile(join(dir, 'out.mmdb'), 'utf8'), 'before')
  await mkdir(join(dir, 'folder.mmdb'))
  await writeFile(join(dir, 'good.csv'), 'network,business_name\n81.2.69.0/24,Example\n')
  const taken = await runCommand(['db', 'build', join(dir, 'good.csv'), '-o', join(dir, 'folder.mmdb')])
  assert.equal(taken.code, 1)
  assert.deepEqual((await readdir(dir)).sort(), ['bad.csv', 'folder.mmdb', 'good.csv', 'out.mmdb'])
})

test('of several tables the most specific row wins, and for one network the later one', async (t) => {
  const dir = await temporaryFolder(t)
  const [a, b, output] = [join(dir, 'a.csv'), join(dir, 'b.csv'), join(dir, 'out.mmdb')]
  await writeFile(a, 'network,business_name\n81.2.69.0/24,First\n81.2.69.0/25,Inner\n')
  await writeFile(b, 'network,business_name\n81.2.69.0/24,Second\n')
  await runCommand(['db', 'build', a, b, '-o', output])
  const reader = await open<AsnResponse & { business_name: string }>(output)
  assert.deepEqual(
    ['81.2.69.1', '81.2.69.200'].map((ip) => reader.get(ip)?.business_name),
    ['Inner', 'Second'],
  )
})
