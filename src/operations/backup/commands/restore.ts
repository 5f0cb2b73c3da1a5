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

interface RestoreFlags {
  readonly check?: boolean
  readonly json?: boolean
}

/** `ipid restore FROM`: fills empty stores with a backup. Starts embedded stores itself. */
export function restoreCommand(context: CliContext): Command {
  const command = new Command('restore')
    .argument('<from>', 'folder of the backup, its URL, or BACKUP_URL for the newest one')
    .option('--check', 'restore it into a temporary folder, compare it with what was stored, and remove it again')
    .option('--json', 'print JSON')
  return addSettings(command, RESTORE_SETTINGS).action(async (from: string, { check, json }: RestoreFlags) => {
    const config = configOf(context, command)
    const [{ openBackup }, { Progress }, { withBackupFolder }, { createLogger }] = await Promise.all([
      import('../restore.ts'),
      import('../progress.ts'),
      import('./source-folder.ts'),
      import('../../../telemetry/logger.ts'),
    ])
    const { assertOneServer } = await import('../../../stores/clickhouse/cluster.ts')
    if (!check) await assertOneServer('a restore', config.clickhouseUrl, config.clickhouseCluster)
    const log = await createLogger({ level: 'warn', name: 'restore', pretty: context.stderr.isTTY === true })
    const progress = new Progress((line) => printLine(context.stderr, line))
    await withBackupFolder(from, progress, async (path) => {
      const manifest = await openBackup(path, progress)
      const run = { path, manifest, config, env: context.env, log, progress }
      if (check) {
        const { checkBackup, printComparison } = await import('./check.ts')
        return printComparison(context, manifest, await checkBackup(run), json === true)
      }
      const { restoreInto } = await import('./restore-into.ts')
      const { restored, place } = await restoreInto(run)
      print(context, manifest, restored, place, json === true)
    })
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
