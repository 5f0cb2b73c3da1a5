import type { KeyObject } from 'node:crypto'
import type { Plan } from '../../schemas/plans.ts'
import type { Addresses } from '../../schemas/tenant.ts'
import type { TenantRules } from '../../schemas/tenant-rules.ts'
import type { Enricher } from '../pipeline/event/enrichment.ts'
import type { AddressMask } from '../pipeline/event/pseudonym.ts'

/** A customer. Everything is scoped to one: keys, limits, quotas, dedup, accounts. */
export interface Tenant extends TenantRules {
  /** A slug of `[a-z0-9-]`, 1 to 64 characters. */
  readonly id: string
  /** Name of the plan. */
  readonly plan: string
  /** Whether raw payloads are archived. */
  readonly archive: boolean
  /** What is stored of the addresses of its events. */
  readonly addresses: Addresses
  /** Of their pseudonyms; there since addresses were first not kept in full. */
  readonly addressKey?: KeyObject
  /** ISO 8601, UTC. */
  readonly createdAt: string
  /** Whole days that events are kept; 0: for ever; undefined: as everybody's. */
  readonly retentionDays?: number
  /** Its removal was begun and is not finished. */
  readonly deleting?: boolean
}

/** Names a tenant for ever: one made anew under the name of a deleted one has another. */
export function tenantKey({ id, createdAt }: Pick<Tenant, 'id' | 'createdAt'>): string {
  return `${id}@${createdAt}`
}

/** What stands in place of a tenant's addresses; undefined when they are kept in full. */
export function addressMaskOf(tenant: Pick<Tenant, 'id' | 'addresses' | 'addressKey'>): AddressMask | undefined {
  const { id, addresses, addressKey } = tenant
  if (addresses === 'full') return undefined
  // An address that is not to be stored is not stored, whatever else is wrong.
  if (addressKey === undefined) throw new Error(`tenant ${id} has no key for its addresses`)
  return { keep: addresses, key: addressKey }
}

/** What is known of addresses, as a tenant's rules have it. */
export type TenantEnricher = (enricher: Enricher, tenant: Tenant) => Enricher

/** A tenant with its plan resolved, as a request sees it. */
export interface Caller {
  readonly tenant: Tenant
  readonly plan: Plan
}

/** An API key as it is listed: no store has the raw key. */
export interface ApiKey {
  /** First 12 characters of the raw key and a fixed run of bullets. */
  readonly prefix: string
  readonly tenantId: string
  readonly createdAt: string
  readonly lastUsed: string | undefined
  readonly revokedAt: string | undefined
}

/** Tells whose key it is. */
export interface Authenticator {
  /**
   * The caller, or undefined when the key is unknown or revoked. Answers without a promise when it knows (the key is in
   * the cache). Rejects with `UnavailableError` when the store is away and the cache does not know.
   */
  authenticate(rawKey: string): Caller | undefined | Promise<Caller | undefined>
}

/** State of a token bucket after a request took its token, or failed to. */
export interface RateDecision {
  readonly allowed: boolean
  /** Size of the bucket. */
  readonly limit: number
  /** Whole tokens left. */
  readonly remaining: number
  /** Seconds until the bucket is full again, rounded up. */
  readonly resetSeconds: number
  /** Seconds until a token is there; at least 1 when refused, 0 when allowed. */
  readonly retryAfterSeconds: number
}

export interface RateLimiter {
  /**
   * Takes one token of the tenant's bucket. Answers without a promise when it holds tokens of that bucket. Rejects with
   * `UnavailableError`.
   */
  take(caller: Caller): RateDecision | Promise<RateDecision>
}
