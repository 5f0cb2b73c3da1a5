import { setTimeout as sleep } from 'node:timers/promises'
import { inspect } from 'node:util'

/** How long a condition may take on a busy machine before it counts as never coming. */
const WITHIN_MS = Number(process.env.TEST_WAIT_MS ?? 90_000)
/** Polls often at first, then every tenth of the time waited: a poll takes CPU from the code it waits for. */
const EVERY_MS = { min: 5, max: 200, share: 0.1 }

/** Waits until `read` returns something truthy, and returns it. A `read` that rejects ends the wait. */
export async function until<T>(read: () => T | Promise<T>): Promise<NonNullable<T>>
/**
 * Waits until the result of `read` fulfils `holds`, and returns it. A failing `read` or `holds` counts as not yet: the store
 * may be down.
 */
export async function until<T>(
  read: () => T | Promise<T>,
  holds: (value: T) => boolean,
  withinMs?: number,
): Promise<NonNullable<T>>
export async function until<T>(
  read: () => T | Promise<T>,
  holds?: (value: T) => boolean,
  withinMs = WITHIN_MS,
): Promise<NonNullable<T>> {
  const start = performance.now()
  for (;;) {
    let seen: unknown
    try {
      const value = await read()
      if (holds === undefined ? value : holds(value)) return value as NonNullable<T>
      seen = value
    } catch (error) {
      if (holds === undefined) throw error
      seen = error
    }
    const waitedMs = performance.now() - start
    if (waitedMs > withinMs) {
      throw new Error(`not true within ${withinMs} ms: ${holds ?? read}, last seen: ${inspect(seen)}`)
    }
    await sleep(Math.min(EVERY_MS.max, Math.max(EVERY_MS.min, waitedMs * EVERY_MS.share)))
  }
}
