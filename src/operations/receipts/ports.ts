import type { EventReceipt } from '../../../schemas/api/receipt.ts'

export interface EventKey {
  readonly tenantId: string
  readonly eventId: string
}

/** The receipts of an event that a source knows. */
export interface Found {
  readonly receipts: readonly EventReceipt[]
  /** Whether the whole source was searched. */
  readonly complete: boolean
}

/** The tables. Rejects with `UnavailableError`. */
export interface StoredEvents {
  /** The newest first, at most `RECEIPTS_MAX`. */
  find(key: EventKey): Promise<readonly EventReceipt[]>
}

/** Events in progress and dead letters. Bounded work. Rejects with `UnavailableError`. */
export interface MovingEvents {
  /**
   * Receipts of events that are not stored yet. Streams are searched in the order in which events move, so that a moving
   * event is not missed.
   */
  waiting(key: EventKey): Promise<Found>
  /** Receipts that are not archived yet, in the form of `ArchivedEvents.find`. */
  unarchived(key: EventKey): Promise<Found>
  /** Its dead letters. */
  dead(key: EventKey): Promise<Found>
  /** When a kept event was first seen, Unix milliseconds; undefined when unknown. */
  claimedAtMs(key: EventKey): Promise<number | undefined>
}

/** Events as they were received. Bounded work. Rejects with `UnavailableError`. */
export interface ArchivedEvents {
  /**
   * The status of a receipt is the answer of then; `accepted` for `ok`.
   * @param known receipts that the archive may hold
   * @param aroundMs further times to search around, Unix milliseconds
   */
  find(key: EventKey, known: readonly EventReceipt[], aroundMs: readonly number[]): Promise<Found>
}
