import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { RedisMovingEvents } from '../../src/operations/dead-letters/moving-events.ts'
import { receiptsOf } from '../../src/operations/receipts/role.ts'
import { encodeBlock, packBlock } from '../../src/pipeline/event/block.ts'
import type { Enricher } from '../../src/pipeline/event/enrichment.ts'
import { type Envelope, EnvelopeState, identityOf } from '../../src/pipeline/event/envelope.ts'
import { rowTail } from '../../src/pipeline/event/make-row.ts'
import { payloadRow } from '../../src/pipeline/event/payload.ts'
import { deadLetterFields } from '../../src/pipeline/streams/dead-letter.ts'
import { agreeOnPartitions, createGroups } from '../../src/pipeline/streams/topology.ts'
import { systemClock } from '../../src/run/clock.ts'
import { UnavailableError } from '../../src/run/errors.ts'
import { connectRedis } from '../../src/stores/redis/connect.ts'
import { keys } from '../../src/stores/redis/keys.ts'
import { collectingSink, envelope, quiet, startIntake, startWorker, threeSinks } from '../support/pipeline.ts'
import { startTestRedis } from '../support/redis.ts'
import { until } from '../support/until.ts'

const PARTITIONS = 1
const RECEIVED = '2026-11-22T08:00:00.123Z'
const KEY = { tenantId: 'acme', eventId: 'e' }

function sent(eventId: string, requestId = 'r'): Envelope {
  const seconds = (Date.parse(RECEIVED) / 1_000).toFixed(3)
  const one = envelope('acme', eventId, { received_at: seconds, properties: 'a\\nb' })
  return { ...one, row: one.row + rowTail({ requestId }) }
}

async function setUp(t: TestContext) {
  const redis = await startTestRedis(t)
  const client = quiet(connectRedis(redis.url, { name: 'test', kind: 'loop', timeoutMs: 1_000 }))
  t.after(() => client.disconnect())
  await agreeOnPartitions(client, PARTITIONS)
  await createGroups(client, threeSinks, PARTITIONS)
  const moving = new RedisMovingEvents({ client, pipeline: threeSinks, partitions: PARTITIONS, clock: systemClock })
  return { redis, client, moving }
}

test('an event is found at every stage on its way, and no further', async (t) => {
  const { redis, client, moving } = await setUp(t)
  const { intake, stop } = startIntake(redis.url, PARTITIONS)
  t.after(stop)
  const onItsWay = { status: 'in_progress', received_at: RECEIVED, lane: 'live', request_id: 'r' }

  assert.deepEqual(await moving.waiting(KEY), { receipts: [], complete: true })
  assert.equal(await moving.claimedAtMs(KEY), undefined)

  // No worker has processed it yet.
  const payload = {
    ...sent('e'),
    row: payloadRow('acme', RECEIVED, `{"_received_at":"${RECEIVED}","_status":"ok"}`, 'r 1'),
  }
  await intake.append(
    [sent('before'), sent('e'), sent('after')],
    [sent('x'), payload].map((one) => ({ ...one, row: payload.row })),
  )
  assert.deepEqual(await moving.waiting(KEY), { receipts: [onItsWay], complete: true })
  const accepted = { ...onItsWay, status: 'accepted', request_id: 'r 1' }
  assert.deepEqual(await moving.unarchived(KEY), { receipts: [accepted], complete: true })
  assert.deepEqual(await moving.waiting({ ...KEY, tenantId: 'other' }), { receipts: [], complete: true })

  // It is kept, but not stored yet; a repeat is dropped and not found, though it may still be in the stream.
  const worker = await startWorker(redis.url, threeSinks, 'process', PARTITIONS, {} as Enricher)
  await until(async () => (await client.xlen(keys.stream(0, 'enriched', 'live'))) === 1)
  await intake.append([sent('e', 'r2')])
  await until(async () => (await client.xpending(keys.stream(0, 'intake', 'live'), 'process'))[0] === 0)
  await until(async () => (await moving.waiting(KEY)).receipts.length === 1)
  assert.deepEqual(await moving.waiting(KEY), { receipts: [onItsWay], complete: true })
  assert.ok(Math.abs((await moving.claimedAtMs(KEY))! - Date.now()) < 60_000)
  await worker.stop()

  // It is stored.
  const sink = await collectingSink(redis.url, 'clickhouse', PARTITIONS)
  await until(() => sink.ids().length === 3)
  await until(async () => (await moving.waiting(KEY)).receipts.length === 0)
  await sink.stop()
})

test('lines of a job, letters and rows of earlier versions are reported as they are', async (t) => {
  const { client, moving } = await setUp(t)
  const add = (key: string, fields: (string | Buffer)[]) => client.callBuffer('XADD', key, '*', ...fields)

  const row = sent('e').row.split('\t').slice(0, 12).join('\t')
  const raw = { identity: identityOf('acme', 'e'), state: EnvelopeState.Raw, row }
  await add(keys.stream(0, 'intake', 'batch'), encodeBlock(packBlock([raw], 'job-1')))
  const { row: full, ...rest } = sent('e')
  const earlier = { ...rest, row: full.split('\t').slice(0, 24).join('\t') }
  await add(keys.stream(0, 'enriched', 'live'), encodeBlock(packBlock([earlier])))
  // Two adjacent identities may look like another one in the middle.
  const bytes = identityOf('acme', 'e')
  const halves = ['\x01'.repeat(8) + bytes.slice(0, 8), bytes.slice(8) + '\x01'.repeat(8)]
  const others = halves.map((identity) => ({ ...sent('other'), identity }))
  await add(keys.stream(0, 'enriched', 'live'), encodeBlock(packBlock(others)))
  const { receipts } = await moving.waiting(KEY)
  const seen = { status: 'in_progress', received_at: RECEIVED }
  assert.deepEqual(receipts, [
    { ...seen, lane: 'batch', job_id: 'job-1' },
    { ...seen, lane: 'live' },
  ])

  const origin = { group: 'clickhouse', stream: 'enriched', lane: 'live', claimId: undefined } as const
  const letter = deadLetterFields(origin, { reason: 'dedup: é', outcome: undefined, block: packBlock([sent('e')]) })
  await add(keys.dead(0), ['junk', 'no block'])
  const id = String(await add(keys.dead(0), letter))
  for (let i = 0; i < 20; i++) await add(keys.dead(0), ['junk', 'no block'])
  assert.deepEqual(await moving.dead(KEY), {
    receipts: [
      {
        ...seen,
        status: 'dead',
        lane: 'live',
        request_id: 'r',
        reason: 'dedup: é',
        dead_letter: `0:${id}`,
      },
    ],
    complete: true,
  })
})

test('a backlog is searched from the newest entry backwards, up to a limit', async (t) => {
  const { client, moving } = await setUp(t)
  const key = keys.stream(0, 'enriched', 'live')
  const fieldsOf = (id: string) => encodeBlock(packBlock([sent(id)]))
  await client.callBuffer('XADD', key, '*', ...fieldsOf('oldest'))
  for (let at = 0; at < 9_000; at += 1_000) {
    const pipeline = client.pipeline()
    for (let i = 0; i < 1_000; i++) pipeline.call('XADD', key, '*', ...fieldsOf(`e${at + i}`))
    await pipeline.exec()
  }
  const find = (eventId: string) => moving.waiting({ tenantId: 'acme', eventId })
  assert.deepEqual(await find('oldest'), { receipts: [], complete: false })
  const newest = await find('e8999')
  assert.deepEqual([newest.receipts.length, newest.complete], [1, false])
})

test('a store that is down is an error, not an unknown event', async (t) => {
  const { redis, client, moving } = await setUp(t)
  await moving.waiting(KEY)
  // An ingress without a sink may have no ClickHouse.
  const { receipts, close } = receiptsOf({
    ...{ redis: client, clickhouse: undefined, archiveLocation: { folder: '/nowhere' } },
    ...{ pipeline: threeSinks, partitions: PARTITIONS, clock: systemClock },
  })
  const asked = receipts.find({ ...KEY, archived: false })
  await assert.rejects(asked, { name: 'UnavailableError', message: /set CLICKHOUSE_URL/ })
  await close()
  await redis.kill()
  await assert.rejects(moving.waiting(KEY), UnavailableError)
  await assert.rejects(moving.claimedAtMs(KEY), UnavailableError)
})
