import { randomUUID } from 'node:crypto'
import { mkdir, readdir, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { BackupManifest, BackupTable, TenantCopy } from '../../../schemas/backup.ts'
import { BACKUP_FORMAT } from '../../../schemas/forms.ts'
import type { Clock } from '../../run/clock.ts'
import { InputError, UnavailableError } from '../../run/errors.ts'
import { TableMeters } from './figures.ts'
import { jsonLines, syncFolder, writeLines } from './files.ts'
import { writeManifest } from './manifest.ts'
import type { ArchiveList, RecordSource, TableShape, TableSource } from './ports.ts'
import type { Progress } from './progress.ts'

export interface BackupOptions {
  readonly tables: TableSource
  readonly records: RecordSource
  readonly archive: ArchiveList
  /** Version of ipid. */
  readonly version: string
  readonly clock: Clock
  readonly progress: Progress
  /** How long to wait until all events answered before the call are stored, milliseconds. */
  readonly waitMs: number
  /** Called for every piece of the tables, and for every object of the archive; throws to end the work. */
  readonly mayGoOn?: () => void
}

/**
 * Writes a backup while everything runs. It holds all events answered before the call, and some of those that arrive later.
 *
 * The order makes it consistent. Dead letters come before the tables, because a retry moves an event from letters to tables.
 * New letters come again after the tables; a restore skips a letter whose event is stored. Tenants come last, so that every
 * event has its tenant. The progress of pulls comes first: later items are fetched again after a restore, as repeats.
 * @param dir absolute path of the folder to create
 * @throws InputError when the folder is not empty or cannot be created; UnavailableError when its disk is full
 */
export async function writeBackup(dir: string, options: BackupOptions): Promise<BackupManifest> {
  await assertFreeFolder(dir)
  const part = `${dir}.${process.pid}.part`
  const parents = await createPart(part)
  try {
    const manifest = await writeFiles(part, options)
    await writeManifest(part, manifest)
    await syncFolder(part)
    // `rename` replaces an empty folder.
    await rename(part, dir)
    for (const parent of parents) await syncFolder(parent)
    return manifest
  } catch (error) {
    await rm(part, { recursive: true, force: true })
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
    throw new UnavailableError(`the disk of ${dirname(dir)} is full: make room, or take a folder on another disk`, {
      cause: error,
    })
  }
}

async function assertFreeFolder(dir: string): Promise<void> {
  const names = await readdir(dir).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw new InputError(`cannot write a backup to ${dir}: ${error.message}`)
  })
  if (names.length > 0) throw new InputError(`${dir} is not empty: give a new folder`)
}

/** Creates the folder and its missing parents. Returns the folders that got a new entry: they must be synced. */
async function createPart(part: string): Promise<string[]> {
  try {
    await rm(part, { recursive: true, force: true })
    const created = await mkdir(dirname(part), { recursive: true })
    await mkdir(part, { mode: 0o700 })
    const parents = [dirname(part)]
    while (created !== undefined && parents.at(-1) !== dirname(created)) parents.push(dirname(parents.at(-1)!))
    return parents
  } catch (error) {
    throw new InputError(`cannot create the backup folder: ${(error as Error).message}`)
  }
}

async function writeFiles(folder: string, options: BackupOptions): Promise<BackupManifest> {
  const { tables, records, archive, clock, progress } = options
  const receivedBefore = isoTime(clock.now())
  const partitions = await records.partitions()
  const sinceMs = await records.partitionsSinceMs()
  const pulls = await writeLines(folder, 'pulls.ndjson.gz', jsonLines(records.pulls()))
  progress.step('waiting until all received events are stored')
  await records.untilStored(options.waitMs)

  let written: BackupTable[] = []
  const meters = new TableMeters()
  const migrations = await tables.migrations()
  // The file of letters stays open while the tables are read.
  const deadLetters = await writeLines(
    folder,
    'dead-letters.ndjson.gz',
    lettersAround(records, async () => {
      written = await writeTables(folder, await tables.tables(), meters, options)
    }),
  )
  progress.step('tenants')
  let keys = 0
  const onTenant = (tenant: TenantCopy) => {
    keys += tenant.keys.length
  }
  const tenants = await writeLines(folder, 'tenants.ndjson.gz', jsonLines(noted(records.tenants(), onTenant)))
  progress.step('objects of the archive')
  const objects = await writeLines(
    folder,
    'archive.ndjson.gz',
    jsonLines(noted(archive.list(), () => options.mayGoOn?.())),
  )
  const counts = { tenants: tenants.lines, keys, pulls: pulls.lines, dead_letters: deadLetters.lines }
  const ofTables = meters.figures()
  return {
    format: BACKUP_FORMAT,
    id: randomUUID(),
    ipid_version: options.version,
    created_at: isoTime(clock.now()),
    received_before: receivedBefore,
    partitions,
    ...(sinceMs > 0 && { partitions_since: sinceMs }),
    migrations,
    tables: written,
    tenants,
    pulls,
    dead_letters: deadLetters,
    archive: { place: archive.place, file: objects },
    ...(ofTables && { figures: { ...ofTables, ...counts } }),
  }
}

/** Passes values on, and calls `note` with each. */
async function* noted<T>(values: AsyncIterable<T>, note: (value: T) => void): AsyncGenerator<T> {
  for await (const value of values) {
    note(value)
    yield value
  }
}

/** Yields the letters, runs `work`, and yields the letters that came meanwhile. */
async function* lettersAround(records: RecordSource, work: () => Promise<void>): AsyncGenerator<Buffer> {
  yield* jsonLines(records.letters())
  await work()
  yield* jsonLines(records.letters())
}

async function writeTables(
  folder: string,
  shapes: readonly TableShape[],
  meters: TableMeters,
  { tables, progress, mayGoOn }: BackupOptions,
): Promise<BackupTable[]> {
  const written: BackupTable[] = []
  for (const [index, shape] of shapes.entries()) {
    const name = `${String(index + 1).padStart(2, '0')}-${fileNameOf(shape.table)}.tsv.gz`
    const onLines = progress.rows(shape.table)
    const meter = meters.of(shape)
    const rows = noted(tables.rows(shape), (piece) => {
      mayGoOn?.()
      meter?.push(piece)
    })
    written.push({ ...shape, file: await writeLines(folder, name, rows, onLines) })
  }
  return written
}

/** A safe file name for a table. */
function fileNameOf(table: string): string {
  return table
    .toLowerCase()
    .replace(/[^a-z0-9_]/g, '-')
    .slice(0, 60)
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString()
}
