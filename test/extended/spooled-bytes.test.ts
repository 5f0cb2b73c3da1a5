import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { ingest } from '../../pipelines/ingest.ts'
import { UploadTooLargeError } from '../../src/pipeline/declaration/batch-jobs.ts'
import { RedisFeederStore } from '../../src/pipeline/sources/batch/redis/feeder-store.ts'
import { spoolChunk, UPLOAD_TTL_MS } from '../../src/pipeline/sources/batch/redis/upload-spool.ts'
import { BackpressureError } from '../../src/run/errors.ts'
import { keys } from '../../src/stores/redis/keys.ts'
import { PARTITIONS, startBatch, startFeeder } from '../support/batch.ts'
import { until } from '../support/until.ts'

const MIB = 2 ** 20
/** A line that shrinks a thousandfold, as an attacker sends it. */
const LINE = `{"ip":"192.0.2.1","properties":{"a":"${'a'.repeat(1_000)}"}}\n`

test('lines of an upload wait in Redis compressed, and none is lost', async (t) => {
  const { redis, client, jobs } = await startBatch(t)
  const upload = await jobs.begin('acme')
  const lines = 20 * Math.floor(MIB / LINE.length)
  for (let i = 0; i < 20; i++) await upload.write(Buffer.from(LINE.repeat(lines / 20)))
  const { jobId, received } = await upload.complete()
  assert.equal(received, lines)
  const sizes = await Promise.all((await client.keys(keys.chunk(jobId, '*' as ''))).map((key) => client.strlen(key)))
  assert.ok(sizes.length > 50)
  const spooled = sizes.reduce((sum, size) => sum + size, 0)
  assert.ok(spooled < MIB / 2, `20 MiB take ${spooled} bytes`)
  assert.deepEqual(await client.hgetall(keys.spooledBytesOf('acme')), { [jobId]: String(spooled) })
  const stop = await startFeeder(redis)
  await until(
    () => client.hget(keys.job(jobId), 'fed'),
    (fed) => Number(fed) === lines,
  )
  await jobs.cancel('acme', jobId)
  await until(
    () => client.exists(keys.spooledBytesOf('acme')),
    (exists) => exists === 0,
  )
  await stop()
})

test('the open jobs of a tenant hold a limited number of bytes, and an upload alone no more', async (t) => {
  const { client, jobs } = await startBatch(t, 10, undefined, 4 * MIB)
  const noise = () => Buffer.from(`{"ip":"192.0.2.1","a":"${randomBytes(750_000).toString('base64')}"}\n`)
  const alone = await jobs.begin('acme')
  const writeAll = async (upload: Awaited<ReturnType<typeof jobs.begin>>, count: number) => {
    for (let i = 0; i < count; i++) await upload.write(noise())
    return await upload.complete()
  }
  await assert.rejects(writeAll(alone, 20), (error: Error) => {
    return error instanceof UploadTooLargeError && /more than 4 MiB, compressed \(BATCH_SPOOL_MAX\)/.test(error.message)
  })
  await alone.abort()
  assert.equal(await client.exists(keys.spooledBytesOf('acme')), 0)
  const first = await writeAll(await jobs.begin('acme'), 4)
  const second = await jobs.begin('acme')
  await assert.rejects(
    writeAll(second, 4),
    (error: Error) => error instanceof BackpressureError && /wait until one/.test(error.message),
  )
  await second.abort()
  await writeAll(await jobs.begin('other'), 4)
  await jobs.cancel('acme', first.jobId)
  await writeAll(await jobs.begin('acme'), 4)
})

test('chunks of an earlier version, which are not compressed, are read', async (t) => {
  const { client, jobs } = await startBatch(t)
  const { jobId } = await jobs.begin('acme')
  const raw = { firstLine: 1, gaps: [{ after: 1, blank: 2 }], bytes: Buffer.from('z1\n2\n') }
  await client.set(keys.upload(jobId), 0, 'PX', UPLOAD_TTL_MS)
  assert.equal(await spoolChunk(client, { jobId, number: 1 }, raw), 1)
  const store = new RedisFeederStore({ client, pipeline: ingest, partitions: PARTITIONS })
  const job = { id: jobId, next: 1 } as Parameters<typeof store.readChunk>[0]
  assert.deepEqual(await store.readChunk(job), raw)
})
