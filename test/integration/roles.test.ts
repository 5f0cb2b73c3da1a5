import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { Registry } from 'prom-client'
import { ingest } from '../../pipelines/ingest.ts'
import { createRoles } from '../../src/app.ts'
import { readConfig, readRoles } from '../../src/config/config.ts'
import { processRole } from '../../src/pipeline/runner/role.ts'
import { sinkRole } from '../../src/pipeline/sinks/role.ts'
import { ProcessContext } from '../../src/process/context.ts'
import { systemClock } from '../../src/run/clock.ts'
import { silent } from '../support/pipeline.ts'
import { startTestRedis } from '../support/redis.ts'

const telemetry = () => ({ log: silent, metrics: new Registry(), clock: systemClock })

test('a sink alone holds no enrichment data; an enriching role holds it once', async (t) => {
  const redis = await startTestRedis(t)
  const config = { ...readConfig({ LOG_LEVEL: 'silent' }), redisUrl: redis.url, clickhouseUrl: 'http://127.0.0.1:1' }
  const context = new ProcessContext(config, telemetry(), ingest)
  t.after(() => context.disconnect())
  const sinks = sinkRole(context)
  assert.deepEqual(context.services, [])
  const workers = processRole(context)
  assert.equal(context.services.length, 1)
  assert.equal(context.enrichment, context.enrichment)
  assert.equal(context.services.length, 1)
  assert.equal(context.enrichment.hostnames, undefined)
  for (const service of [...sinks, ...workers]) await service.stop()
  const withNames = new ProcessContext({ ...config, rdns: 'on' }, telemetry(), ingest)
  assert.equal(withNames.enrichment.hostnames, withNames.enrichment.reverseDns)
})

test('a sink in shares reports how many a process has; an undivided one reports none', async (t) => {
  const redis = await startTestRedis(t)
  for (const [SINK_SHARES, told] of [
    ['1', []],
    ['2', ['clickhouse', 'outcomes']],
  ] as const) {
    const config = { ...readConfig({ SINK_SHARES }), redisUrl: redis.url, clickhouseUrl: 'http://127.0.0.1:1' }
    const tools = telemetry()
    const context = new ProcessContext(config, tools, ingest)
    const sinks = sinkRole(context)
    const metric = tools.metrics.getSingleMetric('ipid_sink_shares')
    const values = (await metric?.get())?.values ?? []
    assert.deepEqual(
      values.map(({ labels, value }) => [labels.group, value]),
      told.map((group) => [group, 0]),
    )
    for (const service of sinks) await service.stop()
    context.disconnect()
  }
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
