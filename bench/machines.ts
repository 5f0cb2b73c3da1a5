/*
 * Measures the cost of splitting: one, two and three ingresses, workers, shares and masters of a Redis Cluster, and three of each with replicas and
 * `waitReplicas=1`, all with two shards of ClickHouse. All run side by side; each is loaded in turn with `REQUESTS` (600) requests of 100
 * events, `ROUNDS` (3) times after a first one; `FORMS=1,3` takes some of the four. Prints medians of the CPU of each part, microseconds an event, less what the part takes
 * when idle; and CPU at rest. Linux only.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { DEFAULT_PLANS } from '../schemas/plans.ts'
import { tenantAdmin, withRedis } from '../src/terminal/stores.ts'
import { CleanUp } from '../test/chaos/run/clean-up.ts'
import { type Machines, startMachines } from '../test/chaos/run/machines.ts'
import { fetchClickHouse } from '../test/support/fetch-clickhouse.ts'
import { withReleases } from './run/releases.ts'
import { percentile, sendLoad } from './support/load.ts'
import { cpuSeconds } from './support/processes.ts'

const REQUESTS = Number(process.env.REQUESTS ?? 600)
const ROUNDS = Number(process.env.ROUNDS ?? 3)
const PER_REQUEST = 100
const CONNECTIONS = 16
const REST_MS = 4_000
const STORED_WITHIN_MS = 240_000

const FORMS = [
  { name: '1 of each', count: 1, replicas: 0 },
  { name: '2 of each', count: 2, replicas: 0 },
  { name: '3 of each', count: 3, replicas: 0 },
  { name: '3, replicas', count: 3, replicas: 1 },
] as const
/** Indices in the list. */
const CHOSEN = (process.env.FORMS ?? '1,2,3,4').split(',').map((place) => FORMS[Number(place) - 1]!)

const PARTS = ['ingress', 'worker', 'redis', 'clickhouse'] as const
type Cpu = Readonly<Record<(typeof PARTS)[number], number>>

interface Running {
  readonly name: string
  readonly machines: Machines
  readonly apiKey: string
  stored: number
  readonly loaded: Cpu[]
  readonly rest: Cpu[]
}

let sent = 0

await withReleases(async (releases) => {
  const cleanUp = new CleanUp()
  releases.add(() => cleanUp.releaseAll())
  const running: Running[] = []
  for (const { name, ...form } of CHOSEN) {
    const machines = await startMachines(cleanUp, form)
    running.push({ name, machines, apiKey: await keyOf(machines), stored: 0, loaded: [], rest: [] })
  }
  for (let round = 0; round <= ROUNDS; round++) {
    for (const one of round % 2 === 0 ? running : running.toReversed()) {
      const measured = await measure(one)
      // The first round warms up.
      if (round === 0) continue
      one.loaded.push(measured.loaded)
      one.rest.push(measured.rest)
    }
  }
  print('CPU of an event, µs', running, ({ loaded }) => loaded)
  print('CPU at rest, ms a second', running, ({ rest }) => rest)
  for (const { machines } of running) await machines.stop()
})

async function keyOf({ redisUrl }: Machines): Promise<string> {
  return await withRedis(redisUrl, async (client) => {
    const admin = tenantAdmin(client, { plans: new Map(Object.entries(DEFAULT_PLANS)) })
    const { id } = await admin.createTenant('demo', { plan: 'custom' })
    return (await admin.createKey(id)).key
  })
}

/** In microseconds an event, and in milliseconds a second at rest. */
async function measure(one: Running): Promise<{ readonly loaded: Cpu; readonly rest: Cpu }> {
  const { machines, apiKey } = one
  const rest = await cpuWhile(machines, () => sleep(REST_MS))
  const perMs = (part: keyof Cpu) => rest.cpu[part] / rest.ms
  const events = REQUESTS * PER_REQUEST
  const { cpu, ms } = await cpuWhile(machines, async () => {
    const { ingresses } = machines
    const answers = ingresses.map(({ url }) => {
      const bodies = Array.from({ length: Math.round(REQUESTS / ingresses.length) }, bodyOf)
      return sendLoad(url, '/v1/ingest', apiKey, bodies, Math.ceil(CONNECTIONS / ingresses.length))
    })
    for (const { statuses, requests } of await Promise.all(answers)) {
      if (statuses.get(200) !== requests) throw new Error(`statuses ${[...statuses]}`)
    }
    one.stored += events
    await untilStored(machines, one.stored)
  })
  const each = (value: (part: keyof Cpu) => number) =>
    Object.fromEntries(PARTS.map((part) => [part, value(part)])) as unknown as Cpu
  return {
    loaded: each((part) => ((cpu[part] - perMs(part) * ms) * 1e6) / events),
    rest: each((part) => perMs(part) * 1e6),
  }
}

function bodyOf(): string {
  const event = (i: number) => ({ ip: `17.${i % 200}.3.7`, event_id: `e${sent++}`, event_type: 'page_view' })
  return JSON.stringify({ events: Array.from({ length: PER_REQUEST }, (_, i) => event(i)) })
}

/** Seconds of CPU of each part, and the time that it took. */
async function cpuWhile(machines: Machines, work: () => Promise<unknown>): Promise<{ cpu: Cpu; ms: number }> {
  const [before, beganMs] = [cpuOf(machines), performance.now()]
  await work()
  const after = cpuOf(machines)
  const cpu = Object.fromEntries(PARTS.map((part) => [part, after[part] - before[part]])) as unknown as Cpu
  return { cpu, ms: performance.now() - beganMs }
}

function cpuOf({ ingresses, workers, nodes, shards }: Machines): Cpu {
  const sum = (pids: readonly (number | undefined)[]) => pids.reduce((all: number, pid) => all + cpuSeconds(pid!), 0)
  return {
    ingress: sum(ingresses.flatMap(({ pids }) => pids)),
    worker: sum(workers.flatMap(({ pids }) => pids)),
    redis: sum(nodes.map(({ pid }) => pid)),
    clickhouse: sum(shards.map(({ pid }) => pid)),
  }
}

async function untilStored({ clickhouseUrl }: Machines, due: number): Promise<void> {
  const deadlineMs = performance.now() + STORED_WITHIN_MS
  for (;;) {
    const answer = await fetchClickHouse(clickhouseUrl, { database: 'ipid' }, { body: 'SELECT count() FROM events' })
    const count = Number(await answer.text())
    if (count === due) return
    if (count > due || performance.now() > deadlineMs) throw new Error(`${count} events are stored instead of ${due}`)
    await sleep(250)
  }
}

function print(title: string, running: readonly Running[], of: (one: Running) => readonly Cpu[]): void {
  process.stdout.write(`${title}\n`)
  for (const one of running) {
    const medians = PARTS.map((part) => {
      const all = of(one).map((cpu) => cpu[part])
      return percentile(
        all.sort((a, b) => a - b),
        0.5,
      )
    })
    const together = medians.reduce((sum, value) => sum + value, 0)
    const parts = PARTS.map((part, i) => `${part} ${medians[i]!.toFixed(1)}`).join(', ')
    process.stdout.write(`  ${one.name.padEnd(12)} ${parts}, together ${together.toFixed(1)}\n`)
  }
}
