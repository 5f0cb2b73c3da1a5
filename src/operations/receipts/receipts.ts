import {
  type EventFate,
  type EventReceipt,
  type EventSource,
  RECEIPTS_MAX,
  type ReceiptStatus,
} from '../../../schemas/api/receipt.ts'
import type { Clock } from '../../run/clock.ts'
import { type SlotLimits, TenantSlots } from '../../run/tenant-slots.ts'
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

/** Searches of a process. Each loads the stores, and a tenant leaves half of them to others. */
const SEARCHES: SlotLimits = {
  ...{ ofTenant: 2, all: 4, waitingOfTenant: 8, waitMaxMs: 5_000 },
  ...{ refusal: 'too many ask for events', retrySeconds: 1 },
}
const NOTHING: Found = { receipts: [], complete: true }

/** Finds the receipts of an event. */
export interface EventReceipts {
  /** Rejects with `BackpressureError` when too many searches run or wait, and with `UnavailableError` when a store is down. */
  find(query: ReceiptQuery): Promise<EventFate | Unknown>
}

export class Receipts implements EventReceipts {
  readonly #options: ReceiptsOptions
  readonly #slots = new TenantSlots(SEARCHES)

  constructor(options: ReceiptsOptions) {
    this.#options = options
  }

  async find(query: ReceiptQuery): Promise<EventFate | Unknown> {
    return await this.#slots.run(query.tenantId, () => this.#find(query))
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

/** The receipts that each source knows. */
export interface Findings {
  readonly waiting: readonly EventReceipt[]
  readonly stored: readonly EventReceipt[]
  readonly dead: readonly EventReceipt[]
  readonly unarchived: readonly EventReceipt[]
  readonly archived: readonly EventReceipt[]
}

/** The status of an event is the first of these among its receipts. */
const ORDER: readonly ReceiptStatus[] = [
  'stored',
  'hidden',
  'in_progress',
  'dead',
  'accepted',
  'duplicate',
  'filtered',
  'invalid_ip',
]

/** Merges the receipts of several sources, each receipt once. Undefined when no source knows one. */
export function fateOf(eventId: string, findings: Findings): EventFate | undefined {
  const { stored, dead, waiting, unarchived, archived } = findings
  // An event may still be in its old location after it reached the next.
  const kept = merged(merged([...stored], dead), waiting)
  const lines = merged([...archived], unarchived)
  const isKept = kept.some(({ received_at }) => received_at !== undefined)
  const untold = [...kept]
  const receipts = lines.map((line) => {
    const index = untold.findIndex((receipt) => isSame(receipt, line))
    if (index >= 0) return { ...line, ...untold.splice(index, 1)[0]! }
    return line.status === 'accepted' && isKept ? { ...line, status: 'duplicate' as const } : line
  })
  receipts.push(...untold)
  if (receipts.length === 0) return undefined
  receipts.sort((a, b) => timeOf(b) - timeOf(a))
  const status = ORDER.find((one) => receipts.some((receipt) => receipt.status === one))!
  return { event_id: eventId, status, receipts: receipts.slice(0, RECEIPTS_MAX) }
}

/** Adds receipts that are not known yet; each known receipt matches one. */
function merged(known: readonly EventReceipt[], found: readonly EventReceipt[]): EventReceipt[] {
  const left = [...known]
  const added: EventReceipt[] = []
  for (const receipt of found) {
    const index = left.findIndex((one) => isSame(one, receipt))
    if (index >= 0) left.splice(index, 1)
    else added.push(receipt)
  }
  return [...known, ...added]
}

/**
 * Whether two receipts are the same: the same millisecond and the same way in. An event that is twice in one request has
 * two receipts in the archive, and one elsewhere.
 */
function isSame(a: EventReceipt, b: EventReceipt): boolean {
  if (a.received_at === undefined || a.received_at !== b.received_at) return false
  if (isAside(a.status) !== isAside(b.status)) return false
  return same(a.request_id, b.request_id) && same(a.job_id, b.job_id)
}

/** Whether it was dropped at its receipt. */
function isAside(status: ReceiptStatus): boolean {
  return status === 'filtered' || status === 'invalid_ip'
}

/** A missing value is unknown, so it equals any. */
function same(a: string | undefined, b: string | undefined): boolean {
  return a === undefined || b === undefined || a === b
}

function timeOf({ received_at: text }: EventReceipt): number {
  return text === undefined ? Number.MAX_SAFE_INTEGER : Date.parse(text)
}
