/**
 * The shares of addresses in a file that are known, identified and filtered: with the starter data alone, and with the default
 * data sets too. Then the CPU time of a start and of an address, at first and again, and the memory after as many random addresses
 * as RANDOM says.
 *
 *     node --import tsx bench/known-addresses.ts ADDRESSES [DATA_DIR] [RANDOM]
 *
 * ADDRESSES holds one address per line. Missing default data sets are made under DATA_DIR first.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { EnrichmentEngine } from '../src/enrichment/engine.ts'
import { decideDefaults, makeDefaults } from '../src/enrichment/files/defaults/make.ts'
import { type Address, formatV4, parseAddress } from '../src/pipeline/event/address.ts'

async function main(): Promise<void> {
  const [file, dataDir = 'data', random = '300000'] = process.argv.slice(2)
  if (file === undefined) throw new Error('usage: known-addresses.ts ADDRESSES [DATA_DIR] [RANDOM]')
  const lines = (await readFile(file, 'utf8')).split('\n').filter((line) => line !== '')
  const addresses = lines.flatMap((line) => parseAddress(line) ?? [])
  const defaultsDir = join(dataDir, 'enrich-default')
  await makeDefaults(defaultsDir)
  await decideDefaults(defaultsDir)
  process.stdout.write(`${addresses.length} addresses\n`)
  await measure('starter data', addresses, undefined)
  await measure('and default data', addresses, defaultsDir)
  for (let round = 0; round < ROUNDS; round++) await time(addresses, defaultsDir, round === 0 ? Number(random) : 0)
}

/** The code is compiled in the first rounds. */
const ROUNDS = 5

async function time(addresses: readonly Address[], defaultsDir: string, random: number): Promise<void> {
  const engines = [1, 2].map(
    () =>
      new EnrichmentEngine({ dir: undefined, defaultsDir, log: pino({ level: 'silent' }), metrics: new Registry() }),
  )
  const costs: string[] = []
  const cost = async (what: string, parts: number, unit: string, work: () => unknown) => {
    const before = process.cpuUsage()
    await work()
    const { user, system } = process.cpuUsage(before)
    costs.push(`${what} ${((user + system) / parts).toFixed(1)} ${unit}`)
  }
  const [events, lookups] = engines as [EnrichmentEngine, EnrichmentEngine]
  await cost('start', 1_000, 'ms', () => events.start())
  await lookups.start()
  const each: readonly (readonly [string, (address: Address) => unknown])[] = [
    ['event', (address) => events.enrich(address)],
    ['again', (address) => events.enrich(address)],
    ['lookup', (address) => lookups.lookup(address)],
    ['again', (address) => lookups.lookup(address)],
    ['lookup after an event', (address) => events.lookup(address)],
  ]
  for (const [what, work] of each) await cost(what, addresses.length, 'µs', () => addresses.forEach(work))
  process.stdout.write(`CPU: ${costs.join(', ')}\n`)
  for (let i = 0; i < random; i++) events.enrich(parseAddress(formatV4(Math.imul(i + 1, 2_654_435_761) >>> 0))!)
  if (random > 0) process.stdout.write(`${random} random addresses: ${process.memoryUsage().rss / 1e6} MB\n`)
  for (const engine of engines) await engine.stop()
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
