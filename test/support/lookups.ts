import type { BulkJobs } from '../../src/lookup/bulk.ts'
import type { Lookup, LookupOptions, LookupService } from '../../src/lookup/lookup.ts'
import type { Address } from '../../src/pipeline/event/address.ts'
import type { EnrichmentData } from '../../src/pipeline/event/enrichment.ts'
import type { Limiter } from '../../src/tenants/limits/limits.ts'

/** A lookup with every field of an answer. */
export function lookupOf(address: string, data: EnrichmentData, quality = 60, partial: readonly string[] = []): Lookup {
  return {
    address,
    data,
    provenance: {},
    classification: undefined,
    noise: false,
    rule: 'none',
    quality,
    companyId: '',
    answered: [],
    partial,
  }
}

export const ACME: EnrichmentData = {
  business_name: 'Acme',
  org_name: 'Acme, Inc.',
  hostname: 'a.acme.example',
  industry: 'Anvils',
  classification: 'business',
  asn: 64_500,
  network: '198.51.100.0/24',
  country_code: 'US',
  city: 'Springfield',
  latitude: 1.5,
}

/** Returns the answers of the test, and records its calls. */
export class TestLookups implements LookupService {
  readonly asked: { address: string; options: LookupOptions }[] = []
  answer: (address: Address, options: LookupOptions) => Lookup | Promise<Lookup>

  constructor(answer?: TestLookups['answer']) {
    this.answer = answer ?? ((address) => lookupOf(address.text, ACME))
  }

  providerNames(): readonly string[] {
    return ['companies', 'rdns']
  }

  lookup(address: Address, options: LookupOptions): Lookup | Promise<Lookup> {
    this.asked.push({ address: address.text, options })
    return this.answer(address, options)
  }
}

/** Counts, and never refuses. */
export function freeQuota(): Limiter & { used: number } {
  return {
    used: 0,
    async take(_caller, lookups) {
      this.used += lookups
      const reset = {
        resetAt: '2026-11-22T00:00:00+00:00',
        windowSeconds: 86_400,
        resetSeconds: 60,
        retryAfterSeconds: 0,
      }
      return {
        name: 'daily quota',
        allowed: true,
        limit: 1_000_000,
        left: 1_000_000 - this.used,
        used: this.used,
        ...reset,
      }
    },
  }
}

export const noBulkJobs: BulkJobs = {
  reserve: async () => {
    throw new Error('no jobs here')
  },
  repeated: async () => undefined,
  find: async () => undefined,
}
