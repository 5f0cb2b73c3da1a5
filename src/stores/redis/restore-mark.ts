import { StartupError } from '../../run/errors.ts'
import type { RedisClient } from './connect.ts'
import { keys } from './keys.ts'

/** Marks an unfinished restore. */
interface RestoreMark {
  readonly backup_id: string
}

export async function readMark(client: RedisClient): Promise<RestoreMark | undefined> {
  const text = await client.get(keys.restore())
  return text === null ? undefined : (JSON.parse(text) as RestoreMark)
}

export async function writeMark(client: RedisClient, mark: RestoreMark): Promise<void> {
  await client.set(keys.restore(), JSON.stringify(mark))
}

export async function removeMark(client: RedisClient): Promise<void> {
  await client.del(keys.restore())
}

/** @throws StartupError when a restore was not finished, so the stores are incomplete */
export async function assertNoRestore(client: RedisClient): Promise<void> {
  if ((await readMark(client)) === undefined) return
  throw new StartupError(
    'a restore of a backup was not finished, so data are missing: run "ipid restore" again with the same backup, or begin with empty stores',
  )
}
