import assert from 'node:assert/strict'
import { rmSync, writeFileSync } from 'node:fs'
import { appendFile, rename, rm, stat, truncate, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { Registry } from 'prom-client'
import type { EnrichmentEngine } from '../../src/enrichment/engine.ts'
import { DataFolder } from '../../src/enrichment/files/folder.ts'
import { DEFAULT_ENRICHMENT_LIMITS } from '../../src/enrichment/limits.ts'
import { address, asnMmdb, mmdb, silent, startEngine, temporaryFolder } from '../support/enrichment-data.ts'
import { until } from '../support/until.ts'

const table = (name: string) => `network,business_name,classification\n81.2.69.0/24,${name},business\n`
const nameOf = (engine: EnrichmentEngine, ip = '81.2.69.1') => engine.enrich(address(ip)).data.business_name
const stateOf = (engine: EnrichmentEngine, name: string) =>
  engine.providers().find((provider) => provider.name === name)?.state

test('added, changed and removed files take effect, and no lookup fails meanwhile', async (t) => {
  const dir = await temporaryFolder(t)
  const file = join(dir, 'companies.csv')
  await writeFile(file, table('First'))
  const engine = await startEngine(t, dir)
  const seen = new Set<unknown>()
  let looking = true
  const looker = (async () => {
    for (let i = 0; looking; i++) {
      seen.add(nameOf(engine, `81.2.69.${i % 256}`))
      await setImmediate()
    }
  })()
  await writeFile(join(dir, 'new.csv'), table('Second'))
  await rename(join(dir, 'new.csv'), file)
  await until(() => nameOf(engine) === 'Second')
  // A replacement in two steps: the file is missing for less than two checks.
  rmSync(file)
  writeFileSync(file, table('Third'))
  await until(() => nameOf(engine) === 'Third')
  await writeFile(join(dir, 'another.csv'), table('Fourth'))
  await until(() => nameOf(engine) === 'Fourth')
  await rm(join(dir, 'another.csv'))
  await until(() => nameOf(engine) === 'Third')
  looking = false
  await looker
  assert.equal(seen.has(undefined), false)
})

test('a broken file never replaces a good one, and the metrics show it', async (t) => {
  const dir = await temporaryFolder(t)
  const metrics = new Registry()
  const good = asnMmdb({ '81.2.0.0/16': [64_500, 'Good Software'] })
  await writeFile(join(dir, 'asn.mmdb'), good)
  await writeFile(join(dir, 'companies.csv'), table('Example'))
  const engine = await startEngine(t, dir, { metrics })
  await truncate(join(dir, 'asn.mmdb'), 700)
  await appendFile(join(dir, 'companies.csv'), 'nonsense,Other,business\n')
  await until(() => stateOf(engine, 'asn') === 'stale' && stateOf(engine, 'companies') === 'stale')
  assert.equal(engine.enrich(address('81.2.70.1')).data.as_name, 'Good Software')
  assert.equal(nameOf(engine), 'Example')
  const companies = engine.providers().find((provider) => provider.name === 'companies')
  assert.match(companies?.reason ?? '', /^line 3: "nonsense" is not a network/)
  const text = await metrics.metrics()
  assert.match(text, /ipid_enrichment_file_state\{provider="asn",state="stale"\} 1/)
  assert.match(text, /ipid_enrichment_loads_total\{result="refused"\} 2/)
  await writeFile(join(dir, 'asn.mmdb'), asnMmdb({ '81.2.0.0/16': [64_500, 'Better Software'] }))
  await until(() => engine.enrich(address('81.2.70.1')).data.as_name === 'Better Software')
  assert.equal(stateOf(engine, 'asn'), 'ok')
})

test('a file is loaded once two checks find it unchanged, and not while it grows', async (t) => {
  const dir = await temporaryFolder(t)
  const folder = new DataFolder(dir, DEFAULT_ENRICHMENT_LIMITS, silent, () => {})
  await folder.look(true)
  assert.equal(folder.isSettled, true)
  const rows = () => folder.providers[0]?.records
  const file = join(dir, 'growing.csv')
  await writeFile(file, 'network,business_name\n81.2.69.0/24,First\n')
  for (let row = 0; row < 5; row++) {
    assert.equal(await folder.look(), false)
    assert.equal(folder.isSettled, false, 'the next look comes soon')
    assert.equal(rows(), undefined)
    await appendFile(file, `81.2.${row}.0/24,Row ${row}\n`)
  }
  await folder.look()
  assert.equal(await folder.look(), true)
  assert.equal(rows(), 6)
  assert.equal(await folder.look(), false)
  assert.equal(folder.isSettled, true)
  await rm(file)
  await folder.look()
  assert.equal(folder.isSettled, false)
  await folder.look()
  assert.equal(folder.isSettled, true)
  assert.equal(rows(), undefined)
})

test('a replacement of the same size and time is noticed', async (t) => {
  const dir = await temporaryFolder(t)
  const folder = new DataFolder(dir, DEFAULT_ENRICHMENT_LIMITS, silent, () => {})
  const file = join(dir, 'companies.csv')
  await writeFile(file, table('First'))
  const { atime, mtime } = await stat(file)
  await folder.look(true)
  await writeFile(join(dir, 'next'), table('Other'))
  await utimes(join(dir, 'next'), atime, mtime)
  await rename(join(dir, 'next'), file)
  assert.equal(await folder.look(true), true)
  assert.equal(folder.providers[0]?.find(address('81.2.69.1'))?.data.business_name, 'Other')
})

test('an unknown MMDB is reported, and served once it has a mapping beside it', async (t) => {
  const dir = await temporaryFolder(t)
  await writeFile(join(dir, 'firms.mmdb'), mmdb('Acme', { '81.2.69.0/24': { firm: 'Example Software', kind: 'x' } }))
  const engine = await startEngine(t, dir)
  const report = engine.providers()[0]
  assert.deepEqual(report?.unrecognised, { databaseType: 'Acme', keys: ['firm', 'kind'] })
  await writeFile(join(dir, 'firms.mmdb.json'), '{"business_name":"firm"}')
  await until(() => nameOf(engine) === 'Example Software')
  assert.equal(engine.providers()[0]?.recognisedAs, 'Acme as mapped')
})

test('of two files with one provider name, the one in use stays', async (t) => {
  const dir = await temporaryFolder(t)
  await writeFile(join(dir, 'companies.ndjson'), '{"network":"81.2.69.0/24","business_name":"Served"}')
  const engine = await startEngine(t, dir)
  await writeFile(join(dir, 'companies.csv'), table('Other'))
  await until(() => engine.providers().some((provider) => provider.reason?.includes('same provider name')))
  assert.equal(nameOf(engine), 'Served')
  await rm(join(dir, 'companies.ndjson'))
  await until(() => nameOf(engine) === 'Other')
})

test('of two files with one provider name, the readable one serves', async (t) => {
  const dir = await temporaryFolder(t)
  await writeFile(join(dir, 'companies.csv'), 'nonsense')
  await writeFile(join(dir, 'companies.ndjson'), '{"network":"81.2.69.0/24","business_name":"Served"}')
  const engine = await startEngine(t, dir)
  assert.equal(nameOf(engine), 'Served')
})

test('data sets of one folder are renewed while another folder is unreadable and keeps its own', async (t) => {
  const [dir, defaultsDir] = [await temporaryFolder(t), await temporaryFolder(t)]
  await writeFile(join(dir, 'companies.csv'), table('Example'))
  const engine = await startEngine(t, dir, { defaultsDir })
  await rename(dir, `${dir}-away`)
  t.after(() => rm(`${dir}-away`, { recursive: true, force: true }))
  await writeFile(join(defaultsDir, 'asn.mmdb'), asnMmdb({ '81.2.0.0/16': [64_500, 'Good Software'] }))
  await until(() => engine.enrich(address('81.2.70.1')).data.as_name === 'Good Software')
  assert.equal(nameOf(engine), 'Example')
  await rename(`${dir}-away`, dir)
  await writeFile(join(dir, 'companies.csv'), table('Other'))
  await until(() => nameOf(engine) === 'Other')
})
