import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { compileFolder } from '../../src/enrichment/files/compiled/compile.ts'
import { address, asnMmdb, startEngine, temporaryFolder } from '../support/enrichment-data.ts'
import { FileServer } from '../support/file-server.ts'
import { TestSite } from '../support/site.ts'
import { until } from '../support/until.ts'

const IPID = fileURLToPath(new URL('../../src/ipid.mjs', import.meta.url))

/** A table large enough to be compiled. */
function bigTable(name: string, rows: readonly string[] = []): string {
  const lines = ['network,business_name,domain,description', ...rows]
  for (let i = 0; i < 2_000; i++) {
    lines.push(`20.${i >> 8}.${i & 255}.0/24,${name} ${i},,"${'Some text, of some length. '.repeat(80)}"`)
  }
  return `${lines.join('\n')}\n`
}

async function compile(enrichDir: string, dir: string) {
  const results = []
  for await (const result of compileFolder(enrichDir, dir)) results.push(result)
  return results
}

test('a compiled big table answers the same as a direct read', async (t) => {
  const base = await temporaryFolder(t)
  const [enrichDir, dir] = [join(base, 'enrich'), join(base, 'cache')]
  mkdirSync(enrichDir)
  writeFileSync(join(enrichDir, 'asn.mmdb'), asnMmdb({ '81.2.69.0/24': [64500, 'Example AS'] }))
  const rows = [
    '10.0.0.0/8,Nested,,around',
    '81.0.0.0-81.0.0.9,Ranged,,',
    '20.0.0.7,Example 3,three.example,one address',
    '2001:db8::/32,Ranged,ranged.example,',
    'AS64500,Of an AS,as.example,',
  ]
  writeFileSync(join(enrichDir, 'companies.csv'), bigTable('Example', rows))
  const direct = await startEngine(t, enrichDir)
  const engine = await startEngine(t, enrichDir, { compiledDir: dir })
  const known = () => engine.providerNames().includes('companies')
  assert.equal(known(), false)
  const { state, reason } = engine.providers().find(({ name }) => name === 'companies')!
  assert.deepEqual([state, reason], ['waiting', 'it is being compiled'])

  assert.deepEqual(
    (await compile(enrichDir, dir)).map(({ about }) => about),
    [{ format: 'organisations', rows: 2_005, unknownColumns: [], isBlank: false, networks: true }],
  )
  await until(known)
  for (const ip of [
    '20.0.3.1',
    '20.0.0.7',
    '20.7.207.255',
    '81.0.0.9',
    '81.0.0.10',
    '2001:db8::1',
    '81.2.69.1',
    '9.9.9.9',
  ]) {
    assert.deepEqual(engine.enrich(address(ip)).data, direct.enrich(address(ip)).data, ip)
  }
  assert.equal(engine.enrich(address('20.0.3.1')).data.business_name, 'Example 3')
  assert.equal(engine.enrich(address('81.2.69.1')).data.business_name, 'Of an AS')

  assert.deepEqual(await compile(enrichDir, dir), [], 'a compiled table is not compiled again')
  const before = readdirSync(dir)
  writeFileSync(join(base, 'next'), bigTable('Changed'))
  renameSync(join(base, 'next'), join(enrichDir, 'companies.csv'))
  await compile(enrichDir, dir)
  await until(() => engine.enrich(address('20.0.3.1')).data.business_name === 'Changed 3')
  assert.equal(readdirSync(dir).length, 1, 'the compiled file of the earlier table is gone')
  assert.notDeepEqual(readdirSync(dir), before)
})

test('an invalid big table is refused with a reason, and its last good version stays in use', async (t) => {
  const base = await temporaryFolder(t)
  const [enrichDir, dir] = [join(base, 'enrich'), join(base, 'cache')]
  mkdirSync(enrichDir)
  writeFileSync(join(enrichDir, 'companies.csv'), bigTable('Example'))
  await compile(enrichDir, dir)
  const engine = await startEngine(t, enrichDir, { compiledDir: dir })
  const report = () => engine.providers()[0]
  assert.equal(report()?.state, 'ok')
  writeFileSync(join(base, 'next'), bigTable('Changed', ['nonsense,Wrong,,']))
  renameSync(join(base, 'next'), join(enrichDir, 'companies.csv'))
  await compile(enrichDir, dir)
  await until(() => report()?.state === 'stale')
  assert.equal(report()?.reason, 'line 2: "nonsense" is not a network')
  assert.equal(engine.enrich(address('20.0.3.1')).data.business_name, 'Example 3')
})

/** Rows of a vendor, each with its own record: enough to be compiled, in gzip. */
function vendorTable(header: string, rows: readonly string[], filler: (n: number) => string): string {
  const lines = [header, ...rows]
  for (let i = 0; i < 1_000; i++) lines.push(filler(i))
  return `${lines.join('\n')}\n`
}

const octets = (i: number) => `20.${i >> 8}.${i & 255}`
const VENDORS = {
  'ipinfo_lite.csv.gz': vendorTable(
    'network,country,country_code,continent,continent_code,asn,as_name,as_domain',
    [
      '81.2.69.0/24,Australia,AU,Oceania,OC,AS64500,"Example, Inc.",example.com',
      '81.2.69.7,,,,,,,',
      '9.0.0.0/8,,,,,,,',
    ],
    (i) =>
      `${octets(i)}.0/24,Germany,DE,Europe,EU,AS${i + 1},"A name of some length, of system ${i}",system-${i}.example`,
  ),
  'company.csv.gz': vendorTable(
    'start_ip,end_ip,join_key,name,domain,type,asn,as_name,as_domain,as_type,country',
    ['81.2.69.3,81.2.69.200,81.2.0.0,Acme GmbH,acme.example,business,AS64500,Carrier,carrier.example,isp,DE'],
    (i) =>
      `${octets(i)}.0,${octets(i)}.255,20.0.0.0,Company number ${i},c${i}.example,hosting,AS${i},Carrier ${i},,isp,FR`,
  ),
  'ip2asn-combined.tsv.gz': vendorTable(
    '81.2.69.0\t81.2.69.255\t64500\tUS\tExample, Inc.',
    ['2001:218::\t2001:218:ffff:ffff:ffff:ffff:ffff:ffff\t64501\tJP\tOther'],
    (i) => `${octets(i)}.0\t${octets(i)}.255\t${i + 1}\tUS\tSystem of a long name ${i}${' and more'.repeat(7)}`,
  ),
}

test("vendors' tables are compiled too, and answer the same as a direct read", async (t) => {
  const base = await temporaryFolder(t)
  const dir = join(base, 'cache')
  for (const [file, text] of Object.entries(VENDORS)) {
    const enrichDir = join(base, file)
    mkdirSync(enrichDir)
    writeFileSync(join(enrichDir, file), gzipSync(text))
    const direct = await startEngine(t, enrichDir)
    const [compiled] = await compile(enrichDir, dir)
    assert.ok(compiled?.about !== undefined && 'shape' in compiled.about, file)
    const engine = await startEngine(t, enrichDir, { compiledDir: dir })
    assert.deepEqual(engine.providerNames(), direct.providerNames())
    const [was, is] = [direct.providers()[0]!, engine.providers()[0]!]
    assert.equal(is.recognisedAs, `${was.recognisedAs}, compiled`)
    assert.deepEqual([is.kind, is.builtAt], [was.kind, undefined])
    for (const ip of ['81.2.69.1', '81.2.69.7', '81.2.69.201', '9.1.1.1', '20.0.3.1', '20.3.231.255', '2001:218::1']) {
      assert.deepEqual(engine.enrich(address(ip)).data, direct.enrich(address(ip)).data, `${file} ${ip}`)
    }
    assert.notDeepEqual(engine.enrich(address('81.2.69.7')).data, {}, 'a row that says nothing hides none around it')
  }
})

test('a small file that may unpack to a big table is compiled outside the serving process', async (t) => {
  const base = await temporaryFolder(t)
  const [enrichDir, dir] = [join(base, 'enrich'), join(base, 'cache')]
  mkdirSync(enrichDir)
  const rows = Array.from({ length: 2_000 }, (_, i) => `${octets(i)}.0/24,Company ${i}\n`)
  writeFileSync(join(enrichDir, 'small.csv.gz'), gzipSync(`network,business_name\n${rows.join('')}`))
  assert.ok(statSync(join(enrichDir, 'small.csv.gz')).size < 32_000)
  const engine = await startEngine(t, enrichDir, { compiledDir: dir })
  assert.deepEqual(engine.providerNames(), [])
  await compile(enrichDir, dir)
  await until(() => engine.providerNames().length === 1)
})

test('a damaged compiled file is reported, or made again', async (t) => {
  const base = await temporaryFolder(t)
  const [enrichDir, dir] = [join(base, 'enrich'), join(base, 'cache')]
  mkdirSync(enrichDir)
  writeFileSync(join(enrichDir, 'companies.csv'), bigTable('Example'))
  await compile(enrichDir, dir)
  const folder = join(dir, readdirSync(dir)[0]!)
  writeFileSync(join(folder, 'networks.mmdb'), 'half')
  const engine = await startEngine(t, enrichDir, { compiledDir: dir })
  assert.match(engine.providers()[0]?.reason ?? '', /networks\.mmdb is damaged .*: delete its folder/)
  writeFileSync(join(folder, 'about.json'), '{"rows"')
  const next = await startEngine(t, enrichDir, { compiledDir: dir })
  await compile(enrichDir, dir)
  await until(() => next.providerNames().length === 1)
})

test('two parallel compilations leave one whole table, and remove nothing of each other', async (t) => {
  const base = await temporaryFolder(t)
  const [enrichDir, dir] = [join(base, 'enrich'), join(base, 'data', 'enrich-cache')]
  mkdirSync(enrichDir)
  writeFileSync(join(enrichDir, 'companies.csv'), bigTable('Example'))
  const env = { ...process.env, ENRICH_DIR: enrichDir, DATA_DIR: join(base, 'data') }
  const run = async () => {
    const child = fork(IPID, ['db', 'compile'], { env, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
    const [code] = await once(child, 'exit')
    return code
  }
  assert.deepEqual(await Promise.all([run(), run()]), [0, 0])
  assert.match(readdirSync(dir).join(), /^[0-9a-f]{32}$/)
  const engine = await startEngine(t, enrichDir, { compiledDir: dir })
  assert.equal(engine.enrich(address('20.0.3.1')).data.business_name, 'Example 3')
})

test('a killed compilation is never used half-done, and the next one completes it', async (t) => {
  const base = await temporaryFolder(t)
  const [enrichDir, dataDir] = [join(base, 'enrich'), join(base, 'data')]
  mkdirSync(enrichDir)
  writeFileSync(join(enrichDir, 'companies.csv'), bigTable('Example'))
  const env = { ...process.env, ENRICH_DIR: enrichDir, DATA_DIR: dataDir }
  const dir = join(dataDir, 'enrich-cache')
  const child = fork(IPID, ['db', 'compile'], { env, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  const ended = once(child, 'exit')
  const made = () => {
    try {
      return readdirSync(dir)
    } catch {
      return []
    }
  }
  await until(() => made().length > 0)
  child.kill('SIGKILL')
  await ended
  const ofAnother = `.0123.${process.pid}.part`
  writeFileSync(join(dir, ofAnother), 'being written')
  assert.match(made()[0]!, /^\..*\.part$/)
  const engine = await startEngine(t, enrichDir, { compiledDir: dir })
  assert.deepEqual(engine.providerNames(), [])
  await compile(enrichDir, dir)
  await until(() => engine.providerNames().length === 1)
  assert.match(made().join(), new RegExp(`^\\${ofAnother},[0-9a-f]{32}$`))
})

test('the service starts with a big table, takes a changed one, and fetches due sources', async (t) => {
  const enrichDir = await temporaryFolder(t)
  writeFileSync(join(enrichDir, 'companies.csv'), bigTable('Example'))
  const site = new TestSite(t, { ENRICH_DIR: enrichDir })
  const ready = await site.start().ready()
  const nameOf = async (ip = '20.0.3.1') => {
    const response = await fetch(`${ready.url}/v1/lookup`, {
      method: 'POST',
      headers: { 'x-api-key': ready.api_key!, 'content-type': 'application/json' },
      body: JSON.stringify({ ip }),
    })
    return JSON.stringify(await response.json())
  }
  assert.match(await nameOf(), /Example 3/)
  writeFileSync(join(enrichDir, '.next'), bigTable('Changed'))
  renameSync(join(enrichDir, '.next'), join(enrichDir, 'companies.csv'))
  await until(async () => /Changed 3/.test(await nameOf()))

  const server = await FileServer.start(t)
  server.serve('/fetched.csv', 'network,business_name\n30.0.3.1/32,Fetched\n')
  const sources = [{ url: `${server.url}/fetched.csv`, schedule: 'daily' }]
  writeFileSync(join(enrichDir, 'sources.json'), JSON.stringify(sources))
  await until(async () => /Fetched/.test(await nameOf('30.0.3.1')))
  assert.equal(server.requests.length, 1)
})
