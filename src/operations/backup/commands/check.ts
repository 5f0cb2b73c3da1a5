import type { BackupFigures, BackupManifest } from '../../../../schemas/backup.ts'
import { EVENTS } from '../../../stores/clickhouse/tables.ts'
import type { CliContext } from '../../../terminal/context.ts'
import { printJson, printLine, printTable } from '../../../terminal/print.ts'
import { withTemporaryFolder } from '../../../terminal/temporary-folder.ts'
import { assertEqual, type Comparison, compareFigures } from '../comparison.ts'
import { BackupRefusedError } from '../ports.ts'
import { restoredCounts } from '../redis/restored-counts.ts'
import { type RestoreRun, restoreInto } from './restore-into.ts'

/**
 * Restores a backup into a temporary folder with its own Redis and ClickHouse, and asks both for the figures that the backup noted.
 * Leaves nothing.
 * @throws BackupRefusedError when it cannot be restored
 */
export async function checkBackup(run: RestoreRun): Promise<Comparison[]> {
  const { manifest } = run
  const events = manifest.tables.find(({ table }) => table === EVENTS.name)
  if (events === undefined) throw new BackupRefusedError('the backup is damaged: it has no table of events')
  return await withTemporaryFolder('ipid-check-', (dataDir) => checkIn(dataDir, run, events))
}

async function checkIn(
  dataDir: string,
  run: RestoreRun,
  events: BackupManifest['tables'][number],
): Promise<Comparison[]> {
  const { manifest, config } = run
  const scratch = {
    ...config,
    ...{ dataDir, clickhousePort: 0, clickhouseTcpPort: undefined, archiveUrl: undefined },
    given: config.given.filter((name) => name !== 'partitions'),
    ...{ redisUrl: undefined, clickhouseUrl: undefined, clickhouseCluster: undefined, clickhouseHosts: undefined },
  }
  let tables: Pick<BackupFigures, 'events' | 'outcomes'> | undefined
  let counts: Awaited<ReturnType<typeof restoredCounts>> | undefined
  const { restored } = await restoreInto(
    { ...run, config: scratch },
    {
      onTables: async (restoredTables) => {
        if (manifest.figures !== undefined) tables = await restoredTables.figures(events)
      },
      onEnd: async (client) => {
        counts = await restoredCounts(client)
      },
    },
  )
  return compareFigures(manifest, { ...tables!, ...counts! }, restored.lettersStored)
}

/** @throws BackupRefusedError when a figure differs */
export function printComparison(
  { stdout }: Pick<CliContext, 'stdout'>,
  manifest: BackupManifest,
  compared: readonly Comparison[],
  json: boolean,
): void {
  if (json) printJson(stdout, { id: manifest.id, received_before: manifest.received_before, compared })
  else {
    printTable(
      stdout,
      ['FIGURE', 'BACKUP', 'RESTORED'],
      compared.map(({ what, backup, restored }) => [what, backup, restored]),
    )
  }
  assertEqual(compared)
  if (json) return
  printLine(stdout, '')
  printLine(stdout, `the backup of ${manifest.received_before} is whole: all ${compared.length} figures are equal`)
}
