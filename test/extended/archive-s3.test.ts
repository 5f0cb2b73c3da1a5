import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { UnavailableError } from '../../src/run/errors.ts'
import { S3Store, type S3StoreOptions } from '../../src/stores/objects/s3-store.ts'
import { startFaultyProxy } from '../support/faulty-proxy.ts'
import { S3_ENVIRONMENT, startTestS3 } from '../support/s3.ts'
import { until } from '../support/until.ts'

Object.assign(process.env, S3_ENVIRONMENT)

const PART = randomBytes(4_000_000)

async function start(t: TestContext, options: Partial<S3StoreOptions> = {}) {
  const { bucket, endpoint } = await startTestS3(t)
  const proxy = await startFaultyProxy(t, endpoint)
  const place = { bucket, prefix: 'raw', region: undefined }
  const store = new S3Store({ ...place, endpoint: proxy.url, ...options })
  const direct = new S3Store({ ...place, endpoint })
  await store.prepare()
  t.after(() => Promise.all([store.close(), direct.close()]))
  return { store, direct, proxy }
}

test('an interrupted upload is sent again, and the object is whole', async (t) => {
  const { store, direct, proxy } = await start(t)
  proxy.faults.push({ cutAfterBytes: 1_000_000 }, { cutAfterBytes: 3_999_000 })
  await store.put('a', PART)
  assert.equal(proxy.connections, 3)
  assert.deepEqual(await buffer((await direct.get('a'))!), PART)
})

test('a bucket of Amazon without a region is reported with its remedy', async (t) => {
  const { AWS_REGION } = process.env
  const before = { AWS_REGION, AWS_CONFIG_FILE: process.env.AWS_CONFIG_FILE }
  t.after(() => {
    for (const [name, value] of Object.entries(before)) {
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
    }
  })
  delete process.env.AWS_REGION
  process.env.AWS_CONFIG_FILE = '/dev/null'
  const store = new S3Store({ bucket: 'bucket', prefix: 'raw', region: undefined, endpoint: undefined })
  t.after(() => store.close())
  await assert.rejects(store.get('a'), {
    name: 'UnavailableError',
    message: 's3://bucket/raw has no region: add ?region=… to its URL, or set AWS_REGION',
  })
})

test('a store that is too busy is asked again', async (t) => {
  const { store, direct, proxy } = await start(t)
  proxy.faults.push('busy', 'busy')
  await store.put('a', PART)
  assert.equal(proxy.connections, 3)
  assert.equal(await direct.head('a'), PART.length)
})

test('an upload that is always interrupted fails, and succeeds once the store works', async (t) => {
  const { store, direct, proxy } = await start(t)
  proxy.lasting = { cutAfterBytes: 2_000_000 }
  await assert.rejects(store.put('a', PART), UnavailableError)
  proxy.lasting = 'busy'
  await assert.rejects(store.put('a', PART), UnavailableError)
  await assert.rejects(store.list('').next(), UnavailableError)
  proxy.lasting = 'none'
  await store.put('a', PART)
  assert.deepEqual(await buffer((await direct.get('a'))!), PART)
})

test('a large file is sent in parts, a part that breaks off alone, and an upload that fails makes no object', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'ipid-parts-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const path = join(folder, 'file')
  const content = randomBytes(12_000_000)
  await writeFile(path, content)
  const facts = {
    bytes: content.length,
    md5: createHash('md5').update(content).digest('base64'),
    contentType: 'application/gzip',
  }
  const { store, direct, proxy } = await start(t, { partBytes: 5 * 2 ** 20 })
  proxy.faults.push({ cutAfterBytes: 7_000_000 })
  await store.putFile('large', path, facts)
  assert.deepEqual(await buffer((await direct.get('large'))!), content)
  assert.ok(proxy.connections > 1)

  const failing = await start(t, { partBytes: 5 * 2 ** 20 })
  failing.proxy.lasting = { cutAfterBytes: 4_000_000 }
  await assert.rejects(failing.store.putFile('other', path, facts), UnavailableError)
  assert.equal(await failing.direct.head('other'), undefined)
})

test('a silent store is given up at the deadline, and a stop ends the wait', async (t) => {
  const { store, proxy } = await start(t, { deadlineMs: 400 })
  proxy.lasting = 'silent'
  await assert.rejects(store.put('a', PART), UnavailableError)
  const idle = await start(t, { idleMs: 100 })
  idle.proxy.lasting = 'silent'
  await assert.rejects(idle.store.put('a', PART), UnavailableError)
  const stopped = await start(t)
  stopped.proxy.lasting = 'silent'
  const put = assert.rejects(stopped.store.put('a', PART), UnavailableError)
  await until(() => stopped.proxy.connections > 0)
  stopped.store.abort()
  await put
})

test('wrong credentials and a missing bucket are reported in the words of the store', async (t) => {
  const { direct } = await start(t)
  process.env.AWS_SECRET_ACCESS_KEY = 'wrong'
  t.after(() => {
    process.env.AWS_SECRET_ACCESS_KEY = S3_ENVIRONMENT.AWS_SECRET_ACCESS_KEY
  })
  await assert.rejects(direct.put('a', PART), /SignatureDoesNotMatch/)
  process.env.AWS_SECRET_ACCESS_KEY = S3_ENVIRONMENT.AWS_SECRET_ACCESS_KEY
  const elsewhere = new S3Store({
    bucket: 'nowhere',
    prefix: '',
    region: undefined,
    endpoint: direct.location.split(' at ')[1],
  })
  t.after(() => elsewhere.close())
  await assert.rejects(elsewhere.put('a', PART), /NoSuchBucket/)
})
