import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { ingest } from '../../pipelines/ingest.ts'
import type { Pipeline } from '../../src/pipeline/declaration/pipeline.ts'
import { decodeBlock, encodeBlock, packBlock } from '../../src/pipeline/event/block.ts'
import { identityOf } from '../../src/pipeline/event/envelope.ts'
import { columnOf } from '../../src/pipeline/event/row.ts'
import { brokenEntryFields, deadLetterFields } from '../../src/pipeline/streams/dead-letter.ts'
import { claimIdOf } from '../../src/pipeline/streams/entries.ts'
import { readStatus, waitingEvents } from '../../src/pipeline/streams/status.ts'
import type { RedisClient } from '../../src/stores/redis/connect.ts'
import { counterFields, keys } from '../../src/stores/redis/keys.ts'
import { runCommand } from '../support/command.ts'
import {
  counter,
  DAY_MS,
  keptIds,
  NO_ENRICHER,
  nothingWaits,
  outcomeSums,
  poisonedPipeline,
  startDeadLetters,
  writeLetter,
} from '../support/dead-letters.ts'
import { collectingSink, envelope, sinkNamed, startWorker } from '../support/pipeline.ts'
import { until } from '../support/until.ts'

test('a retried letter takes the normal way and counts once, also with parallel retries', async (t) => {
  const { pipeline, state } = poisonedPipeline()
  const { redis, client, intake, letters, all } = await startDeadLetters(t, pipeline)
  const worker = await startWorker(redis.url, pipeline, 'process', 1, NO_ENRICHER)
  t.after(worker.stop)
  const bad = Array.from({ length: 20 }, (_, i) => `bad${i}`)
  await intake.append([...bad, 'fine', 'bad0'].map((id) => envelope('t', id)))
  await until(async () => (await client.xlen(keys.dead(0))) === 21)
  const found = await all()
  assert.deepEqual([found[0]!.reason, found[0]!.group, found[0]!.stream], ['poison: poisoned', 'process', 'intake'])
  state.fails = false
  const results = await Promise.all([...found, ...found].map((letter) => letters.retry(letter)))
  assert.deepEqual([results.filter((r) => r === 'done').length, await client.xlen(keys.dead(0))], [21, 0])
  await nothingWaits(client, pipeline)
  await intake.append([...bad, 'fine'].map((id) => envelope('t', id)))
  await until(async () => (await counter(client, 'process:duplicates')) === 22)
  assert.deepEqual((await keptIds(client)).sort(), [...bad, 'fine'].sort())
  assert.deepEqual([await counter(client, 'process:dead'), await counter(client, 'process:retried')], [21, 21])
  assert.deepEqual(
    await outcomeSums(client),
    { dead: 0, duplicates: 22 },
    'a retry takes back the count of dead events',
  )
  const { streams } = await readStatus(client, pipeline)
  assert.deepEqual(
    streams.filter(({ group }) => group === 'process').map((s) => s.waiting_events),
    [0, 0],
  )
})

test('an event sent again meanwhile is a duplicate at its retry, also late in the window', async (t) => {
  const { redis, client, intake, letters, all } = await startDeadLetters(t)
  // It died before its claim; claims of now are two generations later than its own.
  await writeLetter(client, envelope('t', 'old'), claimIdOf(`${Date.now() - 7.5 * DAY_MS}-0`.replace(/\.\d+/, ''), 0))
  const worker = await startWorker(redis.url, ingest, 'process', 1, NO_ENRICHER)
  t.after(worker.stop)
  await intake.append([envelope('t', 'old')])
  await until(async () => (await keptIds(client)).length === 1)
  for (const letter of await all()) assert.equal(await letters.retry(letter), 'done')
  await until(async () => (await counter(client, 'process:duplicates')) === 1 || (await keptIds(client)).length > 1)
  assert.deepEqual(await keptIds(client), ['old'])
})

test('an event claimed before it died is kept at its retry, and its twin is a duplicate', async (t) => {
  const { redis, client, letters, all } = await startDeadLetters(t)
  const claimId = claimIdOf(`${Date.now()}-0`, 0)
  await writeLetter(client, envelope('t', 'e'), undefined)
  await writeLetter(client, envelope('t', 'e'), claimId)
  const worker = await startWorker(redis.url, ingest, 'process', 1, NO_ENRICHER)
  t.after(worker.stop)
  await claim(client, 'e', claimId)
  for (const letter of await all()) await letters.retry(letter)
  await nothingWaits(client, ingest)
  assert.deepEqual([await keptIds(client), await counter(client, 'process:duplicates')], [['e'], 1])
})

/** Claims an event for a claim id, as the step does. */
async function claim(client: RedisClient, eventId: string, claimId: Buffer): Promise<void> {
  const { claimOf } = await import('../../src/pipeline/streams/seen-store.ts')
  const place = claimOf(identityOf('t', eventId), { partition: 0, claimId }, ingest.limits.dedupWindowMs)
  await client.call('HSET', place.key, place.identity, claimId)
  await client.call('SET', `${place.key.replace(/\d+$/, '')}m`, '')
}

test('a discarded event is new when it comes again, unless another one of its id was kept', async (t) => {
  const { redis, client, intake, letters, all } = await startDeadLetters(t)
  const worker = await startWorker(redis.url, ingest, 'process', 1, NO_ENRICHER)
  t.after(worker.stop)
  const now = Date.now()
  const own = claimIdOf(`${now}-0`, 0)
  const earlier = claimIdOf(`${now - 60_000}-0`, 0)
  const sink = { group: 'clickhouse', stream: 'enriched' }
  await claim(client, 'claimed', own)
  await writeLetter(client, envelope('t', 'claimed'), own)
  await claim(client, 'refused', earlier)
  await writeLetter(client, envelope('t', 'refused'), own, sink)
  // A repeat died before deduplication read it: the event itself is stored.
  await claim(client, 'stored', earlier)
  await writeLetter(client, envelope('t', 'stored'), own)
  await claim(client, 'twin', own)
  await writeLetter(client, envelope('t', 'twin'), undefined)
  const found = await all()
  const results = await Promise.all([...found, ...found].map((letter) => letters.discard(letter)))
  assert.equal(results.filter((result) => result === 'done').length, 4)
  assert.deepEqual([await counter(client, 'process:discarded'), await counter(client, 'clickhouse:discarded')], [3, 1])
  await intake.append(['claimed', 'refused', 'stored', 'twin'].map((id) => envelope('t', id)))
  await nothingWaits(client, ingest)
  assert.deepEqual((await keptIds(client)).sort(), ['claimed', 'refused'])
})

test('a letter of one sink is retried for that sink alone', async (t) => {
  const pipeline: Pipeline = {
    ...ingest,
    sinks: [...ingest.sinks, { ...sinkNamed('clickhouse'), group: 'copy', completesJobs: false }],
  }
  const { redis, client, letters, all } = await startDeadLetters(t, pipeline)
  const sinks = await Promise.all(['clickhouse', 'copy'].map((group) => collectingSink(redis.url, group, 1)))
  for (const sink of sinks) t.after(sink.stop)
  await writeLetter(client, envelope('t', 'e'), claimIdOf(`${Date.now()}-0`, 0), { group: 'copy', stream: 'enriched' })
  for (const letter of await all()) assert.equal(await letters.retry(letter), 'done')
  // Later events go to both.
  const later = encodeBlock(packBlock([envelope('t', 'later')]))
  await client.call('XADD', keys.stream(0, 'enriched', 'live'), '*', ...later)
  await until(() => sinks.every((sink) => sink.ids().includes('later')))
  assert.deepEqual(
    sinks.map((sink) => sink.ids()),
    [['later'], ['e', 'later']],
  )
  const done = await Promise.all(
    ['clickhouse', 'copy'].map((group) =>
      client.hget(keys.counters(0), counterFields.done(group, 'enriched', 'live', 'events')),
    ),
  )
  assert.deepEqual(done, ['2', '2'], 'nothing waits for the sink that had nothing to do with it')
})

test('a retried event does not change its batch job, which counted it as rejected', async (t) => {
  const { redis, client, letters, all } = await startDeadLetters(t)
  const block = packBlock([envelope('t', 'e')], 'job-1')
  const origin = { group: 'process', stream: 'intake', lane: 'batch' as const, claimId: undefined }
  await client.call(
    'XADD',
    keys.dead(0),
    '*',
    ...deadLetterFields(origin, { reason: 'test', block, outcome: undefined }),
  )
  const [letter] = await all()
  assert.equal(letter!.block!.job, 'job-1')
  await letters.retry(letter!)
  const worker = await startWorker(redis.url, ingest, 'process', 1, NO_ENRICHER)
  t.after(worker.stop)
  await nothingWaits(client, ingest)
  const [kept] = (await client.callBuffer('XRANGE', keys.stream(0, 'enriched', 'batch'), '-', '+')) as [
    Buffer,
    Buffer[],
  ][]
  const { job, jobCounted, ...rest } = decodeBlock(kept![1])
  assert.deepEqual([columnOf(rest, 'event_id'), job, jobCounted], [['e'], 'job-1', true])
  assert.deepEqual(await client.hgetall(keys.jobProgress(0, 'job-1')), {})
})

test('the command lists by page and filter, and shows, retries and discards', async (t) => {
  const { redis, client } = await startDeadLetters(t, ingest, 2)
  const ipid = (...args: string[]) => runCommand(['dead-letter', ...args], { env: { REDIS_URL: redis.url } })
  const json = async (...args: string[]) => JSON.parse((await ipid(...args, '--json')).stdout)
  assert.equal((await ipid('list')).stdout, 'no dead letters: every event was processed\n')
  assert.deepEqual(await json('list'), { letters: [], next: null })
  for (let i = 0; i < 250; i++) {
    const origin = { group: 'process', stream: 'intake', lane: 'live' as const, claimId: undefined }
    const block = packBlock([envelope(i % 10 === 0 ? 'acme' : 'other', `e${i}`)])
    const letter = { reason: i < 100 ? 'first\treason' : 'second reason', block, outcome: undefined }
    await client.call('XADD', keys.dead(i % 2), `${1_800_000_000_000 + i}-0`, ...deadLetterFields(origin, letter))
  }
  const broken = brokenEntryFields({ group: 'process', stream: 'intake', lane: 'live' }, 'not a block', undefined)
  await client.call('XADD', keys.dead(0), '1800000000300-0', ...broken)
  const pages: string[] = []
  for (let after: string[] = []; ; ) {
    const page = await json('list', '--limit', '60', ...after)
    pages.push(...page.letters.map(({ event_id }: { event_id: string }) => event_id))
    if (page.next === null) break
    after = ['--after', page.next]
  }
  assert.deepEqual(pages, [null, ...Array.from({ length: 250 }, (_, i) => `e${249 - i}`)])
  assert.equal((await json('list', '--tenant', 'acme', '--reason', 'first')).letters.length, 10)
  const until = new Date(1_800_000_000_010).toISOString()
  assert.equal((await json('list', '--from', '2027-01-15T08:00:00.005Z', '--to', until)).letters.length, 5)
  const shown = await json('show', '1:1800000000001-0')
  assert.deepEqual([shown.event_id, shown.event.ip, shown.tenant_id], ['e1', '192.0.2.1', 'other'])
  assert.ok(Math.abs(Date.parse(shown.event.received_at) - Date.now()) < 60_000)
  assert.equal(shown.event.session_id, undefined)
  assert.match(
    (await ipid('list', '--limit', '2')).stdout,
    /^ID +GIVEN UP[\s\S]*\n\nmore: --after 1:1800000000249-0\n$/,
  )
  for (const args of [
    ['retry'],
    ['discard', '--all', '--tenant', 'acme'],
    ['show', '1:1-1'],
    ['retry', '0:1800000000000-0', 'x'],
    ['list', '--limit', 'x'],
    ['list', '--from', 'soon'],
    ['list', '--after', 'x'],
  ]) {
    const refused = await ipid(...args)
    assert.deepEqual([refused.code, refused.stdout], [2, ''], args.join(' '))
  }
  assert.deepEqual(await json('discard', '--tenant', 'acme'), { discarded: 25, gone: 0, skipped: 0, reasons: [] })
  const retried = await ipid('retry', '--all')
  assert.deepEqual(
    [retried.code, retried.stdout],
    [1, '225 retried, 1 unchanged\n0:1800000000300-0: it holds no event\n'],
  )
  assert.equal((await ipid('discard', '0:1800000000300-0')).stdout, '1 discarded\n')
  assert.equal(await waitingEvents(client, ingest, 2), 225)
})

test('every letter is in exactly one place, whatever is killed during retries', async (t) => {
  const { redis, client, all } = await startDeadLetters(t)
  const count = 1_000
  for (let i = 0; i < count; i += 100) {
    await Promise.all(Array.from({ length: 100 }, (_, j) => writeLetter(client, envelope('t', `e${i + j}`), undefined)))
  }
  const left = () => client.xlen(keys.dead(0)).catch(() => count)
  const env = { ...process.env, REDIS_URL: redis.url }
  const child = spawn(process.execPath, ['src/ipid.mjs', 'dead-letter', 'retry', '--all'], { env, stdio: 'ignore' })
  const ended = once(child, 'exit')
  await until(async () => (await left()) < count)
  child.kill('SIGKILL')
  await ended
  const before = await left()
  const interrupted = runCommand(['dead-letter', 'retry', '--all'], { env: { REDIS_URL: redis.url } })
  await until(async () => before === 0 || (await left()) < before)
  await redis.kill()
  await interrupted
  await redis.restart()
  // The connection may be lost again while Redis reads its file.
  const found = await until(() => all().catch(() => undefined))
  const rest = found.length
  const last = await runCommand(['dead-letter', 'retry', '--all', '--json'], { env: { REDIS_URL: redis.url } })
  assert.deepEqual(JSON.parse(last.stdout), { retried: rest, gone: 0, skipped: 0, reasons: [] })
  const worker = await startWorker(redis.url, ingest, 'process', 1, NO_ENRICHER)
  t.after(worker.stop)
  await nothingWaits(client, ingest)
  const kept = await keptIds(client)
  assert.deepEqual([kept.length, new Set(kept).size, await counter(client, 'process:duplicates')], [count, count, 0])
  assert.equal(await counter(client, 'process:retried'), count)
})
