import { setTimeout as sleep } from 'node:timers/promises'
import { startInstance } from './support/instance.ts'
import { percentile, sendLoad } from './support/load.ts'

/**
 * Live events end to end: requests of `EVENTS_PER_REQUEST` events over `CONNECTIONS` connections until `EVENTS` are sent,
 * then the wait until all of them can be queried. Rounds are repeated and their medians printed.
 */
const events = Number(process.env.EVENTS ?? 200_000)
const perRequest = Number(process.env.EVENTS_PER_REQUEST ?? 100)
const connections = Number(process.env.CONNECTIONS ?? 16)
const rounds = Number(process.env.ROUNDS ?? 3)

function body(round: number, request: number): string {
  const list = Array.from({ length: perRequest }, (_, i) => ({
    ip: `17.${(request * 7 + i) % 200}.${(request + i) % 250}.${(i * 13) % 250}`,
    event_id: `r${round}-${request}-${i}`,
    timestamp: '2026-11-21T10:00:00Z',
    event_type: 'page_view',
    session_id: request,
    platform: 'web',
    properties: { url: `https://example.com/page/${i}`, referrer: 'https://search.example/', duration: 12.5 },
  }))
  return JSON.stringify({ events: list })
}

const instance = await startInstance()
const rates: number[] = []
const visible: number[] = []
let latencies: number[] = []
try {
  for (let round = 0; round < rounds; round++) {
    const bodies = Array.from({ length: Math.ceil(events / perRequest) }, (_, request) => body(round, request))
    const before = Number(await instance.query('SELECT count() FROM events'))
    const load = await sendLoad(instance.url, '/v1/ingest', instance.apiKey, bodies, connections)
    const answeredAt = performance.now()
    if (load.statuses.get(200) !== bodies.length) throw new Error(`statuses ${[...load.statuses]}`)
    const sent = bodies.length * perRequest
    while (Number(await instance.query('SELECT count() FROM events')) < before + sent) await sleep(20)
    const behindSeconds = (performance.now() - answeredAt) / 1_000
    rates.push(sent / load.seconds)
    visible.push(sent / (load.seconds + behindSeconds))
    latencies = latencies.concat(load.latencies)
    const stored = Number(await instance.query('SELECT count() FROM events'))
    if (stored !== before + sent) throw new Error(`${stored} events stored, ${before + sent} sent`)
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
}
for (const [name, value] of Object.entries(rows)) process.stdout.write(`${name.padEnd(20)} ${value}\n`)
