import { type OriginCounts, OriginTally } from '../../core/event/origins.ts'
import { utcDay } from '../../core/event/outcomes.ts'
import type { Clock } from '../../core/run/clock.ts'
import { UnavailableError } from '../../core/run/errors.ts'
import type { OriginStore } from '../../tenants/origins.ts'
import type { RedisClient } from '../connect.ts'
import { keys } from '../keys.ts'
import { loadScript } from '../scripts.ts'

const DAY_MS = 86_400_000
const KEPT_MS = 3 * DAY_MS
/** Networks of a tenant's day; further ones are left out, and they are of a small share. */
const FIELDS_MAX = 256
/** The field of all events. No network is called like this: each begins with its class. */
const EVENTS = 'events'

const addOriginsScript = loadScript('addOrigins-1')

/** Where the events of tenants come from, by UTC day, in Redis. */
export class RedisOriginCounts implements OriginStore {
  readonly #client: RedisClient
  readonly #clock: Clock

  constructor(client: RedisClient, clock: Clock) {
    this.#client = client
    this.#clock = clock
  }

  async add(tenantId: string, { events, byOrigin }: OriginCounts): Promise<OriginCounts> {
    const args = [KEPT_MS, FIELDS_MAX, EVENTS, events, ...[...byOrigin].flat()]
    try {
      await addOriginsScript.run(this.#client, [this.#key(tenantId, 0)], args)
      return await this.read(tenantId)
    } catch (error) {
      throw new UnavailableError('the counts of networks cannot be written', { cause: error })
    }
  }

  /** The counts since yesterday, 0:00 UTC. */
  async read(tenantId: string): Promise<OriginCounts> {
    const sum = new OriginTally()
    for (const daysAgo of [1, 0]) {
      const fields = await this.#client.hgetall(this.#key(tenantId, daysAgo))
      const { [EVENTS]: events = '0', ...others } = fields
      const largest = Object.entries(others).map(([origin, count]) => [origin, Number(count)] as const)
      largest.sort((a, b) => a[1] - b[1])
      sum.addAll({ events: Number(events), byOrigin: new Map(largest) })
    }
    return sum
  }

  #key(tenantId: string, daysAgo: number): string {
    return keys.origins(tenantId, utcDay(this.#clock.now() - daysAgo * DAY_MS))
  }
}
