import assert from 'node:assert/strict'
import { mkdir, mkdtemp, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { StoreErasableArchive } from '../../src/operations/erasure/erasable-archive.ts'
import type { ErasureScope } from '../../src/operations/erasure/ports.ts'
import { PartReader } from '../../src/operations/replay/archive-reader.ts'
import { UnavailableError } from '../../src/run/errors.ts'
import { FolderStore } from '../../src/stores/objects/folder-store.ts'
import type { ObjectStore } from '../../src/stores/objects/object-store.ts'
import { S3Store } from '../../src/stores/objects/s3-store.ts'
import { type Paging, startPagedS3 } from '../support/paged-s3.ts'
import { S3_ENVIRONMENT, startTestS3 } from '../support/s3.ts'

Object.assign(process.env, S3_ENVIRONMENT)

/** A separate store, and a function that makes it fail from then on. */
interface Subject {
  readonly store: ObjectStore
  breakDown(): Promise<void>
}

const STORES: Readonly<Record<string, (t: TestContext) => Promise<Subject>>> = {
  'a folder': async (t) => {
    const base = await mkdtemp(join(tmpdir(), 'ipid-archive-'))
    t.after(() => rm(base, { recursive: true, force: true }))
    const folder = join(base, 'not', 'there', 'yet')
    return {
      store: new FolderStore(folder),
      async breakDown() {
        await rm(folder, { recursive: true })
        await writeFile(folder, 'a file in its place')
      },
    }
  },
  'a bucket': async (t) => {
    const { bucket, endpoint, kill } = await startTestS3(t)
    const store = new S3Store({ bucket, endpoint, prefix: 'raw/ipid', region: undefined, deadlineMs: 3_000 })
    return { store, breakDown: kill }
  },
}

async function keysOf(store: ObjectStore, prefix: string): Promise<string[]> {
  const keys: string[] = []
  for await (const { key } of store.list(prefix)) keys.push(key)
  return keys
}

for (const [name, make] of Object.entries(STORES)) {
  test(`${name} keeps objects whole, lists them in order, and replaces and removes them`, async (t) => {
    const { store, breakDown } = await make(t)
    t.after(() => store.close())
    await store.prepare()
    assert.deepEqual(await keysOf(store, ''), [])
    assert.equal(await store.get('a/b'), undefined)
    assert.equal(await store.head('a/b'), undefined)
    await store.delete('a/b')

    const large = Buffer.alloc(3_000_000, 'x')
    const objects = {
      'a=1/b.gz': large,
      'a=1/b-c/d.gz': Buffer.from([0, 255, 10]),
      'a=2/b.gz': Buffer.alloc(0),
      c: large,
    }
    for (const [key, bytes] of Object.entries(objects)) await store.put(key, bytes)
    for (const [key, bytes] of Object.entries(objects)) {
      assert.deepEqual(await buffer((await store.get(key))!), bytes)
      assert.equal(await store.head(key), bytes.length)
    }
    assert.deepEqual(await keysOf(store, ''), ['a=1/b-c/d.gz', 'a=1/b.gz', 'a=2/b.gz', 'c'])
    assert.deepEqual(await keysOf(store, 'a=1/'), ['a=1/b-c/d.gz', 'a=1/b.gz'])
    assert.deepEqual(await keysOf(store, 'a=1/b.'), ['a=1/b.gz'])
    assert.deepEqual(await keysOf(store, 'nothing'), [])

    await store.put('c', Buffer.from('short'))
    assert.equal(String(await buffer((await store.get('c'))!)), 'short')
    assert.equal(await store.head('c'), 5)
    await store.delete('a=1/b.gz')
    assert.deepEqual(await keysOf(store, 'a=1/'), ['a=1/b-c/d.gz'])

    for (const key of ['../c', '/c', 'a//b', ''])
      await assert.rejects(async () => store.put(key, large), /is not a valid key/)
    await breakDown()
    await assert.rejects(store.put('d', large), UnavailableError)
    await assert.rejects(
      store.head('c').then((found) => found ?? Promise.reject(new UnavailableError('gone'))),
      UnavailableError,
    )
  })
}

/** Stores `count` objects, of a tenant's index, and opens the bucket. */
async function pagedBucket(t: TestContext, paging: Paging, count: number) {
  const server = await startPagedS3(t, paging)
  const keys = Array.from({ length: count }, (_, n) => {
    return `index/tenant=t/day=2026-11-22/source=ingest/run=2026-11-22T01/part-${n}-000000-p0.json.gz`
  })
  for (const key of keys) server.objects.set(`raw/${key}`, Buffer.from(key))
  const store = new S3Store({ bucket: 'events', endpoint: server.endpoint, prefix: 'raw', region: 'eu-central-1' })
  t.after(() => store.close())
  return { server, store, keys }
}

for (const paging of ['tokens', 'markers'] as const) {
  test(`a bucket with more objects than fit a page is read to its end: ${paging}`, async (t) => {
    const { server, store, keys } = await pagedBucket(t, paging, 5)
    assert.deepEqual(await keysOf(store, ''), keys)
    assert.equal(server.lists, 3)
    assert.deepEqual(await keysOf(store, keys[3]!), [keys[3]])
    const erasable = new StoreErasableArchive(store)
    assert.equal(await erasable.removeTenant({ tenantId: 't', beforeMs: 0 } as ErasureScope), 5)
    assert.deepEqual([...server.objects.keys()], [])
  })
}

const STUCK: readonly (readonly [Paging, RegExp])[] = [
  ['repeats', /lists .*part-0.* after .*part-1/],
  ['new-tokens', /lists .*part-0.* after .*part-1/],
  ['no-way-on', /lists .*part-0.* after .*part-1/],
  ['empty', /100 pages without an object/],
]

for (const [paging, message] of STUCK) {
  test(`a bucket list that cannot continue is an error, not a shorter list: ${paging}`, async (t) => {
    const { server, store } = await pagedBucket(t, paging, 5)
    await assert.rejects(keysOf(store, ''), (error) => error instanceof UnavailableError && message.test(error.message))
    const selection = { tenantId: 't', from: '2026-11-22', to: '2026-11-22' }
    await assert.rejects(new PartReader(store).parts({ ...selection }), UnavailableError)
    const scope = { tenantId: 't', beforeMs: Date.parse('2026-12-01') } as ErasureScope
    await assert.rejects(new StoreErasableArchive(store).removeTenant(scope), UnavailableError)
    assert.ok(server.lists <= 303)
  })
}

test('a bucket that lists keys outside the prefix is an error', async (t) => {
  const { server, store } = await pagedBucket(t, 'tokens', 1)
  server.ignoresPrefix = true
  server.objects.set('elsewhere/a', Buffer.from('x'))
  await assert.rejects(keysOf(store, ''), /lists elsewhere\/a, which is not under raw\//)
})

test('a folder is private, shows no partial object, and drops leftovers of a killed process', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'ipid-archive-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const store = new FolderStore(folder)
  await store.put('a/b', Buffer.from('x'))
  assert.equal((await stat(join(folder, 'a'))).mode & 0o777, 0o700)
  assert.equal((await stat(join(folder, 'a', 'b'))).mode & 0o777, 0o600)
  const partial = join(folder, '.partial')
  assert.deepEqual(await readdir(partial), [])
  await store.put('a-b/c', Buffer.from('x'))
  assert.deepEqual(await keysOf(store, ''), ['a-b/c', 'a/b'], 'in the order of S3')
  for (const name of ['old', 'new']) await writeFile(join(partial, name), 'half')
  await utimes(join(partial, 'old'), 0, 0)
  await store.prepare()
  assert.deepEqual(await readdir(partial), ['new'])
  assert.deepEqual(await keysOf(store, 'a/'), ['a/b'])
})

test('a folder with files of others lists its objects only', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'ipid-archive-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const store = new FolderStore(folder)
  await store.put('a/b', Buffer.from('x'))
  for (const name of ['lost+found', 'a/$RECYCLE.BIN', '.Trash-1000']) {
    await mkdir(join(folder, name))
    await writeFile(join(folder, name, 'x'), '')
  }
  for (const name of ['.DS_Store', 'my notes.txt', 'a/..b', 'a/b..c', `a/${'n'.repeat(201)}`])
    await writeFile(join(folder, name), '')
  assert.deepEqual(await keysOf(store, ''), ['a/b'])
})
