import assert from 'node:assert/strict'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { makeDataDir } from '../../src/embedded/processes/data-dir.ts'
import { type EmbeddedRedisOptions, startEmbeddedRedis } from '../../src/embedded/redis/server.ts'
import { identityAt } from '../../src/pipeline/event/block.ts'
import { type RawEntry, readEntry } from '../../src/pipeline/streams/entries.ts'
import type { GroupCommit } from '../../src/pipeline/streams/group-commit.ts'
import { connectRedis, type RedisClient } from '../../src/stores/redis/connect.ts'
import { keys } from '../../src/stores/redis/keys.ts'
import { atEnd } from './at-end.ts'
import { envelope, quiet, silent } from './pipeline.ts'
import { until } from './until.ts'

/** The private Redis, in its own folder; it may be killed and restarted. @param root removed after the test */
export function privateRedis(t: TestContext, root = mkdtempSync(join(tmpdir(), 'ipid-redis-'))) {
  const dir = makeDataDir(root)
  atEnd(t, () => rmSync(root, { recursive: true, force: true }))
  return {
    root,
    socket: dir.redisSocket,
    url: `unix://${dir.redisSocket}`,
    /** A server whose file holds this many half kilobytes, as on a disk that is full then. */
    limited(halfKilobytes: number): string {
      const path = join(root, `redis-of-${halfKilobytes}`)
      writeFileSync(path, `#!/bin/sh\ntrap '' XFSZ\nulimit -f ${halfKilobytes}\nexec redis-server "$@"\n`)
      chmodSync(path, 0o700)
      return path
    },
    async start(options: Partial<EmbeddedRedisOptions> = {}) {
      const redis = await startEmbeddedRedis({
        binary: 'redis-server',
        dir: dir.redis,
        socket: dir.redisSocket,
        fsync: 'always',
        maxMemoryBytes: 256 * 2 ** 20,
        env: process.env,
        log: silent,
        signal: new AbortController().signal,
        ...options,
      })
      const kill = async () => {
        redis.kill()
        await redis.exited
      }
      atEnd(t, kill)
      return { pid: redis.pid, kill }
    },
    /** @param timeoutMs of a command; a full read takes longer on a busy machine */
    async connect({ timeoutMs = 2_000 } = {}): Promise<RedisClient> {
      const client = quiet(connectRedis(`unix://${dir.redisSocket}`, { name: 'test', kind: 'request', timeoutMs }))
      atEnd(t, () => client.disconnect())
      await until(() => client.status === 'ready')
      return client
    },
  }
}

/**
 * Sends large commits, several at a time, also after one that failed, which on a busy machine is one that took too long.
 * @param answered gets the identities of the confirmed events
 */
export async function sendSteadily(intake: GroupCommit, answered: string[], stop: AbortSignal): Promise<void> {
  const send = async () => {
    while (!stop.aborted) {
      // Large enough that the next ones do not wait.
      const envelopes = Array.from({ length: 100 }, () => envelope('t', `e${made++}`))
      const isThere = await intake.append(envelopes).then(
        () => true,
        () => false,
      )
      if (isThere) answered.push(...envelopes.map(({ identity }) => identity))
    }
  }
  await Promise.all(Array.from({ length: 8 }, send))
}

let made = 0

/** All events in the intake, with their repeats. */
export async function identitiesIn(client: RedisClient): Promise<string[]> {
  const raw = (await client.callBuffer('XRANGE', keys.stream(0, 'intake', 'live'), '-', '+')) as RawEntry[]
  return raw.flatMap((entry) => {
    const read = readEntry(entry, 'live', 0, 1)
    assert.ok('block' in read)
    return Array.from({ length: read.block.count }, (_, i) => identityAt(read.block, i))
  })
}
