import { startInstance } from './support/instance.ts'
import { percentile, sendLoad } from './support/load.ts'
import { cpuSeconds, descendants } from './support/processes.ts'

/**
 * Compares the two HTTP engines: an instance of each, loaded in turn, `ROUNDS` times, over `CONNECTIONS` connections. Prints
 * medians of requests per second and of the ingress's CPU per request, and their ratios. Fails with a message on a Node.js
 * without a build of uWebSockets.js.
 */
const rounds = Number(process.env.ROUNDS ?? 5)
const connections = Number(process.env.CONNECTIONS ?? 16)
const uploadMegabytes = Number(process.env.MEGABYTES ?? 20)

const ENGINES = ['uWebSockets.js', 'node:http'] as const

const event = (id: string, i: number) => ({ ip: `17.${i % 200}.3.7`, event_id: id, event_type: 'page_view' })
let sent = 0
const ingest = (requests: number, events: number) =>
  Array.from({ length: requests }, () =>
    JSON.stringify({ events: Array.from({ length: events }, (_, i) => event(`e${sent++}`, i)) }),
  )

const LINE = `${JSON.stringify({ ip: '10.0.0.1', properties: { padding: 'x'.repeat(400) } })}\n`
const upload = LINE.repeat(Math.ceil((uploadMegabytes * 1e6) / LINE.length))

/** Name, path, bodies of a round, and number of connections. */
const SCENARIOS: readonly (readonly [string, string, () => string[], number])[] = [
  ['ingest of 1', '/v1/ingest', () => ingest(15_000, 1), connections],
  ['ingest of 100', '/v1/ingest', () => ingest(600, 100), connections],
  ['lookup', '/v1/lookup', () => Array.from({ length: 15_000 }, (_, i) => `{"ip":"17.${i % 200}.3.7"}`), connections],
  [`upload of ${uploadMegabytes} MB`, '/v1/ingest/batch', () => [upload], 1],
]

interface Measured {
  readonly perSecond: number
  readonly cpuMicros: number
}

const instances = []
const measured = new Map<string, Measured[]>()
try {
  for (const engine of ENGINES) {
    const instance = await startInstance({ HTTP_ENGINE: engine, BATCH_QUEUE_LIMIT: '1000' })
    const ingress = descendants(instance.pid).find(({ title }) => /\bingress\b/.test(title))
    if (ingress === undefined) throw new Error('the ingress process was not found')
    instances.push({ engine, instance, ingress: ingress.pid })
  }
  for (let round = 0; round < rounds; round++) {
    for (const [name, path, bodies, over] of SCENARIOS) {
      const order = round % 2 === 0 ? instances : instances.toReversed()
      for (const { engine, instance, ingress } of order) {
        const requests = bodies()
        const before = cpuSeconds(ingress)
        const load = await sendLoad(instance.url, path, instance.apiKey, requests, over)
        const answered = (load.statuses.get(200) ?? 0) + (load.statuses.get(202) ?? 0)
        if (answered !== requests.length) throw new Error(`statuses ${[...load.statuses]}`)
        const result = {
          perSecond: requests.length / load.seconds,
          cpuMicros: ((cpuSeconds(ingress) - before) * 1e6) / requests.length,
        }
        const key = `${name}|${engine}`
        measured.set(key, [...(measured.get(key) ?? []), result])
      }
    }
  }
} finally {
  for (const { instance } of instances) await instance.stop()
}

const median = (values: number[]) =>
  percentile(
    values.sort((a, b) => a - b),
    0.5,
  )
const columns = [
  '',
  ...ENGINES.map((name) => `${name}/s`),
  'ratio',
  ...ENGINES.map((name) => `${name} CPU µs`),
  'ratio',
]
const print = (cells: readonly (string | number)[]) =>
  process.stdout.write(
    `${cells.map((cell, i) => (i === 0 ? String(cell).padEnd(18) : String(cell).padStart(22))).join('')}\n`,
  )
print(columns)
for (const [name] of SCENARIOS) {
  const of = (engine: string, what: keyof Measured) =>
    median(measured.get(`${name}|${engine}`)!.map((result) => result[what]))
  const [fast, slow] = ENGINES.map((engine) => of(engine, 'perSecond'))
  const [fastCpu, slowCpu] = ENGINES.map((engine) => of(engine, 'cpuMicros'))
  print([
    name,
    ...[fast!, slow!].map((value) => value.toFixed(value < 100 ? 1 : 0)),
    (slow! / fast!).toFixed(2),
    ...[fastCpu!, slowCpu!].map((value) => value.toFixed(1)),
    (slowCpu! / fastCpu!).toFixed(2),
  ])
}
