import type { OriginCounts } from '../../pipeline/event/origins.ts'
import { utcDay } from '../../pipeline/event/outcomes.ts'
import type { Clock } from '../../run/clock.ts'
import type { RedisClient } from '../../stores/redis/connect.ts'
import { answeredOr } from '../../stores/redis/errors.ts'
import { keys } from '../../stores/redis/keys.ts'
import { loadScript } from '../../stores/redis/scripts.ts'
import type { OriginStore } from '../origins.ts'
import { RedisTenantStore } from './tenant-store.ts'

const answered = answeredOr('the store of network counts does not answer')

const DAY_MS = 86_400_000
const KEPT_MS = 3 * DAY_MS
/** Networks per tenant and day. A count is too low by at most a 65th of all events. */
const NETWORKS_MAX = 64
/** Field that counts all events. Names of networks begin with their class, so none has this name. */
const EVENTS = 'events'

const NOTHING: OriginCounts = { events: 0, byOrigin: new Map() }

const addOriginsScript = loadScript(import.meta.url, './addOrigins-1.lua')

/** Counts of events by network, tenant and UTC day, in Redis. */
export class RedisOriginCounts implements OriginStore {
  readonly #client: RedisClient
  readonly #clock: Clock
  readonly #tenants: RedisTenantStore

  constructor(client: RedisClient, clock: Clock) {
    this.#client = client
    this.#tenants = new RedisTenantStore(client)
    this.#clock = clock
  }

  async add(tenantId: string, { events, byOrigin }: OriginCounts): Promise<OriginCounts> {
    if (!(await this.#isKept(tenantId))) return NOTHING
    const args = [KEPT_MS, NETWORKS_MAX, EVENTS, events, ...[...byOrigin].flat()]
    await answered(addOriginsScript.run(this.#client, [this.#key(tenantId, 0)], args))
    return await this.read(tenantId)
  }

  /** The counts since yesterday, 0:00 UTC. */
  async read(tenantId: string): Promise<OriginCounts> {
    const byOrigin = new Map<string, number>()
    let events = 0
    for (const daysAgo of [1, 0]) {
      const fields = await answered(this.#client.hgetall(this.#key(tenantId, daysAgo)))
      for (const [field, count] of Object.entries(fields)) {
        if (field === EVENTS) events += Number(count)
        else byOrigin.set(field, (byOrigin.get(field) ?? 0) + Number(count))
      }
    }
    return { events, byOrigin }
  }

  /** A deletion takes seconds after its mark, so this is still true when the counts are written. */
  async #isKept(tenantId: string): Promise<boolean> {
    const tenant = await this.#tenants.getTenant(tenantId)
    return tenant !== undefined && !tenant.deleting
  }

  #key(tenantId: string, daysAgo: number): string {
    return keys.origins(tenantId, utcDay(this.#clock.now() - daysAgo * DAY_MS))
  }
}
