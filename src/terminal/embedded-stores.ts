import { join } from 'node:path'
import type { Logger } from 'pino'
import type { Config, Environment } from '../config/config.ts'
import { analystUrlOf, keptPasswords, ownUrlOf } from '../embedded/clickhouse/passwords.ts'
import type { EmbeddedClickHouseOptions } from '../embedded/clickhouse/start.ts'
import type { DataDir } from '../embedded/processes/data-dir.ts'
import { waitForFreePort } from '../embedded/processes/free-port.ts'
import { endLeftover, noteProcess } from '../embedded/processes/leftover.ts'
import type { Store } from '../embedded/processes/supervisor.ts'
import { findRedisServer, type RedisBinary } from '../embedded/redis/binary.ts'
import { startEmbeddedRedis } from '../embedded/redis/server.ts'
import { type DelayBounds, retry } from '../run/loop.ts'

export interface StoreSurroundings {
  readonly config: Config
  readonly dir: DataDir
  readonly log: Logger
  /** How long to wait for a killed instance to free its port and files; 0 when none was killed. */
  readonly patienceMs: number
}

/** A private Redis under DATA_DIR. The first start finds or installs its binary. */
export function embeddedRedis({ config, dir, log }: StoreSurroundings, env: Environment): Store {
  let binary: RedisBinary | undefined
  return {
    launch: async (signal) => {
      binary ??= await findRedisServer({ path: env.PATH ?? '', linkDir: join(dir.run, 'bin'), log, signal })
      const redis = await startEmbeddedRedis({
        binary: binary.path,
        dir: dir.redis,
        socket: dir.redisSocket,
        fsync: config.redisFsync,
        maxMemoryBytes: config.redisMaxMemoryBytes,
        env,
        log,
        signal,
      })
      log.info({ process: 'redis', child_pid: redis.pid, version: binary.version, url: redis.url }, 'process is ready')
      return redis
    },
  }
}

const RETRY_DELAY: DelayBounds = { minMs: 250, maxMs: 500 }

/** The embedded ClickHouse under DATA_DIR. A restart keeps its port. */
export function embeddedClickHouse({ config, dir, log, patienceMs }: StoreSurroundings, env: Environment): Store {
  const { clickhousePort, clickhouseTcpPort: tcpPort } = config
  const passwords = keptPasswords(dir.clickhousePasswordsFile)
  return {
    ...(clickhousePort !== 0 && { address: ownUrlOf(clickhousePort, passwords) }),
    analystUrlOf: (url) => analystUrlOf(Number(new URL(url).port), passwords),
    launch: async (signal, previous) => {
      const port = previous?.url === undefined ? config.clickhousePort : Number(new URL(previous.url).port)
      const file = dir.clickhousePidFile
      // The process gets its folder in JSON in its arguments, after other characters.
      const commandPart = JSON.stringify(dir.clickhouse).slice(1)
      await endLeftover({ file, commandPart, name: 'embedded ClickHouse', log, signal })
      const onLaunch = (pid: number) => noteProcess(file, pid)
      const external = config.clickhouseExternal === 'on'
      const { clickhouseMaxMemoryBytes: memoryBytesMax, clickhouseReadSeconds: readSecondsMax } = config
      const limits = { memoryBytesMax, readSecondsMax }
      const options = { path: dir.clickhouse, port, tcpPort, external, limits, log, env, passwords, signal, onLaunch }
      if (previous === undefined && port !== 0) {
        await waitForFreePort({ host: '127.0.0.1', portSetting: 'CLICKHOUSE_PORT', port }, patienceMs)
      }
      const clickhouse = await startPatiently(options, previous === undefined ? patienceMs : 0)
      if (!clickhouse.walled && !external && process.platform === 'linux') {
        log.warn('nothing denies ClickHouse the files of others on this machine: see ./ipid doctor')
      }
      log.info({ process: 'clickhouse', child_pid: clickhouse.pid, walled: clickhouse.walled }, 'process is ready')
      return clickhouse
    },
  }
}

/** The engine of a killed instance may still finish statements on the same folder. */
async function startPatiently(options: EmbeddedClickHouseOptions, patienceMs: number) {
  const { startEmbeddedClickHouse } = await import('../embedded/clickhouse/start.ts')
  const deadlineMs = performance.now() + patienceMs
  return retry(() => startEmbeddedClickHouse(options), { delay: RETRY_DELAY, deadlineMs, signal: options.signal })
}
