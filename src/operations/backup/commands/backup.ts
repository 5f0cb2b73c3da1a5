import { resolve } from 'node:path'
import { Command } from 'commander'
import type { BackupManifest } from '../../../../schemas/backup.ts'
import { isUrl } from '../../../config/archive-url.ts'
import { shown } from '../../../config/values.ts'
import { version } from '../../../config/version.ts'
import { InputError } from '../../../run/errors.ts'
import type { CliContext } from '../../../terminal/context.ts'
import { waitOption } from '../../../terminal/integer-option.ts'
import { printJson, printLine, printPairs } from '../../../terminal/print.ts'
import { addSettings, configOf, INSTANCE_SETTINGS } from '../../../terminal/settings-options.ts'

interface BackupFlags {
  readonly wait: number
  readonly json?: boolean
  readonly takeOver?: boolean
}

/** `ipid backup DIR`: writes tenants, keys and tables to a folder, while everything runs. `--take-over`: see `takeOver`. */
export function backupCommand(context: CliContext): Command {
  const command = new Command('backup')
    .argument('[dir]', 'new or empty folder')
    .addOption(waitOption('how long to wait until all received events are stored'))
    .option('--take-over', 'make this ipid the owner of BACKUP_URL in place of another one; writes no backup')
    .option('--json', 'print JSON')
  return addSettings(command, [...INSTANCE_SETTINGS, 'archiveUrl', 'backupUrl']).action(
    async (dir: string | undefined, { wait, json, takeOver: takesOver = false }: BackupFlags) => {
      const config = configOf(context, command)
      if ((dir === undefined) !== takesOver) throw new InputError('give either a new folder or --take-over')
      if (dir === undefined) {
        const { takeOver } = await import('./take-over.ts')
        return await takeOver(config, context, json === true)
      }
      if (isUrl(dir)) {
        const remedy = 'give a folder, and copy it; BACKUP_URL names the place of scheduled backups'
        throw new InputError(`${shown(dir)} is a URL: ${remedy}`)
      }
      const [
        { withRedis },
        { asInstance, clickhousePlaceOf, redisUrlOf },
        { RedisRecordSource },
        { ClickHouseTables },
      ] = await Promise.all([
        import('../../../terminal/stores.ts'),
        import('../../../terminal/instance.ts'),
        import('../redis/record-source.ts'),
        import('../table-copies.ts'),
      ])
      const [{ writeBackup }, { ingest }, { systemClock }, { createLogger }, { Progress }] = await Promise.all([
        import('../backup.ts'),
        import('../../../../pipelines/ingest.ts'),
        import('../../../run/clock.ts'),
        import('../../../telemetry/logger.ts'),
        import('../progress.ts'),
      ])
      const [{ openArchiveList }, { withRewriteLease }, { activeOn }] = await Promise.all([
        import('./archive-list.ts'),
        import('../../../terminal/rewrite-lease.ts'),
        import('../../../pipeline/streams/topology.ts'),
      ])
      const log = await createLogger({ level: 'warn', name: 'backup', pretty: context.stderr.isTTY === true })
      const tables = new ClickHouseTables(await clickhousePlaceOf(config), log)
      const archive = openArchiveList(await asInstance(config))
      const path = resolve(dir)
      try {
        const manifest = await withRedis(await redisUrlOf(config), (client) =>
          withRewriteLease(client, 'a backup', async () =>
            writeBackup(path, {
              tables,
              records: new RedisRecordSource(client, await activeOn(client, ingest), systemClock),
              archive,
              version: version(),
              clock: systemClock,
              progress: new Progress((line) => printLine(context.stderr, line)),
              waitMs: wait * 1_000,
            }),
          ),
        )
        print(context, path, manifest, json === true)
      } finally {
        await tables.close()
        await archive.close()
      }
    },
  )
}

function print({ stdout }: CliContext, path: string, manifest: BackupManifest, json: boolean): void {
  const rows = Object.fromEntries(manifest.tables.map(({ table, file }) => [table, file.lines]))
  const { archive } = manifest
  const files = [...manifest.tables.map(({ file }) => file), manifest.tenants, manifest.dead_letters, archive.file]
  const summary = {
    path,
    id: manifest.id,
    received_before: manifest.received_before,
    tenants: manifest.tenants.lines,
    rows,
    dead_letters: manifest.dead_letters.lines,
    archive: { place: archive.place, objects: archive.file.lines },
    bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
  }
  if (json) {
    printJson(stdout, summary)
    return
  }
  printPairs(stdout, [
    ['backup', path],
    ['received before', summary.received_before],
    ['tenants', summary.tenants],
    ...Object.entries(rows).map(([table, count]) => [`rows of ${table}`, count] as const),
    ['dead letters', summary.dead_letters],
    ['objects of the archive', `${archive.file.lines} in ${archive.place}, not copied`],
    ['bytes', summary.bytes],
  ])
}
