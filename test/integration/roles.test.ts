import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { Registry } from 'prom-client'
import { ingest } from '../../pipelines/ingest.ts'
import { createRoles } from '../../src/app.ts'
import { readConfig, readRoles } from '../../src/config/config.ts'
import { optional } from '../../src/config/setting.ts'
import type { Destination } from '../../src/pipeline/declaration/destination.ts'
import { activePipeline, type Pipeline, settingsOf } from '../../src/pipeline/declaration/pipeline.ts'
import { encodeBlock, packBlock } from '../../src/pipeline/event/block.ts'
import { processRole } from '../../src/pipeline/runner/role.ts'
import { sinkRole } from '../../src/pipeline/sinks/role.ts'
import { untilPassed } from '../../src/pipeline/streams/barrier.ts'
import { readStatus } from '../../src/pipeline/streams/status.ts'
import { activeOn } from '../../src/pipeline/streams/topology.ts'
import { ProcessContext } from '../../src/process/context.ts'
import { systemClock } from '../../src/run/clock.ts'
import { connectRedis } from '../../src/stores/redis/connect.ts'
import { counterFields, keys } from '../../src/stores/redis/keys.ts'
import { envelope, quiet, silent, sinkNamed, threeSinks } from '../support/pipeline.ts'
import { startTestRedis } from '../support/redis.ts'

const telemetry = () => ({ log: silent, metrics: new Registry(), clock: systemClock })

test('a sink alone holds no enrichment data; an enriching role holds it once', async (t) => {
  const redis = await startTestRedis(t)
  const config = { ...readConfig({ LOG_LEVEL: 'silent' }), redisUrl: redis.url, clickhouseUrl: 'http://127.0.0.1:1' }
  const context = new ProcessContext(config, telemetry(), threeSinks)
  t.after(() => context.disconnect())
  const sinks = sinkRole(context)
  assert.deepEqual(context.services, [])
  const workers = processRole(context)
  assert.equal(context.services.length, 1)
  assert.equal(context.enrichment, context.enrichment)
  assert.equal(context.services.length, 1)
  assert.equal(context.enrichment.hostnames, undefined)
  for (const service of [...sinks, ...workers]) await service.stop()
  const withNames = new ProcessContext({ ...config, rdns: 'on' }, telemetry(), threeSinks)
  assert.equal(withNames.enrichment.hostnames, withNames.enrichment.reverseDns)
})

test('a sink in shares reports how many a process has; an undivided one reports none', async (t) => {
  const redis = await startTestRedis(t)
  for (const [SINK_SHARES, groups] of [
    ['1', []],
    ['2', ['clickhouse', 'outcomes']],
  ] as const) {
    const config = { ...readConfig({ SINK_SHARES }), redisUrl: redis.url, clickhouseUrl: 'http://127.0.0.1:1' }
    const tools = telemetry()
    const context = new ProcessContext(config, tools, threeSinks)
    const sinks = sinkRole(context)
    const metric = tools.metrics.getSingleMetric('ipid_sink_shares')
    const values = (await metric?.get())?.values ?? []
    assert.deepEqual(
      values.map(({ labels, value }) => [labels.group, value]),
      groups.map((group) => [group, 0]),
    )
    for (const service of sinks) await service.stop()
    context.disconnect()
  }
})

test('a sink knows its share, unless it is undivided', async (t) => {
  const redis = await startTestRedis(t)
  const opened: string[] = []
  const into = (name: string, isUndivided?: true): Destination => ({
    name,
    ...(isUndivided && { isUndivided }),
    open(tools) {
      opened.push(`${name} ${tools.share.number} of ${tools.share.of}`)
      return sinkNamed('clickhouse').into.open(tools)
    },
  })
  const sinks = [
    sinkNamed('clickhouse'),
    { group: 'whole', from: 'enriched', into: into('whole', true) },
    { group: 'divided', from: 'enriched', into: into('divided') },
    ...[sinkNamed('outcomes'), sinkNamed('archive')],
  ]
  const config = {
    ...readConfig({ SINK_SHARES: '2' }),
    ...{ redisUrl: redis.url, clickhouseUrl: 'http://127.0.0.1:1' },
  }
  const context = new ProcessContext(config, telemetry(), { ...ingest, sinks })
  t.after(() => context.disconnect())
  for (const service of sinkRole(context)) await service.stop()
  assert.deepEqual(opened, ['whole 0 of 1', 'divided 0 of 2', 'divided 1 of 2'])
})

test('a sink that is off has no group, and nothing waits for it; on again, it begins with the entries in the stream', async (t) => {
  const redis = await startTestRedis(t)
  const settings = { folder: optional('COPY_DIR', 'dir', 'folder of copies', (text) => text) }
  const copies: Destination<typeof settings> = {
    name: 'copies',
    settings,
    isOn: ({ folder }) => folder !== undefined,
    open: sinkNamed('clickhouse').into.open,
  }
  const copy = { group: 'copy', from: 'enriched', into: copies }
  const declared = { ...ingest, sinks: [sinkNamed('clickhouse'), copy, sinkNamed('outcomes'), sinkNamed('archive')] }
  const client = quiet(connectRedis(redis.url, { name: 'test', kind: 'loop' }))
  t.after(() => client.disconnect())
  const enriched = keys.stream(0, 'enriched', 'live')
  const groups = async () => {
    const found = (await client.xinfo('GROUPS', enriched)) as string[][]
    return found.map((group) => group[1])
  }
  /** A process that only makes the groups, as every process does at its start. */
  const start = async (env: Record<string, string>) => {
    const config = {
      ...readConfig({ PARTITIONS: '1', ...env }, {}, undefined, { settings: settingsOf(declared) }),
      ...{ redisUrl: redis.url, clickhouseUrl: 'http://127.0.0.1:1' },
    }
    const app = await createRoles(config, [], telemetry(), declared)
    await app.start().finally(() => app.stop())
    return activePipeline(declared, config.own)
  }
  const off = await start({})
  assert.deepEqual(await groups(), ['clickhouse'])
  assert.deepEqual(await activeOn(client, declared), off)
  const block = encodeBlock(packBlock([envelope('t', 'e')]))
  await client.call('XADD', enriched, '*', ...block)
  for (const unit of ['entries', 'events'] as const)
    await client.hincrby(keys.counters(0), counterFields.added('enriched', 'live', unit), 1)
  const waitsFor = async (pipeline: Pipeline) =>
    (await readStatus(client, pipeline)).streams.filter((one) => one.waiting_events > 0).map(({ group }) => group)
  assert.deepEqual(await waitsFor(off), ['clickhouse'])

  const on = await start({ COPY_DIR: '/copies' })
  assert.deepEqual(
    [await groups(), await waitsFor(on)],
    [
      ['clickhouse', 'copy'],
      ['clickhouse', 'copy'],
    ],
  )
  assert.deepEqual(await activeOn(client, declared), on)
  await assert.rejects(start({}), /unfinished entries of group copy.*and the settings that declare it/)
  await client.call('XREADGROUP', 'GROUP', 'copy', 'c', 'NOACK', 'STREAMS', enriched, '>')
  assert.deepEqual(await start({}), off)
  assert.deepEqual(await groups(), ['clickhouse'])
  await untilPassed(client, await activeOn(client, { ...declared, sinks: [copy] }), 1, performance.now())
})

test('an unknown role and a pipeline with an invalid declaration cannot start', async (t) => {
  assert.throws(
    () => readRoles('sink,nothing'),
    /must be one or more of ingress, process, sink, batch, archive, dashboard$/,
  )
  const dir = mkdtempSync(join(tmpdir(), 'ipid-roles-'))
  t.after(() => rmSync(dir, { recursive: true }))
  const config = { ...readConfig({ DATA_DIR: dir }), redisUrl: 'unix:///nowhere', clickhouseUrl: 'http://127.0.0.1:1' }
  const broken = { ...ingest, sinks: [] }
  await assert.rejects(createRoles(config, ['process'], telemetry(), broken), {
    name: 'StartupError',
    message: /nothing reads archive; .*nothing reads enriched; .*0 sinks complete batch jobs/,
  })
})
