import { randomBytes } from 'node:crypto'
import type { ExportPeriod } from '../../../../schemas/limits.ts'
import { UnavailableError } from '../../../run/errors.ts'
import type { RedisClient } from '../../../stores/redis/connect.ts'
import { persisted } from '../../../stores/redis/durability/persisted.ts'
import { orUnavailable } from '../../../stores/redis/errors.ts'
import { keys } from '../../../stores/redis/keys.ts'
import type { ShareLease } from '../../../stores/redis/membership.ts'

/** A scheduled backup that is whole. */
export interface KeptBackup {
  readonly name: string
  /** When it was complete, milliseconds. */
  readonly atMs: number
  readonly tookMs: number
  readonly bytes: number
}

/** The schedule of backups and its results. A status reads it without knowing the settings. */
export interface ScheduleState {
  /** The folder or bucket. */
  readonly place: string
  readonly every: ExportPeriod
  readonly at: string
  /** Since when this place is used, milliseconds. */
  readonly sinceMs: number
  /** The last due time whose backup is whole, milliseconds; 0: none. */
  readonly dueMs: number
  /** Failed attempts since then. */
  readonly failures: number
  /** No attempt before this time, milliseconds. */
  readonly retryAtMs: number
  readonly last?: KeptBackup | undefined
  /** Why the last attempt failed; undefined: it did not. */
  readonly error?: { readonly atMs: number; readonly message: string } | undefined
  /** The attempt in progress, or that of a killed process. */
  readonly attempt?: { readonly name: string; readonly dueMs: number; readonly beganMs: number } | undefined
}

/** The state of scheduled backups. @returns undefined when they are off */
export async function readSchedule(client: RedisClient): Promise<ScheduleState | undefined> {
  const json = await orUnavailable(client.get(keys.backupSchedule()), 'the store of backups does not answer')
  return json === null ? undefined : (JSON.parse(json) as ScheduleState)
}

/** The name of this instance in the place of its backups, durable before it is used. */
export async function backupInstance(client: RedisClient): Promise<string> {
  const key = keys.backupInstance()
  await client.set(key, randomBytes(8).toString('hex'), 'NX')
  await persisted(client)
  const name = await client.get(key)
  if (name === null) throw new UnavailableError('the store of backups lost the name of this instance')
  return name
}

/** @param state undefined: backups are off @throws LeaseLostError */
export async function writeSchedule(lease: ShareLease, state: ScheduleState | undefined): Promise<void> {
  await lease.write(keys.backupSchedule(), state === undefined ? '' : JSON.stringify(state))
}
