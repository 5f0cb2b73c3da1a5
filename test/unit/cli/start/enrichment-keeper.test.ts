import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { pino } from 'pino'
import { EnrichmentKeeper } from '../../../../src/cli/start/enrichment-keeper.ts'
import { readConfig } from '../../../../src/config/config.ts'
import { oldDataIn } from '../../../../src/enrichment/files/old-data.ts'
import { askForUpdate, readAskedUpdate } from '../../../../src/enrichment/files/update/asked-update.ts'
import { asnMmdb, mmdb, temporaryFolder } from '../../../support/enrichment-data.ts'
import { until } from '../../../support/until.ts'

/** A fake command line: it notes its calls, and one table kills it as the kernel would. */
const commandThatNotes = (notesPath: string) => `
import { appendFileSync } from 'node:fs'
const { KEY, OTHER, REDIS_URL, HTTPS_PROXY } = process.env
const variables = JSON.stringify({ KEY, OTHER, REDIS_URL, HTTPS_PROXY })
appendFileSync(${JSON.stringify(notesPath)}, process.argv.slice(2).join(' ') + ' ' + variables + '\\n')
if (process.argv.at(-1).endsWith('deadly.csv')) process.kill(process.pid, 'SIGKILL')
`
const DIES = "process.kill(process.pid, 'SIGKILL')"

test('a table that kills its compiler delays no start, no other table and no fetch', async (t) => {
  const base = await temporaryFolder(t)
  const enrichDir = join(base, 'enrich')
  mkdirSync(enrichDir)
  for (const file of ['deadly.csv', 'well.csv']) writeFileSync(join(enrichDir, file), Buffer.alloc(4 * 1024 * 1024, 10))
  const source = { schedule: 'daily', key_env: 'KEY' }
  const sources = ['a.csv', 'iptoasn.mmdb'].map((file) => ({ ...source, url: `http://127.0.0.1:1/${file}` }))
  writeFileSync(join(enrichDir, 'sources.json'), JSON.stringify(sources))
  const [script, notesPath] = [join(base, 'command.mjs'), join(base, 'notes')]
  writeFileSync(script, commandThatNotes(notesPath))
  writeFileSync(join(enrichDir, 'iptoasn.mmdb'), asnMmdb({ '81.2.69.0/24': [64500, 'Example AS'] }))
  const config = readConfig({ ENRICH_DIR: enrichDir, DATA_DIR: join(base, 'data') })
  const said: string[] = []
  const log = pino({ level: 'warn' }, { write: (line) => void said.push(JSON.parse(line).msg) })
  const env = { KEY: 'k', OTHER: 'secret', REDIS_URL: 'redis://:secret@x', HTTPS_PROXY: 'http://p' }
  const keeper = new EnrichmentKeeper({ config, script, env, log })
  t.after(() => keeper.stop())
  await keeper.start()
  const notes = () => (existsSync(notesPath) ? readFileSync(notesPath, 'utf8') : '')
  await until(() => notes().includes('db update --due'))
  assert.match(
    notes(),
    /^db compile --urgent --table .*deadly\.csv \{\}\ndb compile --urgent --table .*well\.csv \{\}\n/,
  )
  assert.match(notes(), /^db update --due --json \{"KEY":"k","HTTPS_PROXY":"http:\/\/p"\}$/m)
  const old = /^data are old: iptoasn \(\d+ days\); their sources bring nothing newer: see "\.\/ipid db update"$/
  await until(() => said.some((line) => old.test(line)))
  assert.equal(notes().split('deadly').length, 2, 'it is not tried again at once')
})

test('a requested update ends with its reason when its process dies or sources.json is damaged', async (t) => {
  const base = await temporaryFolder(t)
  const enrichDir = join(base, 'enrich')
  mkdirSync(enrichDir)
  const script = join(base, 'command.mjs')
  writeFileSync(script, DIES)
  const config = readConfig({ ENRICH_DIR: enrichDir, DATA_DIR: join(base, 'data') })
  const said: string[] = []
  const log = pino({ level: 'warn' }, { write: (line) => void said.push(JSON.parse(line).msg) })
  // The request comes before the keeper runs: another process may have ended in between.
  await askForUpdate(enrichDir, [{ file: 'own.csv', url: 'http://127.0.0.1:1/own.csv' }], '2026-11-26T10:00:00.000Z')
  const keeper = new EnrichmentKeeper({ config, script, env: {}, log })
  t.after(() => keeper.stop())
  await keeper.start()
  const failures = async () => (await readAskedUpdate(enrichDir))?.outcome?.failures
  await until(async () => (await failures()) !== undefined)
  assert.deepEqual(await failures(), [{ file: 'sources.json', reason: 'ipid db update --json: signal SIGKILL' }])
  assert.ok(said.some((line) => line.startsWith('cannot update sources.json: ipid db update --json: ')))

  writeFileSync(join(enrichDir, 'sources.json'), '[{"url"')
  writeFileSync(join(enrichDir, '.asked-update.json'), JSON.stringify({ askedAt: '2026-11-26T11:00:00.000Z' }))
  await until(async () => (await failures())?.[0]?.reason.includes('sources.json: not JSON') === true)
})

test('data count as old when a source is configured for them, and otherwise there is advice', async (t) => {
  const base = await temporaryFolder(t)
  const [sourcesDir, defaultsDir] = [join(base, 'enrich'), join(base, 'defaults')]
  const at = (buildEpoch: number) => mmdb('GeoLite2-ASN', { '81.2.69.0/24': { asn: 1 } }, { buildEpoch })
  const day = 86_400
  const nowMs = 2_000 * day * 1_000
  const found = () => oldDataIn({ sourcesDir, defaultsDir }, nowMs)
  mkdirSync(defaultsDir)
  for (const name of ['asn', 'country'])
    writeFileSync(join(defaultsDir, `ip-location-db-${name}.mmdb`), at((2_000 - 157) * day))
  assert.deepEqual(await found(), {
    warning: undefined,
    advice:
      'newer data than ip-location-db-asn (157 days), ip-location-db-country (157 days): ' +
      './ipid db add iptoasn dbip-lite-country && ./ipid db update',
  })

  mkdirSync(sourcesDir)
  for (const [name, bytes] of [
    ['new', at(1_999 * day)],
    ['undated', at(0)],
    ['cut', at(1).subarray(0, 60)],
    ['empty', Buffer.alloc(0)],
    ['own', at(1_900 * day)],
  ] as const) {
    writeFileSync(join(sourcesDir, `${name}.mmdb`), bytes)
  }
  assert.equal((await found()).warning, undefined, "no source is configured to renew the user's own data")

  const sources = ['own.mmdb', 'iptoasn.mmdb'].map((file) => ({ url: `http://127.0.0.1:1/${file}` }))
  writeFileSync(join(sourcesDir, 'sources.json'), JSON.stringify(sources))
  assert.deepEqual(await found(), {
    warning:
      'data are old: own (100 days), ip-location-db-asn (157 days); their sources bring nothing newer: ' +
      'see "./ipid db update"',
    advice: 'newer data than ip-location-db-country (157 days): ./ipid db add dbip-lite-country && ./ipid db update',
  })
  writeFileSync(join(sourcesDir, 'iptoasn.mmdb'), at(1_999 * day))
  assert.match((await found()).warning ?? '', /^data are old: own \(100 days\); their/, 'the new one took its place')
})
