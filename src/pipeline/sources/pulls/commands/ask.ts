import { randomUUID } from 'node:crypto'
import { systemClock } from '../../../../run/clock.ts'
import { InputError } from '../../../../run/errors.ts'
import type { RedisClient } from '../../../../stores/redis/connect.ts'
import type { TenantAdmin } from '../../../../tenants/admin.ts'
import type { StoredSource } from '../../../../tenants/stores.ts'
import { askForRun } from '../redis/pull-store.ts'

const DAY = /^\d{4}-\d\d-\d\d$/

/** @throws InputError when the text is not a UTC day that has begun */
export function readPastDay(text: string): string {
  const ms = DAY.test(text) ? Date.parse(text) : Number.NaN
  const isDay = !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(text)
  if (!isDay || ms > systemClock.now())
    throw new InputError(`--from "${text}": must be a UTC day of the past, YYYY-MM-DD`)
  return text
}

/**
 * Asks for a run now, and for the past since a day.
 * @throws InputError when ipid does not pull this source, or it is paused or revoked
 */
export async function askRun(
  client: RedisClient,
  admin: TenantAdmin,
  id: string,
  from: string | undefined,
): Promise<StoredSource> {
  const found = await pulledSource(admin, id)
  if (found.source.pull!.paused === true) throw new InputError(`source ${id} is paused: "source resume ${id}" first`)
  await askForRun(client, id, { id: randomUUID(), ...(from !== undefined && { from }) })
  return found
}

/** Stops a source after the job in progress, or continues it. */
export async function setPaused(admin: TenantAdmin, id: string, paused: boolean): Promise<StoredSource> {
  const { pull } = (await pulledSource(admin, id)).source
  return await admin.setSource(id, { pull: { ...pull!, paused } })
}

async function pulledSource(admin: TenantAdmin, id: string): Promise<StoredSource> {
  const found = await admin.getSource(id)
  if (found.revokedAt !== undefined) throw new InputError(`source ${id} is revoked`)
  if (found.source.pull === undefined) {
    throw new InputError(`source ${id} is of the kind ${found.source.kind}: its events are sent, and not fetched`)
  }
  return found
}
