import assert from 'node:assert/strict'
import { test } from 'node:test'
import { processName } from '../../../bench/run/accounting.ts'
import { median, summarise } from '../../../bench/run/results.ts'
import { formatted } from '../../../bench/run/table.ts'

const run = (rate: number, bound: number) => ({
  figures: { 'events/s': rate },
  bounds: [{ name: 'bare', figure: 'events/s', value: bound }],
})

test('a median is the middle one, or the mean of two', () => {
  assert.equal(median([3, 1, 2]), 2)
  assert.equal(median([4, 1, 2, 3]), 2.5)
  assert.equal(median([7]), 7)
})

test('a figure has its spread, and a bound the median of the ratios of single runs', () => {
  const { figures, bounds, base } = summarise('s', [run(10, 100), run(30, 100), run(20, 50)], [])
  assert.deepEqual(figures, { 'events/s': { median: 20, lowest: 10, highest: 30 } })
  assert.deepEqual(bounds, [{ name: 'bare', figure: 'events/s', median: 100, ratio: 0.3 }])
  assert.equal(base, undefined)
})

test('a base is compared by medians, where both have the figure', () => {
  const ofBase = [{ figures: { 'events/s': 10, 'old ms': 1 }, bounds: [] }]
  const { base } = summarise('s', [run(25, 100)], ofBase)
  assert.deepEqual(base?.ratios, { 'events/s': 2.5 })
})

test('processes are told by what they are', () => {
  const names = {
    'ipid ingress': 'ingress',
    'ipid process,sink,batch,archive': 'worker',
    'ipid sink': 'sink',
    'ipid dashboard': 'dashboard',
    '/tmp/x/data/run/bin/redis-server unixsocket:/tmp/x/redis.sock': 'redis',
    'node src/embedded/clickhouse/process.mjs {"path":"/tmp/x"}': 'clickhouse',
    'node src/ipid.mjs db compile': 'compiler',
    '/bin/sh -c read -r word && exit 0 ipid-leash 6023 50': 'main',
  }
  assert.deepEqual(Object.keys(names).map(processName), Object.values(names))
})

test('numbers have as many digits as say something', () => {
  assert.deepEqual([12_345.6, 123.4, 12.34, 1.234, Number.NaN].map(formatted), ['12,346', '123', '12.3', '1.23', '-'])
})
