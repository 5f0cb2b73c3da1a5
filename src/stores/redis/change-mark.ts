import { StartupError } from '../../run/errors.ts'
import type { RedisClient } from './connect.ts'
import { keys } from './keys.ts'
import { loadScript } from './scripts.ts'

const setScript = loadScript(import.meta.url, './setAboveMaxmemory-1.lua')

/** A change of the number of partitions that was begun. It is there until everything is in its place. */
export interface ChangeMark {
  readonly from: number
  readonly to: number
  /** False while it is only found out whether the number may be changed. */
  readonly moving: boolean
}

export async function readChange(client: RedisClient): Promise<ChangeMark | undefined> {
  const text = await client.get(keys.partitionsChange())
  return text === null ? undefined : (JSON.parse(text) as ChangeMark)
}

export async function writeChange(client: RedisClient, mark: ChangeMark): Promise<void> {
  await setScript.run(client, [keys.partitionsChange()], [JSON.stringify(mark)])
}

/** Writes the number of partitions that there are now. */
export async function writePartitions(client: RedisClient, partitions: number, nowMs: number): Promise<void> {
  await setScript.run(client, [keys.partitionsSince()], [nowMs])
  await setScript.run(client, [keys.partitions()], [partitions])
}

/** When the number of partitions was raised, milliseconds since 1970; 0: never. */
export async function partitionsSince(client: RedisClient): Promise<number> {
  return Number((await client.get(keys.partitionsSince())) ?? 0)
}

export async function removeChange(client: RedisClient): Promise<void> {
  await client.del(keys.partitionsChange())
}

/** @throws StartupError when the number of partitions is being changed: what they hold is not in its place */
export async function demandInPlace(client: RedisClient): Promise<void> {
  const mark = await readChange(client)
  if (mark === undefined) return
  throw new StartupError(
    `partitions are being changed to ${mark.to}, or that was broken off: run "ipid partitions ${mark.to}", which goes on where it was`,
  )
}

/**
 * The number of partitions that this Redis holds; 0 when no ipid has run on it.
 * @throws StartupError while it is being changed
 */
export async function partitionsOf(client: RedisClient): Promise<number> {
  await demandInPlace(client)
  return Number((await client.get(keys.partitions())) ?? 0)
}
