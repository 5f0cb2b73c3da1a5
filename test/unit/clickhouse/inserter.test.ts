import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ClickHouseClient } from '@clickhouse/client'
import { TableInserter } from '../../../src/pipeline/sinks/clickhouse/inserter.ts'
import { EVENTS } from '../../../src/stores/clickhouse/tables.ts'

type Settings = Record<string, unknown>

/** A client of a ClickHouse that knows cluster `c1`: three replicas of shard 1, one of shard 2. */
function clusterClient() {
  const inserts: Settings[] = []
  const client = {
    query: async () => ({
      json: async () => [
        ['c1', 1, 3],
        ['c1', 2, 1],
        ['other', 3, 1],
      ],
    }),
    insert: async ({ clickhouse_settings }: { clickhouse_settings: Settings }) =>
      void inserts.push(clickhouse_settings),
  }
  return { client: client as unknown as ClickHouseClient, inserts }
}

const UUID = '01234567-89ab-cdef-0123-456789abcdef'
const ROWS = [Buffer.from('x\n')]

test('an insert into a cluster goes whole to the shard of its token, with its parts and repeats', async () => {
  const { client, inserts } = clusterClient()
  const sink = new TableInserter(EVENTS, client, async () => {}, 'c1')
  await sink.prepare()
  const shards = new Set(Array.from({ length: 200 }, () => /^[0-9a-f-]{36}-s(\d)$/.exec(sink.newToken())![1]))
  assert.deepEqual([...shards].sort(), ['1', '2'])
  const tokens = [
    `${UUID}-s2`,
    `${UUID}-s2.0.1`,
    `${UUID}-s2.absent1`,
    `${UUID}-s12.r5`,
    `${UUID}-s1`,
    UUID,
    `${UUID}.0`,
  ]
  for (const token of tokens) await sink.insert(ROWS, token)
  assert.deepEqual(
    inserts.map(({ insert_shard_id }) => insert_shard_id),
    ['2', '2', '2', '12', '1', '1', '1'],
  )
  for (const [i, settings] of inserts.entries()) {
    assert.equal(settings.insert_deduplication_token, tokens[i])
    assert.equal(settings.insert_deduplicate, 1)
    assert.equal(settings.async_insert, 0)
    assert.equal(settings.distributed_foreground_insert, 1)
    assert.equal(settings.prefer_localhost_replica, 0)
  }
})

test('an insert is answered once a majority of the replicas has it, or the only one', async () => {
  const { client, inserts } = clusterClient()
  const sink = new TableInserter(EVENTS, client, async () => {}, 'c1')
  await sink.prepare()
  for (const shard of [1, 2, 3]) await sink.insert(ROWS, `${UUID}-s${shard}`)
  const [three, one, unknown] = inserts
  assert.deepEqual([three!.insert_quorum, one!.insert_quorum, unknown!.insert_quorum], ['auto', undefined, 'auto'])
  assert.ok(Number(three!.insert_quorum_timeout) < 60_000)
})

test('an insert into one server names no shards', async () => {
  const { client, inserts } = clusterClient()
  const sink = new TableInserter(EVENTS, client, async () => {})
  await sink.prepare()
  assert.match(sink.newToken(), /^[0-9a-f-]{36}$/)
  await sink.insert(ROWS, `${UUID}-s2`)
  assert.deepEqual(
    Object.keys(inserts[0]!).filter((name) => /shard|quorum|distributed|localhost/.test(name)),
    [],
  )
})
