import type { Config } from '../../../config/config.ts'
import { InputError } from '../../../run/errors.ts'
import type { CliContext } from '../../../terminal/context.ts'
import { asInstance, redisUrlOf } from '../../../terminal/instance.ts'
import { printJson, printPairs } from '../../../terminal/print.ts'
import { withRedis } from '../../../terminal/stores.ts'
import { BackupPlace } from '../place.ts'
import { backupInstance } from '../redis/schedule-store.ts'

/**
 * Makes the instance the owner of BACKUP_URL. An earlier owner that still runs writes and removes no backup there any more.
 * @throws InputError without BACKUP_URL; UnavailableError when the place does not answer
 */
export async function takeOver(given: Config, { stdout }: CliContext, json: boolean): Promise<void> {
  const config = await asInstance(given)
  if (config.backupUrl === undefined) throw new InputError('BACKUP_URL is not set: it is the place to take over')
  const place = new BackupPlace(config.backupUrl)
  try {
    const instance = await withRedis(await redisUrlOf(config), backupInstance)
    // A damaged file is replaced.
    const before = await place.owner().catch(() => undefined)
    await place.take(instance, Date.now())
    if (json) return printJson(stdout, { place: place.location, instance, before: before ?? null })
    const isOther = before !== undefined && before.instance !== instance
    printPairs(stdout, [
      ['place', place.location],
      ['owner', instance],
      ['before', isOther ? `${before.instance} on ${before.host}, since ${before.since}` : null],
    ])
  } finally {
    await place.close()
  }
}
