import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { type Instance, startInstance } from './support/instance.ts'
import { percentile, sendLoad } from './support/load.ts'
import { cpuSeconds, descendants, residentMb } from './support/processes.ts'

/**
 * Live events end to end: requests of `EVENTS_PER_REQUEST` events over `CONNECTIONS` connections until `EVENTS` are sent,
 * then the wait until all of them can be queried. Rounds are repeated and their medians printed. `NOISE` is the share of
 * events from reserved addresses, which are noise, 0 to 1; what Redis holds afterwards is mostly the dedup window. The
 * processor time of each process is what a comparison on a busy machine goes by.
 */
const events = Number(process.env.EVENTS ?? 200_000)
const perRequest = Number(process.env.EVENTS_PER_REQUEST ?? 100)
const connections = Number(process.env.CONNECTIONS ?? 16)
const rounds = Number(process.env.ROUNDS ?? 3)
const noise = Number(process.env.NOISE ?? 0)

function body(round: number, request: number): string {
  const list = Array.from({ length: perRequest }, (_, i) => ({
    ip: isNoise(i)
      ? `10.0.${(request + i) % 250}.${(i * 13) % 250}`
      : `17.${(request * 7 + i) % 200}.${(request + i) % 250}.${(i * 13) % 250}`,
    event_id: `r${round}-${request}-${i}`,
    timestamp: '2026-11-21T10:00:00Z',
    event_type: 'page_view',
    session_id: request,
    platform: 'web',
    properties: { url: `https://example.com/page/${i}`, referrer: 'https://search.example/', duration: 12.5 },
  }))
  return JSON.stringify({ events: list })
}

function isNoise(i: number): boolean {
  return i % 100 < noise * 100
}

const keptPerRequest = Array.from({ length: perRequest }, (_, i) => i).filter((i) => !isNoise(i)).length
const instance = await startInstance()
const processes = descendants(instance.pid).map(({ pid, title }) => ({
  pid,
  name: roleOf(title),
  cpu: cpuSeconds(pid),
}))
const rates: number[] = []
const visible: number[] = []
let latencies: number[] = []
let held = { bytes: 0, cpuSeconds: 0 }
const used: Record<string, string> = {}
try {
  for (let round = 0; round < rounds; round++) {
    const bodies = Array.from({ length: Math.ceil(events / perRequest) }, (_, request) => body(round, request))
    const before = Number(await instance.query('SELECT count() FROM events'))
    const load = await sendLoad(instance.url, '/v1/ingest', instance.apiKey, bodies, connections)
    const answeredAt = performance.now()
    if (load.statuses.get(200) !== bodies.length) throw new Error(`statuses ${[...load.statuses]}`)
    const sent = bodies.length * perRequest
    const kept = bodies.length * keptPerRequest
    while (Number(await instance.query('SELECT count() FROM events')) < before + kept) await sleep(20)
    const behindSeconds = (performance.now() - answeredAt) / 1_000
    rates.push(sent / load.seconds)
    visible.push(sent / (load.seconds + behindSeconds))
    latencies = latencies.concat(load.latencies)
    const stored = Number(await instance.query('SELECT count() FROM events'))
    if (stored !== before + kept) throw new Error(`${stored} events stored, ${before + kept} of ${sent} to be kept`)
  }
  await sleep(3_000)
  held = await heldByRedis(instance)
  for (const { pid, name, cpu } of processes) {
    const micros = ((cpuSeconds(pid) - cpu) * 1e6) / (rounds * events)
    used[`${name} µs/event`] = micros.toFixed(2)
    used[`${name} MB`] = residentMb(pid).toFixed(0)
  }
} finally {
  await instance.stop()
}
const median = (values: number[]) =>
  percentile(
    values.sort((a, b) => a - b),
    0.5,
  )
latencies.sort((a, b) => a - b)
const rows = {
  'events/s answered': Math.round(median(rates)),
  'events/s queryable': Math.round(median(visible)),
  'latency p50 ms': percentile(latencies, 0.5).toFixed(2),
  'latency p99 ms': percentile(latencies, 0.99).toFixed(2),
  'Redis MB afterwards': (held.bytes / 2 ** 20).toFixed(1),
  'Redis CPU s': held.cpuSeconds.toFixed(1),
  ...used,
}
for (const [name, value] of Object.entries(rows)) process.stdout.write(`${name.padEnd(20)} ${value}\n`)

/** Of a command line. */
function roleOf(title: string): string {
  return /redis|clickhouse|ingress|process/.exec(title)?.[0] ?? 'other'
}

async function heldByRedis({ redisUrl }: Instance): Promise<{ bytes: number; cpuSeconds: number }> {
  const redis = new Redis({ path: redisUrl.replace('unix://', '') })
  const [memory, cpu] = await Promise.all([redis.info('memory'), redis.info('cpu')])
  redis.disconnect()
  const number = (text: string, field: string) => Number(new RegExp(`^${field}:([\\d.]+)`, 'm').exec(text)?.[1])
  return {
    bytes: number(memory, 'used_memory'),
    cpuSeconds: number(cpu, 'used_cpu_user') + number(cpu, 'used_cpu_sys'),
  }
}
