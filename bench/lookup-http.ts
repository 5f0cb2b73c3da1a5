import { startInstance } from './support/instance.ts'
import { percentile, sendLoad } from './support/load.ts'

/**
 * Single lookups over HTTP: `REQUESTS` requests over `CONNECTIONS` connections, over `ADDRESSES` different addresses, so
 * that most are remembered. Rounds are repeated and their medians printed.
 */
const requests = Number(process.env.REQUESTS ?? 50_000)
const connections = Number(process.env.CONNECTIONS ?? 16)
const addresses = Number(process.env.ADDRESSES ?? 10_000)
const rounds = Number(process.env.ROUNDS ?? 3)

const instance = await startInstance()
const rates: number[] = []
let latencies: number[] = []
try {
  const bodies = Array.from({ length: requests }, (_, i) => {
    const n = i % addresses
    return JSON.stringify({ ip: `17.${n % 200}.${Math.floor(n / 200) % 250}.7` })
  })
  for (let round = 0; round < rounds; round++) {
    const load = await sendLoad(instance.url, '/v1/lookup', instance.apiKey, bodies, connections)
    if (load.statuses.get(200) !== requests) throw new Error(`statuses ${[...load.statuses]}`)
    rates.push(requests / load.seconds)
    latencies = latencies.concat(load.latencies)
  }
} finally {
  await instance.stop()
}
rates.sort((a, b) => a - b)
latencies.sort((a, b) => a - b)
const rows = {
  'lookups/s': Math.round(percentile(rates, 0.5)),
  'latency p50 ms': percentile(latencies, 0.5).toFixed(2),
  'latency p99 ms': percentile(latencies, 0.99).toFixed(2),
}
for (const [name, value] of Object.entries(rows)) process.stdout.write(`${name.padEnd(20)} ${value}\n`)
