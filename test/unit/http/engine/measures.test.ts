import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Counter, Histogram, Registry } from 'prom-client'
import { Measures } from '../../../../src/http/engine/measures.ts'

test('request metrics equal those of the library, as text and as JSON, at every scrape', async () => {
  const ours = new Registry()
  const theirs = new Registry()
  const measures = new Measures(ours, () => 0)
  const requests = new Counter({
    name: 'ipid_http_requests_total',
    help: 'Requests that were answered',
    labelNames: ['route', 'status'],
    registers: [theirs],
  })
  const seconds = new Histogram({
    name: 'ipid_http_request_seconds',
    help: 'Time from the header section to the answer',
    labelNames: ['route'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers: [theirs],
  })
  for (const registry of [ours, theirs]) registry.setDefaultLabels({ process: 'ingress' })
  const names = ['ipid_http_requests_total', 'ipid_http_request_seconds']
  // The library adds empty exemplars, and has its own order of values.
  const jsonOf = async (registry: Registry) => {
    const metrics = (await registry.getMetricsAsJSON()).filter(({ name }) => names.includes(name))
    return metrics.map(({ values, ...rest }) => {
      const plain = values.map((value) => JSON.stringify(value, (key, its) => (key === 'exemplar' ? undefined : its)))
      return { ...rest, values: plain.map((value) => sortedJson(JSON.parse(value))).sort() }
    })
  }
  const linesOf = async (registry: Registry, name: string) =>
    (await registry.getSingleMetricAsString(name))
      .split('\n')
      .map((line) => line.split(/[{,}]/).sort().join())
      .sort()
  const endpoints = [{ path: '/v1/lookup' }, { path: '/v1/ingest' }, { path: '/v1/lookup' }]
  const took = [0, 0.000_4, 0.001, 0.001_1, 0.3, 30, 31, 0.05]
  for (let scrape = 0; scrape < 2; scrape++) {
    for (const [i, duration] of took.entries()) {
      const endpoint = endpoints[i % endpoints.length]!
      const status = i % 5 === 0 ? 429 : 200
      measures.responded(endpoint, status, duration)
      requests.inc({ route: endpoint.path, status: String(status) })
      seconds.observe({ route: endpoint.path }, duration)
    }
    assert.deepEqual(await jsonOf(ours), await jsonOf(theirs))
    for (const name of names) {
      assert.deepEqual(await linesOf(ours, name), await linesOf(theirs, name))
    }
  }
})

function sortedJson({ labels, ...rest }: { labels: object }): string {
  return JSON.stringify([Object.entries(labels).sort(), Object.entries(rest).sort()])
}
