import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { EnrichmentKeeper } from '../../../../src/cli/start/enrichment-keeper.ts'
import { readConfig } from '../../../../src/config/config.ts'
import { silent, temporaryFolder } from '../../../support/enrichment-data.ts'
import { until } from '../../../support/until.ts'

/** Stands for the command line: notes what it was asked, and dies of one table as the kernel would kill it. */
const COMMAND = `
import { appendFileSync } from 'node:fs'
appendFileSync(process.env.NOTES, process.argv.slice(2).join(' ') + '\\n')
if (process.argv.at(-1).endsWith('deadly.csv')) process.kill(process.pid, 'SIGKILL')
`

test('a table that kills who compiles it holds up neither the start, nor other tables, nor what is fetched', async (t) => {
  const base = await temporaryFolder(t)
  const enrichDir = join(base, 'enrich')
  mkdirSync(enrichDir)
  for (const file of ['deadly.csv', 'well.csv']) writeFileSync(join(enrichDir, file), Buffer.alloc(4 * 1024 * 1024, 10))
  writeFileSync(join(enrichDir, 'sources.json'), '[{"url": "http://127.0.0.1:1/a.csv", "schedule": "daily"}]')
  const script = join(base, 'command.mjs')
  writeFileSync(script, COMMAND)
  const notesPath = join(base, 'notes')
  const config = readConfig({ ENRICH_DIR: enrichDir, DATA_DIR: join(base, 'data') })
  const keeper = new EnrichmentKeeper({ config, script, env: { NOTES: notesPath }, log: silent })
  t.after(() => keeper.stop())
  await keeper.start()
  const notes = () => (existsSync(notesPath) ? readFileSync(notesPath, 'utf8') : '')
  await until(() => notes().includes('db update --due'))
  assert.match(notes(), /^db compile --table .*deadly\.csv\ndb compile --table .*well\.csv\n/)
  assert.equal(notes().split('deadly').length, 2, 'it is not tried again at once')
})
