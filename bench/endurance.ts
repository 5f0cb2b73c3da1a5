/*
 * Memory and disk of an instance under a constant load for `MINUTES` (30): `EVENTS` (2,000) per second in requests of 20, a tenth
 * of them noise and a twentieth repeats, 20 lookups per second, and an upload of 10,000 lines per minute. Every minute it prints
 * the memory of each process, of Redis and of its dedup store, and the disk usage. At the end it prints the growth since minute
 * 10, next to the permanent size of the events stored since then. Fails if a request failed, or an event is missing or stored
 * twice.
 */
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { memoryMb } from './run/accounting.ts'
import { type Product, startProduct } from './run/product.ts'
import { withReleases } from './run/releases.ts'
import { percentile } from './support/load.ts'
import { type SteadyLoad, startSteadyLoad } from './support/steady-load.ts'

const MINUTES = Number(process.env.MINUTES ?? 30)
const EVENTS = Number(process.env.EVENTS ?? 2_000)
/** After this minute, compilation, caches and first merges are done. */
const SETTLED_MINUTE = Number(process.env.SETTLED_MINUTE ?? 10)
const PER_REQUEST = 20
const NOISE_EVERY = 10
const REPEAT_EVERY = 20
const REPEAT_BACK = 10_003
const LOOKUPS_EVERY = 5
const LINES = 10_000
const MB = 2 ** 20

interface Held {
  readonly minute: number
  readonly events: number
  readonly memory: ReadonlyMap<string, number>
  readonly redisMb: number
  readonly redisFileMb: number
  readonly tablesMb: number
  readonly otherFilesMb: number
}

const expected = { live: 0, lines: 0 }

await withReleases(async (releases) => {
  const product = await startProduct(process.cwd(), { DEFAULT_DATA: process.env.DEFAULT_DATA ?? 'on' }, releases)
  const load = startLoad(product)
  releases.add(async () => void (await load.stop()))
  const held: Held[] = []
  const startedMs = performance.now()
  for (let minute = 1; minute <= MINUTES; minute++) {
    await upload(product, minute)
    await sleep(Math.max(0, startedMs + minute * 60_000 - performance.now()))
    held.push(await look(product, minute))
    print(held.at(-1)!)
  }
  const { latencies, failures } = await load.stop()
  if (failures.size > 0) throw new Error(`not answered with 200: ${JSON.stringify([...failures])}`)
  await product.untilStored(expected.live + expected.lines)
  const [rows, ids] = (await product.query('SELECT count(), uniqExact(event_id) FROM events')).split('\t').map(Number)
  if (rows !== ids || rows !== expected.live + expected.lines) {
    throw new Error(`${rows} rows of ${ids} events, instead of ${expected.live + expected.lines}`)
  }
  process.stdout.write(`${rows} events stored, none missing, none doubled\n`)
  for (const [path, all] of latencies) {
    const [p50, p99] = [percentile(all, 0.5), percentile(all, 0.99)].map((ms) => ms.toFixed(1))
    process.stdout.write(`${path}: ${all.length} answers, p50 ${p50} ms, p99 ${p99} ms\n`)
  }
  const from = held.find(({ minute }) => minute >= SETTLED_MINUTE)
  if (from !== undefined && from !== held.at(-1)) printGrowth(from, held.at(-1)!)
})

function startLoad(product: Product): SteadyLoad {
  let number = 0
  const event = () => {
    const n = number++
    if (n % NOISE_EVERY === 0) return { ip: '10.0.0.1', event_id: `noise${n}` }
    const isRepeat = n % REPEAT_EVERY === 1 && n > REPEAT_BACK
    if (!isRepeat) expected.live++
    const of = isRepeat ? n - REPEAT_BACK : n
    return {
      ip: `17.${(of >> 8) % 256}.${of % 256}.${of % 100}`,
      event_id: `e${of}`,
      event_type: 'page_view',
      session_id: of % 5_000,
      properties: { path: `/products/${of % 997}`, referrer: 'https://example.com/' },
    }
  }
  return startSteadyLoad({
    url: product.url,
    apiKey: product.apiKey,
    requestsPerSecond: (EVENTS / PER_REQUEST) * (1 + 1 / LOOKUPS_EVERY),
    connections: 8,
    next: (n) =>
      n % (LOOKUPS_EVERY + 1) === LOOKUPS_EVERY
        ? { path: '/v1/lookup', body: JSON.stringify({ ip: `17.${n % 256}.0.1` }) }
        : { path: '/v1/ingest', body: JSON.stringify({ events: Array.from({ length: PER_REQUEST }, event) }) },
  })
}

async function upload({ url, apiKey }: Product, minute: number): Promise<void> {
  const line = (i: number) =>
    JSON.stringify({ ip: `17.${i >> 8}.${i & 255}.9`, event_id: `b${minute}-${i}`, event_type: 'open' })
  const answer = await fetch(`${url}/v1/ingest/batch`, {
    method: 'POST',
    headers: { 'x-api-key': apiKey, 'content-type': 'application/x-ndjson' },
    body: Array.from({ length: LINES }, (_, i) => line(i)).join('\n'),
  })
  if (answer.status !== 202) throw new Error(`the upload was answered with ${answer.status}: ${await answer.text()}`)
  expected.lines += LINES
}

async function look(product: Product, minute: number): Promise<Held> {
  const { memory, file } = await product.redis()
  const bytes = await product.query('SELECT sum(bytes_on_disk) FROM system.parts WHERE active')
  const all = await bytesUnder(product.dataDir)
  const tablesMb = Number(bytes) / MB
  return {
    minute,
    events: await product.stored(),
    memory: memoryMb(product.pid),
    redisMb: memory / MB,
    redisFileMb: file / MB,
    tablesMb,
    otherFilesMb: all / MB - tablesMb - file / MB,
  }
}

/** Tolerates files that appear and disappear. */
async function bytesUnder(folder: string): Promise<number> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => [])
  const sizes = entries.map(async (entry) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return bytesUnder(path)
    return (await stat(path).catch(() => undefined))?.size ?? 0
  })
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)
}

function print(held: Held): void {
  const { minute, events, memory, redisMb, redisFileMb, tablesMb, otherFilesMb } = held
  const processes = [...memory].map(([name, mb]) => `${name} ${mb.toFixed(0)}`).join(', ')
  process.stdout.write(
    `minute ${minute}: ${events} events stored; MB of memory: ${processes}; Redis' data ${redisMb.toFixed(1)}; ` +
      `MB of files: Redis ${redisFileMb.toFixed(0)}, tables ${tablesMb.toFixed(1)}, others ${otherFilesMb.toFixed(1)}\n`,
  )
}

function printGrowth(from: Held, to: Held): void {
  const events = to.events - from.events
  const perEvent = (mb: number) => `${((mb * MB) / events).toFixed(1)} bytes an event`
  process.stdout.write(
    `from minute ${from.minute} to ${to.minute}: ${events} events; Redis' data ${perEvent(to.redisMb - from.redisMb)}, ` +
      `tables ${perEvent(to.tablesMb - from.tablesMb)}, other files ${(to.otherFilesMb - from.otherFilesMb).toFixed(1)} MB\n`,
  )
  for (const [name, mb] of to.memory) {
    process.stdout.write(`${name}: ${(mb - (from.memory.get(name) ?? 0)).toFixed(1)} MB\n`)
  }
}
