import { constants } from 'node:fs'
import { stat } from 'node:fs/promises'
import { archiveLocationOf } from '../../config/config.ts'
import type { ArchiveLocation } from '../../pipeline/declaration/destination.ts'
import { openObjectStore } from '../../pipeline/sinks/archive/destination.ts'
import type { RedisClient } from '../../stores/redis/connect.ts'
import { readSchedule } from '../backup/redis/schedule-store.ts'
import { backupStatus } from '../backup/status.ts'
import { backupProblem, backupText } from '../status/words.ts'
import { ANSWER_MS, type Finding, findingsOf, type Subject } from './finding.ts'
import { may, nearest, statIfThere } from './paths.ts'

/** Whether the folder or bucket of the archive answers. Reads one page of its list and writes nothing. */
export async function checkArchive({ config }: Subject): Promise<Finding[]> {
  const why = 'Payloads wait in Redis, and later tenants with an archive get 429.'
  return [await placeFinding('archive', archiveLocationOf(config), 'ARCHIVE_URL', why)]
}

/** Whether the place of backups answers, and is on another disk than the data. */
export async function checkBackupPlace({ config }: Subject): Promise<Finding[]> {
  const { backupUrl, dataDir } = config
  const { risk, problem } = findingsOf('backups')
  if (backupUrl === undefined) {
    const remedy = 'set BACKUP_URL to a bucket or a folder on another disk, or run "./ipid backup DIR" by schedule'
    return [risk('BACKUP_URL is not set: no backups by schedule', 'A lost disk loses every event and key.', remedy)]
  }
  if ('folder' in backupUrl && !(await statIfThere(backupUrl.folder))?.isDirectory()) {
    const remedy = `mount the disk of backups, or run "mkdir -p ${backupUrl.folder}" on it`
    return [problem(`${backupUrl.folder} is no folder`, 'Scheduled backups fail: ipid does not make it.', remedy)]
  }
  const found = await placeFinding('backups', backupUrl, 'BACKUP_URL', 'Scheduled backups fail.')
  if (!('folder' in backupUrl)) return [found]
  const [here, there] = await Promise.all([deviceOf(dataDir), deviceOf(backupUrl.folder)])
  if (here !== there || found.level !== 'fine') return [found]
  const remedy = 'set BACKUP_URL to a bucket, or to a folder on another disk or machine'
  return [risk(`${backupUrl.folder} is on the disk of DATA_DIR`, 'A lost disk loses the backups too.', remedy)]
}

/** Age and success of the last scheduled backup. */
export async function checkBackups(client: RedisClient): Promise<Finding[]> {
  const { problem, fine } = findingsOf('backups')
  const status = backupStatus(await readSchedule(client), Date.now())
  if (status === null) return []
  const bad = backupProblem(status)
  if (bad === undefined) return [fine(backupText(status))]
  return [
    problem(
      `${bad} (${backupText(status)})`,
      'After a loss, everything since the last one is gone.',
      'fix the fault in the message; ipid tries again by itself',
    ),
  ]
}

async function placeFinding(check: string, place: ArchiveLocation, setting: string, why: string): Promise<Finding> {
  const { problem, fine } = findingsOf(check)
  if ('folder' in place) {
    const path = await nearest(place.folder)
    if (await may(path, constants.W_OK | constants.X_OK)) return fine(`${place.folder} can be written`)
    return problem(
      `${place.folder} cannot be written`,
      why,
      `give this user the rights on ${path}, or change ${setting}`,
    )
  }
  const store = openObjectStore(place)
  const late = setTimeout(() => store.abort(), ANSWER_MS)
  try {
    for await (const _ of store.list('')) break
    return fine(`${store.location} answers`)
  } catch (error) {
    const remedy = `check endpoint, bucket and region in ${setting}, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and their rights to list, read, write and delete`
    return problem((error as Error).message, why, remedy)
  } finally {
    clearTimeout(late)
    await store.close()
  }
}

async function deviceOf(path: string): Promise<number> {
  return (await stat(await nearest(path))).dev
}
