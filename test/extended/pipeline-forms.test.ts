import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Pipeline } from '../../src/pipeline/declaration/pipeline.ts'
import { Janitor } from '../../src/pipeline/streams/janitor.ts'
import { SettlementWriter } from '../../src/pipeline/streams/settlement.ts'
import { readStatus, waitingEvents } from '../../src/pipeline/streams/status.ts'
import { createGroups } from '../../src/pipeline/streams/topology.ts'
import type { RedisClient } from '../../src/stores/redis/connect.ts'
import { counterFields, keys } from '../../src/stores/redis/keys.ts'
import { envelope, silent, sinkNamed, splitPipeline, threeSinks } from '../support/pipeline.ts'
import { startStreams } from '../support/streams.ts'

const ENRICHED = keys.stream(0, 'enriched', 'live')

test('a changed pipeline starts only when the old one is drained, and repeats nothing', async (t) => {
  const { client, intake, stream } = await startStreams(t)
  await intake.append([envelope('t', 'a')])
  await assert.rejects(createGroups(client, splitPipeline, 1), /group process, which the pipeline no longer declares/)
  const reply = (await client.call('XREADGROUP', 'GROUP', 'process', 'c', 'STREAMS', stream, '>')) as [
    string,
    [string, unknown][],
  ][]
  await assert.rejects(createGroups(client, splitPipeline, 1), /group process, which the pipeline no longer declares/)
  await client.xack(stream, 'process', reply[0]![1][0]![0])
  await createGroups(client, splitPipeline, 1)
  assert.equal(await client.call('XREADGROUP', 'GROUP', 'enrich', 'c', 'STREAMS', stream, '>'), null)
  await intake.append([envelope('t', 'b')])
  assert.ok(await client.call('XREADGROUP', 'GROUP', 'enrich', 'c', 'STREAMS', stream, '>'))
})

/** The default pipeline with a second sink. */
const twoSinks: Pipeline = {
  ...threeSinks,
  sinks: [...threeSinks.sinks, { group: 'copy', from: 'enriched', into: sinkNamed('clickhouse').into }],
}

/** Moves entries of the intake to the next stream, as the step would. */
async function passOn(client: RedisClient, stream: string): Promise<void> {
  const reply = (await client.call('XREADGROUP', 'GROUP', 'process', 'c', 'STREAMS', stream, '>')) as [
    string,
    [string, string[]][],
  ][]
  for (const [id, fields] of reply[0]![1]) {
    const writer = new SettlementWriter(stream, keys.counters(0))
    writer.add(ENRICHED, fields)
    const events = Number(fields[1])
    for (const [unit, by] of [['entries', 1] as const, ['events', events] as const]) {
      writer.count(counterFields.added('enriched', 'live', unit), by)
      writer.count(counterFields.done('process', 'intake', 'live', unit), by)
    }
    await writer.run(client, 'process', [id])
  }
}

/** Acknowledges the entries of a sink. */
async function store(client: RedisClient, group: string, count: number): Promise<void> {
  const reply = (await client.call('XREADGROUP', 'GROUP', group, 's', 'COUNT', count, 'STREAMS', ENRICHED, '>')) as [
    string,
    [string, string[]][],
  ][]
  const writer = new SettlementWriter(ENRICHED, keys.counters(0))
  const entries = reply[0]![1]
  const events = entries.reduce((sum, [, fields]) => sum + Number(fields[1]), 0)
  writer.count(counterFields.done(group, 'enriched', 'live', 'entries'), entries.length)
  writer.count(counterFields.done(group, 'enriched', 'live', 'events'), events)
  await writer.run(
    client,
    group,
    entries.map(([id]) => id),
  )
}

const of = async (client: RedisClient, group: string) => {
  const { streams } = await readStatus(client, twoSinks)
  const { lag_entries, pending_entries, waiting_events } = streams.find((s) => s.group === group && s.lane === 'live')!
  return [lag_entries, pending_entries, waiting_events]
}

test('a group added to an existing stream processes exactly the entries still in it', async (t) => {
  const { client, intake, stream } = await startStreams(t)
  const janitor = new Janitor({ client, pipeline: threeSinks, partitions: 1, log: silent })
  for (let i = 0; i < 5; i++) await intake.append([envelope('t', `a${i}`), envelope('t', `b${i}`)])
  await passOn(client, stream)
  await store(client, 'clickhouse', 3)
  await janitor.trim()
  await createGroups(client, twoSinks, 1)
  assert.deepEqual(await of(client, 'clickhouse'), [2, 0, 4])
  assert.deepEqual(await of(client, 'copy'), [2, 0, 4], 'three entries were gone before it came')
  await store(client, 'copy', 2)
  assert.deepEqual(await of(client, 'copy'), [0, 0, 0])
  await createGroups(client, twoSinks, 1)
  assert.deepEqual(await of(client, 'copy'), [0, 0, 0], 'a further start changes nothing')
})

test('an event for several groups is stored once, and stays until the slowest group is done', async (t) => {
  const { client, intake, stream } = await startStreams(t)
  await createGroups(client, twoSinks, 1)
  const janitor = new Janitor({ client, pipeline: twoSinks, partitions: 1, log: silent })
  for (let i = 0; i < 4; i++) await intake.append([envelope('t', `e${i}`)])
  assert.equal(await waitingEvents(client, twoSinks, 1), 4)
  await passOn(client, stream)
  assert.equal(await waitingEvents(client, twoSinks, 1), 4, 'not eight')
  await store(client, 'clickhouse', 4)
  assert.equal(await waitingEvents(client, twoSinks, 1), 4, 'the other sink has nothing yet')
  await store(client, 'copy', 1)
  assert.equal(await waitingEvents(client, twoSinks, 1), 3)
  await janitor.trim()
  assert.equal(await client.xlen(ENRICHED), 3)
})

test('an undeclared group is refused while it has work, and removed when it has none', async (t) => {
  const { client, intake, stream } = await startStreams(t)
  await createGroups(client, twoSinks, 1)
  await intake.append([envelope('t', 'a')])
  await passOn(client, stream)
  await store(client, 'clickhouse', 1)
  await assert.rejects(createGroups(client, threeSinks, 1), /group copy, which the pipeline no longer declares/)
  await store(client, 'copy', 1)
  await createGroups(client, threeSinks, 1)
  const groups = (await client.call('XINFO', 'GROUPS', ENRICHED)) as string[][]
  assert.deepEqual(
    groups.map((group) => group[1]),
    ['clickhouse'],
  )
})

test('an undeclared stream is refused while a group has work in it, and removed when none has', async (t) => {
  const { client } = await startStreams(t)
  await createGroups(client, splitPipeline, 1)
  const known = keys.stream(0, 'known', 'live')
  const id = (await client.xadd(known, '*', 'n', '1'))!
  await assert.rejects(
    createGroups(client, threeSinks, 1),
    /\{p0\}:known has unfinished entries of group filter, which/,
  )
  await client.call('XREADGROUP', 'GROUP', 'filter', 'c', 'STREAMS', known, '>')
  await assert.rejects(createGroups(client, threeSinks, 1), /group filter/)
  await client.xack(known, 'filter', id)
  // The groups of the intake behave the same way.
  await createGroups(client, threeSinks, 1)
  assert.deepEqual(
    (await client.keys('{p0}:*')).filter((name) => /known|wanted/.test(name)),
    [],
  )
  assert.deepEqual((await client.smembers(keys.streams())).sort(), ['archive', 'enriched', 'intake', 'outcomes'])
})
