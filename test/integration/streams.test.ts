import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ingest } from '../../pipelines/ingest.ts'
import { connectRedis } from '../../src/redis/connect.ts'
import { keys } from '../../src/redis/keys.ts'
import { Janitor } from '../../src/redis/streams/janitor.ts'
import { readStatus } from '../../src/redis/streams/status.ts'
import { agreeOnPartitions, createGroups } from '../../src/redis/streams/topology.ts'
import { envelope, quiet, silent, splitPipeline, startIntake } from '../support/pipeline.ts'
import { startTestRedis } from '../support/redis.ts'

async function startStreams(t: import('node:test').TestContext) {
  const redis = await startTestRedis(t)
  const client = quiet(connectRedis(redis.url, { name: 'test', kind: 'loop' }))
  t.after(() => client.disconnect())
  await agreeOnPartitions(client, 1)
  await createGroups(client, ingest, 1)
  const { intake, stop } = startIntake(redis.url, 1)
  t.after(stop)
  return { client, intake, stream: keys.stream(0, 'intake', 'live') }
}

test('the janitor removes only what every group has acknowledged', async (t) => {
  const { client, intake, stream } = await startStreams(t)
  const janitor = new Janitor({ client, pipeline: ingest, partitions: 1, log: silent })
  for (let i = 0; i < 6; i++) await intake.append([envelope('t', `e${i}`)])
  assert.equal(await janitor.trim(), 0)
  const read = (count: number, group = 'process') =>
    client.call('XREADGROUP', 'GROUP', group, 'c', 'COUNT', count, 'STREAMS', stream, '>') as Promise<
      [string, [string, unknown][]][]
    >
  const ids = (await read(4))[0]![1].map(([id]) => id)
  assert.equal(await janitor.trim(), 0, 'delivered is not acknowledged')
  await client.xack(stream, 'process', ids[0]!, ids[2]!)
  assert.equal(await janitor.trim(), 1, 'up to the oldest that is pending')
  await client.xack(stream, 'process', ids[1]!, ids[3]!)
  assert.equal(await janitor.trim(), 3)
  assert.equal(await client.xlen(stream), 2, 'what was not delivered stays')
  await client.call('XGROUP', 'CREATE', stream, 'other', '0')
  const rest = (await read(2))[0]![1].map(([id]) => id)
  await client.xack(stream, 'process', ...rest)
  assert.equal(await janitor.trim(), 0, 'another group has not read them')
  await client.call('XGROUP', 'DESTROY', stream, 'process')
  const others = (await read(2, 'other'))[0]![1].map(([id]) => id)
  await client.xack(stream, 'other', ...others)
  assert.equal(await janitor.trim(), 0, 'a declared group is missing')
})

test('status counts lag, pending and events from what really happened', async (t) => {
  const { client, intake, stream } = await startStreams(t)
  await intake.append([envelope('t', 'a'), envelope('t', 'b')])
  await intake.append([envelope('t', 'c')])
  await client.call('XREADGROUP', 'GROUP', 'process', 'c', 'COUNT', 1, 'STREAMS', stream, '>')
  const { streams } = await readStatus(client, ingest)
  const live = streams.find((entry) => entry.group === 'process' && entry.lane === 'live')!
  assert.deepEqual([live.lag_entries, live.pending_entries, live.waiting_events, live.partition], [1, 1, 3, 0])
})

test('another form of the pipeline starts only when nothing is left of the one before, and repeats nothing', async (t) => {
  const { client, intake, stream } = await startStreams(t)
  await intake.append([envelope('t', 'a')])
  await assert.rejects(createGroups(client, splitPipeline, 1), /group process of another form/)
  const reply = (await client.call('XREADGROUP', 'GROUP', 'process', 'c', 'STREAMS', stream, '>')) as [
    string,
    [string, unknown][],
  ][]
  await assert.rejects(createGroups(client, splitPipeline, 1), /group process of another form/)
  await client.xack(stream, 'process', reply[0]![1][0]![0])
  await createGroups(client, splitPipeline, 1)
  assert.equal(await client.call('XREADGROUP', 'GROUP', 'dedup', 'c', 'STREAMS', stream, '>'), null)
  await intake.append([envelope('t', 'b')])
  assert.ok(await client.call('XREADGROUP', 'GROUP', 'dedup', 'c', 'STREAMS', stream, '>'))
})
