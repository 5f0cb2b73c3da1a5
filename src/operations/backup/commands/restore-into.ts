import type { Logger } from 'pino'
import { ingest } from '../../../../pipelines/ingest.ts'
import type { BackupManifest } from '../../../../schemas/backup.ts'
import type { Config, Environment } from '../../../config/config.ts'
import { makeDataDir } from '../../../embedded/processes/data-dir.ts'
import type { RunningProcess } from '../../../embedded/processes/running-process.ts'
import type { Store } from '../../../embedded/processes/supervisor.ts'
import { systemClock as clock } from '../../../run/clock.ts'
import type { RedisClient } from '../../../stores/redis/connect.ts'
import { holdDataDir } from '../../../terminal/data-dir-lock.ts'
import { embeddedClickHouse, embeddedRedis } from '../../../terminal/embedded-stores.ts'
import { removeInstance } from '../../../terminal/instance.ts'
import { withRedis } from '../../../terminal/stores.ts'
import type { Progress } from '../progress.ts'
import { RedisRecordTarget } from '../redis/record-target.ts'
import { restoreBackup } from '../restore.ts'
import { ClickHouseTables } from '../table-copies.ts'
import { openArchiveList } from './archive-list.ts'

/** A restore of a backup whose files are whole. */
export interface RestoreRun {
  readonly path: string
  readonly manifest: BackupManifest
  /** Settings of the instance to fill. */
  readonly config: Config
  readonly env: Environment
  readonly log: Logger
  readonly progress: Progress
}

/** Called with the stores of the restored instance. */
export interface RestoreWatch {
  /** Called when the tables are filled and still have the form of the backup. */
  onTables(tables: ClickHouseTables): Promise<void>
  onEnd(client: RedisClient): Promise<void>
}

/** Starts the embedded stores of an instance, or uses its external ones, and fills them. */
export async function restoreInto(run: RestoreRun, watch?: RestoreWatch) {
  const { path, manifest, config, env, log, progress } = run
  const archive = openArchiveList(config)
  const restored = await withStores({ config, env, log }, async ({ redisUrl, clickhouseUrl }) => {
    const { clickhouseCluster: cluster, clickhouseHosts: hosts } = config
    const tables = new ClickHouseTables({ url: clickhouseUrl, cluster, hosts }, log)
    try {
      return await withRedis(redisUrl, async (client) => {
        const records = new RedisRecordTarget(client, ingest, clock)
        const partitions = config.given.includes('partitions') ? config.partitions : undefined
        const onTables = async () => watch?.onTables(tables)
        const result = await restoreBackup(path, manifest, {
          ...{ tables, records, pipeline: ingest, archive, partitions, clock, progress, onTables },
        })
        await watch?.onEnd(client)
        return result
      })
    } finally {
      await tables.close()
      await archive.close()
    }
  })
  return { restored, place: archive.place }
}

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
async function withStores<T>(
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
