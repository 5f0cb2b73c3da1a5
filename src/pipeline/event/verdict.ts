import type { FilterReason } from '../../../schemas/tenant-rules.ts'
import type { Enrichment } from './enrichment.ts'
import { EnvelopeState } from './envelope.ts'

const STATES: Readonly<Record<FilterReason, EnvelopeState>> = {
  own: EnvelopeState.Own,
  always_noise: EnvelopeState.AlwaysNoise,
  unclassified: EnvelopeState.Unclassified,
}

/** States of events that are filtered, with what `outcomes.reason` says of them. */
export const FILTERED_STATES: ReadonlyMap<EnvelopeState, FilterReason | ''> = new Map([
  [EnvelopeState.Noise, ''],
  ...Object.entries(STATES).map(([reason, state]) => [state, reason as FilterReason] as const),
])

/** The state of an event whose row is complete. */
export function stateOf({ noise, filteredAs }: Enrichment): EnvelopeState {
  if (!noise) return EnvelopeState.Enriched
  return filteredAs === undefined ? EnvelopeState.Noise : STATES[filteredAs]
}
