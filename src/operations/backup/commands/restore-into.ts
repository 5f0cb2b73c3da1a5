import type { Logger } from 'pino'
import { ingest } from '../../../../pipelines/ingest.ts'
import type { BackupManifest } from '../../../../schemas/backup.ts'
import type { Config, Environment } from '../../../config/config.ts'
import { systemClock as clock } from '../../../run/clock.ts'
import type { RedisClient } from '../../../stores/redis/connect.ts'
import { withRedis } from '../../../terminal/stores.ts'
import type { Progress } from '../progress.ts'
import { RedisRecordTarget } from '../redis/record-target.ts'
import { restoreBackup } from '../restore.ts'
import { ClickHouseTables } from '../table-copies.ts'
import { openArchiveList } from './archive-list.ts'
import { withStores } from './own-stores.ts'

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
