import type { RedisClient } from './connect.ts'
import { loadScript } from './scripts.ts'

const claimNameScript = loadScript(import.meta.url, './claimName-1.lua')
const giveUpNameScript = loadScript(import.meta.url, './giveUpName-1.lua')

interface ClaimOptions {
  readonly ttlMs: number
  /** An id that the caller knows to hold the name, and may replace. */
  readonly known?: string
  /** Whether an id still means something. One that does not is replaced, and must never mean something again. */
  readonly exists: (id: string) => Promise<boolean>
}

/**
 * Claims a name for an id. Of several ids that claim it at the same time, one gets it.
 * @param key of the name: a string with the id that holds it
 * @returns undefined when the claim succeeded, else the id that holds the name
 */
export async function claimName(
  client: RedisClient,
  key: string,
  id: string,
  { ttlMs, known = '', exists }: ClaimOptions,
): Promise<string | undefined> {
  for (let replaced = known; ; ) {
    const holder = String(await claimNameScript.run(client, [key], [id, replaced, ttlMs]))
    if (holder === '') return undefined
    if (await exists(holder)) return holder
    replaced = holder
  }
}

/** Gives a name up that the id may hold. Of another id it takes nothing. May be repeated. */
export async function giveUpName(client: RedisClient, key: string, id: string): Promise<void> {
  await giveUpNameScript.run(client, [key], [id])
}
