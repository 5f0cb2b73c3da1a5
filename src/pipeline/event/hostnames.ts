import type { Address } from './address.ts'

/** Reverse DNS for those who enrich without waiting: what was asked for here is known to `Enricher.enrich` afterwards. */
export interface Hostnames {
  /**
   * Asks for the host names of all of them at once. Resolves when all are known, or when the time for it is up; names
   * that come later are kept for the next time. Never rejects.
   */
  prefetch(addresses: readonly Address[]): Promise<void>
}
