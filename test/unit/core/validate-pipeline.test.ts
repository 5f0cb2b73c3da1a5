import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ingest } from '../../../pipelines/ingest.ts'
import { type Pipeline, reasonsOfJobs, stepsOfJobs } from '../../../src/pipeline/declaration/pipeline.ts'
import type { Source, SourceEntry } from '../../../src/pipeline/declaration/source.ts'
import type { Stage } from '../../../src/pipeline/declaration/stage.ts'
import { validatePipeline } from '../../../src/pipeline/declaration/validate-pipeline.ts'
import { sinkNamed } from '../../support/pipeline.ts'

const stage = (name: string, more: Partial<Stage> = {}): Stage => ({ name, decide: () => ({}), ...more })
const [step] = ingest.steps as [Pipeline['steps'][number]]
const [sink, counting] = [sinkNamed('clickhouse'), sinkNamed('outcomes')]
const [live, batch] = ingest.sources as [SourceEntry, SourceEntry]
/** Without an archive. */
const plain: Pipeline = {
  ...ingest,
  sources: [live, batch].map(({ from, to }) => ({ from, to })),
  sinks: [sink, counting],
}
const problems = (changes: Partial<Pipeline>) => validatePipeline({ ...plain, ...changes })

test('the declared pipeline is valid', () => {
  assert.deepEqual(validatePipeline(ingest), [])
  assert.deepEqual(reasonsOfJobs(ingest), ['filtered', 'duplicates'])
})

test('groups have distinct names, streams one writer and at least one reader', () => {
  assert.deepEqual(problems({ sinks: [{ ...sink, group: 'process' }, counting] }), ['group process is declared twice'])
  assert.deepEqual(problems({ steps: [{ ...step, to: 'intake' }] }), [
    'step process writes intake, which another part writes too',
    'group clickhouse reads enriched, but no earlier part writes it',
    'sink clickhouse completes batch jobs, but events of intake do not reach it',
  ])
  assert.deepEqual(problems({ steps: [step, { ...step, group: 'side', stages: [stage('s')], to: 'aside' }] }), [
    'nothing reads aside',
  ])
})

test('a stage appears once in a step, its reasons are distinct names, and one stage claims', () => {
  assert.deepEqual(problems({ steps: [{ ...step, stages: [] }] }), ['step process has no stage'])
  assert.deepEqual(problems({ steps: [{ ...step, stages: [stage('a'), stage('a')] }] }), [
    'step process has the stage a twice',
  ])
  const odd = stage('odd', { drops: ['Not A Name', 'rejected'] })
  assert.deepEqual(problems({ steps: [{ ...step, stages: [odd] }] }), [
    'stage odd drops for "Not A Name": must consist of a to z and _',
    'stage odd drops for "rejected", which names another count',
  ])
  assert.deepEqual(problems({ steps: [{ ...step, stages: [...step.stages, stage('again', { claims: true })] }] }), [
    'dedup and again both claim events',
  ])
})

test('nothing is dropped after a claim, in the same step or in a later one', () => {
  const late = stage('late', { drops: ['late'] })
  const problem = 'late drops events after dedup, which has promised to keep them'
  assert.deepEqual(problems({ steps: [{ ...step, stages: [...step.stages, late] }] }), [problem])
  const steps = [
    { ...step, to: 'unique' },
    { group: 'pass', from: 'unique', stages: [stage('pass')], to: 'passed' },
    { group: 'late', from: 'passed', stages: [late], to: 'enriched' },
  ]
  assert.deepEqual(problems({ steps }), [problem])
})

test('outcomes have their own stream, which a sink reads', () => {
  const counts = { group: 'outcomes', from: 'outcomes', into: sink.into }
  assert.deepEqual(problems({ sinks: [sink] }), ['nothing reads outcomes'])
  assert.deepEqual(problems({ outcomes: 'enriched', sinks: [sink] }), ['stream enriched has both outcomes and events'])
  const reading = { group: 'reader', from: 'outcomes', stages: [stage('s')], to: 'aside' }
  assert.deepEqual(
    problems({ steps: [step, reading], sinks: [sink, counts, { ...counts, group: 'a', from: 'aside' }] }),
    ['group reader reads outcomes, but no earlier part writes it'],
  )
  const { outcomes: _, ...uncounted } = plain
  assert.deepEqual(validatePipeline({ ...uncounted, sinks: [sink] }), [])
})

test('names of groups and streams are parts of keys, and match no other key', () => {
  assert.deepEqual(problems({ sinks: [{ ...sink, group: 'feeder' }, counting] }), [
    'the name feeder is already in use: choose another',
  ])
  assert.deepEqual(problems({ steps: [{ ...step, to: 'a:b' }], sinks: [{ ...sink, from: 'a:b' }, counting] }), [
    'group or stream name "a:b" must consist of a to z, 0 to 9 and -',
  ])
})

test('one sink completes batch jobs, at the end of the path from their entry', () => {
  assert.deepEqual(problems({ sinks: [{ ...sink, completesJobs: false }, counting] }), [
    '0 sinks complete batch jobs: must be one',
  ])
  assert.deepEqual(problems({ sinks: [sink, counting, { ...sink, group: 'other' }] }), [
    '2 sinks complete batch jobs: must be one',
  ])
  const side = { group: 'side', from: 'intake', stages: [stage('s', { drops: ['side_drops'] })], to: 'aside' }
  const forked: Pipeline = {
    ...plain,
    steps: [step, side],
    sinks: [sink, counting, { ...sink, group: 'copy', from: 'aside', completesJobs: false }],
  }
  assert.deepEqual(validatePipeline(forked), [])
  assert.deepEqual(
    stepsOfJobs(forked).map(({ group }) => group),
    ['process'],
    'events that leave on a side path do not finish their job',
  )
  assert.ok(!reasonsOfJobs(forked).includes('side_drops'))
})

test('only sinks of payloads read events as they came', () => {
  const archive = sinkNamed('archive')
  const changed = (changes: Partial<Pipeline>) => validatePipeline({ ...ingest, ...changes })
  assert.deepEqual(changed({ sinks: [sink, counting] }), ['nothing reads archive'])
  assert.deepEqual(changed({ sinks: [sink, counting, { ...archive, takes: 'rows' }] }), [
    'sink archive takes rows, and archive holds payloads',
  ])
  assert.deepEqual(changed({ sinks: [{ ...sink, takes: 'payloads' }, counting, archive] }), [
    'sink clickhouse takes payloads, and enriched holds rows',
  ])
  assert.deepEqual(
    changed({ steps: [step, { ...step, group: 'side', stages: [stage('s')], from: 'archive', to: 'aside' }] }),
    ['nothing reads aside', 'step side reads archive, which holds payloads: only a sink may read them'],
  )
})

const source = (name: string, path: string, more: Partial<Source> = {}): SourceEntry => ({
  from: {
    name,
    lane: 'live',
    routes: [{ method: 'POST', path, open: () => () => ({ status: 204, body: '' }) }],
    ...more,
  },
  to: 'intake',
})
const withSources = (...more: SourceEntry[]) => problems({ sources: [...plain.sources, ...more] })

test('sources have distinct names and routes', () => {
  assert.deepEqual(withSources(source('visitors', '/v1/visitor')), [])
  assert.deepEqual(withSources(source('uploads', '/v1/visitor')), ['source uploads is declared twice'])
  assert.deepEqual(withSources(source('Visitors', '/v1/visitor')), [
    'source name "Visitors" must consist of a to z, 0 to 9 and -',
  ])
  assert.deepEqual(withSources(source('visitors', '/v1/ingest')), [
    'requests and visitors both have the route POST /v1/ingest',
  ])
  assert.deepEqual(withSources(source('a', '/s/:key'), source('b', '/s/:token')), [
    'a and b both have the route POST /s/:',
  ])
  assert.deepEqual(withSources(source('visitors', 'v1/visitor')), [
    'source visitors has the path "v1/visitor": must have segments like /v1/name or /:name',
  ])
  assert.deepEqual(withSources(source('visitors', '/v1/visitor', { lane: 'fast' as 'live' })), [
    'source visitors has the lane "fast": must be live or batch',
  ])
})

test('batch jobs of all sources take one path, and archived events can be replayed', () => {
  assert.deepEqual(
    problems({ sources: [live, source('visitors', '/v1/visitor')].map(({ from, to }) => ({ from, to })) }),
    ['no source makes batch jobs: at least one must have read'],
  )
  const { read } = batch.from
  const logs = source('logs', '/v1/logs', { read: read! })
  assert.deepEqual(withSources(logs), [])
  const side = { group: 'side', from: 'aside', stages: [stage('s')], to: 'put-aside' }
  const both = {
    steps: [step, side],
    sinks: [...ingest.sinks, { ...sink, group: 'copy', from: 'put-aside', completesJobs: false }],
  }
  assert.deepEqual(validatePipeline({ ...ingest, ...both, sources: [...ingest.sources, { ...logs, to: 'aside' }] }), [
    'sink clickhouse completes batch jobs, but events of aside do not reach it',
    'uploads and http and logs make batch jobs, and name different raw streams',
  ])
  const archived = { ...source('visitors', '/v1/visitor'), to: 'aside', raw: 'archive' }
  assert.deepEqual(validatePipeline({ ...ingest, ...both, sources: [...ingest.sources, archived] }), [
    'source visitors has an archive, but writes aside: a replay would put its events into intake',
  ])
})

test('settings of sources and sinks have distinct names', () => {
  const setting = { env: 'COPY_DIR', value: 'dir', default: './copy', about: 'folder', read: (text: string) => text }
  const copy = (env: string) => ({ name: env, settings: { folder: { ...setting, env } }, open: sink.into.open })
  const sinks = (...envs: string[]) => [
    ...plain.sinks,
    ...envs.map((env, i) => ({ group: `copy${i}`, from: 'enriched', into: copy(env) })),
  ]
  assert.deepEqual(problems({ sinks: sinks('COPY_DIR', 'OTHER_DIR') }), [])
  assert.deepEqual(problems({ sinks: sinks('COPY_DIR', 'COPY_DIR') }), ['the setting COPY_DIR is declared twice'])
  assert.deepEqual(problems({ sinks: sinks('copy-dir') }), [
    'setting name "copy-dir" must consist of A to Z, 0 to 9 and _',
  ])
})

test('a sink may be off, but not the one that completes jobs, nor the last reader of a stream', () => {
  const copy = { ...sink, group: 'copy', completesJobs: false, into: { ...sink.into, isOn: () => false } }
  assert.deepEqual(problems({ sinks: [sink, copy, counting] }), [])
  assert.deepEqual(problems({ sinks: [{ ...copy, completesJobs: true }, counting] }), [
    'nothing reads enriched while its sinks are off',
    'sink copy completes batch jobs: it must always be on',
  ])
})
