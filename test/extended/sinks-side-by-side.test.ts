import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { pino } from 'pino'
import { SinkWorker } from '../../src/pipeline/runner/sink-worker.ts'
import { SinkStreams, sinkMembership } from '../../src/pipeline/streams/sink-streams.ts'
import { connectRedis, type RedisClient } from '../../src/stores/redis/connect.ts'
import { keys } from '../../src/stores/redis/keys.ts'
import { quiet, silent } from '../support/pipeline.ts'
import type { TestRedis } from '../support/redis.ts'
import { GROUP, holdings, PARTITIONS, startSharedStreams } from '../support/sink-shares.ts'
import { until } from '../support/until.ts'

/** A destination with idempotent tokens: rows of one token are stored once. */
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

type Held = 'before' | 'after'

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
    if (process.holds === 'after') table.store(rows, token)
    if (process.holds !== undefined) {
      process.held++
      await goesOn
    }
    table.store(rows, token)
  }
  const membership = sinkMembership({ client: connect(), group: GROUP, shares, log })
  const workers = Array.from({ length: shares }, (_, number) => {
    const place = { partitions: PARTITIONS, share: membership.share(number), group: GROUP, from: 'enriched' }
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
  for (const worker of workers) void worker.start()
  return process
}

const untilHoldings = (client: RedisClient, ...wanted: number[]) =>
  until(
    () => holdings(client),
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

/** As when no process has renewed its lease for a long time. */
async function endLeases(client: RedisClient): Promise<void> {
  await client.del(keys.leaseMembers(GROUP))
}

test('two processes insert side by side; a new one gets its part, a killed one is replaced', async (t) => {
  const { redis, client, send } = await startSharedStreams(t)
  const table = new Table()
  const first = startProcess(t, redis, table, 4)
  await untilHoldings(client, 4)
  await untilStored(client, table, await send())
  const second = startProcess(t, redis, table, 4)
  await untilHoldings(client, 2, 2)
  first.inserts = 0
  await untilStored(client, table, await send())
  assert.ok(first.inserts > 0 && second.inserts > 0, `${first.inserts} and ${second.inserts}`)

  for (const holds of ['after', 'before'] as const) {
    const killed = startProcess(t, redis, table, 4)
    await untilHoldings(client, 2, 1, 1)
    killed.holds = holds
    const ids = await send()
    await until(
      async () => killed.held,
      (held) => held > 0,
    )
    killed.drop()
    if (holds === 'before') await endLeases(client)
    await untilHoldings(client, 2, 2)
    // As when it was only paused: the insert it was about to send arrives now.
    killed.goOn()
    await untilStored(client, table, ids)
  }
})

test('a new number of shares waits for the old sinks, finishes their inserts, and loses nothing', async (t) => {
  const { redis, client, send } = await startSharedStreams(t)
  const table = new Table()
  let before = startProcess(t, redis, table, 1)
  await untilStored(client, table, await send())
  const runIds = await client.get(keys.sinkRunIds(GROUP))
  for (const [shares, holds] of [
    [4, 'before'],
    [2, 'after'],
    [1, undefined],
  ] as const) {
    const logged: string[] = []
    const log = pino({ level: 'info' }, { write: (line) => void logged.push(JSON.parse(line).msg) })
    const next = startProcess(t, redis, table, shares, log)
    await until(
      () => logged.includes('waiting for processes with another SINK_SHARES, or of an earlier version, to end'),
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
      () => logged.includes('another SINK_SHARES is in force'),
      (isTold) => isTold,
    )
    // Its next inserts are late.
    before.goOn()
    await untilStored(client, table, ids)
    await untilStored(client, table, await send())
    assert.ok(next.inserts > 0)
    assert.equal(logged.filter((msg) => msg.startsWith('waiting for')).length, 1, String(logged))
    assert.equal(await client.get(keys.sinkRunIds(GROUP)), runIds)
    before = next
  }
})
