import type { EnrichmentData } from '../pipeline/event/enrichment.ts'
import type { Evidence, Organisation } from './rules/evidence.ts'

/** What one record of one provider states. Shared between all networks with the same record, and never changed. */
export interface Facts {
  /** Tells records apart; the same record keeps its number. */
  readonly id: number
  /** Attributes that the record knows, without `network`, `classification` and `etld_plus_one`, which are made of others. */
  readonly data: Readonly<EnrichmentData>
  /** What the record says about the kind of organisation. */
  readonly evidence: Readonly<Evidence>
  /** Who uses the address, where the record is about that and not about the network that carries it. */
  readonly organisation: Organisation | undefined
  /** Whether the record is about the address, or about every address of its autonomous system. */
  readonly scope: Scope
}

export type Scope = 'address' | 'as'

let facts = 0

/** Facts with a number of their own. */
export function makeFacts(
  data: EnrichmentData,
  evidence: Evidence = {},
  organisation: Organisation | undefined = undefined,
  scope: Scope = 'address',
): Facts {
  facts += 1
  return { id: facts, data, evidence, organisation, scope }
}
