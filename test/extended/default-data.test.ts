import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { pino } from 'pino'
import { EnrichmentKeeper } from '../../src/cli/start/enrichment-keeper.ts'
import { readConfig } from '../../src/config/config.ts'
import { decideDefaults, decisionsWait, defaultsWait, makeDefaults } from '../../src/enrichment/files/defaults/make.ts'
import {
  loadPackedStarter,
  packStarter,
  STARTER_TABLE,
  starterSource,
} from '../../src/enrichment/files/defaults/packed-starter.ts'
import { STARTER_DIR } from '../../src/enrichment/files/folder.ts'
import { dataSetsOf } from '../../src/enrichment/files/report.ts'
import { runCommand } from '../support/command.ts'
import { address, asnMmdb, mmdb, startEngine, temporaryFolder } from '../support/enrichment-data.ts'
import { until } from '../support/until.ts'

const COUNTRIES = mmdb('geo-whois-asn-country', {
  '81.2.69.0/24': { country_code: 'GB' },
  '17.0.0.0/8': { country_code: 'US' },
})

/** Packages as npm installs them. */
function packages(base: string, version = '2.3.2026061719') {
  const folders = new Map<string, string>()
  const add = (name: string, files: Readonly<Record<string, string | Buffer>>) => {
    const folder = join(base, name)
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ name, version }))
    for (const [file, content] of Object.entries(files)) writeFileSync(join(folder, file), content)
    folders.set(name, folder)
  }
  add('@ip-location-db/asn', {
    'asn-ipv4.csv': '17.0.0.0,17.255.255.255,714,Apple Inc.\n81.2.69.0,81.2.69.255,64500,"Example Telecom, Ltd"\n',
    'asn-ipv6.csv': '2001:4860::,2001:4860:ffff:ffff:ffff:ffff:ffff:ffff,64501,Example University\n',
  })
  add('@ip-location-db/geo-whois-asn-country-mmdb', { 'geo-whois-asn-country.mmdb': COUNTRIES })
  return (name: string) => folders.get(name)
}

test('the default data are made once, rank last, and describe themselves', async (t) => {
  const base = await temporaryFolder(t)
  const [dataDir, enrichDir] = [join(base, 'data'), join(base, 'enrich')]
  const dir = join(dataDir, 'enrich-default')
  const find = packages(join(base, 'packages'))
  mkdirSync(enrichDir)
  const engine = await startEngine(t, enrichDir, { defaultsDir: dir })
  assert.deepEqual(engine.providerNames(), [], 'they may be missing')

  assert.equal(await defaultsWait(dir, 'whole', find), true)
  assert.deepEqual(await makeDefaults(dir, find), ['ip-location-db-asn', 'ip-location-db-country', 'organisations'])
  assert.equal(await defaultsWait(dir, 'whole', find), false)
  assert.deepEqual(await makeDefaults(dir, find), [])
  assert.equal(await decisionsWait(dir), true)
  assert.deepEqual(await decideDefaults(dir), [ASN])
  assert.equal(await decisionsWait(dir), false)
  assert.deepEqual(await makeDefaults(dir, find), [], 'its source is the same')
  await until(() => engine.providerNames().length === 2)
  const { data } = engine.enrich(address('81.2.69.1'))
  assert.deepEqual([data.asn, data.as_name, data.country_code], [64500, 'Example Telecom, Ltd', 'GB'])
  assert.equal(engine.enrich(address('2001:4860::1')).data.as_name, 'Example University')

  writeFileSync(join(enrichDir, 'my-asn.mmdb'), asnMmdb({ '81.2.69.0/24': [64999, 'My own'] }))
  await until(() => engine.enrich(address('81.2.69.1')).data.as_name === 'My own')
  assert.deepEqual(engine.providerNames(), ['my-asn', 'ip-location-db-asn', 'ip-location-db-country'])

  const env = { ENRICH_DIR: enrichDir, DATA_DIR: dataDir, DEFAULT_DATA: 'on' }
  const { stdout } = await runCommand(['db', 'list'], { env })
  assert.match(stdout, /ip-location-db-asn: data of RouteViews .*DB-IP \(https:\/\/db-ip\.com\); CC BY 4\.0/)
  const listed = JSON.parse((await runCommand(['db', 'list', '--json'], { env })).stdout) as {
    name: string
    built_at: string
    age_days: number
    too_old: boolean
  }[]
  const asn = listed.find(({ name }) => name === 'ip-location-db-asn')
  assert.equal(asn?.built_at, '2026-06-17T19:00:00.000Z')
  assert.equal(asn.too_old, false, 'no source is configured')
  const auto = await runCommand(['db', 'list'], { env: { ...env, DEFAULT_DATA: 'auto' } })
  assert.doesNotMatch(auto.stdout, /ip-location-db/, 'with ENRICH_DIR they are made only on request')
  const explained = await runCommand(['enrich', '81.2.69.1'], { env })
  assert.match(explained.stdout, /GB/)
  assert.match(explained.stderr, /^ip-location-db-country: data of the NRO \(nro\.net\); CC0/m)
  const json = ['enrich', '81.2.69.1', '--json']
  assert.equal((await runCommand(json, { env })).stderr, '', 'no text for people beside JSON')
  assert.match((await runCommand(json, { env, columns: 80 })).stderr, /data of the NRO/)
})

const ASN = 'ip-location-db-asn'
const COUNTRY = 'ip-location-db-country'

test('sets of another version are made again; without packages nothing is made', async (t) => {
  const base = await temporaryFolder(t)
  const dir = join(base, 'defaults')
  await makeDefaults(dir, packages(join(base, 'packages')))
  const newer = packages(join(base, 'packages'), '2.3.2026070100')
  // Sets of an earlier version of the product, under the same names.
  for (const file of ['.made.json', `${ASN}.mmdb`]) writeFileSync(join(dir, file), '{}')
  assert.equal(await defaultsWait(dir, 'head', newer), true)
  assert.deepEqual(await makeDefaults(dir, newer), [ASN, COUNTRY])
  assert.deepEqual(readdirSync(dir), [`${ASN}.ranges`, `${COUNTRY}.ranges`, 'organisations.table'])
  assert.equal(await defaultsWait(dir, 'head', newer), false)
  const without = join(base, 'none')
  assert.deepEqual(await makeDefaults(without, () => undefined), ['organisations'])
  assert.equal(await defaultsWait(without, 'whole', () => undefined), false)
  assert.deepEqual(readdirSync(without), ['organisations.table'])
})

test('the starter table is packed; a missing, damaged or old form is made again and never used', async (t) => {
  const dir = await temporaryFolder(t)
  const none = () => undefined
  const path = join(dir, 'organisations.table')
  const text = readFileSync(join(STARTER_DIR, STARTER_TABLE))
  const answers = async () => {
    const provider = await loadPackedStarter(join(STARTER_DIR, STARTER_TABLE), 'organisations', dir)
    return provider?.findAs?.(714)?.data.domain
  }
  const spoiled = (content: Buffer) => writeFileSync(path, content)
  await makeDefaults(dir, none)
  const whole = readFileSync(path)
  assert.equal(await answers(), 'apple.com')

  rmSync(path)
  assert.equal(await answers(), undefined)
  assert.deepEqual(await makeDefaults(dir, none), ['organisations'])

  spoiled(whole.subarray(0, whole.length - 1))
  assert.equal(await answers(), undefined)
  assert.equal(await defaultsWait(dir, 'head', none), true, 'it is cut off')
  assert.deepEqual(await makeDefaults(dir, none), ['organisations'])

  const flipped = Buffer.from(whole)
  flipped[flipped.length - 2]! ^= 1
  spoiled(flipped)
  assert.equal(await answers(), undefined)
  assert.equal(await defaultsWait(dir, 'whole', none), true, 'it is damaged')
  assert.deepEqual(await makeDefaults(dir, none), ['organisations'])

  spoiled(await packStarter(text, starterSource(Buffer.from('network,business_name\n'))))
  assert.equal(await answers(), undefined)
  assert.equal(await defaultsWait(dir, 'head', none), true, 'it is of another text')
  assert.deepEqual(await makeDefaults(dir, none), ['organisations'])
  assert.deepEqual(readFileSync(path), whole, 'the same text gives the same file')
  assert.equal(await answers(), 'apple.com')

  // It serves also when the default sets are off.
  const other = Buffer.from('network,business_name,domain\n17.0.0.0/8,Other,other.example\n')
  spoiled(await packStarter(other, starterSource(text)))
  const engine = await startEngine(t, undefined, { packedDir: dir })
  assert.equal(engine.enrich(address('17.0.0.1')).data.domain, 'other.example')
})

test('a missing, cut or damaged set is made again', async (t) => {
  const base = await temporaryFolder(t)
  const dir = join(base, 'defaults')
  const find = packages(join(base, 'packages'))
  await makeDefaults(dir, find)
  const path = join(dir, `${ASN}.ranges`)
  const whole = readFileSync(path)

  rmSync(path)
  const killed = `.${ASN}.ranges.1000000000.part`
  writeFileSync(join(dir, killed), 'half')
  assert.deepEqual(await makeDefaults(dir, find), [ASN])
  assert.equal(existsSync(join(dir, killed)), false, 'leftovers of a dead process are removed')

  writeFileSync(path, whole.subarray(0, whole.length - 1))
  assert.equal(await defaultsWait(dir, 'head', find), true, 'it is cut off')
  assert.deepEqual(await makeDefaults(dir, find), [ASN])

  const flipped = Buffer.from(whole)
  flipped[flipped.length - 2]! ^= 1
  writeFileSync(path, flipped)
  assert.equal(await defaultsWait(dir, 'whole', find), true, 'it is damaged')
  assert.deepEqual(await makeDefaults(dir, find), [ASN])
  assert.deepEqual(readFileSync(path), whole, 'the same package gives the same file')
})

test('ready means that the default data are in use; "ipid enrich" makes missing ones', async (t) => {
  const base = await temporaryFolder(t)
  const dataDir = join(base, 'data')
  const config = readConfig({ DATA_DIR: dataDir, DEFAULT_DATA: 'on' }, {})
  assert.ok(
    await defaultsWait(join(dataDir, 'enrich-default'), 'head'),
    'npm has installed the packages of default data',
  )
  const script = fileURLToPath(new URL('../../src/ipid.mjs', import.meta.url))
  const keeper = new EnrichmentKeeper({ config, script, env: process.env, log: pino({ level: 'silent' }) })
  try {
    await keeper.start()
  } finally {
    await keeper.stop()
  }
  assert.deepEqual(readdirSync(join(dataDir, 'enrich-default')), [
    `${ASN}.ranges`,
    `${COUNTRY}.ranges`,
    'organisations.table',
  ])

  rmSync(join(dataDir, 'enrich-default', `${ASN}.ranges`))
  const env = { DATA_DIR: dataDir, DEFAULT_DATA: 'on' }
  const { stdout } = await runCommand(['enrich', '8.8.8.8', '--json'], { env })
  assert.match(stdout, /"asn":15169/)
})

test('data count as too old only when a configured source renews them', async (t) => {
  const dir = await temporaryFolder(t)
  writeFileSync(join(dir, 'asn.mmdb'), asnMmdb({ '81.2.69.0/24': [64500, 'Example AS'] }))
  const list = async () => (await runCommand(['db', 'list'], { env: { ENRICH_DIR: dir } })).stdout
  assert.doesNotMatch(await list(), /data are old/)
  writeFileSync(join(dir, 'sources.json'), '[{"url": "http://127.0.0.1:1/asn.mmdb"}]')
  assert.match(await list(), /data are old: asn \(\d+ days\); their sources bring nothing newer/)
})

test('newer data of the same kind replace a default set, and no other one', async (t) => {
  const base = await temporaryFolder(t)
  const [defaultsDir, fetchedDir] = [join(base, 'defaults'), join(base, 'fetched')]
  await makeDefaults(defaultsDir, packages(join(base, 'packages')))
  const engine = await startEngine(t, undefined, { defaultsDir, fetchedDir })
  const before = ['organisations', 'bot-published', 'ip-location-db-asn', 'ip-location-db-country']
  assert.deepEqual(engine.providerNames(), before, 'the folder need not exist')
  const sure = { account: 'apple.com', quality: 90 }
  const apple = () => {
    const { companyId, quality } = engine.enrich(address('17.253.144.10'))
    return { account: companyId, quality }
  }
  assert.deepEqual(apple(), sure)

  mkdirSync(fetchedDir)
  const epoch = Date.UTC(2026, 10, 1) / 1_000
  const system = (asn: number, name: string) => ({
    autonomous_system_number: asn,
    autonomous_system_organization: name,
  })
  const networks = { '17.0.0.0/8': system(714, 'Apple'), '81.2.69.0/24': system(64_500, 'Renamed') }
  writeFileSync(join(fetchedDir, 'iptoasn.mmdb'), mmdb('GeoLite2-ASN', networks, { buildEpoch: epoch }))
  await until(() => engine.providerNames().includes('iptoasn'))
  assert.deepEqual(engine.providerNames(), ['organisations', 'bot-published', 'iptoasn', 'ip-location-db-country'])
  assert.deepEqual(apple(), sure)
  const { data } = engine.enrich(address('81.2.69.1'))
  assert.deepEqual([data.as_name, data.country_code], ['Renamed', 'GB'])
  const replaced = engine.providers().find(({ name }) => name === 'ip-location-db-asn')
  assert.deepEqual([replaced?.state, replaced?.reason], ['replaced', 'iptoasn is newer and replaces it'])
  assert.deepEqual(
    dataSetsOf(engine.providers(), Date.UTC(2026, 10, 26)).map(({ name, too_old, newer }) => [name, too_old, newer]),
    [
      ['iptoasn', false, null],
      ['bot-published', false, null],
      ['organisations', false, null],
      ['ip-location-db-asn', false, null],
      ['ip-location-db-country', false, 'dbip-lite-country'],
    ],
  )
})
