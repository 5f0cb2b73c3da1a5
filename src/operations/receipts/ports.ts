import type { EventReceipt } from '../../../schemas/api/receipt.ts'

/** Which event. */
export interface EventKey {
  readonly tenantId: string
  readonly eventId: string
}

/** What a source knows of an event. */
export interface Found {
  readonly receipts: readonly EventReceipt[]
  /** All of the source was searched. */
  readonly complete: boolean
}

/** The tables. Rejects with `UnavailableError`. */
export interface StoredEvents {
  /** The newest first, at most `RECEIPTS_MAX`. */
  find(key: EventKey): Promise<readonly EventReceipt[]>
}

/** What is on its way, or has left it. Work is bounded. Rejects with `UnavailableError`. */
export interface MovingEvents {
  /**
   * Receipts that are not stored yet. Streams are searched in the order in which an event passes them, so that none is
   * missed that moves on meanwhile.
   */
  waiting(key: EventKey): Promise<Found>
  /** Receipts that are not archived yet, as `ArchivedEvents.find` tells those that are. */
  unarchived(key: EventKey): Promise<Found>
  /** Its dead letters. */
  dead(key: EventKey): Promise<Found>
  /** When an event that is kept was first seen, Unix milliseconds; undefined when none is known. */
  claimedAtMs(key: EventKey): Promise<number | undefined>
}

/** Events as they came. Work is bounded. Rejects with `UnavailableError`. */
export interface ArchivedEvents {
  /**
   * Their status is what was answered; `accepted` stands for `ok`.
   * @param known receipts that the archive may hold
   * @param aroundMs when the event was received besides, Unix milliseconds
   */
  find(key: EventKey, known: readonly EventReceipt[], aroundMs: readonly number[]): Promise<Found>
}
