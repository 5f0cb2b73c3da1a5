/**
 * Lookup of addresses by the enrichment engine, cold and warm, compared with the bare `maxmind` reader.
 *
 *     node --import tsx bench/enrich.ts [DIR] [ADDRESSES]
 *
 * DIR holds the data files, ADDRESSES one address per line. By default the benchmark generates 20,000 networks and addresses
 * in them. The reader opens all MMDBs of the folder.
 */
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { open, type Response } from 'maxmind'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { EnrichmentEngine } from '../src/enrichment/engine.ts'
import { DataLookups } from '../src/enrichment/lookup-service.ts'
import { MmdbWriter } from '../src/enrichment/providers/mmdb/writer.ts'
import { ReverseDns } from '../src/enrichment/providers/rdns/reverse-dns.ts'
import type { LookupOptions } from '../src/lookup/lookup.ts'
import { formatV4, parseAddress } from '../src/pipeline/event/address.ts'
import { systemClock } from '../src/run/clock.ts'

const ROUNDS = 9
const WARM_PASSES = 10
const MADE_NETWORKS = 20_000

/** Microseconds per address in each pass, by name of the measurement. */
type Costs = Record<string, number[]>

async function main(): Promise<void> {
  const [dirArgument, addressesArgument] = process.argv.slice(2)
  const made = dirArgument === undefined ? await makeData() : undefined
  const dir = dirArgument ?? made!.dir
  try {
    const texts =
      addressesArgument === undefined ? (made?.addresses ?? makeAddresses()) : await readLines(addressesArgument)
    const costs: Costs = {}
    for (let round = 0; round < ROUNDS; round++) await measure(dir, texts, costs)
    report(new Set(texts).size, costs)
  } finally {
    if (made !== undefined) await rm(made.dir, { recursive: true })
  }
}

async function measure(dir: string, texts: readonly string[], costs: Costs): Promise<void> {
  const addresses = texts.map((text) => parseAddress(text)!)
  const mmdbs = (await readdir(dir)).filter((file) => file.endsWith('.mmdb'))
  const readers = await Promise.all(mmdbs.map((file) => open<Response>(join(dir, file))))
  const readAll = () => {
    for (const text of texts) for (const reader of readers) reader.get(text)
  }
  time(costs, `maxmind reader on ${mmdbs.length} MMDBs, first pass`, texts.length, 1, readAll)
  time(costs, `maxmind reader on ${mmdbs.length} MMDBs, later passes`, texts.length, 1, readAll)
  const engine = new EnrichmentEngine({ dir, log: pino({ level: 'silent' }), metrics: new Registry() })
  await engine.start()
  const names = `${engine.providerNames().length} providers`
  const enrichAll = () => {
    for (const address of addresses) engine.enrich(address)
  }
  time(costs, `enrich over ${names}, cold`, texts.length, 1, enrichAll)
  time(costs, `enrich over ${names}, warm`, texts.length, WARM_PASSES, enrichAll)
  time(costs, `enrich over ${names}, warm, text parsed each time`, texts.length, WARM_PASSES, () => {
    for (const text of texts) engine.enrich(parseAddress(text)!)
  })
  await engine.stop()
  await measureLookups(dir, texts, costs)
}

async function measureLookups(dir: string, texts: readonly string[], costs: Costs): Promise<void> {
  const engine = new EnrichmentEngine({ dir, log: pino({ level: 'silent' }), metrics: new Registry() })
  await engine.start()
  const log = pino({ level: 'silent' })
  const reverseDns = new ReverseDns({ servers: ['127.0.0.1:9'], clock: systemClock, metrics: new Registry(), log })
  const service = new DataLookups({ engine, reverseDns, asksAlways: false })
  const names = `${engine.providerNames().length} providers`
  const lookupAll = (options: LookupOptions) => () => {
    for (const text of texts) void service.lookup(parseAddress(text)!, options)
  }
  const few = { allow: service.providerNames().slice(0, 2) }
  time(costs, `lookup over ${names} with provenance, text parsed, cold`, texts.length, 1, lookupAll({}))
  time(costs, `lookup over ${names} with provenance, text parsed, warm`, texts.length, WARM_PASSES, lookupAll({}))
  lookupAll(few)()
  time(costs, 'lookup over 2 chosen providers, warm', texts.length, WARM_PASSES, lookupAll(few))
  await reverseDns.stop()
  await engine.stop()
}

function time(costs: Costs, what: string, addresses: number, passes: number, pass: () => void): void {
  const start = performance.now()
  for (let i = 0; i < passes; i++) pass()
  const microseconds = ((performance.now() - start) * 1_000) / (addresses * passes)
  costs[what] ??= []
  costs[what].push(microseconds)
}

function report(distinct: number, costs: Costs): void {
  process.stdout.write(`${distinct} distinct addresses, µs per address: median of ${ROUNDS} rounds (least, most)\n`)
  for (const [what, values] of Object.entries(costs)) {
    const sorted = values.sort((a, b) => a - b)
    const [median, least, most] = [sorted[sorted.length >> 1]!, sorted[0]!, sorted.at(-1)!]
    process.stdout.write(`${median.toFixed(3).padStart(9)}  ${what} (${least.toFixed(3)}, ${most.toFixed(3)})\n`)
  }
}

async function makeData(): Promise<{ dir: string; addresses: string[] }> {
  const dir = await mkdtemp(join(tmpdir(), 'ipid-bench-'))
  const writer = new MmdbWriter({ databaseType: 'GeoLite2-ASN', buildEpoch: 1_760_000_000 })
  const rows = ['network,business_name,domain,classification']
  for (let i = 0; i < MADE_NETWORKS; i++) {
    const first = networkOf(i)
    const asn = 64_512 + (i % 1_000)
    writer.insert(
      { version: 4, first, last: first + 1_023 },
      { autonomous_system_number: asn, autonomous_system_organization: `Example ${asn} GmbH` },
    )
    if (i % 10 === 0) rows.push(`${formatV4(first)}/24,Firm ${i},firm${i}.example.com,business`)
  }
  await writeFile(join(dir, 'asn.mmdb'), writer.toBuffer())
  await writeFile(join(dir, 'companies.csv'), rows.join('\n'))
  return { dir, addresses: makeAddresses() }
}

function makeAddresses(): string[] {
  return Array.from({ length: MADE_NETWORKS }, (_, i) => formatV4(networkOf(i) + (i % 1_024)))
}

/** Spread over the public part of the address space. */
function networkOf(i: number): number {
  return 0x1000_0000 + ((i * 7_919) % 1_000_000) * 1_024
}

async function readLines(path: string): Promise<string[]> {
  return (await readFile(path, 'utf8')).split('\n').filter((line) => parseAddress(line) !== undefined)
}

await main()
