import assert from 'node:assert/strict'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { constants, gunzipSync } from 'node:zlib'
import type { BatchJob } from '../../schemas/api/batch.ts'
import type { ErasureReceipt } from '../../schemas/erasure.ts'
import { FolderStore } from '../../src/stores/objects/folder-store.ts'
import { connectRedis, type RedisClient } from '../../src/stores/redis/connect.ts'
import { envelope, quiet } from './pipeline.ts'
import { bury, queryTables, untilIdle } from './running.ts'
import { type ReadyFile, TestSite } from './site.ts'
import { until } from './until.ts'

/** A running instance, with access to everything in its stores and files. */
export class ErasableInstance {
  readonly site: TestSite
  readonly ready: ReadyFile
  readonly redis: RedisClient
  readonly store: FolderStore

  constructor(site: TestSite, ready: ReadyFile) {
    this.site = site
    this.ready = ready
    this.redis = quiet(connectRedis(ready.redis_url, { name: 'cli', kind: 'loop', timeoutMs: 5_000 }))
    this.store = new FolderStore(join(site.dir, 'archive'))
  }

  static async start(t: TestContext, env: Record<string, string> = {}): Promise<ErasableInstance> {
    const site = new TestSite(t, { ARCHIVE_PART_AGE_MS: '200', RETENTION_DAYS: '30', ...env })
    const started = site.start()
    const running = new ErasableInstance(site, await started.ready())
    t.after(async () => {
      running.redis.disconnect()
      started.child.kill('SIGTERM')
      await started.ended
    })
    return running
  }

  async ask(method: string, path: string, key: string, body?: unknown): Promise<Response> {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const headers = { 'x-api-key': key, 'content-type': 'application/json' }
    return await fetch(`${this.ready.url}${path}`, { method, headers, ...(body === undefined ? {} : { body: text }) })
  }

  async send(key: string, ...events: readonly object[]): Promise<string[]> {
    const answer = await this.ask('POST', '/v1/ingest', key, { events })
    const { results } = (await answer.json()) as { results: { status: string }[] }
    return results.map(({ status }) => status)
  }

  async job(path: string, key: string, body: string): Promise<BatchJob> {
    const { job_id: id } = (await (await this.ask('POST', path, key, body)).json()) as { job_id: string }
    const place = path.replace(/\?.*/, '')
    const job = async () => (await (await this.ask('GET', `${place}/${id}`, key)).json()) as BatchJob
    return await until(job, ({ status }) => status === 'completed')
  }

  query(sql: string): Promise<string> {
    return queryTables(this.ready, sql)
  }

  untilIdle(): Promise<void> {
    return untilIdle(this.redis)
  }

  async ipid(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await this.site.ipid(...args)
    assert.equal(code, 0, stderr)
    return stdout
  }

  async erase(...args: string[]): Promise<ErasureReceipt> {
    return JSON.parse(await this.ipid('erase', ...args, '--json')) as ErasureReceipt
  }

  async bury(tenantId: string, eventId: string, ip: string): Promise<void> {
    await bury(this.redis, envelope(tenantId, eventId, { ip }))
  }

  /** Files that hold a text as bytes, or compressed with gzip. */
  filesWith(text: string, folder = this.site.dir): string[] {
    return filesBelow(folder).filter((name) => {
      const bytes = unlessGone(() => readFileSync(join(folder, name))) ?? Buffer.alloc(0)
      // A file may be cut while it is being written.
      const isZipped = bytes[0] === 0x1f && bytes[1] === 0x8b
      return (isZipped ? gunzipSync(bytes, { finishFlush: constants.Z_SYNC_FLUSH }) : bytes).includes(text)
    })
  }

  /** Keys of Redis whose values hold a text; its files may be compressed. */
  async keysWith(text: string): Promise<string[]> {
    const found: string[] = []
    for (const key of await this.redis.keys('*')) {
      const type = await this.redis.type(key)
      const [command, ...args] = READS[type]!
      const value = flat(await this.redis.callBuffer(command, key, ...args))
      const inside = key.startsWith('{bulk}:job:') ? [await this.redis.hgetBuffer(key, 'results')] : []
      const unzipped = inside.flatMap((bytes) => (bytes === null ? [] : [gunzipSync(bytes)]))
      if ([...value, ...unzipped].some((bytes) => bytes.includes(text))) found.push(key)
    }
    return found
  }
}

const READS: Record<string, [string, ...(string | number)[]]> = {
  string: ['GET'],
  hash: ['HGETALL'],
  list: ['LRANGE', 0, -1],
  zset: ['ZRANGE', 0, -1],
  set: ['SMEMBERS'],
  stream: ['XRANGE', '-', '+'],
}

function flat(value: unknown): Buffer[] {
  if (Array.isArray(value)) return value.flatMap(flat)
  return Buffer.isBuffer(value) ? [value] : []
}

/** Files of a folder and its subfolders. Running stores rename and remove some meanwhile. */
function filesBelow(folder: string, under = ''): string[] {
  const names = unlessGone(() => readdirSync(join(folder, under))) ?? []
  return names.flatMap((name) => {
    const path = join(under, name)
    const found = unlessGone(() => statSync(join(folder, path)))
    if (found?.isDirectory()) return filesBelow(folder, path)
    return found?.isFile() ? [path] : []
  })
}

function unlessGone<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    return undefined
  }
}
