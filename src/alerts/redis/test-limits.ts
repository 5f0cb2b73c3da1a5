import { createHash } from 'node:crypto'
import { ALERT_LIMITS } from '../../../schemas/alert.ts'
import { BackpressureError } from '../../run/errors.ts'
import type { RedisClient } from '../../stores/redis/connect.ts'
import { keys } from '../../stores/redis/keys.ts'
import { loadScript } from '../../stores/redis/scripts.ts'
import { answered } from './delivery-store.ts'

const takeScript = loadScript(import.meta.url, './takeTests-N.lua')

/** The subjects of limits, with the text that a person reads when one is reached. */
export interface TestLimit {
  readonly of: 'member' | 'destination' | 'message'
  readonly id: string
  /** For example `you sent 5 tests`. */
  readonly reached: string
}

/** Limits the messages that people request, so that the alerts of a tenant cannot be used to flood someone. */
export class RedisTestLimits {
  readonly #client: RedisClient

  constructor(client: RedisClient) {
    this.#client = client
  }

  /** @throws BackpressureError when one of the limits is reached; then none of them counts the message */
  async take(tenantId: string, limits: readonly TestLimit[]): Promise<void> {
    const { testsMax, testsMinutes } = ALERT_LIMITS
    const names = limits.map(({ of, id }) => keys.alertTests(tenantId, `${of}:${digestOf(id)}`))
    const result = await answered(takeScript.run(this.#client, names, [testsMax, testsMinutes * 60_000]))
    if (!Array.isArray(result)) return
    const [number, leftMs] = result.map(Number) as [number, number]
    const minutes = Math.max(1, Math.ceil(leftMs / 60_000))
    throw new BackpressureError(
      `${limits[number - 1]!.reached} in the last ${testsMinutes} minutes: try again in ${minutes} ${minutes === 1 ? 'minute' : 'minutes'}`,
      leftMs / 1_000,
      'rate',
    )
  }
}

/** Names of people and addresses stay out of the names of keys. */
function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32)
}
