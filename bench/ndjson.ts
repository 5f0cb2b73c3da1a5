import { Readable } from 'node:stream'
import ndjson from 'ndjson'

/** The cost of reading a batch line: the `ndjson` package as a stream, compared with splitting a chunk of whole lines. */
const LINES = 200_000
const line = '{"ip":"17.1.2.3","event_id":"b123456","properties":{"url":"https://example.com/a","n":1.5}}\n'
const chunks = Array.from({ length: 80 }, () => Buffer.from(line.repeat(LINES / 80)))

async function withPackage(): Promise<number> {
  let events = 0
  for await (const _ of Readable.from(chunks).pipe(ndjson.parse())) events++
  return events
}

function bySplitting(): number {
  let events = 0
  for (const chunk of chunks) {
    for (const text of chunk.toString('utf8').split('\n')) {
      if (text === '') continue
      JSON.parse(text)
      events++
    }
  }
  return events
}

const costs = { 'ndjson package': [] as number[], 'whole lines': [] as number[] }
for (let round = 0; round < 5; round++) {
  for (const [name, read] of [
    ['ndjson package', withPackage],
    ['whole lines', bySplitting],
  ] as const) {
    const startedAt = performance.now()
    if ((await read()) !== LINES) throw new Error('lines were lost')
    costs[name].push(((performance.now() - startedAt) * 1_000) / LINES)
  }
}
for (const [name, values] of Object.entries(costs)) {
  const median = values.sort((a, b) => a - b)[2]!
  process.stdout.write(`${name.padEnd(16)} ${median.toFixed(2)} µs a line\n`)
}
