/**
 * The shares of addresses in a file that are known, identified and filtered: with the starter data alone, and with the default
 * data sets too.
 *
 *     node --import tsx bench/known-addresses.ts ADDRESSES [DATA_DIR]
 *
 * ADDRESSES holds one address per line. Missing default data sets are made under DATA_DIR first.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { EnrichmentEngine } from '../src/enrichment/engine.ts'
import { makeDefaults } from '../src/enrichment/files/defaults/make.ts'
import { type Address, parseAddress } from '../src/pipeline/event/address.ts'

async function main(): Promise<void> {
  const [file, dataDir = 'data'] = process.argv.slice(2)
  if (file === undefined) throw new Error('usage: known-addresses.ts ADDRESSES [DATA_DIR]')
  const lines = (await readFile(file, 'utf8')).split('\n').filter((line) => line !== '')
  const addresses = lines.flatMap((line) => parseAddress(line) ?? [])
  const defaultsDir = join(dataDir, 'enrich-default')
  await makeDefaults(defaultsDir)
  process.stdout.write(`${addresses.length} addresses\n`)
  await measure('starter data', addresses, undefined)
  await measure('and default data', addresses, defaultsDir)
}

async function measure(what: string, addresses: readonly Address[], defaultsDir: string | undefined): Promise<void> {
  const log = pino({ level: 'silent' })
  const engine = new EnrichmentEngine({ dir: undefined, defaultsDir, log, metrics: new Registry() })
  const startedMs = performance.now()
  await engine.start()
  const loadedMs = performance.now() - startedMs
  const counts = { known: 0, identified: 0, filtered: 0 }
  for (const address of addresses) {
    const { data, noise, companyId } = engine.enrich(address)
    if (Object.keys(data).length > 0) counts.known++
    if (noise) counts.filtered++
    else if (companyId !== '') counts.identified++
  }
  await engine.stop()
  const share = (count: number) => `${((100 * count) / addresses.length).toFixed(1)} %`
  const shares = Object.entries(counts).map(([name, count]) => `${name} ${share(count)}`)
  process.stdout.write(`${what}: ${shares.join(', ')}; loaded in ${Math.round(loadedMs)} ms\n`)
}

await main()
