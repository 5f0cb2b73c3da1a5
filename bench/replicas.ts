import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { freePort } from './support/free-port.ts'
import { type Instance, startInstance } from './support/instance.ts'
import { percentile, sendLoad } from './support/load.ts'

/**
 * The cost of waiting for a replica: an instance for each of the ways of `src/stores/redis/durability/README.md`, each over a master and a
 * replica of its own on this machine, loaded in turn. Prints medians of events answered in a second and of the p50 and p99 of answers,
 * and the ratio to the first way. Replicas elsewhere add their round trip.
 */
const ROUNDS = Number(process.env.ROUNDS ?? 5)
const CONNECTIONS = 16
const STORED_WITHIN_MS = 120_000
const DURABLE = ['--save', '', '--appendonly', 'yes', '--appendfsync', 'always', '--maxmemory-policy', 'noeviction']

const WAYS = [
  { name: 'neither', query: '', args: [] },
  { name: 'min-replicas-to-write 1', query: '', args: ['--min-replicas-to-write', '1'] },
  { name: 'waitReplicas=1', query: '?waitReplicas=1', args: [] },
] as const

/** Events of a request, and requests of a round. */
const LOADS = [
  { perRequest: 100, requests: 600 },
  { perRequest: 1, requests: 10_000 },
] as const

interface Measured {
  readonly perSecond: number
  readonly p50: number
  readonly p99: number
}

const folder = mkdtempSync(join(tmpdir(), 'ipid-bench-replicas-'))
const servers: ChildProcess[] = []
const instances: Instance[] = []
const measured = new Map<string, Measured[]>()
const expected = new Map<Instance, number>()
let sent = 0

try {
  for (const { query, args } of WAYS) {
    const port = await startServer(args)
    await startServer(['--replicaof', '127.0.0.1', String(port), '--repl-diskless-sync-delay', '0'])
    await untilReplicated(port)
    const env = { REDIS_URL: `redis://127.0.0.1:${port}${query}` }
    instances.push(await startInstance(env))
  }
  for (let round = 0; round <= ROUNDS; round++) {
    for (const { perRequest, requests } of LOADS) {
      const order = WAYS.map(({ name }, i) => ({ name, instance: instances[i]! }))
      for (const { name, instance } of round % 2 === 0 ? order : order.toReversed()) {
        const result = await measure(instance, perRequest, requests)
        // The first round warms up.
        if (round > 0) measured.set(`${perRequest} ${name}`, [...(measured.get(`${perRequest} ${name}`) ?? []), result])
      }
    }
  }
} finally {
  for (const instance of instances) await instance.stop()
  for (const server of servers) server.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}

for (const { perRequest } of LOADS) {
  process.stdout.write(`${perRequest} events a request\n`)
  const median = (name: string, what: keyof Measured) => {
    const all = measured.get(`${perRequest} ${name}`)!.map((result) => result[what])
    return percentile(
      all.toSorted((a, b) => a - b),
      0.5,
    )
  }
  for (const { name } of WAYS) {
    const perSecond = median(name, 'perSecond')
    const ratio = perSecond / median(WAYS[0].name, 'perSecond')
    const times = `p50 ${median(name, 'p50').toFixed(1)} ms, p99 ${median(name, 'p99').toFixed(1)} ms`
    process.stdout.write(`  ${name.padEnd(26)} ${Math.round(perSecond)} events/s (${ratio.toFixed(2)}), ${times}\n`)
  }
}

async function measure(instance: Instance, perRequest: number, requests: number): Promise<Measured> {
  const event = (i: number) => ({ ip: `17.${i % 200}.3.7`, event_id: `e${sent++}`, event_type: 'page_view' })
  const bodies = Array.from({ length: requests }, () =>
    JSON.stringify({ events: Array.from({ length: perRequest }, (_, i) => event(i)) }),
  )
  const load = await sendLoad(instance.url, '/v1/ingest', instance.apiKey, bodies, CONNECTIONS)
  if (load.statuses.get(200) !== requests) throw new Error(`statuses ${[...load.statuses]}`)
  await untilStored(instance, requests * perRequest)
  const { latencies, seconds } = load
  return {
    perSecond: (requests * perRequest) / seconds,
    p50: percentile(latencies, 0.5),
    p99: percentile(latencies, 0.99),
  }
}

/** The next load must not share the machine with the rest of this one. */
async function untilStored(instance: Instance, events: number): Promise<void> {
  const due = (expected.get(instance) ?? 0) + events
  expected.set(instance, due)
  const deadline = performance.now() + STORED_WITHIN_MS
  for (;;) {
    const count = Number(await instance.query('SELECT count() FROM events'))
    if (count === due) return
    if (count > due || performance.now() > deadline) throw new Error(`${count} events are stored instead of ${due}`)
    await sleep(100)
  }
}

async function startServer(args: readonly string[]): Promise<number> {
  const port = await freePort()
  const dir = mkdtempSync(join(folder, 'redis-'))
  servers.push(spawn('redis-server', ['--port', String(port), '--dir', dir, ...DURABLE, ...args], { stdio: 'ignore' }))
  return port
}

async function untilReplicated(port: number): Promise<void> {
  const client = new Redis({ port, maxRetriesPerRequest: null, retryStrategy: () => 50 })
  client.on('error', () => {})
  while (!/state=online/.test(await client.info('replication'))) await sleep(50)
  client.disconnect()
}
