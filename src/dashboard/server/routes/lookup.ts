import { PAGE_LOOKUPS_MAX, SKIPPED_MAX } from '../../../../schemas/dashboard/limits.ts'
import { type ExplainedAddress, type PageLookupAnswer, PageLookupBody } from '../../../../schemas/dashboard/lookup.ts'
import { type Plans, planOf } from '../../../../schemas/plans.ts'
import { quotaObject, takeQuota } from '../../../http/api/quota.ts'
import type { Lookup, LookupService } from '../../../lookup/lookup.ts'
import type { Address } from '../../../pipeline/event/address.ts'
import { readAddress } from '../../../pipeline/event/client-address.ts'
import { cutText } from '../../../run/cut-text.ts'
import { InputError } from '../../../run/errors.ts'
import type { Limiter } from '../../../tenants/limits/limits.ts'
import type { Tenant } from '../../../tenants/tenancy.ts'
import { type DashboardRoute, json, route } from '../route.ts'

export interface LookupDependencies {
  readonly lookups: Pick<LookupService, 'lookup'>
  /** Providers of a lookup, in order of trust. */
  readonly asked: () => readonly string[]
  /** Applies the tenant's rules to a lookup. Returns the rule that decided, if any. */
  readonly judge: (
    lookup: Lookup,
    address: Address,
    tenant: Tenant,
  ) => { readonly lookup: Lookup; readonly rule: string | undefined }
  /** Attribution that the licence of a provider's data requires. */
  readonly attributionOf: (provider: string) => string | undefined
  readonly quota: Limiter
  readonly plans: Plans
}

/** Concurrent lookups, because reverse DNS is slow. */
const AT_ONCE = 64
/** Longer than any address with its port. */
const SHOWN_CHARS = 100

/** `POST /api/tenants/:tenant/lookup`: looks up addresses and explains the results. Uses the tenant's daily quota. */
export function lookupRoute({
  lookups,
  asked,
  judge,
  attributionOf,
  quota,
  plans,
}: LookupDependencies): DashboardRoute {
  return route({
    method: 'POST',
    path: '/api/tenants/:tenant/lookup',
    // It uses up the quota.
    access: 'member',
    changes: false,
    body: PageLookupBody,
    async handle({ tenant, body }) {
      const { addresses, skipped } = addressesIn(body.text)
      if (addresses.length === 0) throw new InputError('this text contains no IPv4 or IPv6 address')
      if (addresses.length > PAGE_LOOKUPS_MAX) {
        throw new InputError(`this text has ${addresses.length} addresses: give at most ${PAGE_LOOKUPS_MAX}`)
      }
      const decision = await takeQuota(quota, { tenant, plan: planOf(plans, tenant) }, addresses.length)
      const results: ExplainedAddress[] = []
      for (let at = 0; at < addresses.length; at += AT_ONCE) {
        const part = addresses.slice(at, at + AT_ONCE)
        const found = await Promise.all(part.map((address) => lookups.lookup(address, {})))
        results.push(...found.map((lookup, i) => explained(judge(lookup, part[i]!, tenant))))
      }
      const answer: PageLookupAnswer = {
        results,
        skipped: skipped.slice(0, SKIPPED_MAX),
        skipped_count: skipped.length,
        asked: [...asked()],
        attributions: attributionsOf(results, attributionOf),
        quota: quotaObject(decision),
      }
      return json(answer)
    },
  })
}

/** Separators of addresses in lists, logs, CSV and JSON, including the port after `[::1]`. */
const BETWEEN = /(?:\]:\d{1,5}(?!\d)|[\s,;|"'`()<>{}[\]=])+/

/** Distinct addresses of a text, in order, without ports. */
export function addressesIn(text: string): { readonly addresses: Address[]; readonly skipped: string[] } {
  const addresses = new Map<string, Address>()
  const skipped: string[] = []
  for (const word of text.split(BETWEEN)) {
    // Remove punctuation, but keep `::` at the end of an address. Skip words that are too long for an address.
    const bare = word.length > SHOWN_CHARS ? word : word.replace(/(?<!\.)\.+$|(?<!:):$/, '')
    if (bare === '') continue
    const address = bare.length > SHOWN_CHARS ? undefined : readAddress(bare)
    if (address === undefined) skipped.push(cutText(bare, SHOWN_CHARS))
    else addresses.set(address.text, address)
  }
  return { addresses: [...addresses.values()], skipped }
}

function explained({ lookup, rule }: ReturnType<LookupDependencies['judge']>): ExplainedAddress {
  const { address, data, provenance, noise, classification, quality, companyId } = lookup
  return {
    ip: address,
    status: noise ? 'filtered' : 'ok',
    classification: classification ?? null,
    quality,
    company_id: noise ? null : companyId || null,
    tenant_rule: rule ?? null,
    rule: lookup.rule,
    attributes: Object.entries(data).map(([name, value]) => {
      const source = provenance[name as keyof typeof provenance]
      const { provider = '', network = null, word = null, precision = null } = source ?? {}
      return { name, value, provider, network, word, precision }
    }),
    answered: [...lookup.answered],
    partial: [...lookup.partial],
  }
}

function attributionsOf(results: readonly ExplainedAddress[], attributionOf: LookupDependencies['attributionOf']) {
  const answered = new Set(results.flatMap((result) => result.answered))
  return [...answered].flatMap((provider) => {
    const text = attributionOf(provider)
    return text === undefined ? [] : [{ provider, text }]
  })
}
