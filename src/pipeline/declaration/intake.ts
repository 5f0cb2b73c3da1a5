import type { Envelope } from '../event/envelope.ts'
import type { OutcomeCounts } from '../event/outcomes.ts'

/** Where accepted events enter the pipeline. */
export interface Intake {
  /**
   * Resolves when all of it is in Redis, as one. Rejects with `UnavailableError` when Redis did not take it within the write
   * deadline, and with `BackpressureError` when the pipeline behind it is full.
   * @param payloads of the request's events, for the archive
   * @param outcomes counts of its events that are no envelopes
   */
  append(envelopes: readonly Envelope[], payloads?: readonly Envelope[], outcomes?: OutcomeCounts): Promise<void>
}
