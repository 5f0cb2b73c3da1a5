import type { Envelope } from '../core/event/envelope.ts'
import type { OutcomeCounts } from '../core/event/outcomes.ts'

/** Where accepted events enter the pipeline. */
export interface Intake {
  /**
   * Resolves when all of the envelopes, and the counts of what else was in the request, are in Redis, as one. Rejects with `UnavailableError` when Redis did not take
   * them within the write deadline, and with `BackpressureError` when the pipeline behind it is full.
   */
  append(envelopes: readonly Envelope[], outcomes?: OutcomeCounts): Promise<void>
}
