/**
 * Replaces a big table under live load: a whole ipid with a table of `ROWS` rows in ENRICH_DIR, and `RATE` requests per second
 * for `ADDRESSES` different addresses, half of them /v1/ingest and half /v1/lookup. Then a new version replaces the table.
 *
 *     node --import tsx bench/reload.ts
 *
 * `FORMAT` is csv, csv.gz, ndjson, or vendor for a CSV with IPinfo's columns. For comparison, the same load runs first without
 * a reload, for `QUIET_S` seconds.
 */
import { createWriteStream } from 'node:fs'
import { mkdtemp, rename, rm } from 'node:fs/promises'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { createGzip } from 'node:zlib'
import { freePort } from './support/free-port.ts'
import { startInstance } from './support/instance.ts'
import { percentile } from './support/load.ts'
import { type ChildProcessInfo, cpuSeconds, descendants, residentMb } from './support/processes.ts'
import { type SteadyLoad, type SteadyResult, startSteadyLoad } from './support/steady-load.ts'

const rows = Number(process.env.ROWS ?? 1_000_000)
const rate = Number(process.env.RATE ?? 200)
const connections = Number(process.env.CONNECTIONS ?? 16)
const addresses = Number(process.env.ADDRESSES ?? 5_000)
const format = process.env.FORMAT ?? 'csv'
const quietMs = Number(process.env.QUIET_S ?? 15) * 1_000
/** Time to continue after the first answer of the new table, while the other processes load it. */
const AFTER_MS = 8_000
const WARM_UP_MS = 20_000
const GIVE_UP_MS = 600_000
const SAMPLE_MS = 500
const LOOK_EVERY = 10
const ASK_MS = 250

type Row = (i: number, network: string, version: string) => string

const FORMATS: Readonly<Record<string, { readonly file: string; readonly header: string; readonly row: Row }>> = {
  csv: {
    file: 'table.csv',
    header: 'network,business_name,domain,industry,country_code\n',
    row: (i, network, version) =>
      `${network},${version} ${i % 300_000} GmbH,firm${i % 300_000}.example.com,Anvils,DE\n`,
  },
  ndjson: {
    file: 'table.ndjson',
    header: '',
    row: (i, network, version) =>
      `${JSON.stringify({ network, business_name: `${version} ${i % 300_000} GmbH`, country_code: 'DE' })}\n`,
  },
  vendor: {
    file: 'table.csv',
    header: 'network,country,country_code,continent,continent_code,asn,as_name,as_domain\n',
    row: (i, network, version) =>
      `${network},Germany,DE,Europe,EU,AS${(i % 80_000) + 1},"${version} ${i % 80_000} GmbH",as${i % 80_000}.example\n`,
  },
}

/** Networks of 256 addresses from 16.0.0.0 on. */
function networkOf(i: number): string {
  return `${16 + (i >> 16)}.${(i >> 8) & 255}.${i & 255}`
}

async function writeTable(path: string, version: string): Promise<void> {
  const { header, row } = FORMATS[format.replace('.gz', '')]!
  function* parts() {
    yield header
    for (let i = 0; i < rows; i += 1_000) {
      let part = ''
      for (let j = i; j < Math.min(rows, i + 1_000); j++) part += row(j, `${networkOf(j)}.0/24`, version)
      yield part
    }
  }
  const out = createWriteStream(path)
  if (format.endsWith('.gz')) await pipeline(Readable.from(parts()), createGzip(), out)
  else await pipeline(Readable.from(parts()), out)
}

function startLoad(url: string, apiKey: string): SteadyLoad {
  const ip = (n: number) => `${networkOf(((n % addresses) * 7_919) % rows)}.7`
  return startSteadyLoad({
    url,
    apiKey,
    connections,
    requestsPerSecond: rate,
    next: (n) =>
      n % 2 === 0
        ? { path: '/v1/lookup', body: JSON.stringify({ ip: ip(n) }) }
        : { path: '/v1/ingest', body: JSON.stringify({ events: [{ ip: ip(n), event_id: `e${n}-${Date.now()}` }] }) },
  })
}

/** Samples memory and CPU of the serving processes. */
class Watched {
  readonly rssMb = new Map<string, number>()
  readonly cpu = new Map<string, number>()
  readonly #timer: NodeJS.Timeout
  #processes: readonly ChildProcessInfo[] = []
  #samples = 0

  constructor(pid: number) {
    this.#timer = setInterval(() => this.#sample(pid), SAMPLE_MS)
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  #sample(parent: number): void {
    // Listing all processes of the machine delays the load.
    if (this.#samples++ % LOOK_EVERY === 0) this.#processes = descendants(parent)
    for (const { pid, title } of this.#processes) {
      const name = /ipid[ :-]?\S*.*$/.exec(title)?.[0].slice(0, 60) ?? title.slice(0, 60)
      const key = `${pid} ${name}`
      this.rssMb.set(key, Math.max(this.rssMb.get(key) ?? 0, residentMb(pid)))
      this.cpu.set(key, Math.max(this.cpu.get(key) ?? 0, cpuSeconds(pid)))
    }
  }
}

/** The longest event-loop delay of each process since the last call, milliseconds. It includes 10 ms of the measurement. */
async function stalls(adminPort: number): Promise<Map<string, number>> {
  const text = await (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).text()
  const found = new Map<string, number>()
  for (const [, labels, value] of text.matchAll(/^nodejs_eventloop_lag_max_seconds\{([^}]*)\} (\S+)$/gm)) {
    found.set(labels!, Math.max(found.get(labels!) ?? 0, Number(value) * 1_000))
  }
  return found
}

async function nameAt(url: string, apiKey: string): Promise<string> {
  const answer = await fetch(`${url}/v1/lookup`, {
    method: 'POST',
    headers: { 'x-api-key': apiKey, 'content-type': 'application/json', connection: 'close' },
    body: JSON.stringify({ ip: `${networkOf(7)}.9` }),
  })
  return await answer.text()
}

function report(what: string, { latencies, longestGapMs, failures }: SteadyResult, loops: Map<string, number>): void {
  const line = (name: string, value: string) => process.stdout.write(`  ${name.padEnd(28)} ${value}\n`)
  process.stdout.write(`${what}; load ${loadavg()[0]!.toFixed(2)}\n`)
  const all = [...latencies.values()].flat().sort((a, b) => a - b)
  line('requests', String(all.length))
  line('failed', JSON.stringify([...failures]))
  for (const [path, values] of [['all', all] as const, ...latencies]) {
    const shares = [0.5, 0.99, 0.999, 1].map((share) => percentile(values, share).toFixed(1))
    line(`p50 p99 p99.9 most, ms`, `${shares.join(' ')}  ${path}`)
  }
  line('longest without answer ms', longestGapMs.toFixed(1))
  for (const [labels, ms] of loops) line('longest loop delay ms', `${ms.toFixed(1)} ${labels}`)
}

const dir = await mkdtemp(join(tmpdir(), 'ipid-bench-reload-'))
const { file } = FORMATS[format.replace('.gz', '')]!
const path = join(dir, format.endsWith('.gz') ? `${file}.gz` : file)
await writeTable(path, 'Old')
const adminPort = await freePort()
const startedMs = performance.now()
const instance = await startInstance({ ENRICH_DIR: dir, ADMIN_PORT: String(adminPort) })
try {
  process.stdout.write(`${rows} rows of ${format}; ready in ${Math.round(performance.now() - startedMs)} ms\n`)
  const { url, apiKey } = instance
  const warming = startLoad(url, apiKey)
  await sleep(WARM_UP_MS)
  await warming.stop()
  const quiet = startLoad(url, apiKey)
  await stalls(adminPort)
  await sleep(quietMs)
  const quietLoops = await stalls(adminPort)
  report('without a reload', await quiet.stop(), quietLoops)

  const next = join(dir, '.next')
  await writeTable(next, 'New')
  const watched = new Watched(instance.pid)
  await stalls(adminPort)
  const load = startLoad(url, apiKey)
  const replacedMs = performance.now()
  await rename(next, path)
  while (!/New 7 /.test(await nameAt(url, apiKey))) {
    if (performance.now() - replacedMs > GIVE_UP_MS) throw new Error('the new table does not answer')
    await sleep(ASK_MS)
  }
  const tookMs = performance.now() - replacedMs
  await sleep(AFTER_MS)
  const loops = await stalls(adminPort)
  const result = await load.stop()
  watched.stop()
  report(`reload in ${(tookMs / 1_000).toFixed(1)} s`, result, loops)
  for (const [name, mb] of watched.rssMb) {
    process.stdout.write(
      `  ${mb.toFixed(0).padStart(5)} MB ${watched.cpu.get(name)!.toFixed(1).padStart(6)} s of CPU  ${name}\n`,
    )
  }
} finally {
  await instance.stop()
  await rm(dir, { recursive: true, force: true })
}
