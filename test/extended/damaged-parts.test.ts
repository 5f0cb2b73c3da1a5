import assert from 'node:assert/strict'
import { readdirSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { ingest } from '../../pipelines/ingest.ts'
import { collectStatus } from '../../src/operations/status/collect.ts'
import { DamageWatch } from '../../src/operations/status/damage-watch.ts'
import { ClickHouseDamage } from '../../src/operations/status/detached-parts.ts'
import { RedisDamageRecords, readDamage } from '../../src/operations/status/redis/damage.ts'
import { statusSources } from '../../src/operations/status/role/sources.ts'
import { TableInserter } from '../../src/pipeline/sinks/clickhouse/inserter.ts'
import { systemClock } from '../../src/run/clock.ts'
import { Hosts } from '../../src/stores/clickhouse/hosts.ts'
import { removeRows } from '../../src/stores/clickhouse/remove-rows.ts'
import { EVENTS } from '../../src/stores/clickhouse/tables.ts'
import { connectRedis } from '../../src/stores/redis/connect.ts'
import { keys } from '../../src/stores/redis/keys.ts'
import { startTestClickHouse } from '../support/clickhouse.ts'
import { eventRows } from '../support/event-rows.ts'
import { quiet } from '../support/pipeline.ts'
import { startTestRedis } from '../support/redis.ts'

const day = (text: string) => Date.parse(`${text}T12:00:00Z`)

test('parts detached when ClickHouse starts are reported by day, unless their rows exist', async (t) => {
  const [clickhouse, server] = await Promise.all([startTestClickHouse(t), startTestRedis(t)])
  const redis = quiet(connectRedis(server.url, { name: 'test', kind: 'loop' }))
  t.after(() => redis.disconnect())
  const lines: Record<string, unknown>[] = []
  const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) })
  const metrics = new Registry()
  const store = new ClickHouseDamage(clickhouse.url)
  t.after(() => store.close())
  const watch = new DamageWatch({ store, records: new RedisDamageRecords(redis), clock: systemClock, metrics, log })

  const inserter = new TableInserter(EVENTS, clickhouse.client, async () => {})
  const insert = (id: string, ...days: string[]) =>
    inserter.insert([eventRows(days.map((at, i) => ({ event_id: `${id}${i}`, received_at: day(at) })))], id)
  const run = (query: string) => clickhouse.client.command({ query })
  // Our own changes of tables detach no part.
  await insert('old', '2025-01-01', '2025-01-02')
  await insert('aged', '2024-01-01')
  await removeRows(Hosts.ofOne(clickhouse.client), 'events', "event_id = 'old0'", performance.now() + 60_000)
  await run("ALTER TABLE events DROP PARTITION ID '202401'")
  await insert('a', '2025-11-20', '2025-11-23')
  await insert('b', '2025-11-21')
  await run("OPTIMIZE TABLE events PARTITION ID '202511' FINAL")
  await insert('c', '2025-11-04', '2025-11-06')
  await insert('d', '2025-10-10')
  await watch.look()
  assert.deepEqual(await redis.hgetall(keys.damagedParts()), {})

  const parts = await clickhouse.rows<{ path: string; partition_id: string; rows: number }>(
    "SELECT path, partition_id, rows FROM system.parts WHERE table = 'events' AND active",
  )
  const pathOf = (partition: string, rows: number) =>
    parts.find((part) => part.partition_id === partition && part.rows === rows)!.path
  await clickhouse.kill()
  const damage = (path: string, name: string) => truncateSync(join(path, name), 0)
  for (const path of [pathOf('202511', 3), pathOf('202511', 2), pathOf('202510', 1)]) {
    for (const name of readdirSync(path).filter((found) => found.endsWith('.bin'))) damage(path, name)
  }
  damage(pathOf('202510', 1), 'minmax_received_at.idx')
  await clickhouse.restart()
  assert.deepEqual(await clickhouse.rows('SELECT count() AS n FROM events'), [{ n: 4 }], 'without a word')

  await watch.look()
  await watch.look()
  await redis.hset(
    keys.tenants(),
    'acme',
    JSON.stringify({ archive: true }),
    'other',
    JSON.stringify({ archive: false }),
  )
  const { parts: lost, archived_tenants: tenants } = await readDamage(redis)
  assert.deepEqual(
    lost.map(({ table, rows, from, to }) => [table, rows, from, to]),
    [
      ['events', 1, '2025-10-01', '2025-10-31'],
      ['events', 2, '2025-11-04', '2025-11-06'],
    ],
  )
  assert.deepEqual(tenants, ['acme'])
  const errors = lines.filter(({ level }) => level === 50)
  assert.deepEqual(
    errors.map(({ repair }) => repair).sort(),
    [
      './ipid replay --tenant TENANT --from 2025-10-01 --to 2025-10-31',
      './ipid replay --tenant TENANT --from 2025-11-04 --to 2025-11-06',
    ],
    'each once',
  )
  assert.equal(lines.filter(({ level }) => level === 40).length, 1, 'the merged one, whose rows exist elsewhere')
  assert.match(await metrics.metrics(), /^ipid_clickhouse_damaged_parts 2$/m)
  const sources = statusSources({ redis, clickhouseUrl: undefined, pipeline: ingest })
  const { verdict } = await collectStatus(sources, { stallMs: 1_000, slackMs: {} })
  assert.match(
    verdict.text,
    /ClickHouse lost 3 rows of 2025-10-01 to 2025-11-06: it set aside 2 damaged parts of events/,
  )

  // The remedy that `ipid status` names.
  for (const { table, name } of lost) {
    await run(`ALTER TABLE ipid.${table} DROP DETACHED PART '${name}' SETTINGS allow_drop_detached = 1`)
  }
  await watch.look()
  assert.deepEqual((await readDamage(redis)).parts, [])
})
