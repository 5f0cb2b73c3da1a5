import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { ingest } from '../../pipelines/ingest.ts'
import { raisePartitions } from '../../src/operations/partitions/redis/raise.ts'
import { RedisReports } from '../../src/operations/status/redis/reports.ts'
import type { ProcessReport } from '../../src/operations/status/report.ts'
import { LANES } from '../../src/pipeline/declaration/lane.ts'
import { groupsOf, type Pipeline } from '../../src/pipeline/declaration/pipeline.ts'
import { type Envelope, partitionOf } from '../../src/pipeline/event/envelope.ts'
import { seedClaims } from '../../src/pipeline/streams/seen-claims.ts'
import { readStatus, waitingEvents } from '../../src/pipeline/streams/status.ts'
import { agreeOnPartitions, createGroups } from '../../src/pipeline/streams/topology.ts'
import { systemClock } from '../../src/run/clock.ts'
import { partitionsOf } from '../../src/stores/redis/change-mark.ts'
import { connectRedis, type RedisClient } from '../../src/stores/redis/connect.ts'
import { counterFields, keys } from '../../src/stores/redis/keys.ts'
import { runCommand } from '../support/command.ts'
import { NO_ENRICHER, poisonedPipeline } from '../support/dead-letters.ts'
import { claimsOf, facts, lettersOf, raiseTo, startPartitions, WINDOW_MS } from '../support/partitions.ts'
import { envelope, quiet, startIntake, startWorker } from '../support/pipeline.ts'
import { until } from '../support/until.ts'

/** Runs the step until nothing waits for it, with an intake that the events come by. */
async function run(t: TestContext, url: string, partitions: number, pipeline: Pipeline, events: readonly Envelope[]) {
  const client = quiet(connectRedis(url, { name: 'test', kind: 'loop' }))
  const { intake, stop } = startIntake(url, partitions)
  const worker = await startWorker(url, pipeline, 'process', partitions, NO_ENRICHER)
  t.after(() => client.disconnect())
  if (events.length > 0) await intake.append([...events])
  await until(async () => (await waitingEvents(client, pipeline, partitions, { groups: ['process'] })) === 0)
  await worker.stop()
  await stop()
  await drainSinks(client, partitions)
  client.disconnect()
}

/** Stands in for the sinks: acknowledges what there is for them, and counts it as done. */
async function drainSinks(client: RedisClient, partitions: number): Promise<void> {
  for (const { group, from } of groupsOf(ingest).filter(({ group }) => group !== 'process')) {
    for (let partition = 0; partition < partitions; partition++) {
      for (const lane of LANES) {
        const stream = keys.stream(partition, from, lane)
        const args = ['GROUP', group, 's', 'COUNT', 10_000, 'STREAMS', stream, '>']
        const reply = (await client.call('XREADGROUP', ...args)) as [string, [string, string[]][]][] | null
        for (const [id, fields] of reply?.[0]?.[1] ?? []) {
          await client.xack(stream, group, id)
          const done = (unit: 'entries' | 'events') => counterFields.done(group, from, lane, unit)
          await client.hincrby(keys.counters(partition), done('entries'), 1)
          await client.hincrby(keys.counters(partition), done('events'), Number(fields[fields.indexOf('n') + 1]))
        }
      }
    }
  }
}

async function countersOf(client: RedisClient, partitions: number): Promise<Record<string, number>> {
  const sums: Record<string, number> = {}
  for (let partition = 0; partition < partitions; partition++) {
    const hash = await client.hgetall(keys.counters(partition))
    for (const [name, count] of Object.entries(hash)) sums[name] = (sums[name] ?? 0) + Number(count)
  }
  return sums
}

test('behind a raise from 4 to 7 repeats are known, counts are the same, and letters are retried once', async (t) => {
  const { redis, client } = await startPartitions(t, 4)
  const { pipeline, state } = poisonedPipeline()
  const sent = Array.from({ length: 300 }, (_, i) => envelope('t', `e${i}`))
  const bad = Array.from({ length: 20 }, (_, i) => envelope('t', `bad${i}`))
  await run(t, redis.url, 4, pipeline, [...sent, ...bad])
  const older = claimsOf(
    Array.from({ length: 500 }, (_, i) => `old${i}`),
    4,
  )
  await seedClaims(client, older, WINDOW_MS)
  const counted = await countersOf(client, 4)
  assert.equal(counted['outcome:process:dead'], 20)
  const before = (await lettersOf(client, 4)).found

  const ipid = (...args: string[]) => runCommand(['partitions', ...args], { env: { REDIS_URL: redis.url } })
  // The connection of the test is one of another process for the command.
  await client.client('SETNAME', 'none')
  const { code, stdout, stderr } = await ipid('7', '--json')
  assert.equal(code, 0, stderr)
  assert.match(stderr, /^partition 4 of 4: \d+ identities moved so far$/m)
  const told = JSON.parse(stdout)
  const moves = (event: Envelope) => partitionOf(event.identity, 4) !== partitionOf(event.identity, 7)
  const movedOlder = older.filter(
    ({ partition, identity }) => partition !== partitionOf(identity.toString('latin1'), 7),
  )
  assert.deepEqual(told, {
    ...{ partitions: 7, before: 4, identities_moved: movedOlder.length + sent.filter(moves).length },
    dead_letters_moved: bad.filter(moves).length,
  })
  assert.equal(await client.get(keys.partitions()), '7')
  assert.match((await ipid('7')).stdout, /^start with +PARTITIONS=7$/m)
  assert.match((await ipid('4')).stderr, /^ipid: this Redis holds 7 partitions, and they cannot become fewer\n$/)

  assert.deepEqual(await countersOf(client, 7), counted)
  const after = await lettersOf(client, 7)
  assert.deepEqual(after.found.map(facts), before.map(facts))
  for (const { id, partition, block } of after.found) {
    assert.equal(partition, partitionOf(block!.identities.toString('latin1'), 7))
    assert.equal((await after.letters.find(id))?.id, id)
  }
  await createGroups(client, ingest, 7)
  const waits = async () => (await readStatus(client, ingest)).streams.filter(({ waiting_events: n }) => n > 0)
  assert.deepEqual(await waits(), [])

  state.fails = false
  const results = await Promise.all([...after.found, ...after.found].map((letter) => after.letters.retry(letter)))
  assert.equal(results.filter((result) => result === 'done').length, 20)
  const sources = (await client.keys('{p*}:outcomes')).map((name) => client.xrange(name, '-', '+'))
  const text = JSON.stringify(await Promise.all(sources))
  for (const { id } of before)
    assert.ok(text.includes(`/retry:${id}\\`), 'the letter is taken back where it was counted')
  await run(t, redis.url, 7, pipeline, [])
  const again = older.map((_, i) => envelope('t', `old${i}`))
  await run(t, redis.url, 7, pipeline, [...sent, ...bad, ...again, envelope('t', 'new')])
  const now = await countersOf(client, 7)
  assert.equal(now['outcome:process:duplicates'], 300 + 20 + 500)
  assert.equal(now['added:enriched:live:events'], 300 + 20 + 1, 'new is new')
  assert.deepEqual(await waits(), [])
})

test('it is refused while anything waits or runs, and leaves no mark then', async (t) => {
  const { redis, client } = await startPartitions(t, 2)
  const refused = async (reason: RegExp) => {
    await assert.rejects(raisePartitions(client, raiseTo(5)), reason)
    assert.equal(await partitionsOf(client), 2)
  }
  const stream = keys.stream(1, 'enriched', 'batch')
  const id = (await client.xadd(stream, '*', 'n', '1'))!
  await refused(
    /not everything is done: group clickhouse has entries of enriched to do\. Start ipid with PARTITIONS=2, .* run this again/,
  )
  await client.xreadgroup('GROUP', 'clickhouse', 'c', 'STREAMS', stream, '>')
  await refused(/group clickhouse has entries of enriched to do/)
  await client.xack(stream, 'clickhouse', id)
  await client.xgroup('DESTROY', stream, 'clickhouse')
  await refused(/group clickhouse has entries of enriched to do/)
  await client.xgroup('CREATE', stream, 'clickhouse', '$')
  await client.hset(keys.openJobs(), 'job', 't')
  await client.set(keys.sinkIntent('clickhouse'), '{}')
  await refused(/1 batch job is open; a sink has not finished an insert \(\{lease:clickhouse\}:intent\)/)
  await client.del(keys.openJobs(), keys.sinkIntent('clickhouse'))
  await client.set(keys.sinkIntent('outcomes', 1), '{}')
  await refused(/not everything is done: a sink has not finished an insert \(\{lease:outcomes\}:1:intent\)/)
  await client.del(keys.sinkIntent('outcomes', 1))

  const other = quiet(connectRedis(redis.url, { name: 'worker', kind: 'loop' }))
  t.after(() => other.disconnect())
  await other.ping()
  await refused(/an ipid is connected to this Redis \(as ipid:worker\): stop it first/)
  other.disconnect()
  const connections = async () =>
    String(await client.client('LIST'))
      .split('\n')
      .filter((line) => line !== '').length
  await until(async () => (await connections()) === 1)
  const reports = new RedisReports(client, systemClock)
  const report = { id: 'x', process: { pid: 7, host: 'h' }, last_minute: {}, inserts: [], errors: [] }
  await reports.tell(report as unknown as ProcessReport)
  await refused(/process 7 on h told of itself a moment ago/)
  await reports.withdraw('x')

  await client.set(keys.restore(), '{}')
  await refused(/a restore of a backup was not finished/)
  await client.del(keys.restore())
  await raisePartitions(client, raiseTo(5))
  await assert.rejects(agreeOnPartitions(client, 6), /start with PARTITIONS=5, or raise them with "ipid partitions 6"/)
  await assert.rejects(agreeOnPartitions(client, 4), /holds 5 partitions: start with PARTITIONS=5$/)
})
