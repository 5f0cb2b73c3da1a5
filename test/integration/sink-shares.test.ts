import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { pino } from 'pino'
import { ingest } from '../../pipelines/ingest.ts'
import { LeaseLostError } from '../../src/core/run/errors.ts'
import { connectRedis, type RedisClient } from '../../src/redis/connect.ts'
import { keys } from '../../src/redis/keys.ts'
import { SinkShares } from '../../src/redis/streams/sink-shares.ts'
import { SinkStreams } from '../../src/redis/streams/sink-streams.ts'
import { createGroups } from '../../src/redis/streams/topology.ts'
import { SinkWorker } from '../../src/runner/sink-worker.ts'
import { envelope, quiet, silent } from '../support/pipeline.ts'
import { startTestRedis, type TestRedis } from '../support/redis.ts'
import { add } from '../support/sink.ts'
import { until } from '../support/until.ts'

const PARTITIONS = 4
const GROUP = 'clickhouse'

/** A destination that keeps its promises: what came under a token is stored once. */
class Table {
  readonly rows: string[] = []
  readonly #tokens = new Set<string>()

  store(rows: readonly Buffer[], token: string): void {
    if (this.#tokens.has(token)) return
    this.#tokens.add(token)
    this.rows.push(...rows.flatMap((part) => part.toString().trimEnd().split('\n')))
  }

  absent(rows: readonly Buffer[]): Buffer[] {
    return rows.filter((row) => !this.rows.includes(row.toString().trimEnd()))
  }

  get ids(): string[] {
    return this.rows.map((row) => row.split('\t')[2]!).sort()
  }
}

async function startStore(t: TestContext) {
  const redis = await startTestRedis(t)
  const client = quiet(connectRedis(redis.url, { name: 'test', kind: 'loop' }))
  t.after(() => client.disconnect())
  await createGroups(client, ingest, PARTITIONS)
  let sent = 0
  return {
    redis,
    client,
    table: new Table(),
    /** Adds events to every partition, and returns the ids of all so far. */
    async send(): Promise<string[]> {
      for (let partition = 0; partition < PARTITIONS; partition++) {
        await add(client, partition, [envelope('acme', `e${sent++}`), envelope('acme', `e${sent++}`)])
      }
      return Array.from({ length: sent }, (_, i) => `e${i}`).sort()
    },
  }
}

type Held = 'before' | 'behind'

/** A process with the role `sink`. */
function startProcess(t: TestContext, redis: TestRedis, table: Table, shares: number, log = silent) {
  const clients: RedisClient[] = []
  const connect = () => {
    clients.push(quiet(connectRedis(redis.url, { name: 'sink', kind: 'loop', timeoutMs: 2_000 })))
    return clients.at(-1)!
  }
  const process = { inserts: 0, held: 0, holds: undefined as Held | undefined, goOn: () => {}, stop, drop }
  const goesOn = new Promise<void>((resolve) => {
    process.goOn = resolve
  })
  const insert = async (rows: readonly Buffer[], token: string) => {
    process.inserts++
    if (process.holds === 'behind') table.store(rows, token)
    if (process.holds !== undefined) {
      process.held++
      await goesOn
    }
    table.store(rows, token)
  }
  const ofProcess = shares === 1 ? undefined : new SinkShares({ client: connect(), group: GROUP, shares, log })
  const workers = Array.from({ length: shares }, (_, number) => {
    const place = { partitions: PARTITIONS, share: ofProcess?.share(number), group: GROUP, from: 'enriched' }
    const use = { cluster: false, completesJobs: true, outcomesTo: undefined, ensureGroups: async () => {}, log }
    return new SinkWorker({
      group: GROUP,
      startsReady: true,
      source: new SinkStreams({ client: connect(), blocking: connect(), ...place, ...use }),
      inserter: {
        prepare: async () => {},
        insert,
        receivedAt: () => Date.now(),
        absent: async (rows) => table.absent(rows),
        close: async () => {},
      },
      rowsMax: 1_000,
      lingerMs: 0,
      retryDelay: { minMs: 10, maxMs: 50 },
      log,
    })
  })
  /** As `kill -9`. */
  function drop() {
    for (const client of clients) client.disconnect()
  }
  async function stop() {
    await Promise.all(workers.map((worker) => worker.stop()))
    drop()
  }
  t.after(() => {
    for (const worker of workers) worker.stop().catch(() => {})
    drop()
  })
  for (const worker of workers) worker.start()
  return process
}

/** How many shares each process has, the most first. */
async function holdings(client: RedisClient, shares: number): Promise<number[]> {
  const owners = await client.mget(Array.from({ length: shares }, (_, share) => keys.lease(GROUP, share)))
  const counts = new Map<string, number>()
  for (const owner of owners) if (owner !== null) counts.set(owner, (counts.get(owner) ?? 0) + 1)
  return [...counts.values()].sort((a, b) => b - a)
}

const untilHoldings = (client: RedisClient, shares: number, ...wanted: number[]) =>
  until(
    () => holdings(client, shares),
    (found) => String(found) === String(wanted),
  )

async function untilStored(client: RedisClient, table: Table, ids: readonly string[]): Promise<void> {
  const open = async () => {
    const intents = await client.keys('{lease:*intent')
    let entries = intents.length
    for (let partition = 0; partition < PARTITIONS; partition++) {
      const name = keys.stream(partition, 'enriched', 'live')
      entries += Number(((await client.call('XPENDING', name, GROUP)) as [number])[0])
    }
    return entries
  }
  await until(
    async () => table.rows.length >= ids.length && (await open()) === 0,
    (isDone) => isDone,
  )
  assert.deepEqual(table.ids, ids)
}

/** As when nobody has renewed anything for long; who works loses its lease, too. */
async function endLeases(client: RedisClient): Promise<void> {
  const names = await client.keys('{lease:*')
  const ending = names.filter((name) => /(\d:owner|roster)$/.test(name))
  if (!(await client.get(keys.lease(GROUP)))?.startsWith('shares')) ending.push(keys.lease(GROUP))
  if (ending.length > 0) await client.del(...ending)
}

test('two processes insert side by side, and who comes gets its part; when one is killed the other takes over', async (t) => {
  const { redis, client, table, send } = await startStore(t)
  const first = startProcess(t, redis, table, 4)
  await untilHoldings(client, 4, 4)
  await untilStored(client, table, await send())
  const second = startProcess(t, redis, table, 4)
  await untilHoldings(client, 4, 2, 2)
  first.inserts = 0
  await untilStored(client, table, await send())
  assert.ok(first.inserts > 0 && second.inserts > 0, `${first.inserts} and ${second.inserts}`)

  for (const holds of ['behind', 'before'] as const) {
    const killed = startProcess(t, redis, table, 4)
    await untilHoldings(client, 4, 2, 1, 1)
    killed.holds = holds
    const ids = await send()
    await until(
      async () => killed.held,
      (held) => held > 0,
    )
    killed.drop()
    if (holds === 'before') await endLeases(client)
    await untilHoldings(client, 4, 2, 2)
    // As when it was only paused: what it was about to send comes now.
    killed.goOn()
    await untilStored(client, table, ids)
  }
})

test('who lost a share writes nothing more, also when nobody has taken it, and gets it again by asking anew', async (t) => {
  const { client } = await startStore(t)
  const options = { client, group: GROUP, shares: 2, log: silent }
  const [mine, others] = [new SinkShares(options), new SinkShares(options)]
  const [share, other] = [mine.share(0), others.share(1)]
  await Promise.all(acquire(mine, [0]))
  const note = keys.sinkIntent(GROUP, 0)
  await share.write(note, 'mine')
  assert.throws(() => other.assertHeld(), LeaseLostError)
  await assert.rejects(other.write(note, 'another'), LeaseLostError)

  await client.del(keys.lease(GROUP, 0))
  await assert.rejects(share.write(note, 'late'), LeaseLostError)
  const isLost = () => {
    try {
      share.assertHeld()
      return false
    } catch {
      return true
    }
  }
  const isTaken = async () => (await client.exists(keys.lease(GROUP, 0))) === 1
  await until(
    async () => isLost() || (await isTaken()),
    (isOver) => isOver,
  )
  assert.equal(await isTaken(), false, 'it is not taken again')
  await Promise.all(acquire(mine, [0]))
  const now = performance.now.bind(performance)
  t.mock.method(performance, 'now', () => now() + 3_000)
  assert.ok(isLost(), 'nobody has renewed it')
  await assert.rejects(share.write(note, 'late'), LeaseLostError)
  t.mock.restoreAll()
  assert.equal(await client.get(note), 'mine')
  await share.release()
  assert.deepEqual(await client.keys('{lease:*r'), [keys.lease(GROUP)], 'neither an owner nor a roster')
})

test('who is started in the place of a process that has ended takes its shares at once', async (t) => {
  const { client } = await startStore(t)
  const options = { client, group: GROUP, shares: 2, place: 'main/worker', log: silent }
  const [ended, next] = [new SinkShares(options), new SinkShares(options)]
  await Promise.all(acquire(ended, [0, 1]))
  // The one before renews all the time here: waiting for the end of its leases would never end.
  await Promise.all(acquire(next, [0, 1]))
  await assert.rejects(ended.share(0).write(keys.sinkIntent(GROUP, 0), 'late'), LeaseLostError)
  for (const shares of [ended, next]) for (const n of [0, 1]) await shares.share(n).release()
})

/** Acquires some shares at once; puts their number in force when nothing of another is unfinished. */
function acquire(shares: SinkShares, numbers: readonly number[], signal = new AbortController().signal) {
  return numbers.map((number) => {
    const share = shares.share(number)
    return share.acquire(signal, () => share.layout.adopt(async () => assert.fail('there is no intent')))
  })
}

test('nobody takes more than its fair part, and who has more is told, one share at a time', async (t) => {
  const { client } = await startStore(t)
  const options = { client, group: GROUP, shares: 3, log: silent }
  const placed = (place: string) => new SinkShares({ ...options, place })
  const [first, second, third] = [placed('a'), placed('b'), placed('c')]
  const stopping = new AbortController()
  await Promise.all(acquire(first, [0]))
  const [one, other] = acquire(second, [1, 2], stopping.signal)
  assert.equal(await one, true)
  assert.deepEqual(await holdings(client, 3), [1, 1], 'the third is for the first process')
  await Promise.all(acquire(first, [2]))
  assert.deepEqual(await holdings(client, 3), [2, 1])
  assert.deepEqual([first.held, second.held], [2, 1])
  stopping.abort()
  assert.equal(await other, false)

  const waiting = new AbortController()
  const waits = acquire(third, [0, 1, 2], waiting.signal)
  await until(
    () => client.zcard(keys.sinkRoster(GROUP)),
    (processes) => processes === 3,
  )
  await Promise.all(acquire(first, [0, 2]))
  assert.deepEqual(
    [first.share(0).givesBack(), first.share(2).givesBack(), second.share(1).givesBack()],
    [true, false, false],
  )
  await first.share(0).release()
  assert.equal(await waits[0], true)
  waiting.abort()
  await Promise.all(waits)
  for (const shares of [first, second, third]) for (const n of [0, 1, 2]) await shares.share(n).release()
})

test('another number of shares is in force when nobody works and no intent is open, and knows of lost memory what any of them knew', async (t) => {
  const { client } = await startStore(t)
  const told: unknown[] = []
  const log = pino({ level: 'info' }, { write: (line) => void told.push(JSON.parse(line).before) })
  const two = new SinkShares({ client, group: GROUP, shares: 2, log: silent })
  const three = new SinkShares({ client, group: GROUP, shares: 3, log })
  const finished: unknown[] = []
  const adopt = () =>
    three.share(0).layout.adopt(async (shares, share) => {
      finished.push(shares, share)
      await client.del(keys.sinkIntent(GROUP, share))
    })
  await client.set(keys.lease(GROUP), 'the one sink')
  await adopt()
  await adopt()
  assert.equal(await client.get(keys.lease(GROUP)), 'the one sink')
  await client.del(keys.lease(GROUP))
  await Promise.all(acquire(two, [1]))

  const refusal = new AbortController()
  const refused = three.share(0).acquire(refusal.signal, async () => refusal.abort())
  assert.equal(await refused, false)
  await adopt()
  await adopt()
  assert.deepEqual(told, [1, 2], 'each once')
  await client.set(keys.sinkIntent(GROUP, 1), '{}')
  await two.share(1).release()
  const notes = [
    { ids: 'a', sinceMs: 7 },
    { ids: 'b', sinceMs: 5 },
  ]
  for (const [n, note] of notes.entries()) await client.set(keys.sinkLives(GROUP, n), JSON.stringify(note))
  await adopt()
  assert.deepEqual(finished, [2, 1])
  assert.equal(await client.get(keys.lease(GROUP)), 'shares 2')
  await adopt()
  assert.equal(await client.get(keys.lease(GROUP)), 'shares 3')
  for (const n of [0, 1, 2]) {
    assert.deepEqual(JSON.parse((await client.get(keys.sinkLives(GROUP, n)))!), { ids: '', sinceMs: 7 })
  }
  await three.share(0).release()
})

test('a share reads its own partitions, new entries and pending ones', async (t) => {
  const { client, send } = await startStore(t)
  await send()
  const share = new SinkShares({ client, group: GROUP, shares: 3, log: silent }).share(0)
  const place = { client, blocking: client, partitions: PARTITIONS, group: GROUP, from: 'enriched', share, log: silent }
  const use = { cluster: false, completesJobs: false, outcomesTo: undefined, ensureGroups: async () => {} }
  const source = new SinkStreams({ ...place, ...use })
  assert.equal(await source.acquire(new AbortController().signal, async () => {}), true)
  assert.equal(await source.hasStrayPending(), false)
  assert.deepEqual(
    (await source.readNew(100, 0)).map(({ partition }) => partition),
    [0, 3],
  )
  await client.call('XREADGROUP', 'GROUP', GROUP, 'sink', 'STREAMS', keys.stream(1, 'enriched', 'live'), '>')
  assert.deepEqual(
    (await source.readPending(100)).map(({ partition }) => partition),
    [0, 3],
  )
  await source.release()
})

test('another number of shares waits for the sinks of before, finishes what they were about to insert, and loses nothing', async (t) => {
  const { redis, client, table, send } = await startStore(t)
  let before = startProcess(t, redis, table, 1)
  await untilStored(client, table, await send())
  const livesOf = async (share?: number) => JSON.parse((await client.get(keys.sinkLives(GROUP, share)))!)
  const lives = await livesOf()
  for (const [shares, holds] of [
    [4, 'before'],
    [2, 'behind'],
    [1, undefined],
  ] as const) {
    const told: string[] = []
    const log = pino({ level: 'info' }, { write: (line) => void told.push(JSON.parse(line).msg) })
    const next = startProcess(t, redis, table, shares, log)
    await until(
      () => told.includes('sinks with another SINK_SHARES work; this one waits until they have ended'),
      (isTold) => isTold,
    )
    before.holds = holds
    const ids = await send()
    if (holds === undefined) {
      await untilStored(client, table, ids)
      await before.stop()
    } else {
      await until(
        () => before.held,
        (held) => held > 0,
      )
      assert.equal(next.inserts, 0, 'only one number works')
      before.drop()
      await endLeases(client)
    }
    await until(
      () => told.includes('the sink has another number of shares'),
      (isTold) => isTold,
    )
    // What comes of it now is late.
    before.goOn()
    await untilStored(client, table, ids)
    await untilStored(client, table, await send())
    assert.ok(next.inserts > 0)
    assert.equal(told.filter((msg) => msg.includes('this one waits')).length, 1, String(told))
    const left = (await client.keys('{lease:*lives')).length
    assert.equal(left, shares)
    assert.deepEqual(await livesOf(shares === 1 ? undefined : 0), lives)
    before = next
  }
})
