import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, type TestContext, test } from 'node:test'
import { Redis } from 'ioredis'
import { pino } from 'pino'
import { startEmbeddedRedis } from '../../src/embedded/redis/server.ts'
import { SmallDisk } from '../chaos/run/small-disk.ts'
import { atEnd } from '../support/at-end.ts'
import { until } from '../support/until.ts'

/** Larger than the rest of a page, so that a full disk takes only a part of it. */
const VALUE = 'x'.repeat(30_000)

const disk = await SmallDisk.mount({ after }, 64)
const onFullDisk = disk === undefined ? { skip: 'this process may mount nothing' } : {}

function privateRedis(t: TestContext, under = tmpdir()) {
  const dir = mkdtempSync(join(under, 'ipid-holes-'))
  atEnd(t, () => rmSync(dir, { recursive: true, force: true }))
  const warnings: string[] = []
  const log = pino({ level: 'warn' }, { write: (line: string) => void warnings.push(line) })
  const options = { binary: 'redis-server', dir, socket: join(dir, 'redis.sock'), fsync: 'always', log } as const
  return {
    warnings,
    /** The file that Redis appends to, since its start or the last rewrite. */
    file: (number: number) => join(dir, 'appendonlydir', `appendonly.aof.${number}.incr.aof`),
    async start() {
      const redis = await startEmbeddedRedis({
        ...options,
        maxMemoryBytes: 64 * 2 ** 20,
        env: process.env,
        signal: new AbortController().signal,
      })
      const client = new Redis({ path: options.socket })
      const end = async () => {
        client.disconnect()
        redis.kill()
        await redis.exited
      }
      atEnd(t, end)
      return { client, end }
    },
  }
}

test('writes before and after a full disk survive kill -9', onFullDisk, async (t) => {
  const redis = privateRedis(t, disk!.path)
  const { client, end } = await redis.start()
  await client.bgrewriteaof()
  await until(
    () => client.info('persistence'),
    (info) => info.includes('aof_rewrite_in_progress:0') && info.includes('aof_rewrite_scheduled:0'),
  )
  await client.set('before', VALUE)
  await disk!.fill()
  // It is answered, but not written.
  await client.set('meanwhile', VALUE)
  await assert.rejects(client.ping(), /MISCONF/)
  await disk!.empty()
  await until(
    () => client.ping().catch(String),
    (answer) => answer === 'PONG',
  )
  await client.set('after', VALUE)
  await end()

  const again = await redis.start()
  assert.deepEqual(await again.client.mget('before', 'meanwhile', 'after'), [VALUE, VALUE, VALUE])
  assert.equal(redis.warnings.filter((line) => line.includes('holes')).length, 1)
})

test('zeros between commands are removed, and nothing else, not even a cut last command', async (t) => {
  const redis = privateRedis(t)
  const { client, end } = await redis.start()
  await client.set('a', 'with\0zeros')
  const { size } = statSync(redis.file(1))
  await client.set('b', VALUE)
  await end()
  const written = readFileSync(redis.file(1))
  const parts = [written.subarray(0, size), Buffer.alloc(5_000), written.subarray(size), Buffer.from('*3\r\n$3\r\nSE')]
  writeFileSync(redis.file(1), Buffer.concat(parts))

  const again = await redis.start()
  assert.deepEqual(await again.client.mget('a', 'b'), ['with\0zeros', VALUE])
})

test('a file unreadable for another reason stays as it is, and is reported', async (t) => {
  const redis = privateRedis(t)
  const { client, end } = await redis.start()
  await client.set('a', 'b')
  await end()
  const broken = Buffer.concat([
    readFileSync(redis.file(1)),
    Buffer.alloc(100),
    Buffer.from('neither\r\n*1\r\n$4\r\nPING\r\n'),
  ])
  writeFileSync(redis.file(1), broken)
  await assert.rejects(redis.start(), /the Redis server ended.*Bad file format/)
  assert.deepEqual(readFileSync(redis.file(1)), broken)
})
