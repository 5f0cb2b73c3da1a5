import type { Envelope } from '../core/event/envelope.ts'

/** Where accepted events enter the pipeline. */
export interface Intake {
  /**
   * Resolves when all of the envelopes, and payloads for the archive, are in Redis, as one. Rejects with `UnavailableError` when Redis did not take
   * them within the write deadline, and with `BackpressureError` when the pipeline behind it is full.
   */
  append(envelopes: readonly Envelope[], payloads?: readonly Envelope[]): Promise<void>
}
