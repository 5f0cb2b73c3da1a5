import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ingest } from '../../pipelines/ingest.ts'
import { HttpError } from '../../src/http/engine/http-error.ts'
import { RedisFeederStore } from '../../src/pipeline/sources/batch/redis/feeder-store.ts'
import type { RedisBatchJobs } from '../../src/pipeline/sources/batch/redis/jobs.ts'
import { keys } from '../../src/stores/redis/keys.ts'
import { PARTITIONS, startBatch } from '../support/batch.ts'

const LINE = Buffer.from('{"ip":"192.0.2.1"}\n')
const begin = (jobs: RedisBatchJobs, idempotencyKey: string, tenant = 'acme') =>
  jobs.begin(tenant, false, 'full', { idempotencyKey })
const inUse = (error: unknown) => error instanceof HttpError && error.code === 'idempotency_key_in_use'

test('a key belongs to the first upload with it, and to its job once it is complete', async (t) => {
  const { client, jobs } = await startBatch(t, 5)
  assert.equal(await jobs.repeated('acme', 'k'), undefined)
  const first = await begin(jobs, 'k')
  assert.equal(await jobs.repeated('acme', 'k'), 'receiving')
  await assert.rejects(begin(jobs, 'k'), inUse)
  assert.equal(await client.scard(keys.openJobsOf('acme')), 1, 'the refused one takes no place')
  await first.write(LINE)
  const { jobId, received } = await first.complete(undefined, 'digest')
  assert.deepEqual(await jobs.repeated('acme', 'k'), { jobId, received, fingerprint: 'digest' })
  await assert.rejects(begin(jobs, 'k'), inUse)
  assert.equal(await jobs.repeated('other', 'k'), undefined)
  await (await begin(jobs, 'k', 'other')).abort()
  const ttlMs = await client.pttl(keys.idempotencyKey('acme', 'batch', 'k'))
  assert.ok(ttlMs > 86_000_000 && ttlMs <= 86_400_000)
  const many = await Promise.allSettled(Array.from({ length: 3 }, () => begin(jobs, 'many')))
  assert.equal(many.filter(({ status }) => status === 'fulfilled').length, 1)
})

test('an upload that broke off, or whose process ended, leaves its key free, and never becomes a job', async (t) => {
  const { client, jobs } = await startBatch(t, 5)
  const aborted = await begin(jobs, 'k')
  await aborted.abort()
  assert.equal(await client.exists(keys.idempotencyKey('acme', 'batch', 'k')), 0)
  assert.equal(await jobs.repeated('acme', 'k'), undefined)
  const dead = await begin(jobs, 'k')
  await dead.write(LINE)
  // As 15 s after a kill, or after a pause of the process.
  await client.del(keys.upload(dead.jobId))
  assert.equal(await jobs.repeated('acme', 'k'), undefined)
  const next = await begin(jobs, 'k')
  await next.write(LINE)
  await assert.rejects(dead.complete(undefined, 'digest'))
  const { jobId } = await next.complete(undefined, 'digest')
  assert.equal(((await jobs.repeated('acme', 'k')) as { jobId: string }).jobId, jobId)
  assert.equal(await client.exists(keys.job(dead.jobId)), 0)
})

test('after a fail-over that lost the claim of a key, one of two uploads with it becomes a job', async (t) => {
  const { client, jobs } = await startBatch(t, 5)
  const first = await begin(jobs, 'k')
  await first.write(LINE)
  await client.del(keys.idempotencyKey('acme', 'batch', 'k'))
  const second = await begin(jobs, 'k')
  await assert.rejects(first.complete(undefined, 'digest'), inUse)
  await first.abort()
  assert.equal(await client.exists(keys.job(first.jobId), keys.upload(first.jobId)), 0)
  assert.equal(await jobs.repeated('acme', 'k'), 'receiving', 'the claim of the second stays')
  await second.write(LINE)
  await client.del(keys.idempotencyKey('acme', 'batch', 'k'))
  const { jobId } = await second.complete(undefined, 'digest')
  assert.equal(((await jobs.repeated('acme', 'k')) as { jobId: string }).jobId, jobId)
  await assert.rejects(begin(jobs, 'k'), inUse)
})

test('the key of a job that failed before it had fed anything is free, and that of a cancelled one is not', async (t) => {
  const { client, jobs } = await startBatch(t, 5)
  const store = new RedisFeederStore({ client, pipeline: ingest, partitions: PARTITIONS })
  const made = async (key: string) => {
    const begun = await begin(jobs, key)
    await begun.write(LINE)
    const { jobId } = await begun.complete(undefined, 'digest')
    return { jobId, open: (await store.openJobs()).find(({ id }) => id === jobId)! }
  }
  const failed = await made('failed')
  assert.equal(await store.fail(failed.open, 'a chunk was lost'), true)
  assert.equal(await jobs.repeated('acme', 'failed'), undefined)
  const again = await made('failed')
  assert.equal(((await jobs.repeated('acme', 'failed')) as { jobId: string }).jobId, again.jobId)
  // It failed after a chunk was fed.
  await store.advance(again.open, { fed: 1, rejected: 0, invalidIp: 0, errors: [], reasons: [] })
  assert.equal(await store.fail({ ...again.open, next: 2 }, 'a chunk was lost'), true)
  assert.equal(((await jobs.repeated('acme', 'failed')) as { jobId: string }).jobId, again.jobId)
  const cancelled = await made('cancelled')
  await jobs.cancel('acme', cancelled.jobId)
  assert.equal(((await jobs.repeated('acme', 'cancelled')) as { jobId: string }).jobId, cancelled.jobId)
})

test('jobs are listed by label and status, in pages to the end', async (t) => {
  const { jobs } = await startBatch(t, 50)
  const made: string[] = []
  for (let i = 0; i < 12; i++) {
    const begun = await jobs.begin('acme', false, 'full', { label: i % 3 === 0 ? 'crm' : undefined })
    await begun.write(LINE)
    made.push((await begun.complete()).jobId)
  }
  await jobs.cancel('acme', made[3]!)
  const listed = async (filter: object) => {
    const found: string[] = []
    let before: string | undefined
    for (;;) {
      const page = (await jobs.list('acme', { limit: 2, before, ...filter }))!
      assert.ok(page.jobs.length <= 2)
      found.push(...page.jobs.map(({ job_id }) => job_id))
      if (page.next === null) return found
      before = page.next
    }
  }
  const newestFirst = (...which: number[]) => which.map((i) => made[i]!)
  assert.deepEqual((await listed({})).sort(), [...made].sort())
  assert.deepEqual((await listed({ label: 'crm' })).sort(), newestFirst(9, 6, 3, 0).sort())
  assert.deepEqual(await listed({ label: 'crm', status: 'failed' }), newestFirst(3))
  assert.deepEqual(await listed({ label: 'nothing' }), [])
  const { cancelled, label, status, rejected_lines, started_at } = (await jobs.find('acme', made[3]!))!
  assert.deepEqual([status, cancelled, label, started_at], ['failed', true, 'crm', null])
  assert.equal(rejected_lines!.complete, true)
})
