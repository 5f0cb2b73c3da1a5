import type { KeyObject } from 'node:crypto'
import type { SourceFacts } from '../../schemas/api-key.ts'
import type { Maker } from '../../schemas/maker.ts'
import type { Plan } from '../../schemas/plans.ts'
import type { Addresses } from '../../schemas/tenant.ts'
import type { TenantRules } from '../../schemas/tenant-rules.ts'
import type { Enricher } from '../pipeline/event/enrichment.ts'
import type { AddressMask } from '../pipeline/event/pseudonym.ts'
import { UTC, type ZoneOf } from '../run/time-zone.ts'

/** The id of a tenant. Check a text of strangers before it becomes part of a key of Redis. */
export const TENANT_ID = /^[a-z0-9-]{1,64}$/

/** A customer. Keys, limits, quotas, dedup and accounts belong to a tenant. */
export interface Tenant extends TenantRules {
  /** As `TENANT_ID`. */
  readonly id: string
  /** Name of the plan. */
  readonly plan: string
  /** Whether to archive raw payloads. */
  readonly archive: boolean
  /** How to store addresses of its events. */
  readonly addresses: Addresses
  /** Key for pseudonyms of addresses. Kept since addresses were first masked. */
  readonly addressKey?: KeyObject
  /** ISO 8601, UTC. */
  readonly createdAt: string
  /** Whole days to keep events; 0: for ever; undefined: RETENTION_DAYS applies. */
  readonly retentionDays?: number
  /** URL of the API as the senders of its events reach it; undefined: not set. */
  readonly apiUrl?: string
  /** Whether a person closed its list of first steps. Default: false. */
  readonly firstStepsClosed?: boolean
  /** Whether its people may read the made-up visits. Default: false. */
  readonly showsSample?: boolean
  /** The last UTC day of made-up visits, `YYYY-MM-DD`, of the tenant that holds them. Pages change nothing of it. */
  readonly sampleUntil?: string
  /** IANA name of the zone of its days; undefined: UTC. */
  readonly timeZone?: string
  /** When the zone was changed; ISO 8601, UTC; undefined: never. */
  readonly timeZoneSince?: string
  /** Its deletion has begun. */
  readonly deleting?: boolean
}

/** Identifies a tenant for ever. A new tenant with the name of a deleted one has another key. */
export function tenantKey({ id, createdAt }: Pick<Tenant, 'id' | 'createdAt'>): string {
  return `${id}@${createdAt}`
}

/** The zone of a tenant's days. @param tenant undefined: it does not exist any more */
export function zoneOfTenant(tenant: Pick<Tenant, 'timeZone'> | undefined): string {
  return tenant?.timeZone ?? UTC
}

/** Zones by tenant, of those that are not in UTC. */
export function zonesByTenant(tenants: readonly Tenant[]): ReadonlyMap<string, string> {
  return new Map(tenants.flatMap((one) => (zoneOfTenant(one) === UTC ? [] : [[one.id, zoneOfTenant(one)] as const])))
}

/** Reads the zone of a tenant for each call, so that a change holds at once. */
export function zonesOf(tenants: { getTenant(id: string): Promise<Tenant | undefined> }): ZoneOf {
  return async (tenantId) => zoneOfTenant(await tenants.getTenant(tenantId))
}

/** Masks a tenant's addresses; undefined when they are kept in full. */
export function addressMaskOf(tenant: Pick<Tenant, 'id' | 'addresses' | 'addressKey'>): AddressMask | undefined {
  const { id, addresses, addressKey } = tenant
  if (addresses === 'full') return undefined
  // Fail rather than store a full address.
  if (addressKey === undefined) throw new Error(`tenant ${id} has no key for its addresses`)
  return { keep: addresses, key: addressKey }
}

/** Applies a tenant's rules to an enricher. */
export type TenantEnricher = (enricher: Enricher, tenant: Tenant) => Enricher

/** The tenant of a request, and its plan. */
export interface Caller {
  readonly tenant: Tenant
  readonly plan: Plan
  /** The source whose key the request has; undefined: it has an API key, or is of the dashboard. */
  readonly source?: CallerSource | undefined
  /** First characters of the API key (`barePrefix`); undefined: the request has none. */
  readonly keyPrefix?: string | undefined
  /** Whether it has a test key: it is checked and answered like any other, and nothing of it is stored. Default: false. */
  readonly isTest?: boolean
}

/** A source, as a request sees it. */
export interface CallerSource extends SourceFacts {
  /** See `sourceIdOf`. */
  readonly id: string
  /**
   * Whether the request has a browser key, which is in public pages: the address is that of the connection, the time that of
   * receipt, and its statements about people and accounts prove nothing.
   */
  readonly isBrowser: boolean
}

/** An API key, without its raw form. */
export interface ApiKey {
  /** First characters of the raw key (`barePrefix`), and 8 bullets. */
  readonly prefix: string
  readonly tenantId: string
  readonly createdAt: string
  readonly lastUsed: string | undefined
  readonly revokedAt: string | undefined
  /** Undefined: it was made on the command line, or by an earlier version. */
  readonly madeBy?: Maker | undefined
}

export interface Authenticator {
  /**
   * The caller, or undefined when the key is unknown or revoked. Answers without a promise from the cache. Rejects with
   * `UnavailableError` when the key is not in the cache and the store is down.
   * @param beforeAsking called before the store is asked for a key that was not known before; an error of it ends the call
   */
  authenticate(rawKey: string, beforeAsking?: () => void): Caller | undefined | Promise<Caller | undefined>
}
