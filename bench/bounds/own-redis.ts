import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pino } from 'pino'
import { findRedisServer } from '../../src/embedded/redis/binary.ts'
import { startEmbeddedRedis } from '../../src/embedded/redis/server.ts'
import type { Releases } from '../run/releases.ts'

/** A Redis with an append-only file and `everysec`, the usual configuration. */
interface OwnRedis {
  readonly socket: string
  readonly pid: number
  /** Folder of Redis's programs. */
  readonly programs: string
  stop(): Promise<void>
}

const MEMORY_BYTES = 4 * 2 ** 30

export async function startOwnRedis(releases: Releases): Promise<OwnRedis> {
  const log = pino({ level: 'silent' })
  const dir = await mkdtemp(join(tmpdir(), 'ipid-bench-redis-'))
  const socket = join(dir, 'redis.sock')
  const remove = releases.add(() => rm(dir, { recursive: true, force: true, maxRetries: 5 }))
  const starting = new AbortController()
  const giveUp = releases.add(async () => starting.abort())
  const { path } = await findRedisServer({ path: process.env.PATH ?? '', linkDir: dir, log })
  const redis = await startEmbeddedRedis({
    binary: path,
    dir,
    socket,
    fsync: 'everysec',
    maxMemoryBytes: MEMORY_BYTES,
    env: process.env,
    log,
    signal: starting.signal,
  })
  const end = releases.add(() => redis.stop())
  return {
    socket,
    pid: redis.pid,
    programs: dirname(path),
    async stop() {
      await giveUp()
      await end()
      await remove()
    },
  }
}
