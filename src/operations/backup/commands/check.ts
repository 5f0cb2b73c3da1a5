import type { BackupFigures, BackupManifest } from '../../../../schemas/backup.ts'
import { copyPulls } from '../../../pipeline/sources/pulls/redis/pull-copies.ts'
import { partitionsOf } from '../../../pipeline/streams/topology.ts'
import { EVENTS } from '../../../stores/clickhouse/tables.ts'
import type { RedisClient } from '../../../stores/redis/connect.ts'
import { keys } from '../../../stores/redis/keys.ts'
import type { CliContext } from '../../../terminal/context.ts'
import { printJson, printLine, printTable } from '../../../terminal/print.ts'
import { withTemporaryFolder } from '../../../terminal/temporary-folder.ts'
import { BackupRefusedError } from '../ports.ts'
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

/** A figure of a backup, and the same figure of the restored instance. */
interface Comparison {
  readonly what: string
  readonly backup: number | string
  readonly restored: number | string
}

/**
 * Compares a restored instance with the figures of its backup.
 * @param lettersStored dead letters that the restore left out because their events are stored
 * @throws BackupRefusedError when the backup has no figures, as those of earlier versions
 */
export function compareFigures(
  { figures, ipid_version: version }: Pick<BackupManifest, 'figures' | 'ipid_version'>,
  restored: BackupFigures,
  lettersStored: number,
): Comparison[] {
  if (figures === undefined) {
    throw new BackupRefusedError(
      `the backup was written by ipid ${version}, which noted no figures, so there is nothing to compare; its files are whole, and it can be restored`,
    )
  }
  const found: BackupFigures = { ...restored, dead_letters: restored.dead_letters + lettersStored }
  const questions: readonly (readonly [what: string, figureOf: (of: BackupFigures) => number | string])[] = [
    ['events', ({ events }) => events.rows],
    ['checksum of all events', ({ events }) => events.checksum],
    ['distinct event ids', ({ events }) => events.ids],
    ['distinct companies', ({ events }) => events.companies],
    ['tenants with events', ({ events }) => events.tenants],
    ['events of batch jobs', ({ events }) => events.of_jobs],
    ['first event received', ({ events }) => events.first_received],
    ['last event received', ({ events }) => events.last_received],
    ['sum of the outcomes', ({ outcomes }) => outcomes],
    ['tenants', ({ tenants }) => tenants],
    ['keys', ({ keys }) => keys],
    ['sources that are pulled', ({ pulls }) => pulls],
    ['dead letters', ({ dead_letters: letters }) => letters],
  ]
  return questions.map(([what, figureOf]) => ({ what, backup: figureOf(figures), restored: figureOf(found) }))
}

/** @throws BackupRefusedError that names every figure that differs */
export function assertEqual(compared: readonly Comparison[]): void {
  const different = compared.filter(({ backup, restored }) => backup !== restored)
  if (different.length === 0) return
  const texts = different.map(({ what, backup, restored }) => `${what}: ${restored}, not ${backup}`)
  throw new BackupRefusedError(`the restored data differ from the backup: ${texts.join('; ')}`)
}

/** The figures of a backup that a restored Redis has. */
async function restoredCounts(
  client: RedisClient,
): Promise<Pick<BackupFigures, 'tenants' | 'keys' | 'pulls' | 'dead_letters'>> {
  let pulls = 0
  for await (const _ of copyPulls(client)) pulls++
  let letters = 0
  const partitions = await partitionsOf(client)
  for (let partition = 0; partition < partitions; partition++) letters += await client.xlen(keys.dead(partition))
  return {
    tenants: await client.hlen(keys.tenants()),
    keys: await client.hlen(keys.apiKeys()),
    pulls,
    dead_letters: letters,
  }
}
