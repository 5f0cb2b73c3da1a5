import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ingest } from '../../pipelines/ingest.ts'
import { EVENT_COLUMNS } from '../../schemas/row.ts'
import type { Pipeline } from '../../src/pipeline/declaration/pipeline.ts'
import { validatePipeline } from '../../src/pipeline/declaration/validate-pipeline.ts'
import { decodeBlock, rowAt, rowEnds } from '../../src/pipeline/event/block.ts'
import { readStatus } from '../../src/pipeline/streams/status.ts'
import { agreeOnPartitions, createGroups } from '../../src/pipeline/streams/topology.ts'
import { UnavailableError } from '../../src/run/errors.ts'
import { connectRedis, type RedisClient } from '../../src/stores/redis/connect.ts'
import { keys } from '../../src/stores/redis/keys.ts'
import { envelope, quiet, splitPipeline, startIntake, startWorker } from '../support/pipeline.ts'
import { startTestRedis } from '../support/redis.ts'
import { until } from '../support/until.ts'

const PARTITIONS = 2
const enricher = {
  enrich: () => ({
    noise: false,
    classification: 'business' as const,
    quality: 60,
    data: { org_name: 'Filled In' },
    companyId: 'filled-in',
    answerJson: '',
    columns: 'filled-in\tFilled In\t\t\t\t\t\t\t\t0\t\t60',
    accountColumns: 'filled-in\tfilled-in\tFilled In\t\t\t\t\t\t\t\t0\t\t60',
  }),
}

async function enrichedRows(client: RedisClient): Promise<string[]> {
  const rows: string[] = []
  for (let partition = 0; partition < PARTITIONS; partition++) {
    const entries = (await client.callBuffer('XRANGE', keys.stream(partition, 'enriched', 'live'), '-', '+')) as [
      Buffer,
      Buffer[],
    ][]
    for (const [, fields] of entries) {
      const block = decodeBlock(fields)
      const ends = rowEnds(block)
      for (let i = 0; i < block.count; i++) rows.push(rowAt(block, ends, i).toString('utf8'))
    }
  }
  return rows
}

const eventIds = (rows: readonly string[]) => rows.map((row) => row.split('\t')[2]!).sort()

for (const [name, pipeline] of [
  ['default', ingest],
  ['split', splitPipeline],
] as [string, Pipeline][]) {
  test(`${name} form: every event comes out once, with repeats, raw events and noise`, async (t) => {
    assert.deepEqual(validatePipeline(pipeline), [])
    const redis = await startTestRedis(t)
    const client = quiet(connectRedis(redis.url, { name: 'test', kind: 'loop' }))
    t.after(() => client.disconnect())
    await agreeOnPartitions(client, PARTITIONS)
    await createGroups(client, pipeline, PARTITIONS)
    const workers = []
    for (const { group } of pipeline.steps) {
      workers.push(await startWorker(redis.url, pipeline, group, PARTITIONS, enricher))
      workers.push(await startWorker(redis.url, pipeline, group, PARTITIONS, enricher))
    }
    const { intake, stop } = startIntake(redis.url, PARTITIONS)
    const expected: string[] = []
    for (let round = 0; round < 3; round++) {
      const envelopes = []
      for (let i = 0; i < 200; i++) envelopes.push(envelope('t', `e${i}`), envelope('u', `e${i}`))
      await Promise.all([intake.append(envelopes.slice(0, 130)), intake.append(envelopes.slice(130))])
    }
    for (let i = 0; i < 200; i++) expected.push(`e${i}`, `e${i}`)
    const raw = envelope('t', 'raw')
    const rawRow = raw.row.split('\t').slice(0, EVENT_COLUMNS.length).join('\t').replace('example.com', '')
    await intake.append([
      { ...raw, state: 0, row: rawRow },
      { ...envelope('t', 'noise'), state: 2, row: '' },
    ])
    expected.push('raw')

    const rows = await until(
      () => enrichedRows(client),
      (seen) => seen.length >= expected.length,
    )
    await until(
      () => readStatus(client, pipeline),
      ({ streams }) =>
        streams.every(
          (s) => s.stream === 'enriched' || s.stream === 'outcomes' || s.lag_entries + s.pending_entries === 0,
        ),
    )
    assert.deepEqual(eventIds(await enrichedRows(client)), expected.sort())
    const filled = rows.find((row) => row.includes('\traw\t'))!.split('\t')
    assert.deepEqual(filled.slice(11, 14), ['filled-in', 'filled-in', 'Filled In'])
    await stop()
    await Promise.all(workers.map((worker) => worker.stop()))
  })
}

test('entries left pending by a dead consumer are taken over, and added once', async (t) => {
  const redis = await startTestRedis(t)
  const client = quiet(connectRedis(redis.url, { name: 'test', kind: 'loop' }))
  t.after(() => client.disconnect())
  await createGroups(client, ingest, PARTITIONS)
  const { intake, stop } = startIntake(redis.url, PARTITIONS)
  await intake.append(Array.from({ length: 50 }, (_, i) => envelope('t', `e${i}`)))
  for (let partition = 0; partition < PARTITIONS; partition++) {
    const stream = keys.stream(partition, 'intake', 'live')
    const reply = await client.call('XREADGROUP', 'GROUP', 'process', 'dead', 'COUNT', 10, 'STREAMS', stream, '>')
    assert.ok(reply, 'the dead consumer has read something')
  }
  const worker = await startWorker(redis.url, ingest, 'process', PARTITIONS, enricher)
  const rows = await until(
    () => enrichedRows(client),
    (seen) => seen.length >= 50,
  )
  assert.equal(new Set(eventIds(rows)).size, 50)
  assert.equal(rows.length, 50)
  await worker.stop()
  await stop()
})

test('Redis killed under load: confirmed events arrive exactly once, all others at most once', async (t) => {
  const redis = await startTestRedis(t)
  const client = quiet(connectRedis(redis.url, { name: 'test', kind: 'loop' }))
  t.after(() => client.disconnect())
  await createGroups(client, ingest, PARTITIONS)
  const worker = await startWorker(redis.url, ingest, 'process', PARTITIONS, enricher)
  const { intake, stop } = startIntake(redis.url, PARTITIONS)
  const confirmed: string[] = []
  let sent = 0
  let sending = true
  const send = async () => {
    while (sending) {
      const ids = Array.from({ length: 20 }, () => `e${sent++}`)
      try {
        await intake.append(ids.map((id) => envelope('t', id)))
        confirmed.push(...ids)
      } catch (error) {
        assert.ok(error instanceof UnavailableError)
      }
    }
  }
  const senders = [send(), send(), send()]
  for (let kill = 0; kill < 3; kill++) {
    const before = confirmed.length
    await until(
      async () => confirmed.length,
      (n) => n > before + 500,
    )
    await redis.restart()
  }
  sending = false
  await Promise.all(senders)
  await until(
    () => enrichedRows(client),
    (seen) => seen.length >= confirmed.length,
  )
  await until(
    () => readStatus(client, ingest),
    ({ streams }) => streams.every((s) => s.group !== 'process' || s.lag_entries + s.pending_entries === 0),
  )
  const counts = new Map<string, number>()
  for (const id of eventIds(await enrichedRows(client))) counts.set(id, (counts.get(id) ?? 0) + 1)
  for (const id of confirmed) assert.equal(counts.get(id), 1, id)
  for (const [id, count] of counts) assert.equal(count, 1, id)
  await worker.stop()
  await stop()
})

test('Redis down: an append is refused within its deadline, and works again by itself', async (t) => {
  const redis = await startTestRedis(t)
  const { intake, stop } = startIntake(redis.url, PARTITIONS, 300)
  const appended = () => intake.append([envelope('t', 'a')]).then(() => true)
  // The deadline of the first one includes the connection.
  await until(appended, (done) => done)
  await redis.kill()
  await assert.rejects(intake.append([envelope('t', 'b')]), UnavailableError)
  await redis.restart()
  await until(appended, (done) => done)
  await stop()
})

test('a request after a pause longer than the deadline has the whole deadline', async (t) => {
  const redis = await startTestRedis(t)
  const { intake, stop } = startIntake(redis.url, PARTITIONS, 1_000)
  await intake.append([envelope('t', 'a')])
  const pausedAt = performance.now()
  await until(
    async () => performance.now() - pausedAt,
    (ms) => ms > 1_200,
  )
  await intake.append([envelope('t', 'b')])
  await stop()
})

test('another number of partitions is refused, and the error says how to change it', async (t) => {
  const redis = await startTestRedis(t)
  const client = quiet(connectRedis(redis.url, { name: 'test', kind: 'loop' }))
  t.after(() => client.disconnect())
  await agreeOnPartitions(client, 4)
  await agreeOnPartitions(client, 4)
  for (const other of [2, 8]) {
    const how = `holds 4 .*PARTITIONS=4\\. .*"ipid backup DIR".*"ipid restore DIR".*new DATA_DIR.*PARTITIONS=${other}$`
    await assert.rejects(agreeOnPartitions(client, other), new RegExp(how))
  }
})
