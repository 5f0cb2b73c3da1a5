import assert from 'node:assert/strict'
import { readdirSync, readFileSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { keys } from '../../src/stores/redis/keys.ts'
import { envelope } from '../support/pipeline.ts'
import { add, bound, countEvents, PARTITIONS, pending, startSink, startStores } from '../support/sink.ts'
import { until } from '../support/until.ts'

test('the next sink repeats exactly the insert that the one before it had begun', async (t) => {
  const { redis, clickhouse, client } = await startStores(t)
  for (const step of ['before the insert', 'after the insert'] as const) {
    let reached = () => {}
    const atStep = new Promise<void>((resolve) => {
      reached = resolve
    })
    const first = await startSink(t, redis, clickhouse, (inserter) => ({
      ...bound(inserter),
      async insert(rows, token) {
        if (step === 'after the insert') await inserter.insert(rows, token)
        reached()
        await new Promise(() => {})
      },
    }))
    const before = (await countEvents(clickhouse)).n
    await add(
      client,
      0,
      Array.from({ length: 30 }, (_, i) => envelope('acme', `${step} ${i}`)),
    )
    await add(
      client,
      1,
      Array.from({ length: 30 }, (_, i) => envelope('acme', `${step} ${30 + i}`)),
    )
    await atStep
    await first.drop()
    const second = await startSink(t, redis, clickhouse)
    await add(client, 1, [envelope('acme', `${step} later`)])
    await until(
      () => pending(client),
      (n) => n === 0,
    )
    const { n, u } = await until(
      () => countEvents(clickhouse),
      (counts) => counts.n >= before + 61,
    )
    assert.equal(n, before + 61, step)
    assert.equal(u, n, step)
    // After the insert and its acknowledgement.
    await until(
      () => client.exists(keys.sinkIntent('clickhouse')),
      (there) => there === 0,
    )
    await second.stop()
  }
})

test('a token that ClickHouse has without its rows does not lose them', async (t) => {
  const { redis, clickhouse, client } = await startStores(t)
  let reached = () => {}
  const cutOff = new Promise<void>((resolve) => {
    reached = resolve
  })
  // As when ClickHouse was killed right after the line of its log: the token exists, and other rows under it.
  const first = await startSink(t, redis, clickhouse, (inserter) => ({
    ...bound(inserter),
    async insert(_rows, token) {
      await inserter.insert([Buffer.from(`${envelope('acme', 'instead').row}\n`)], token)
      reached()
      await new Promise(() => {})
    },
  }))
  await add(
    client,
    0,
    Array.from({ length: 30 }, (_, i) => envelope('acme', `e${i}`)),
  )
  await cutOff
  await first.drop()
  await startSink(t, redis, clickhouse)
  await until(
    () => pending(client),
    (n) => n === 0,
  )
  assert.deepEqual(await clickhouse.rows("SELECT count() AS n FROM events WHERE event_id != 'instead'"), [{ n: 30 }])
})

test('rows whose delivery Redis lost with the end of its append-only file are stored once', async (t) => {
  const { redis, clickhouse, client } = await startStores(t)
  let sink = await startSink(t, redis, clickhouse)
  let sent = 0
  const untilStored = async () => {
    await until(
      () => countEvents(clickhouse),
      ({ n }) => n >= sent,
    )
    await until(
      () => pending(client),
      (n) => n === 0,
    )
    assert.deepEqual(await countEvents(clickhouse), { n: sent, u: sent })
  }
  const send = (count: number) => {
    const rows = Array.from({ length: count }, () => envelope('acme', `e${sent++}.`))
    return add(client, sent % PARTITIONS, rows)
  }
  // Cut between two commands; within one; together with the sink.
  for (const [extra, isSinkLost] of [
    [0, false],
    [7, false],
    [0, true],
  ] as const) {
    await send(20)
    await untilStored()
    if (isSinkLost) await sink.drop()
    await redis.kill()
    const folder = join(redis.dir, 'appendonlydir')
    const file = join(folder, readdirSync(folder).find((name) => name.endsWith('.incr.aof'))!)
    const commands = readFileSync(file)
    const endOfAdd = commands.indexOf('\r\n*', commands.indexOf(`\te${sent - 1}.\t`)) + 2
    assert.ok(commands.indexOf('XACK', endOfAdd) > 0, 'the acknowledgement comes later')
    truncateSync(file, endOfAdd + extra)
    await redis.restart()
    if (isSinkLost) sink = await startSink(t, redis, clickhouse)
    await send(3)
    await untilStored()
  }
})

test('ClickHouse and Redis killed again and again: every row is stored once, accounts agree', async (t) => {
  const { redis, clickhouse, client } = await startStores(t)
  await startSink(t, redis, clickhouse)
  let sent = 0
  for (let round = 0; round < 6; round++) {
    for (let entry = 0; entry < 20; entry++) {
      const rows = Array.from({ length: 40 }, () => envelope('acme', `e${sent}`, { ip: `192.0.2.${sent++ % 100}` }))
      await add(client, entry % PARTITIONS, rows)
    }
    const { n } = await countEvents(clickhouse)
    await until(
      () => countEvents(clickhouse),
      (counts) => counts.n > n || n === sent,
    )
    if (round % 2 === 0) await clickhouse.restart()
    else await redis.restart()
  }
  const counts = await until(
    () => countEvents(clickhouse),
    ({ n }) => n >= sent,
  )
  await until(
    () => pending(client),
    (left) => left === 0,
  )
  assert.deepEqual(counts, { n: sent, u: sent })
  const accounts = await clickhouse.rows('SELECT events, unique_ips FROM accounts')
  assert.deepEqual(accounts, [{ events: sent, unique_ips: 100 }])
})
