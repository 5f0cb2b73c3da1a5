import type { EnrichmentData } from '../pipeline/event/enrichment.ts'
import { fieldText } from './field-text.ts'
import type { Decided } from './rules/decided.ts'
import type { Evidence, Organisation } from './rules/evidence.ts'

/** The statements of one record of one provider. All networks with the same record share it. Immutable. */
export interface Facts {
  /** Unique per record. */
  readonly id: number
  /** Attributes of the record, without the derived ones: `network`, `classification`, `etld_plus_one`. */
  readonly data: Readonly<EnrichmentData>
  /** Input for the classifier. */
  readonly evidence: Readonly<Evidence>
  /** The organisation that uses the address; undefined when the record only describes the carrier. */
  readonly organisation: Organisation | undefined
  /** Whether the record describes the address, or every address of its autonomous system. */
  readonly scope: Scope
  /** What the rules say about it, if that was computed when the data were compiled. */
  readonly decided?: Decided
}

export type Scope = 'address' | 'as'

let lastId = 0

/** Facts with a new id. Every text of a record of any provider passes here: see `fieldText`. */
export function makeFacts(
  data: EnrichmentData,
  evidence: Evidence = {},
  organisation: Organisation | undefined = undefined,
  scope: Scope = 'address',
): Facts {
  lastId += 1
  return {
    id: lastId,
    data: withFieldTexts(data),
    evidence: withFieldTexts(evidence),
    organisation: organisation && withFieldTexts(organisation),
    scope,
  }
}

/** Facts of a record that `makeFacts` made before, when the data were compiled. */
export function decidedFacts(data: EnrichmentData, evidence: Evidence, decided: Decided): Facts {
  lastId += 1
  return { id: lastId, data, evidence, organisation: undefined, scope: 'address', decided }
}

/** The same object if all of its texts are clean, as nearly always. Leaves out texts of which nothing is left. */
function withFieldTexts<T extends object>(values: T): T {
  const unclean = Object.entries(values).filter(([, value]) => typeof value === 'string' && fieldText(value) !== value)
  if (unclean.length === 0) return values
  const cleaned = unclean.map(([name, value]) => [name, fieldText(value as string) || undefined] as const)
  const all = { ...values, ...Object.fromEntries(cleaned) }
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)) as T
}
