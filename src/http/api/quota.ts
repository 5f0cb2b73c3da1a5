import type { LookupQuota } from '../../../schemas/api/lookup.ts'
import type { LimitDecision, Limiter } from '../../tenants/limits/limits.ts'
import type { Caller } from '../../tenants/tenancy.ts'
import { HttpError } from '../engine/http-error.ts'

/**
 * Counts addresses toward the daily quota of the caller.
 * @throws HttpError 429 when they would exceed the limit; nothing is counted then
 */
export async function takeQuota(quota: Limiter, caller: Caller, lookups: number): Promise<LimitDecision> {
  const decision = await quota.take(caller, lookups)
  assertAllowed(decision)
  return decision
}

/** @throws HttpError 429 when the addresses would exceed the limit */
export function assertAllowed(decision: LimitDecision): void {
  const { name, allowed, limit, used, retryAfterSeconds } = decision
  if (allowed) return
  const detail = `the ${name} allows ${limit} lookups, and ${used} are used`
  const headers = { 'retry-after': String(retryAfterSeconds), ...quotaHeaders(decision) }
  throw new HttpError('quota_exceeded', detail, { headers, limit: 'quota' })
}

/** The quota in the response to a lookup. */
export function quotaObject({ limit, left, used, resetAt }: LimitDecision): LookupQuota {
  return {
    daily_limit: limit,
    daily_used: used,
    daily_remaining: Math.max(0, left),
    reset_at: resetAt,
  }
}

/** `quotaObject` as JSON. */
export function quotaJson({ limit, left, used, resetAt }: LimitDecision): string {
  return `{"daily_limit":${limit},"daily_used":${used},"daily_remaining":${Math.max(0, left)},"reset_at":"${resetAt}"}`
}

/** The quota as headers, in every answer to a lookup and in its 429. */
export function quotaHeaders({ limit, left, used, resetAt }: LimitDecision): Record<string, string> {
  return {
    'x-quota-limit': String(limit),
    'x-quota-used': String(used),
    'x-quota-remaining': String(Math.max(0, left)),
    'x-quota-reset': resetAt,
  }
}

/** Descriptions for the OpenAPI document. */
export const QUOTA_HEADERS: Readonly<Record<string, string>> = {
  'X-Quota-Limit': 'Addresses that may be looked up in a UTC day',
  'X-Quota-Used': 'Addresses looked up today, including those of this request',
  'X-Quota-Remaining': 'Addresses left today',
  'X-Quota-Reset': 'When the next day begins, like 2026-11-22T00:00:00+00:00',
}
