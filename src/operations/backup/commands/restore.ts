import { resolve } from 'node:path'
import { Command } from 'commander'
import type { BackupManifest } from '../../../../schemas/backup.ts'
import type { SettingName } from '../../../config/settings.ts'
import type { CliContext } from '../../../terminal/context.ts'
import { printJson, printLine, printPairs } from '../../../terminal/print.ts'
import { addSettings, configOf } from '../../../terminal/settings-options.ts'
import type { Restored } from '../restore.ts'

const RESTORE_SETTINGS: readonly SettingName[] = [
  ...(['dataDir', 'redisUrl', 'clickhouseUrl', 'clickhouseExternal', 'archiveUrl'] as const),
  ...(['redisFsync', 'redisMaxMemoryBytes', 'partitions'] as const),
]

/** `ipid restore DIR`: fills empty stores with a backup. Starts embedded stores itself. */
export function restoreCommand(context: CliContext): Command {
  const command = new Command('restore')
    .description('fill a new DATA_DIR, or empty stores, with a backup; no ipid may run on them')
    .argument('<dir>', 'folder of the backup')
    .option('--json', 'print JSON')
  return addSettings(command, RESTORE_SETTINGS).action(async (dir: string, { json }: { json?: boolean }) => {
    const config = configOf(context, command)
    const [{ openBackup, restoreBackup }, { Progress }, { withStores }, { withRedis }] = await Promise.all([
      import('../restore.ts'),
      import('../progress.ts'),
      import('./own-stores.ts'),
      import('../../../terminal/stores.ts'),
    ])
    const [{ RedisRecordTarget }, { ClickHouseTables }, { ingest }, { systemClock }, { createLogger }] =
      await Promise.all([
        import('../redis/record-target.ts'),
        import('../table-copies.ts'),
        import('../../../../pipelines/ingest.ts'),
        import('../../../run/clock.ts'),
        import('../../../telemetry/logger.ts'),
      ])
    const [{ openArchiveList }, { assertOneServer }] = await Promise.all([
      import('./archive-list.ts'),
      import('../../../stores/clickhouse/cluster.ts'),
    ])
    await assertOneServer('a restore', config.clickhouseUrl, config.clickhouseCluster)
    const log = await createLogger({ level: 'warn', name: 'restore', pretty: context.stderr.isTTY === true })
    const progress = new Progress((line) => printLine(context.stderr, line))
    const path = resolve(dir)
    const manifest = await openBackup(path, progress)
    const archive = openArchiveList(config)
    const restored = await withStores({ config, env: context.env, log }, async ({ redisUrl, clickhouseUrl }) => {
      const tables = new ClickHouseTables(clickhouseUrl, log)
      try {
        return await withRedis(redisUrl, (client) => {
          const records = new RedisRecordTarget(client, ingest, systemClock)
          const partitions = config.given.includes('partitions') ? config.partitions : undefined
          return restoreBackup(path, manifest, { tables, records, archive, partitions, clock: systemClock, progress })
        })
      } finally {
        await tables.close()
        await archive.close()
      }
    })
    print(context, manifest, restored, archive.place, json === true)
  })
}

function print(
  { stdout }: CliContext,
  manifest: BackupManifest,
  restored: Restored,
  place: string,
  json: boolean,
): void {
  const { archive } = manifest
  const rows = Object.fromEntries(manifest.tables.map(({ table, file }) => [table, file.lines]))
  const summary = {
    id: manifest.id,
    received_before: manifest.received_before,
    partitions: restored.partitions,
    tenants: manifest.tenants.lines,
    rows,
    dead_letters: manifest.dead_letters.lines - restored.lettersStored,
    remembered_events: restored.remembered,
    archive: { place, objects: archive.file.lines, missing: restored.objectsMissing },
  }
  if (json) {
    printJson(stdout, summary)
    return
  }
  printPairs(stdout, [
    ['received before', summary.received_before],
    ['partitions', summary.partitions],
    ['tenants', summary.tenants],
    ...Object.entries(rows).map(([table, count]) => [`rows of ${table}`, count] as const),
    ['dead letters', summary.dead_letters],
    ['events in the dedup window', summary.remembered_events],
    ['objects of the archive', archiveState(summary.archive, archive.place)],
  ])
}

function archiveState(
  { place, objects, missing }: { readonly place: string; readonly objects: number; readonly missing: number },
  was: string,
): string {
  if (missing === 0) return `${objects} in ${place}, none missing`
  return `${missing} of ${objects} are not in ${place}: copy them from ${was}`
}
