import type { BackupManifest } from '../../../schemas/backup.ts'
import type { Pipeline } from '../../pipeline/declaration/pipeline.ts'
import type { Clock } from '../../run/clock.ts'
import { numbered } from '../../run/counted.ts'
import { OUR_TABLES } from '../../stores/clickhouse/tables.ts'
import { type BackupContents, readContents } from './contents.ts'
import { countLines, readPortions, verifyFile } from './files.ts'
import { filesOf, readManifest } from './manifest.ts'
import type { ArchiveList, RecordTarget, TableTarget } from './ports.ts'
import type { Progress } from './progress.ts'
import { checkRows, readLetters, readObjects, readPulls, readTenants } from './records.ts'

interface RestoreOptions {
  readonly tables: TableTarget
  readonly records: RecordTarget
  /** Its sources and streams limit the content of records. */
  readonly pipeline: Pipeline
  /** Archive of the restored instance. */
  readonly archive: ArchiveList
  /** Number of partitions; undefined: as in the backup. */
  readonly partitions: number | undefined
  readonly clock: Clock
  readonly progress: Progress
  /** Called when the tables are filled and still have the form of the backup. */
  readonly onTables?: () => Promise<void>
}

export interface Restored {
  readonly partitions: number
  /** Dead letters that were skipped because their events are stored. */
  readonly lettersStored: number
  /** Events in the dedup window. */
  readonly remembered: number
  /** Objects of the backed-up archive that are missing or have another size now. */
  readonly objectsMissing: number
}

/** Size of one insert. */
const INSERT_BYTES = 33_554_432

/** A backup whose files and records are checked. */
export interface OpenedBackup {
  readonly manifest: BackupManifest
  readonly contents: BackupContents
}

/**
 * Checks every file of a backup, every record, and the tenants of our tables' rows. Writes nothing.
 * @throws BackupRefusedError that says what is wrong and where
 */
export async function openBackup(dir: string, progress: Progress, pipeline: Pipeline): Promise<OpenedBackup> {
  const manifest = await readManifest(dir)
  progress.step('checking the files')
  for (const file of filesOf(manifest)) await verifyFile(dir, file)
  const contents = await readContents(readTenants(dir, manifest, pipeline), pipeline)
  for (const read of [readPulls, readLetters, readObjects]) {
    // Reading a record checks it.
    for await (const _ of read(dir, manifest, pipeline));
  }
  for (const table of manifest.tables) {
    if (!OUR_TABLES.has(table.table)) continue
    progress.step(`checking the rows of ${table.table}`)
    await checkRows(dir, table)
  }
  return { manifest, contents }
}

/**
 * Fills an empty instance with a backup that `openBackup` has checked. After a kill at any moment, run it again with the same
 * backup. No role starts until it has finished.
 * @throws BackupRefusedError, StartupError
 */
export async function restoreBackup(dir: string, manifest: BackupManifest, options: RestoreOptions): Promise<Restored> {
  try {
    return await fill(dir, manifest, options)
  } finally {
    await options.records.close()
  }
}

async function fill(dir: string, manifest: BackupManifest, options: RestoreOptions): Promise<Restored> {
  const { tables, records, progress } = options
  await tables.assertKnown(manifest.migrations, manifest.ipid_version)
  await tables.assertTables(manifest.tables)
  const isRepeated = await records.begin(manifest.id, await tables.filledTable())
  if (isRepeated) progress.step('an earlier restore of this backup did not finish: starting over')
  const partitions = options.partitions ?? manifest.partitions
  await records.fixPartitions(partitions, {
    partitions: manifest.partitions,
    sinceMs: manifest.partitions_since ?? 0,
  })
  // First the schema of the backup, so that the rows fit. Then later migrations, as in an upgrade.
  await tables.migrate(manifest.migrations)
  await fillTables(dir, manifest, options)
  await options.onTables?.()
  await tables.migrate()
  progress.step('tenants')
  const { pipeline } = options
  for await (const tenants of readTenants(dir, manifest, pipeline)) await records.addTenants(tenants)
  for await (const pulls of readPulls(dir, manifest, pipeline)) await records.addPulls(pulls)
  const lettersStored = await addLetters(dir, manifest, options)
  const remembered = await fillWindow(options)
  const objectsMissing = await missingObjects(dir, manifest, options)
  await records.end()
  return { partitions, lettersStored, remembered, objectsMissing }
}

async function fillTables(dir: string, manifest: BackupManifest, { tables, progress }: RestoreOptions): Promise<void> {
  for (const table of manifest.tables) {
    const onLines = progress.rows(table.table)
    await tables.clear(table)
    for await (const lines of readPortions(dir, table.file, INSERT_BYTES)) {
      await tables.insert(table, lines)
      onLines(lines.reduce((sum, bytes) => sum + countLines(bytes), 0))
    }
    const found = (await tables.count(table)) ?? table.file.lines
    if (found !== table.file.lines) {
      throw new Error(`table ${table.table} has ${numbered(found, 'row')} after the restore, not ${table.file.lines}`)
    }
  }
}

/** Skips letters whose event is stored: they were retried while the backup was written. */
async function addLetters(dir: string, manifest: BackupManifest, options: RestoreOptions): Promise<number> {
  const { tables, records, pipeline, progress } = options
  progress.step('dead letters')
  let left = 0
  await records.clearLetters()
  for await (const letters of readLetters(dir, manifest, pipeline)) {
    const asked = letters.flatMap((letter) => {
      const event = records.eventOf(letter)
      return event === undefined ? [] : [{ letter, event }]
    })
    const stored = await tables.storedAmong(asked.map(({ event }) => event))
    const leftOut = new Set(asked.filter((_, i) => stored.has(i)).map(({ letter }) => letter))
    left += leftOut.size
    await records.addLetters(letters.filter((letter) => !leftOut.has(letter)))
  }
  await records.placeLetters()
  return left
}

/** A backup does not hold the archive's objects. Counts those that the user must still copy. */
async function missingObjects(dir: string, manifest: BackupManifest, options: RestoreOptions): Promise<number> {
  options.progress.step('objects of the archive')
  const present = options.archive.list()[Symbol.asyncIterator]()
  let found = await present.next()
  let missing = 0
  for await (const objects of readObjects(dir, manifest)) {
    for (const { key, bytes } of objects) {
      while (!found.done && found.value.key < key) found = await present.next()
      if (found.done || found.value.key !== key || found.value.bytes !== bytes) missing++
    }
  }
  await present.return?.()
  return missing
}

/** Fills the dedup window from the stored events, so that a sender may repeat an event that came too late for the backup. */
async function fillWindow({ tables, records, clock, progress }: RestoreOptions): Promise<number> {
  progress.step('dedup window')
  let remembered = 0
  for await (const events of tables.eventsSince(clock.now() - records.windowMs)) {
    await records.remember(events)
    remembered += events.length
  }
  return remembered
}
