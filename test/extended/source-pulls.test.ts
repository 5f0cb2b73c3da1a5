import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { gunzipSync, gzipSync } from 'node:zlib'
import { Command, type Redis } from 'ioredis'
import { PullCopy } from '../../schemas/backup.ts'
import type { Upload } from '../../src/pipeline/declaration/batch-jobs.ts'
import type { Cursor, PullItem, PullPlace, PullRun } from '../../src/pipeline/declaration/pull.ts'
import { compileValidator } from '../../src/pipeline/event/validator.ts'
import { NO_PAGE_LINE } from '../../src/pipeline/sources/batch/read-chunk.ts'
import { RedisBatchJobs } from '../../src/pipeline/sources/batch/redis/jobs.ts'
import { unpackLines } from '../../src/pipeline/sources/batch/redis/packed-lines.ts'
import { Puller } from '../../src/pipeline/sources/pulls/puller.ts'
import { addPullCopy, copyPulls } from '../../src/pipeline/sources/pulls/redis/pull-copies.ts'
import { RedisPullStore, readPullState } from '../../src/pipeline/sources/pulls/redis/pull-store.ts'
import { firstState, type PullStatus } from '../../src/pipeline/sources/pulls/state.ts'
import { PullTurn, type TurnEnd } from '../../src/pipeline/sources/pulls/turn.ts'
import { s3 as s3Source } from '../../src/pipeline/sources/s3.ts'
import { systemClock } from '../../src/run/clock.ts'
import { UnavailableError } from '../../src/run/errors.ts'
import { connectRedis, type RedisClient } from '../../src/stores/redis/connect.ts'
import { keys } from '../../src/stores/redis/keys.ts'
import { Membership } from '../../src/stores/redis/membership.ts'
import type { Tenant } from '../../src/tenants/tenancy.ts'
import { hourOf, startAmplitude } from '../support/amplitude.ts'
import { PARTITIONS, startBatch } from '../support/batch.ts'
import { runCommand } from '../support/command.ts'
import { startInstance } from '../support/instance.ts'
import { type PagedS3, startPagedS3 } from '../support/paged-s3.ts'
import { quiet, silent } from '../support/pipeline.ts'
import { stepsOf } from '../support/steps.ts'
import { until } from '../support/until.ts'

const tenant: Tenant = { id: 'acme', plan: 'starter', archive: false, addresses: 'full', createdAt: '2026-11-20' }
const LIMITS = {
  ...{ heldBytesMax: 2_000, jobBytesMax: 4_000, jobLinesMax: 1_000, jobItemsMax: 3 },
  ...{ roomWaitMs: 20, partRoomWaitMs: 20 },
}

/** Items by name: their lines, or why they are refused. */
const ITEMS: Readonly<Record<string, number | 'parquet'>> = { a: 3, b: 5, c: 'parquet', d: 60, e: 2, f: 0, g: 4 }

interface ListedCursor {
  readonly done: readonly string[]
}

function logLine(path: string): string {
  return `17.1.2.3 - - [20/Nov/2026:10:00:00 +0000] "GET ${path} HTTP/1.1" 200 5 "-" "Mozilla"\n`
}

/** A place with those items: after each line is one of a style, which is no page view. Its cursor names the finished ones. */
class ListedPlace implements PullPlace {
  readonly failing = new Set<string>()
  readonly opened: string[] = []
  /** The list ends with an error before this item. */
  brokenBefore = ''
  failure: Error = new Error('the connection broke')
  readonly #items: typeof ITEMS

  constructor(items = ITEMS) {
    this.#items = items
  }

  async *items({ cursor, haveMarks }: PullRun): AsyncGenerator<PullItem, Cursor> {
    let { done } = cursor as ListedCursor
    for (const [name, content] of Object.entries(this.#items)) {
      const isMarked = name > 'd'
      if (done.includes(name) || (isMarked && (await haveMarks([name]))[0] === true)) continue
      if (name === this.brokenBefore) throw this.failure
      if (!isMarked) done = [...done, name]
      const cursorAfter: ListedCursor = { done }
      yield {
        id: name,
        name,
        atMs: 0,
        cursor: cursorAfter,
        ...(isMarked && { mark: name }),
        canWait: isMarked,
        open: async () => {
          this.opened.push(name)
          return this.#files(name, content)
        },
      }
    }
    return { done }
  }

  async *#files(name: string, content: number | 'parquet') {
    yield { bytes: this.#bytes(name, content) }
  }

  async *#bytes(name: string, content: number | 'parquet'): AsyncGenerator<Buffer> {
    if (content === 'parquet') {
      yield Buffer.from('PAR1')
      return
    }
    for (let line = 0; line < content; line++) {
      if (this.failing.has(name) && line === content - 1) throw this.failure
      yield Buffer.from(logLine(`/${name}/${line}`) + logLine(`/${name}/${line}.css`))
    }
  }

  async close(): Promise<void> {}
}

/** A process that pulls. It can be killed after any of its commands, or lose the reply of one. */
async function startProcess(
  t: TestContext,
  url: string,
  { commandsMax = Number.POSITIVE_INFINITY, lostReply = 0, openMax = 100, clock = systemClock } = {},
) {
  const client = quiet(connectRedis(url, { name: 'test-puller', kind: 'loop' })) as Redis
  t.after(() => client.disconnect())
  await client.ping()
  let commands = 0
  const send = client.sendCommand.bind(client)
  client.sendCommand = (command, stream) => {
    if (++commands === lostReply) {
      // Redis runs it, as this copy.
      send(new Command(command.name, command.args, { replyEncoding: 'utf8' }), stream)
      command.reject(new Error('the reply was lost'))
      return command.promise
    }
    if (commands <= commandsMax) return send(command, stream)
    command.reject(new Error('this process was killed'))
    return command.promise
  }
  const lease = new Membership({ client, name: 'pulls', processName: 'test' }).share(0)
  return {
    client,
    commands: () => commands,
    async turn(sourceId: string, place: PullPlace): Promise<TurnEnd> {
      try {
        await lease.acquire(AbortSignal.timeout(5_000))
        const store = new RedisPullStore(client, lease)
        const state = (await store.state(sourceId)) ?? { ...firstState(s3Source.pull!, 0), cursor: { done: [] } }
        const jobs = new RedisBatchJobs({
          ...{ client, partitions: PARTITIONS, openMax, deadlineMs: 50, clock },
          closedBecause: () => undefined,
        })
        const source = { id: sourceId, tenantId: tenant.id, pull: { every_ms: 1_000, settings: {} } }
        const turn = new PullTurn({
          ...{ source, state, place, store, jobs, clock, isAsked: false, limits: LIMITS },
          tenant: async () => tenant,
          signal: new AbortController().signal,
          untilMs: Number.POSITIVE_INFINITY,
        })
        const end = await turn.run()
        await store.writeState(sourceId, turn.state)
        return end
      } catch (error) {
        return { end: 'failed', error: error as Error, isDenied: false }
      } finally {
        await lease.release().catch(() => {})
      }
    },
  }
}

/** The paths of all lines in jobs of a source, and the lines that count a request. */
async function pathsInJobs(client: RedisClient, sourceId: string): Promise<string[]> {
  const paths: string[] = []
  for (const job of await client.zrevrange(keys.batchesOf(tenant.id), 0, -1)) {
    const record = await client.hgetall(keys.job(job))
    if (record.source_id !== sourceId) continue
    for (let chunk = 1; chunk <= Number(record.chunks); chunk++) {
      const bytes = await unpackLines((await client.getBuffer(keys.chunk(job, chunk)))!)
      const lines = bytes.toString('utf8').trimEnd().split('\n')
      paths.push(...lines.map((line) => (line === NO_PAGE_LINE ? line : (JSON.parse(line) as { url: string }).url)))
    }
  }
  return paths.sort()
}

function pathsOf(items: typeof ITEMS): string[] {
  const paths = Object.entries(items).flatMap(([name, content]) =>
    content === 'parquet' ? [] : Array.from({ length: content }, (_, i) => [`/${name}/${i}`, NO_PAGE_LINE]).flat(),
  )
  return paths.sort()
}

const EXPECTED = pathsOf(ITEMS)

/** As time does: dead uploads expire, and jobs end. */
async function pass(client: RedisClient): Promise<void> {
  for (const job of await client.hkeys(keys.openJobs())) await client.del(keys.upload(job))
  await client.del(keys.openJobs(), keys.openJobsOf(tenant.id))
}

test('a process that is killed after any command loses no line, and doubles none', async (t) => {
  const { redis, client } = await startBatch(t)
  const place = new ListedPlace()
  const whole = await startProcess(t, redis.url)
  assert.deepEqual(await whole.turn('src_whole', place), { end: 'done' })
  assert.deepEqual(await pathsInJobs(client, 'src_whole'), EXPECTED)
  const last = whole.commands()
  assert.ok(last > 30, `${last} commands`)
  for (let commands = 1; commands <= last; commands++) {
    const id = `src_${commands}`
    await pass(client)
    await (await startProcess(t, redis.url, { commandsMax: commands })).turn(id, place)
    const next = await startProcess(t, redis.url)
    const ends: string[] = []
    while (ends.at(-1) !== 'done') {
      await pass(client)
      ends.push((await next.turn(id, place)).end)
      assert.ok(ends.length < 9, `after ${commands} commands: ${ends}`)
    }
    await pass(client)
    // The receipts of the last jobs are removed by the next turn.
    assert.deepEqual((await next.turn(id, place)).end, 'done')
    assert.deepEqual(await pathsInJobs(client, id), EXPECTED, `after ${commands} commands`)
    assert.equal(await client.exists(keys.pullIntent(id)), 0)
    next.client.disconnect()
  }
  assert.deepEqual(await client.keys('*:receipt'), [])
})

test('a reply of Redis that is lost loses no line, and doubles none', async (t) => {
  const { redis, client } = await startBatch(t)
  const place = new ListedPlace()
  const whole = await startProcess(t, redis.url)
  assert.deepEqual(await whole.turn('src_whole', place), { end: 'done' })
  for (let lostReply = 1; lostReply <= whole.commands(); lostReply++) {
    const id = `src_${lostReply}`
    const process = await startProcess(t, redis.url, { lostReply })
    const ends: string[] = []
    while (ends.at(-1) !== 'done' || process.commands() < lostReply) {
      await pass(client)
      ends.push((await process.turn(id, place)).end)
      assert.ok(ends.length < 9, `after the lost reply ${lostReply}: ${ends}`)
    }
    assert.deepEqual(await pathsInJobs(client, id), EXPECTED, `after the lost reply ${lostReply}`)
    process.client.disconnect()
  }
})

interface PullerOptions {
  readonly tempDir: string
  /** As in a process, a connection of its own: renewals would wait until the lines of a large item are written. Default: the client. */
  readonly leases?: RedisClient
  readonly isPaused?: () => boolean
}

/** The part of a process that pulls one source, at a place. */
function newPuller(
  client: RedisClient,
  id: string,
  place: PullPlace,
  { tempDir, leases = client, isPaused = () => false }: PullerOptions,
): Puller {
  const lease = new Membership({ client: leases, name: 'pulls', processName: tempDir }).share(0)
  return new Puller({
    ...{ lease, store: new RedisPullStore(client, lease), clock: systemClock, log: silent, tempDir },
    pullOf: () => ({ ...s3Source.pull!, begin: () => ({ done: [] }), open: () => place }),
    tenants: {
      getTenant: async () => tenant,
      getKey: async () => ({
        ...{ prefix: id, tenantId: tenant.id, createdAt: tenant.createdAt },
        ...{ revokedAt: undefined, lastUsed: undefined },
        source: { kind: 's3', address: 'payload', pull: { every_ms: 60_000, settings: {}, paused: isPaused() } },
      }),
    },
    jobs: new RedisBatchJobs({
      ...{ client, partitions: PARTITIONS, openMax: 100, deadlineMs: 1_000, clock: systemClock },
      closedBecause: () => undefined,
    }),
    secrets: { open: () => '' },
  })
}

test('a source that is paused in its turn continues where it was', async (t) => {
  const { redis, client } = await startBatch(t)
  const own = quiet(connectRedis(redis.url, { name: 'test-puller', kind: 'loop' }))
  t.after(() => own.disconnect())
  // The state is stored after the first item, since it is refused.
  const place = new ListedPlace({ a: 'parquet', b: 3 })
  let isResumed = false
  let pauses = 0
  const isPaused = () => {
    const paused = place.opened.includes('b') && !isResumed
    if (paused) pauses++
    return paused
  }
  const id = 'src_paused'
  await client.sadd(keys.pulledSources(), id)
  const puller = newPuller(own, id, place, { tempDir: join(redis.dir, 'pulls'), isPaused })
  await puller.start()
  // The turn sees the first pause and ends. The others are seen when a turn would begin.
  await until(
    () => pauses,
    (seen) => seen >= 2,
  )
  await pass(client)
  isResumed = true
  const state = await until(
    () => readPullState(client, id),
    (found) => found?.lastRunAtMs !== undefined,
  )
  await puller.stop()
  assert.deepEqual(place.opened, ['a', 'b', 'b'])
  assert.deepEqual(state!.counts, { objects: 1, refused: 1, lines: 3, rejected: 0 })
})

test('a stop amid a round begins no turn', async (t) => {
  const { redis, client } = await startBatch(t)
  const own = quiet(connectRedis(redis.url, { name: 'test-puller', kind: 'loop' }))
  t.after(() => own.disconnect())
  const id = 'src_stopped'
  await client.sadd(keys.pulledSources(), id)
  let stopped: Promise<void> | undefined
  const isPaused = () => {
    stopped ??= puller.stop()
    return false
  }
  const puller = newPuller(own, id, new ListedPlace(), { tempDir: join(redis.dir, 'pulls'), isPaused })
  await puller.start()
  await until(() => stopped !== undefined)
  await stopped
  assert.equal(await readPullState(client, id), undefined)
})

test('when the process that pulls a source is killed, another one continues, each line once', async (t) => {
  const { redis, client } = await startBatch(t)
  // The second one is too large to share a job with others, so there are three jobs.
  const items = { a: 3, b: 25_000, e: 2, g: 4 }
  const places = [new ListedPlace(items), new ListedPlace(items)] as const
  const id = 'src_two'
  await client.sadd(keys.pulledSources(), id)
  const connect = () => quiet(connectRedis(redis.url, { name: 'test-puller', kind: 'loop' })) as Redis
  const [clients, leases] = [places.map(connect), places.map(connect)]
  let killed = false
  const receipts = new Set<string>()
  for (const own of [clients[0]!, leases[0]!]) {
    const send = own.sendCommand.bind(own)
    own.sendCommand = (command, stream) => {
      for (const arg of command.args.map(String)) if (arg.endsWith(':receipt')) receipts.add(arg)
      // About to create its second job: the intent is written, and the lines are in Redis.
      if (receipts.size === 2) killed = true
      if (!killed) return send(command, stream)
      command.reject(new Error('this process was killed'))
      return command.promise
    }
  }
  const pullers = places.map((place, n) =>
    newPuller(clients[n]!, id, place, { tempDir: join(redis.dir, `pulls-${n}`), leases: leases[n]! }),
  )
  t.after(async () => {
    await Promise.all(pullers.map((puller) => puller.stop()))
    for (const one of [...clients, ...leases]) one.disconnect()
  })
  await pullers[0]!.start()
  // The second one only starts now: on a busy machine it could take over from the first one before the kill.
  await until(() => killed)
  await pullers[1]!.start()
  await until(
    async () => {
      // The next process cannot know yet whether the job will be created. The upload of a dead process ends by itself.
      if ((await readPullState(client, id))?.waitsFor !== undefined) await pass(client)
      return pathsInJobs(client, id)
    },
    (paths) => paths.length >= pathsOf(items).length,
  )
  assert.deepEqual([...new Set(places[0].opened)], ['a', 'b'])
  assert.equal(places[1].opened.includes('a'), false, 'the job with a was created')
  assert.deepEqual(await pathsInJobs(client, id), pathsOf(items))
})

test('an item that fails stops no other that can be read, and a large one continues in its middle', async (t) => {
  const { redis, client } = await startBatch(t)
  const place = new ListedPlace()
  const process = await startProcess(t, redis.url)
  for (const name of ['d', 'e']) place.failing.add(name)
  const first = await process.turn('src_fails', place)
  assert.equal(first.end === 'failed' && first.error.message, 'd: the connection broke')
  // The first jobs of the large item stay.
  const begun = await pathsInJobs(client, 'src_fails')
  assert.ok(begun.includes('/d/0') && !begun.includes('/d/59') && !begun.includes('/e/0'))
  place.failing.delete('d')
  await pass(client)
  const second = await process.turn('src_fails', place)
  assert.equal(second.end === 'failed' && second.error.message, 'e: the connection broke')
  place.failing.clear()
  await pass(client)
  assert.deepEqual(await process.turn('src_fails', place), { end: 'done' })
  assert.deepEqual(await pathsInJobs(client, 'src_fails'), EXPECTED)
  const state = await new RedisPullStore(client, { write: async () => {} }).state('src_fails')
  assert.deepEqual(state!.counts, { objects: 6, refused: 1, lines: EXPECTED.length / 2, rejected: 0 })
  assert.match(state!.refusal!.message, /^c: it is Parquet: let the export write JSON lines/)
})

test('a backfill leaves half of the jobs to the uploads of its tenant, and continues when jobs end', async (t) => {
  const { redis, client } = await startBatch(t)
  const place = new ListedPlace()
  const openMax = 4
  const process = await startProcess(t, redis.url, { openMax })
  const uploads = new RedisBatchJobs({
    ...{ client, partitions: PARTITIONS, openMax, deadlineMs: 1_000, clock: systemClock },
    closedBecause: () => undefined,
  })
  const own: Upload[] = []
  const ends: string[] = []
  for (;;) {
    const { end } = await process.turn('src_fills', place)
    ends.push(end)
    assert.ok(ends.length < 20, `${ends}`)
    if (end === 'done') break
    assert.equal(end, 'waits')
    if (own.length === 0) {
      assert.equal(await client.scard(keys.openJobsOf(tenant.id)), 2)
      for (let n = 0; n < 2; n++) own.push(await uploads.begin(tenant.id))
      await assert.rejects(uploads.begin(tenant.id), /4 batch jobs are queued or running/)
      for (const upload of own) await upload.abort()
    }
    await pass(client)
  }
  assert.equal(own.length, 2)
  assert.deepEqual(await pathsInJobs(client, 'src_fills'), EXPECTED)
  // No item is fetched while no job may begin.
  assert.equal(place.opened.filter((name) => name === 'a').length, 1)
})

test('a list that breaks keeps the items before it, so a source that often fails makes progress', async (t) => {
  const { redis, client } = await startBatch(t)
  const place = new ListedPlace()
  const process = await startProcess(t, redis.url)
  for (const name of ['b', 'd', 'f']) {
    place.brokenBefore = name
    const { end } = await process.turn('src_breaks', place)
    assert.equal(end, 'failed')
    await pass(client)
  }
  place.brokenBefore = ''
  assert.deepEqual(await process.turn('src_breaks', place), { end: 'done' })
  assert.deepEqual(place.opened, ['a', 'b', 'c', 'd', 'e', 'f', 'g'])
  assert.deepEqual(await pathsInJobs(client, 'src_breaks'), EXPECTED)
})

test('an outage loses no item, and an item that stays unreadable is refused', async (t) => {
  const { redis, client } = await startBatch(t)
  /** @param isOldState the first run left the state of an earlier version, which has no `stuck.sinceMs` */
  const failures = async (failure: Error, { hours = 0, isOldState = false } = {}) => {
    let nowMs = Date.now()
    const process = await startProcess(t, redis.url, { clock: { now: () => nowMs } })
    const place = new ListedPlace({ a: 2, b: 3 })
    place.failing.add('b')
    place.failure = failure
    const id = `src_${failure.name}${hours}${isOldState}`
    let runs = 0
    while ((await process.turn(id, place)).end === 'failed' && runs < 30) {
      if (isOldState && runs === 0) await forgetStuckSince(client, id)
      runs++
      nowMs += hours * HOUR_MS
    }
    process.client.disconnect()
    return runs
  }
  assert.equal(await failures(new Error('its policy forbids it')), 7)
  assert.equal(await failures(new UnavailableError('503')), 30)
  assert.equal(await failures(new UnavailableError('503'), { hours: 1 }), 24)
  assert.equal(await failures(new UnavailableError('503'), { hours: 1, isOldState: true }), 25)
})

async function forgetStuckSince(client: RedisClient, sourceId: string): Promise<void> {
  const key = keys.pullState(sourceId)
  const state = JSON.parse((await client.get(key))!) as { stuck: { sinceMs?: number } }
  assert.ok(state.stuck.sinceMs! > 0)
  delete state.stuck.sinceMs
  await client.set(key, JSON.stringify(state))
}

test('the state of a pull in a backup is enough to continue it elsewhere', async (t) => {
  const { redis, client } = await startBatch(t)
  const other = await startBatch(t)
  const place = new ListedPlace()
  await (await startProcess(t, redis.url)).turn('src_0000001', place)
  await client.sadd(keys.pulledSources(), 'src_0000001')
  for await (const copy of copyPulls(client)) {
    assert.deepEqual(compileValidator(PullCopy)(JSON.parse(JSON.stringify(copy))), [])
    await addPullCopy(other.client, copy)
    await addPullCopy(other.client, copy)
  }
  const end = await (await startProcess(t, other.redis.url)).turn('src_0000001', place)
  assert.deepEqual(end, { end: 'done' })
  assert.deepEqual(await pathsInJobs(other.client, 'src_0000001'), [])
})

test('an instance pulls a bucket and Amplitude, through faults and kills, each event once', async (t) => {
  const [s3, amplitude] = await Promise.all([startPagedS3(t, 'tokens', 20), startAmplitude(t)])
  const instance = await startInstance(t, { REDIS_MAX_MEMORY: '256mb' })
  const env = { DATA_DIR: instance.dataDir, PATH: process.env.PATH ?? '' }
  const ipid = async (args: readonly string[], secrets: Record<string, string> = {}) => {
    const result = await runCommand([...args, '--json'], { env: { ...env, ...secrets } })
    assert.equal(result.code, 0, result.stderr)
    return JSON.parse(result.stdout) as unknown
  }
  const create = async (args: readonly string[], secrets: Record<string, string>) => {
    const created = (await ipid(['source', 'create', 'demo', ...args, '--every', '1s'], secrets)) as {
      readonly source_id: string
      readonly key: unknown
    }
    assert.equal(created.key, null)
    return created.source_id
  }
  interface Listed {
    readonly source_id: string
    readonly pull: PullStatus
    readonly filtered_reasons: readonly { readonly reason: string; readonly events: number }[]
  }
  const listed = async (id: string) => {
    const list = (await ipid(['source', 'list', 'demo'])) as Listed[]
    return list.find(({ source_id }) => source_id === id)!
  }
  const statusOf = async (id: string) => (await listed(id)).pull
  const stored = (id: string) =>
    instance.query(`SELECT count(), uniqExact(event_id) FROM events WHERE source_id = '${id}'`)
  const noPages = (id: string) =>
    instance.query(`SELECT sum(events) FROM outcomes WHERE source_id = '${id}' AND status = 'no_page'`)
  const steps = stepsOf(t)
  let bucket = ''
  let project = ''

  await steps('objects are stored once, and unreadable ones are reported', async () => {
    for (let n = 0; n < 50; n++) putLog(s3, `logs/${n}.gz`, 40)
    s3.objects.set('logs/x.parquet', Buffer.from('PAR1....PAR1'))
    s3.modified.set('logs/x.parquet', Date.now())
    bucket = await create(['s3', '--url', `s3://bucket/logs/?endpoint=${s3.endpoint}`], {
      AWS_ACCESS_KEY_ID: 'the-id',
      AWS_SECRET_ACCESS_KEY: 'the-secret-access-key',
    })
    await until(
      () => stored(bucket),
      (rows) => rows === '2000\t2000',
    )
    const status = await until(
      () => statusOf(bucket),
      ({ status }) => status === 'waiting',
    )
    assert.deepEqual([status.objects, status.refused, status.lines, status.rejected], [50, 1, 2_000, 0])
    assert.match(status.text, /^is up to date; 1 refused, last: logs\/x.parquet: it is Parquet/)
    await until(
      () => noPages(bucket),
      (sum) => sum === '2000',
    )
    const reasons = (await listed(bucket)).filtered_reasons.map(({ reason, events }) => [reason, events])
    assert.deepEqual(reasons, [['no_page', 2_000]])
  })

  await steps('no secret is in Redis or in a backup', async () => {
    const redis = quiet(connectRedis(instance.ready.redis_url, { name: 'cli', kind: 'loop' }))
    t.after(() => redis.disconnect())
    const records = (await redis.hvals(keys.apiKeys())).join()
    assert.ok(records.includes(bucket) && records.includes('v1:') && !records.includes('the-secret-access-key'))
    const dir = join(instance.dir, 'backup')
    await ipid(['backup', dir])
    for (const file of readdirSync(dir)) {
      const bytes = readFileSync(join(dir, file))
      const text = (file.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('latin1')
      assert.ok(!text.includes('the-secret-access-key') && !text.includes('the-id'), file)
      if (file === 'pulls.ndjson.gz') assert.ok(text.includes(bucket))
    }
  })

  await steps('kills of the process that pulls, and answers that break off, lose and double nothing', async () => {
    let requests = 0
    s3.intercept = (request, response) => {
      const isObject = request.url!.startsWith('/bucket/logs/')
      if (!isObject || ++requests % 9 !== 0) return false
      if (requests % 2 === 0) response.writeHead(503).end()
      else response.writeHead(200, { 'content-length': 100_000 }).write('x', () => response.destroy())
      return true
    }
    for (let n = 100; n < 220; n++) putLog(s3, `logs/${n}.gz`, 40)
    // More than is held for a job with others.
    putLog(s3, 'logs/large.gz', 20_000)
    for (const rows of [2_500, 4_500, 7_000]) {
      await until(
        () => stored(bucket),
        (found) => Number(found.split('\t')[0]) >= rows,
      )
      // It may not have come back from the last kill yet.
      await until(
        () => instance.kill('ipid process,sink'),
        (pid) => pid > 0,
      )
    }
    await until(
      () => stored(bucket),
      (rows) => rows === '26800\t26800',
    )
    s3.intercept = () => false
    await until(
      () => statusOf(bucket),
      ({ status, objects }) => status === 'waiting' && objects === 171,
    )
    assert.equal(await stored(bucket), '26800\t26800')
    await until(
      () => noPages(bucket),
      (sum) => Number(sum) >= 26_800,
    )
    assert.equal(await noPages(bucket), '26800')
  })

  await steps('the hours of Amplitude are stored once, whatever it answers', async () => {
    const startMs = Math.floor(Date.now() / DAY_MS) * DAY_MS - 3 * DAY_MS
    for (let hour = 0; hour < 72; hour += 6) amplitude.hours.set(hourOf(startMs + hour * HOUR_MS), uploaded(hour))
    amplitude.hoursMax = 10
    amplitude.faults.push(429, 500, 'ends early', 'damaged', 504)
    const from = new Date(startMs).toISOString().slice(0, 10)
    project = await create(['amplitude-export', '--region', 'eu', '--endpoint', amplitude.endpoint], {
      AMPLITUDE_API_KEY: amplitude.apiKey,
      AMPLITUDE_SECRET_KEY: amplitude.secretKey,
    })
    await ipid(['source', 'run', project, '--from', from])
    await until(
      () => stored(project),
      (rows) => rows === '120\t120',
    )
    const asked = amplitude.asked.length
    await until(
      () => statusOf(project),
      ({ status, past }) => status === 'waiting' && past === null,
    )
    await ipid(['source', 'run', project, '--from', from])
    await until(
      () => statusOf(project),
      ({ status }) => status === 'waiting',
    )
    assert.equal(await stored(project), '120\t120')
    assert.ok(asked > 8)
  })

  await steps('a wrong secret is reported, and a paused source rests', async () => {
    const wrong = await create(['amplitude-export', '--region', 'eu', '--endpoint', amplitude.endpoint], {
      AMPLITUDE_API_KEY: amplitude.apiKey,
      AMPLITUDE_SECRET_KEY: 'wrong',
    })
    // In the first hours of a day no hour is complete yet, so nothing would be asked.
    await ipid(['source', 'run', wrong, '--from', new Date(Date.now() - DAY_MS).toISOString().slice(0, 10)])
    const status = await until(
      () => statusOf(wrong),
      ({ status }) => status === 'failing',
    )
    assert.match(status.text, /^failed .*, and tries again: Amplitude refuses the API key or the secret key \(401\)/)
    await ipid(['source', 'set', wrong, '--secret'], {
      AMPLITUDE_API_KEY: amplitude.apiKey,
      AMPLITUDE_SECRET_KEY: amplitude.secretKey,
    })
    await until(
      () => statusOf(wrong),
      ({ status }) => status === 'waiting',
    )
    await ipid(['source', 'pause', wrong])
    assert.equal((await statusOf(wrong)).status, 'paused')
    const { code, stderr } = await runCommand(['source', 'run', wrong], { env })
    assert.equal(code, 2)
    assert.match(stderr, /is paused: "source resume/)
    await ipid(['source', 'revoke', wrong])
    assert.equal(await statusOf(wrong), null)
  })
})

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

function putLog(s3: PagedS3, name: string, lines: number): void {
  const line = (n: number) => logLine(`/${name}/${n}`) + logLine(`/${name}/${n}.css`)
  s3.objects.set(name, gzipSync(Array.from({ length: lines }, (_, n) => line(n)).join('')))
  s3.modified.set(name, Date.now())
}

function uploaded(hour: number): object[] {
  return Array.from({ length: 10 }, (_, n) => ({
    ...{ uuid: `u-${hour}-${n}`, app: 1, event_type: 'page', user_id: 'u', device_id: 'd', ip_address: '17.1.2.3' },
    ...{ event_time: '2026-11-20 01:02:03.000000', server_upload_time: '2026-11-20 01:02:03.000000', amplitude_id: 5 },
    ...{ event_properties: {}, user_properties: {}, groups: {} },
  }))
}
