import { Command } from 'commander'
import type { BackupManifest } from '../../../../schemas/backup.ts'
import type { SettingName } from '../../../config/settings.ts'
import { InputError } from '../../../run/errors.ts'
import type { CliContext } from '../../../terminal/context.ts'
import { type Cell, printJson, printLine, printPairs, printTable } from '../../../terminal/print.ts'
import { addSettings, configOf } from '../../../terminal/settings-options.ts'
import type { BackupContents } from '../contents.ts'
import type { Restored } from '../restore.ts'

const RESTORE_SETTINGS: readonly SettingName[] = [
  ...(['dataDir', 'redisUrl', 'clickhouseUrl', 'clickhouseCluster', 'clickhouseHosts'] as const),
  ...(['clickhouseExternal', 'archiveUrl', 'redisFsync', 'redisMaxMemoryBytes', 'partitions'] as const),
]

interface RestoreFlags {
  readonly check?: boolean
  readonly list?: boolean
  readonly json?: boolean
}

/** `ipid restore FROM`: fills empty stores with a backup. Starts embedded stores itself. */
export function restoreCommand(context: CliContext): Command {
  const command = new Command('restore')
    .argument('<from>', 'folder of the backup, its URL, or BACKUP_URL for the newest one')
    .option('--check', 'restore it into a temporary folder, compare it with the stored figures, and remove it again')
    .option('--list', 'check its files and list its keys, sources, alerts, CRMs and exports; restore nothing')
    .option('--json', 'print JSON')
  return addSettings(command, RESTORE_SETTINGS).action(async (from: string, { check, list, json }: RestoreFlags) => {
    const config = configOf(context, command)
    const [{ openBackup }, { Progress }, { withBackupFolder }, { createLogger }, { ingest }] = await Promise.all([
      import('../restore.ts'),
      import('../progress.ts'),
      import('./source-folder.ts'),
      import('../../../telemetry/logger.ts'),
      import('../../../../pipelines/ingest.ts'),
    ])
    if (check && list) throw new InputError('--check and --list exclude each other')
    const log = await createLogger({ level: 'warn', name: 'restore', pretty: context.stderr.isTTY === true })
    const progress = new Progress((line) => printLine(context.stderr, line))
    await withBackupFolder(from, progress, async (path) => {
      const { manifest, contents } = await openBackup(path, progress, ingest)
      const run = { path, manifest, config, env: context.env, log, progress }
      if (check) {
        const { checkBackup, printComparison } = await import('./check.ts')
        return printComparison(context, manifest, await checkBackup(run), json === true)
      }
      if (list) {
        if (json) printJson(context.stdout, { id: manifest.id, received_before: manifest.received_before, ...contents })
        else printContents(context.stdout, contents)
        return
      }
      // Before the restore too: a person may stop it here.
      printContents(context.stderr, contents)
      const { restoreInto } = await import('./restore-into.ts')
      const { restored, place } = await restoreInto(run)
      print(context, manifest, { restored, contents }, place, json === true)
    })
  })
}

function print(
  { stdout }: CliContext,
  manifest: BackupManifest,
  { restored, contents }: { readonly restored: Restored; readonly contents: BackupContents },
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
    ...contents,
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
  printContents(stdout, contents)
  if (contents.crms.length > 0) {
    printLine(stdout, '')
    printLine(stdout, 'CRMs are stopped. When no other ipid syncs the same account: ./ipid crm sync --tenant TENANT')
  }
  if (contents.alerts.length + contents.sources.filter(isPulled).length === 0) return
  printLine(stdout, '')
  printLine(
    stdout,
    'Alerts, and sources that ipid fetches, are paused. Look where they lead, then resume each that is yours:',
  )
  printLine(stdout, './ipid alert resume TENANT NAME, ./ipid source resume SOURCE_ID')
  if (contents.alerts.some(({ to }) => to === 'email'))
    printLine(stdout, 'E-mail addresses of alerts confirm first, by a link or by ./ipid alert confirm TENANT ADDRESS')
}

type ListedSource = BackupContents['sources'][number]

function isPulled({ place, revoked_at }: ListedSource): boolean {
  return place !== null && revoked_at === null
}

/** The records that open the instance or send data out: somebody else may have changed the backup. */
function printContents(out: NodeJS.WritableStream, { keys, sources, alerts, crms, exports }: BackupContents): void {
  const list = (headings: readonly string[], rows: readonly (readonly Cell[])[]) => {
    if (rows.length === 0) return
    printLine(out, '')
    printTable(out, headings, rows)
  }
  list(
    ['API KEY', 'TENANT', 'CREATED', 'LAST USED', 'REVOKED'],
    keys.map(({ prefix, tenant_id, created_at, last_used, revoked_at }) => [
      ...[prefix, tenant_id, created_at, last_used, revoked_at],
    ]),
  )
  list(
    ['SOURCE', 'TENANT', 'KIND', 'FETCHES FROM', 'SENDERS USE', 'CREATED', 'LAST USED', 'REVOKED'],
    sources.map(({ source_id, tenant_id, kind, place, base, created_at, last_used, revoked_at }) => [
      ...[source_id, tenant_id, kind, place, base, created_at, last_used, revoked_at],
    ]),
  )
  list(
    ['ALERT', 'TENANT', 'TO', 'TARGET'],
    alerts.map(({ name, tenant_id, to, target }) => [name, tenant_id, to, target]),
  )
  list(
    ['CRM', 'TENANT', 'CONNECTED BY'],
    crms.map(({ kind, tenant_id, connected_by }) => [kind, tenant_id, connected_by]),
  )
  list(
    ['EXPORT', 'TENANT'],
    exports.map(({ name, tenant_id }) => [name, tenant_id]),
  )
}

function archiveState(
  { place, objects, missing }: { readonly place: string; readonly objects: number; readonly missing: number },
  was: string,
): string {
  if (missing === 0) return `${objects} in ${place}, none missing`
  return `${missing} of ${objects} are not in ${place}: copy them from ${was}`
}
