import { readdirSync } from 'node:fs'
import type { Logger } from 'pino'
import type { Config, Environment } from '../../../config/config.ts'
import { makeDataDir, trustedDataDir } from '../../../embedded/processes/data-dir.ts'
import type { RunningProcess } from '../../../embedded/processes/running-process.ts'
import type { Store } from '../../../embedded/processes/supervisor.ts'
import { StartupError } from '../../../run/errors.ts'
import { holdDataDir } from '../../../terminal/data-dir-lock.ts'
import { embeddedClickHouse, embeddedRedis, type StoreSurroundings } from '../../../terminal/embedded-stores.ts'
import { removeInstance } from '../../../terminal/instance.ts'

export interface StoreSettings {
  readonly config: Config
  readonly env: Environment
  readonly log: Logger
}

/**
 * Runs the stores of an instance, and nothing else of it, for the length of `use`; those that the settings name run
 * already. DATA_DIR is held meanwhile.
 * @throws StartupError when another ipid has it, or a store does not start
 */
export function withStores<T>(
  settings: StoreSettings,
  use: (urls: { readonly redisUrl: string; readonly clickhouseUrl: string }) => Promise<T>,
): Promise<T> {
  return holding(settings, async (start, surroundings) => {
    const { config } = settings
    const redis = config.redisUrl === undefined ? embeddedRedis(surroundings, settings.env) : { url: config.redisUrl }
    const { clickhouseUrl: url } = config
    const clickhouse = url === undefined ? embeddedClickHouse(surroundings, settings.env) : { url }
    const redisUrl = await start(redis)
    const clickhouseUrl = await start(clickhouse)
    return await use({ redisUrl, clickhouseUrl })
  })
}

/**
 * Runs the private Redis of an instance, and nothing else of it, for the length of `use`, and holds DATA_DIR meanwhile; one
 * that the settings name runs already.
 * @throws StartupError when there is no such Redis in DATA_DIR, another ipid has it, or Redis does not start
 */
export async function withOwnRedis<T>(settings: StoreSettings, use: (redisUrl: string) => Promise<T>): Promise<T> {
  const { redisUrl } = settings.config
  if (redisUrl !== undefined) return await use(redisUrl)
  const { path, redis } = trustedDataDir(settings.config.dataDir)
  if (!hasFiles(redis)) throw new StartupError(`${path} has no data of a Redis: set DATA_DIR, or REDIS_URL`)
  return await holding(settings, async (start, surroundings) =>
    use(await start(embeddedRedis(surroundings, settings.env))),
  )
}

/** @throws StartupError when the folder cannot be read */
function hasFiles(folder: string): boolean {
  try {
    return readdirSync(folder).length > 0
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return false
    throw new StartupError(`cannot read the folder ${folder}: ${message}`)
  }
}

async function holding<T>(
  { config, log }: StoreSettings,
  use: (start: (store: Store) => Promise<string>, surroundings: StoreSurroundings) => Promise<T>,
): Promise<T> {
  const dir = makeDataDir(config.dataDir)
  const { lock, patienceMs } = await holdDataDir(dir)
  const stopping = new AbortController()
  const running: RunningProcess[] = []
  const start = async (store: Store): Promise<string> => {
    if ('url' in store) return store.url
    const process = await store.launch(stopping.signal, undefined)
    running.push(process)
    return process.url!
  }
  try {
    removeInstance(dir)
    // Nobody else is to find it: any free port does.
    return await use(start, { config: { ...config, clickhousePort: 0 }, dir, log, patienceMs })
  } finally {
    stopping.abort()
    await Promise.all(running.map((process) => process.stop()))
    await lock.release()
  }
}
