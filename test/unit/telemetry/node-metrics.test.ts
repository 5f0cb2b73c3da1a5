import assert from 'node:assert/strict'
import type { IntervalHistogram } from 'node:perf_hooks'
import { test } from 'node:test'
import { collectDefaultMetrics, Registry } from 'prom-client'
import { collectNodeMetrics } from '../../../src/telemetry/process-metrics.ts'

const LAGS = ['min', 'max', 'mean', 'stddev', 'p50', 'p90', 'p99']

async function valuesOf(metrics: Registry): Promise<Map<string, number>> {
  const all = await metrics.getMetricsAsJSON()
  return new Map(all.map(({ name, values }) => [name, Number(values[0]?.value)]))
}

test('the metrics of Node.js equal those of prom-client; the event loop is sampled on demand', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  let isOn = false
  let count = 0
  const delays = {
    ...{ min: 1e9, max: 2e9, mean: 3e9, stddev: 4e9 },
    percentile: (share: number) => share * 1e9,
    get count() {
      return count
    },
    enable: () => (isOn = true),
    disable: () => (isOn = false),
    reset: () => (count = 0),
  } as unknown as IntervalHistogram
  const metrics = new Registry()
  collectNodeMetrics(metrics, delays)
  assert.equal(isOn, false)
  const lags = async () => {
    const values = await valuesOf(metrics)
    return LAGS.map((name) => values.get(`nodejs_eventloop_lag_${name}_seconds`))
  }
  assert.deepEqual(await lags(), [0, 0, 0, 0, 0, 0, 0])
  assert.equal(isOn, true)
  count = 100
  t.mock.timers.tick(200_000)
  assert.deepEqual(await lags(), [1, 2, 3, 4, 50, 90, 99])
  assert.equal(count, 0)
  t.mock.timers.tick(200_000)
  assert.equal(isOn, true)
  t.mock.timers.tick(100_000)
  assert.equal(isOn, false)
  await lags()
  assert.equal(isOn, true)
  t.mock.timers.tick(300_000)
  assert.equal(isOn, false)

  const usual = new Registry()
  collectDefaultMetrics({ register: usual })
  assert.deepEqual([...(await valuesOf(metrics)).keys()], [...(await valuesOf(usual)).keys()])
})
