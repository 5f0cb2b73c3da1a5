import { existsSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { isUrl, readArchiveUrl } from '../../../config/archive-url.ts'
import { shown } from '../../../config/values.ts'
import type { ArchiveLocation } from '../../../pipeline/declaration/destination.ts'
import { systemClock as clock } from '../../../run/clock.ts'
import { InputError } from '../../../run/errors.ts'
import { withTemporaryFolder } from '../../../terminal/temporary-folder.ts'
import { MANIFEST } from '../manifest.ts'
import { BackupPlace } from '../place.ts'
import { BackupRefusedError } from '../ports.ts'
import type { Progress } from '../progress.ts'

/**
 * Runs `use` with a folder that has the files of a backup. A backup in a bucket is copied into a temporary folder first.
 * @param from a folder, or the URL of a folder or bucket; a place of scheduled backups means its newest whole one
 */
export async function withBackupFolder<T>(
  from: string,
  progress: Progress,
  use: (dir: string) => Promise<T>,
): Promise<T> {
  const location = locationOf(from)
  if ('folder' in location) return await use(await folderOf(location.folder, progress))
  return await withTemporaryFolder('ipid-backup-', async (dir) => {
    await fetchBackup(location, dir, progress)
    return await use(dir)
  })
}

function locationOf(from: string): ArchiveLocation {
  if (!isUrl(from)) return { folder: resolve(from) }
  try {
    return readArchiveUrl(from)
  } catch (error) {
    throw new InputError(`${shown(from)}: ${(error as Error).message}`)
  }
}

async function folderOf(folder: string, progress: Progress): Promise<string> {
  if (existsSync(join(folder, MANIFEST)) || !existsSync(folder)) return folder
  const name = await newestIn({ folder }, progress)
  return name === undefined ? folder : join(folder, name)
}

async function fetchBackup(
  location: Exclude<ArchiveLocation, { folder: string }>,
  dir: string,
  progress: Progress,
): Promise<void> {
  const newest = await newestIn(location, progress)
  // Without one, the last part of the prefix is the name of a backup.
  const [prefix, name] =
    newest === undefined ? [dirname(location.prefix), basename(location.prefix)] : [location.prefix, newest]
  if (name === '') throw new BackupRefusedError(`s3://${location.bucket}/ has no whole backup`)
  const place = new BackupPlace({ ...location, prefix: prefix === '.' ? '' : prefix })
  try {
    progress.step(`copying ${name} from ${place.location}`)
    await place.fetch(name, dir)
  } finally {
    await place.close()
  }
}

/** The newest whole backup of a place; undefined: it has none. */
async function newestIn(location: ArchiveLocation, progress: Progress): Promise<string | undefined> {
  const place = new BackupPlace(location)
  try {
    const name = await place.newest(clock.now())
    if (name !== undefined) progress.step(`the newest whole backup in ${place.location} is ${name}`)
    return name
  } finally {
    await place.close()
  }
}
