import type { EventFate, EventReceipt, EventSource } from '../../../schemas/api/receipt.ts'
import type { Clock } from '../../run/clock.ts'
import { BackpressureError } from '../../run/errors.ts'
import { fateOf } from './fate.ts'
import type { ArchivedEvents, EventKey, Found, MovingEvents, StoredEvents } from './ports.ts'

interface ReceiptsOptions {
  readonly moving: MovingEvents
  readonly stored: StoredEvents
  readonly archive: ArchivedEvents
  readonly clock: Clock
}

export interface ReceiptQuery extends EventKey {
  /** Whether the tenant has an archive. */
  readonly archived: boolean
  /** When the caller thinks the event was sent, Unix milliseconds. */
  readonly aroundMs?: number | undefined
}

/** No receipt was found in the searched sources. */
export interface Unknown {
  readonly incomplete: readonly EventSource[]
}

/** Concurrent queries of a process. Each loads the stores. */
const QUESTIONS_MAX = 4
const NOTHING: Found = { receipts: [], complete: true }

/** Finds the receipts of an event. */
export interface EventReceipts {
  /** Rejects with `BackpressureError` when too many queries run, and with `UnavailableError` when a store is down. */
  find(query: ReceiptQuery): Promise<EventFate | Unknown>
}

export class Receipts implements EventReceipts {
  readonly #options: ReceiptsOptions
  #open = 0

  constructor(options: ReceiptsOptions) {
    this.#options = options
  }

  async find(query: ReceiptQuery): Promise<EventFate | Unknown> {
    if (this.#open >= QUESTIONS_MAX) throw new BackpressureError('too many ask for events', 1, 'questions')
    this.#open++
    try {
      return await this.#find(query)
    } finally {
      this.#open--
    }
  }

  /** Searches in the order in which an event moves, so that a moving event is found at its next location. */
  async #find({ tenantId, eventId, archived: isArchived, aroundMs }: ReceiptQuery): Promise<EventFate | Unknown> {
    const { moving, stored: tables, archive, clock } = this.#options
    const key = { tenantId, eventId }
    const waiting = await moving.waiting(key)
    const unarchived = isArchived ? await moving.unarchived(key) : NOTHING
    const [stored, claimedAtMs] = await Promise.all([tables.find(key), moving.claimedAtMs(key)])
    const dead = await moving.dead(key)
    const kept = [...stored, ...dead.receipts, ...waiting.receipts]
    const times = [aroundMs, claimedAtMs, clock.now()].filter((ms) => ms !== undefined)
    const archived = isArchived ? await archive.find(key, kept, times) : NOTHING
    const incomplete: EventSource[] = []
    if (!waiting.complete) incomplete.push('pipeline')
    if (!dead.complete) incomplete.push('dead_letters')
    if (!archived.complete || !unarchived.complete) incomplete.push('archive')
    // A claim means that its event is kept, so it must be in a part that was not searched.
    const isHidden = claimedAtMs !== undefined && kept.length === 0 && !waiting.complete
    const hidden: EventReceipt[] = isHidden ? [{ status: 'in_progress' }] : []
    const fate = fateOf(eventId, {
      waiting: [...waiting.receipts, ...hidden],
      stored,
      dead: dead.receipts,
      unarchived: unarchived.receipts,
      archived: archived.receipts,
    })
    if (fate === undefined) return { incomplete }
    return incomplete.length === 0 ? fate : { ...fate, incomplete }
  }
}
