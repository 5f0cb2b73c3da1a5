import type { Logger } from 'pino'
import type { Config, Environment } from '../../../config/config.ts'
import { makeDataDir } from '../../../embedded/processes/data-dir.ts'
import type { RunningProcess } from '../../../embedded/processes/running-process.ts'
import type { Store } from '../../../embedded/processes/supervisor.ts'
import { holdDataDir } from '../../../terminal/data-dir-lock.ts'
import { embeddedClickHouse, embeddedRedis } from '../../../terminal/embedded-stores.ts'
import { removeInstance } from '../../../terminal/instance.ts'

interface StoreSettings {
  readonly config: Config
  readonly env: Environment
  readonly log: Logger
}

/**
 * Starts the embedded stores of an instance, but no roles, while `use` runs. Uses external stores where the settings name them.
 * Holds the lock of DATA_DIR meanwhile.
 * @throws StartupError when another ipid holds the lock, or a store does not start
 */
export async function withStores<T>(
  { config, env, log }: StoreSettings,
  use: (urls: { readonly redisUrl: string; readonly clickhouseUrl: string }) => Promise<T>,
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
  // No other process needs to find this ClickHouse.
  const surroundings = { config: { ...config, clickhousePort: 0, clickhouseTcpPort: undefined }, dir, log, patienceMs }
  const { redisUrl, clickhouseUrl } = config
  try {
    removeInstance(dir)
    return await use({
      redisUrl: await start(redisUrl === undefined ? embeddedRedis(surroundings, env) : { url: redisUrl }),
      clickhouseUrl: await start(
        clickhouseUrl === undefined ? embeddedClickHouse(surroundings, env) : { url: clickhouseUrl },
      ),
    })
  } finally {
    stopping.abort()
    await Promise.all(running.map((process) => process.stop()))
    await lock.release()
  }
}
