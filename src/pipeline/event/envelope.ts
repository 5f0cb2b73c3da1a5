import { hash } from 'node:crypto'

/** How far an envelope's row is. One byte in a block. */
export const EnvelopeState = {
  /** The row ends with the caller's account; the enrich stage completes it. */
  Raw: 0,
  /** The row is complete. */
  Enriched: 1,
  /** The address is noise. The row is complete, or empty in what an earlier version wrote. */
  Noise: 2,
  /** A rule of its tenant makes noise of it; the row is complete. They stand for the reasons of `FILTER_REASONS`. */
  Own: 3,
  AlwaysNoise: 4,
  Unclassified: 5,
} as const
export type EnvelopeState = (typeof EnvelopeState)[keyof typeof EnvelopeState]

/** An event on its way through the pipeline. */
export interface Envelope {
  /** 128 bits that stand for (tenant, event id), as 16 latin1 characters. */
  readonly identity: string
  readonly state: EnvelopeState
  /** See `row.ts`; `''` for what is noise from its source on. */
  readonly row: string
  /** The id is not the caller's: when the caller repeats the request, the event has another one. Default: false. */
  readonly idMade?: boolean
}

export const IDENTITY_BYTES = 16

/** Identity of an event whose id we made and told nobody: nothing can repeat it. */
export const NO_IDENTITY = '\0'.repeat(IDENTITY_BYTES)

/** SHA-256 of tenant and event id, cut to 128 bits. A tenant id has no NUL, so the pair is told apart. */
export function identityOf(tenantId: string, eventId: string): string {
  return hash('sha256', `${tenantId}\0${eventId}`, 'binary').slice(0, IDENTITY_BYTES)
}

/** The partition in which all repeats of an event meet. */
export function partitionOf(identity: string, partitions: number): number {
  return ((identity.charCodeAt(0) << 8) | identity.charCodeAt(1)) % partitions
}
