import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ingest } from '../../pipelines/ingest.ts'
import type { LetterCopy } from '../../schemas/backup.ts'
import { RedisRecordSource } from '../../src/operations/backup/redis/record-source.ts'
import { RedisRecordTarget } from '../../src/operations/backup/redis/record-target.ts'
import { DeadLetters, type StoredLetter } from '../../src/operations/dead-letters/dead-letters.ts'
import { outcomesOf } from '../../src/operations/replay/plan.ts'
import { RedisReplayLane } from '../../src/operations/replay/redis/lane.ts'
import { packBlock } from '../../src/pipeline/event/block.ts'
import { type Envelope, NO_IDENTITY, partitionOf } from '../../src/pipeline/event/envelope.ts'
import { NO_OUTCOMES, outcomeKey } from '../../src/pipeline/event/outcomes.ts'
import { deadLetterFields } from '../../src/pipeline/streams/dead-letter.ts'
import { claimIdOfNoEntry, type RawEntry, readEntry } from '../../src/pipeline/streams/entries.ts'
import { findClaim, seedClaims } from '../../src/pipeline/streams/seen-claims.ts'
import { waitingEvents } from '../../src/pipeline/streams/status.ts'
import { agreeOnPartitions, createGroups, partitionsSince } from '../../src/pipeline/streams/topology.ts'
import { systemClock } from '../../src/run/clock.ts'
import { connectRedis, type RedisClient } from '../../src/stores/redis/connect.ts'
import { keys } from '../../src/stores/redis/keys.ts'
import { NO_ENRICHER, startDeadLetters } from '../support/dead-letters.ts'
import { envelope, quiet, startWorker } from '../support/pipeline.ts'
import { startTestRedis } from '../support/redis.ts'
import { until } from '../support/until.ts'

const WINDOW_MS = ingest.limits.dedupWindowMs
const BEFORE = 4
const OUTCOME = outcomeKey({ tenantId: 't', day: '2026-11-22', status: 'dead' })

interface LetterPlace {
  readonly partition: number
  readonly id: string
  readonly claimId?: Buffer
  readonly group?: string
  readonly stream?: string
}

async function writeLetter(client: RedisClient, event: Envelope, place: LetterPlace): Promise<void> {
  const { partition, id, claimId, group = 'clickhouse', stream = 'enriched' } = place
  const origin = { group, stream, lane: 'live' as const, claimId }
  const letter = { reason: 'test', block: packBlock([event], undefined, 'p:1'), outcome: OUTCOME }
  await client.call('XADD', keys.dead(partition), id, ...deadLetterFields(origin, letter))
}

async function lettersOf(client: RedisClient, partitions: number): Promise<StoredLetter[]> {
  const found: StoredLetter[] = []
  for await (const letter of new DeadLetters(client, ingest, partitions).letters({}, 'oldest first')) found.push(letter)
  return found
}

/** The fields of a letter that stay the same in every partition. */
const factsOf = ({ firstId, atMs, group, stream, claimId, block }: StoredLetter) =>
  [firstId, atMs, group, stream, claimId?.toString('hex'), block?.rows.toString()].join(' ')

const identityOf = ({ block }: StoredLetter) => block?.identities.toString('latin1') ?? NO_IDENTITY

test('a restore moves dead letters and their claims to the partitions of a new number', async (t) => {
  const { url } = await startTestRedis(t)
  const client = quiet(connectRedis(url, { name: 'test', kind: 'loop' }))
  t.after(() => client.disconnect())
  await agreeOnPartitions(client, BEFORE)
  const nowMs = Date.now()
  const claimId = claimIdOfNoEntry(nowMs - 1)
  const events = Array.from({ length: 30 }, (_, i) => envelope('t', `e${i}`))
  const numbers = Array.from({ length: BEFORE }, () => 0)
  for (const event of events) {
    const partition = partitionOf(event.identity, BEFORE)
    // All partitions write letters in the same millisecond.
    await writeLetter(client, event, { partition, id: `${nowMs}-${numbers[partition]!++}`, claimId })
    await seedClaims(client, [{ partition, identity: Buffer.from(event.identity, 'latin1'), claimId }], WINDOW_MS)
  }
  await writeLetter(client, { ...envelope('t', 'none'), identity: NO_IDENTITY }, { partition: 3, id: `${nowMs + 1}-0` })
  const payload = { partition: 3, id: `${nowMs + 2}-0`, group: 'archive', stream: 'archive' }
  await writeLetter(client, envelope('t', 'e1'), payload)
  const broken = ['group', 'process', 'stream', 'intake', 'lane', 'live', 'reason', 'no block']
  await client.xadd(keys.dead(0), `${nowMs + 3}-0`, ...broken)
  const before = (await lettersOf(client, BEFORE)).map(factsOf)
  const copies: LetterCopy[] = []
  for await (const copy of new RedisRecordSource(client, ingest, systemClock).letters()) copies.push(copy)
  assert.equal(copies.filter(({ claim }) => claim !== null).length, events.length)

  await client.flushall()
  const worker = quiet(connectRedis(url, { name: 'worker', kind: 'loop' }))
  t.after(() => worker.disconnect())
  await worker.ping()
  const refused = new RedisRecordTarget(client, ingest, systemClock)
  await assert.rejects(refused.begin('backup', undefined), /an ipid is connected to this Redis \(as ipid:worker\)/)
  await refused.close()
  worker.disconnect()
  const connections = async () =>
    String(await client.client('LIST'))
      .trim()
      .split('\n').length
  await until(async () => (await connections()) === 1)

  for (const partitions of [7, 2, BEFORE]) {
    await client.flushall()
    const target = new RedisRecordTarget(client, ingest, systemClock)
    await target.begin('backup', undefined)
    await target.fixPartitions(partitions, { partitions: BEFORE, sinceMs: 5 })
    for (let twice = 0; twice < 2; twice++) {
      await target.clearLetters()
      await target.addLetters(copies)
      if (twice === 0 && partitions === 2) {
        // As after a kill: some letters are in their new place, and some are not.
        const moved = { atMs: nowMs, partition: partitionOf(events[0]!.identity, 2) }
        await client.xadd(keys.deadCopy(moved.partition), `${nowMs}-9`, ...broken)
        continue
      }
      await target.placeLetters()
    }
    await target.end()
    await target.close()
    const after = await lettersOf(client, partitions)
    assert.deepEqual(after.map(factsOf).sort(), [...before].sort())
    const times = after.map(({ atMs }) => atMs)
    assert.deepEqual(times, times.toSorted(), 'the oldest come first, as before')
    for (const letter of after) {
      const { firstId, partition, stream } = letter
      const stays = identityOf(letter) === NO_IDENTITY || stream === 'archive'
      assert.equal(partition, stays ? Number(firstId[0]) % partitions : partitionOf(identityOf(letter), partitions))
    }
    for (const { identity } of events) {
      const place = { partition: partitionOf(identity, partitions), identity: Buffer.from(identity, 'latin1') }
      assert.deepEqual(await findClaim(client, { ...place, ms: nowMs }, WINDOW_MS), claimId)
    }
    assert.deepEqual(await client.keys('*:dead:copy'), [])
    assert.equal((await client.keys('{p*}:dead')).length <= partitions, true)
    assert.equal((await partitionsSince(client)) === 5, partitions === BEFORE, 'else it changed just now')

    await createGroups(client, ingest, partitions)
    const letters = new DeadLetters(client, ingest, partitions)
    const [first] = after
    assert.equal(await letters.retry(first!), 'done')
    assert.equal(await letters.retry(first!), 'gone')
    const outcomes = await client.xrange(keys.stream(first!.partition, 'outcomes', 'live'), '-', '+')
    assert.match(JSON.stringify(outcomes), new RegExp(`p:1/retry:${first!.firstId}\\b`), 'where it was counted')
  }
})

test('a replay counts events of a removed partition under that partition', async (t) => {
  const { redis, client } = await startDeadLetters(t, ingest, 2)
  const worker = await startWorker(redis.url, ingest, 'process', 2, NO_ENRICHER)
  t.after(() => worker.stop())
  const lane = await RedisReplayLane.open(client, ingest, { waitMs: 10_000, assertHeld: () => {} })
  const [repeat, fresh] = [envelope('t', 'repeat'), envelope('t', 'fresh')]
  await lane.claim([{ partition: 5, identity: repeat.identity }])
  const none = { outcomes: NO_OUTCOMES, kept: NO_OUTCOMES, unfiltered: NO_OUTCOMES }
  await lane.feed([{ partition: 5, commit: 'p:9', job: undefined, envelopes: [repeat, fresh], ...none }])
  const waiting = () => waitingEvents(client, ingest, 2, { groups: ['process'] })
  await until(async () => (await waiting()) === 0)
  assert.equal(Number(await client.xlen(keys.stream(1, 'enriched', 'batch'))), 1, '5 % 2 carries it')
  const raw = (await client.callBuffer('XRANGE', keys.stream(1, 'outcomes', 'batch'), '-', '+')) as RawEntry[]
  const rows = raw.map((entry) => {
    const read = readEntry(entry, 'batch', 1, 1)
    assert.ok('block' in read)
    return read.block.rows.toString().split('\t')
  })
  assert.equal(rows.length, 1)
  const [source = '', tenantId = '', day = ''] = rows[0]!
  const slash = source.indexOf('/')
  assert.equal(source.slice(0, slash), 'p:9')
  const status = 'duplicates'
  const counted = {
    ...{ commit: 'p:9', leftWith: source.slice(slash + 1), day, job: undefined, status, reason: '', events: 1 },
    key: outcomeKey({ tenantId, day, status }),
  }
  const unit = { entry: '1-0', commit: 'p:9', day, job: undefined, events: [], rejected: [] }
  const sumOf = (partition: number) => [...outcomesOf({ ...unit, partition }, [counted]).later.values()]
  assert.deepEqual([sumOf(5), sumOf(1)], [[1], []])
})
