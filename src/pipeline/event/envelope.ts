import { hash } from 'node:crypto'
import { BOT_REASONS } from '../../../schemas/bots.ts'
import type { LiveStatus } from '../../../schemas/live-event.ts'
import type { FilterReason, RuleReason } from '../../../schemas/tenant-rules.ts'
import type { Enrichment } from './enrichment.ts'

/** Processing state of an envelope. One byte in a block. Bots have a state for each reason, from `FIRST_BOT_STATE`. */
export const EnvelopeState = {
  /** The row ends with the caller's account; the enrich stage completes it. */
  Raw: 0,
  /** The row is complete. */
  Enriched: 1,
  /** The address is noise. The row is complete, or empty in blocks of earlier versions. */
  Noise: 2,
  /** A tenant's rule makes the event noise; the row is complete. One state for each of `RULE_REASONS`. */
  Own: 3,
  AlwaysNoise: 4,
  Unclassified: 5,
} as const
export type EnvelopeState = number

const FIRST_BOT_STATE = 16

const RULE_STATES: Readonly<Record<RuleReason, EnvelopeState>> = {
  own: EnvelopeState.Own,
  always_noise: EnvelopeState.AlwaysNoise,
  unclassified: EnvelopeState.Unclassified,
}
const STATES = new Map<FilterReason, EnvelopeState>([
  ...(Object.entries(RULE_STATES) as [RuleReason, EnvelopeState][]),
  ...BOT_REASONS.map((reason, i) => [reason, FIRST_BOT_STATE + i] as const),
])

/** The states of filtered events, with their text for `outcomes.reason`. */
export const FILTERED_STATES: ReadonlyMap<EnvelopeState, FilterReason | ''> = new Map<EnvelopeState, FilterReason | ''>(
  [[EnvelopeState.Noise, ''], ...[...STATES].map(([reason, state]) => [state, reason] as const)],
)

/** The state of an event with a complete row. */
export function stateOf({ noise, filteredAs }: Enrichment): EnvelopeState {
  if (!noise) return EnvelopeState.Enriched
  return filteredAs === undefined ? EnvelopeState.Noise : STATES.get(filteredAs)!
}

/** The status of an event in answers and in the archive. @param enrichment undefined: the address is invalid */
export function statusOf(enrichment: Enrichment | undefined): LiveStatus {
  if (enrichment === undefined) return 'invalid_ip'
  return enrichment.noise ? 'filtered' : 'ok'
}

/** An event on its way through the pipeline. */
export interface Envelope {
  /** 128 bits that identify (tenant, event id), as 16 latin1 characters. */
  readonly identity: string
  readonly state: EnvelopeState
  /** See `row.ts`. */
  readonly row: string
  /** Whether the server made the id. A repeat of the request then has another id. Default: false. */
  readonly isIdGenerated?: boolean
}

export const IDENTITY_BYTES = 16

/** Identity of an event whose id no client knows: it cannot be repeated. */
export const NO_IDENTITY = '\0'.repeat(IDENTITY_BYTES)

/** SHA-256 of tenant and event id, cut to 128 bits. The NUL separates the two: a tenant id has none. */
export function identityOf(tenantId: string, eventId: string): string {
  return hash('sha256', `${tenantId}\0${eventId}`, 'binary').slice(0, IDENTITY_BYTES)
}

/** The partition of an event. Its repeats get the same one. */
export function partitionOf(identity: string, partitions: number): number {
  return ((identity.charCodeAt(0) << 8) | identity.charCodeAt(1)) % partitions
}
