import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdirSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Redis } from 'ioredis'
import { RedisBulkJobs } from '../../src/lookup/bulk/jobs.ts'
import { RedisBatchJobs } from '../../src/pipeline/sources/batch/redis/jobs.ts'
import { SinkStreams } from '../../src/pipeline/streams/sink-streams.ts'
import { systemClock } from '../../src/run/clock.ts'
import type { RedisClient } from '../../src/stores/redis/connect.ts'
import { appendOnlyLink } from '../../src/stores/redis/durability/append-only-file.ts'
import { persisted } from '../../src/stores/redis/durability/persisted.ts'
import { replyCode } from '../../src/stores/redis/errors.ts'
import { counterFields, keys } from '../../src/stores/redis/keys.ts'
import { runCommand } from '../support/command.ts'
import { envelope, groupCommit, silent } from '../support/pipeline.ts'
import { identitiesIn, privateRedis, sendSteadily } from '../support/private-redis.ts'
import { until } from '../support/until.ts'

const UNAVAILABLE = { name: 'UnavailableError' }

async function eventsIn(client: RedisClient): Promise<number> {
  return Number(await client.hget(keys.counters(0), counterFields.added('intake', 'live', 'events')))
}

const isFull = (error: Error) => replyCode(error) === 'MISCONF'

test('nothing is confirmed before it is on disk', async (t) => {
  const redis = privateRedis(t)
  await redis.start()
  const link = appendOnlyLink(redis.socket)
  // A folder without a file of Redis: nothing can be synced.
  const nowhere = join(redis.root, 'nowhere')
  mkdirSync(nowhere)
  rmSync(link)
  symlinkSync(nowhere, link)
  const client = await redis.connect()
  const limits = { partitions: 1, openMax: 10, deadlineMs: 1_000, clock: systemClock }
  const jobs = new RedisBatchJobs({ client, ...limits, closedBecause: () => undefined })
  const bulkJobs = new RedisBulkJobs({ client, openMax: 10 })

  await t.test('events of requests', async () => {
    await assert.rejects(groupCommit(client, { deadlineMs: 200 }).append([envelope('t', 'e')]), UNAVAILABLE)
    assert.equal(await eventsIn(client), 1, 'once, however often it was tried')
  })
  await t.test('uploads', async () => {
    const upload = await jobs.begin('acme')
    await upload.write(Buffer.from('{"ip":"192.0.2.1"}\n'))
    await assert.rejects(upload.complete(), UNAVAILABLE)
    await assert.rejects(jobs.find('acme', upload.jobId), UNAVAILABLE)
    await assert.rejects(jobs.cancel('acme', upload.jobId), UNAVAILABLE)
  })
  await t.test('bulk jobs', async () => {
    const place = await bulkJobs.reserve('acme')
    const work = { tenantId: 'acme', ips: ['192.0.2.1'], choices: {} }
    await assert.rejects(place.queue(work as Parameters<typeof place.queue>[0]), UNAVAILABLE)
  })
  await t.test('inserts of sinks', async () => {
    const blocking = await redis.connect()
    const source = new SinkStreams({
      ...{ client, blocking, cluster: false, partitions: 1, group: 'sink', from: 'enriched', log: silent },
      ...{ completesJobs: true, outcomesTo: undefined, ensureGroups: async () => {} },
    })
    assert.equal(await source.acquire(AbortSignal.timeout(10_000), async () => {}), true)
    await assert.rejects(source.writeIntent({ token: 'x', ranges: [] }), { code: 'ENOENT' })
    await assert.rejects(source.intent(), { code: 'ENOENT' }, 'it would be repeated')
    await source.release()
  })
  await t.test('changes by commands', async () => {
    const { code, stdout } = await runCommand(['tenant', 'create', 'acme'], { env: { REDIS_URL: redis.url } })
    assert.deepEqual([code, stdout], [1, ''])
  })
  await t.test('and everything is confirmed once it is', async () => {
    rmSync(link)
    symlinkSync(join(redis.root, 'redis', 'appendonlydir'), link)
    const after = await redis.connect()
    await persisted(after)
    await groupCommit(after, { deadlineMs: 30_000 }).append([envelope('t', 'f')])
    assert.equal(await eventsIn(after), 2)
  })
})

test('no sync is waited for when Redis fsyncs by itself, or may lose writes', async (t) => {
  const redis = privateRedis(t)
  await redis.start({ fsync: 'everysec' })
  const client = await redis.connect()
  assert.deepEqual(await client.config('GET', 'appendfsync'), ['appendfsync', 'everysec'])
  let pings = 0
  t.mock.method(client, 'ping', async () => String(++pings))
  await persisted(client)
  assert.equal(pings, 0)
})

test('a request made while Redis was down waits for the disk of the next Redis', async (t) => {
  const redis = privateRedis(t)
  const client = new Redis({ path: redis.socket, lazyConnect: true })
  t.after(() => client.disconnect())
  await persisted(client)
  await redis.start()
  await client.connect()
  const ping = t.mock.method(client, 'ping')
  await persisted(client)
  assert.equal(ping.mock.callCount(), 1)
})

test('events that Redis could not write to its file are not confirmed', async (t) => {
  const redis = privateRedis(t)
  const { kill } = await redis.start({ binary: redis.limited(512) })
  const client = await redis.connect()
  const intake = groupCommit(client, { deadlineMs: 3_000 })
  let answered = 0
  const appended = async (): Promise<void> => {
    const events = Array.from({ length: 20 }, (_, i) => envelope('t', `e${answered + i}`))
    await intake.append(events)
    answered += events.length
  }
  await assert.rejects(
    (async () => {
      for (let i = 0; i < 1_000; i++) await appended()
    })(),
    UNAVAILABLE,
  )
  assert.ok(answered > 0)
  await kill()
  await redis.start()
  assert.equal(await eventsIn(await redis.connect()), answered)
})

test('an upload with a part that Redis could not write is refused, also by the next Redis', async (t) => {
  const redis = privateRedis(t)
  const { kill } = await redis.start({ binary: redis.limited(64) })
  const client = await redis.connect()
  const limits = { partitions: 1, openMax: 10, deadlineMs: 30_000, clock: systemClock }
  const upload = await new RedisBatchJobs({ client, ...limits, closedBecause: () => undefined }).begin('acme')
  // Random, because the lines are compressed.
  const line = () => `{"ip":"192.0.2.1","a":"${randomBytes(1_500).toString('base64')}"}\n`
  await upload.write(Buffer.from(Array.from({ length: 100 }, line).join('')))
  const completed = assert.rejects(upload.complete(), { ...UNAVAILABLE, message: 'a chunk of the upload was lost' })
  await until(() => client.ping().then(() => false, isFull))
  await kill()
  await redis.start()
  await completed
})

test('a command whose change Redis could not write fails, and a reading one does not', async (t) => {
  const redis = privateRedis(t)
  await redis.start({ binary: redis.limited(16) })
  const client = await redis.connect()
  const env = { REDIS_URL: redis.url }
  await client.set('filler', 'x'.repeat(8_050))
  await client.ping()
  const { code, stdout, stderr } = await runCommand(['tenant', 'create', 'acme', '--json'], { env })
  assert.deepEqual([code, stdout], [1, ''], stderr)
  await assert.rejects(client.ping(), isFull)
  assert.equal((await runCommand(['tenant', 'list'], { env })).code, 0)
})

test('confirmed events exist once after kill -9 of the server, with many commits in flight', async (t) => {
  const redis = privateRedis(t)
  const answered: string[] = []
  for (let round = 0; round < 3; round++) {
    const { kill } = await redis.start()
    const intake = groupCommit(await redis.connect(), { deadlineMs: 200 })
    const goal = answered.length + 5_000
    const ended = new AbortController()
    const sent = sendSteadily(intake, answered, ended.signal)
    await until(() => answered.length >= goal)
    await kill()
    ended.abort()
    await sent
  }
  await redis.start()
  const kept = await identitiesIn(await redis.connect({ timeoutMs: 60_000 }))
  const there = new Set(kept)
  assert.equal(there.size, kept.length, 'none twice')
  assert.equal(answered.filter((identity) => !there.has(identity)).length, 0, 'none lost')
})
