import type { LookupQuota } from '../../../schemas/api/lookup.ts'
import type { DailyQuota, QuotaDecision } from '../../tenants/quota.ts'
import type { Caller } from '../../tenants/tenancy.ts'
import { HttpError } from '../engine/http-error.ts'

/**
 * Counts addresses toward the daily quota of the caller.
 * @throws HttpError 429 when they would exceed the limit; nothing is counted then
 */
export async function takeQuota(quota: DailyQuota, caller: Caller, lookups: number): Promise<QuotaDecision> {
  const decision = await quota.take(caller, lookups)
  assertAllowed(decision)
  return decision
}

/** @throws HttpError 429 when the addresses would exceed the limit */
export function assertAllowed(decision: QuotaDecision): void {
  if (decision.allowed) return
  const detail = `the daily quota allows ${decision.limit} lookups, and ${decision.used} are used`
  const headers = { 'retry-after': String(decision.resetSeconds), ...quotaHeaders(decision) }
  throw new HttpError(429, detail, { headers, limit: 'quota' })
}

/** The quota in the response to a lookup. */
export function quotaObject({ limit, used, resetAt }: QuotaDecision): LookupQuota {
  return {
    daily_limit: limit,
    daily_used: used,
    daily_remaining: Math.max(0, limit - used),
    reset_at: resetAt,
  }
}

/** `quotaObject` as JSON. */
export function quotaJson({ limit, used, resetAt }: QuotaDecision): string {
  return `{"daily_limit":${limit},"daily_used":${used},"daily_remaining":${Math.max(0, limit - used)},"reset_at":"${resetAt}"}`
}

/** The quota as headers, for responses that are not one JSON object. */
export function quotaHeaders({ limit, used, resetAt }: QuotaDecision): Record<string, string> {
  return {
    'x-quota-limit': String(limit),
    'x-quota-used': String(used),
    'x-quota-remaining': String(Math.max(0, limit - used)),
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
