import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pino } from 'pino'
import { awaitedStores, warnOfAwaitedStores } from '../../../../src/cli/start/store-watch.ts'
import { readConfig } from '../../../../src/config/config.ts'
import { until } from '../../../support/until.ts'

function recorder() {
  const lines: string[] = []
  const log = pino({}, { write: (line: string) => void lines.push((JSON.parse(line) as { msg: string }).msg) })
  return { lines, log }
}

test('a start says within 5 s which store it waits for, where it is, and why', async () => {
  const { lines, log } = recorder()
  const config = readConfig({ REDIS_URL: 'redis://u:secret@127.0.0.1:1', CLICKHOUSE_URL: 'http://127.0.0.1:1' })
  const started = new AbortController()
  const startedMs = performance.now()
  const watching = warnOfAwaitedStores(awaitedStores(config), log, started.signal)
  await until(() => lines.length === 2)
  assert.ok(performance.now() - startedMs < 5_000)
  started.abort()
  await watching
  assert.deepEqual(lines.sort(), [
    'waiting for ClickHouse at http://127.0.0.1:1 (CLICKHOUSE_URL): connect ECONNREFUSED 127.0.0.1:1',
    'waiting for Redis at redis://u:***@127.0.0.1:1 (REDIS_URL): connect ECONNREFUSED 127.0.0.1:1',
  ])
})

test('it says when the store answers, and skips one that answers at once', async () => {
  const { lines, log } = recorder()
  const store = { name: 'Redis', setting: 'REDIS_URL', url: 'redis://h:1' }
  const { signal } = new AbortController()
  await warnOfAwaitedStores([{ ...store, probe: async () => 'PONG' }], log, signal)
  assert.deepEqual(lines, [])
  const probe = async () => {
    if (lines.length === 0) throw new AggregateError([new Error('connect ECONNREFUSED ::1:1')])
  }
  await warnOfAwaitedStores([{ ...store, probe }], log, signal)
  assert.deepEqual(lines, [
    'waiting for Redis at redis://h:1 (REDIS_URL): connect ECONNREFUSED ::1:1',
    'Redis at redis://h:1 (REDIS_URL) answers',
  ])
})

test('with the embedded stores there is nothing to wait for', () => {
  assert.deepEqual(awaitedStores(readConfig({})), [])
})
