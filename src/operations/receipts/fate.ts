import { type EventFate, type EventReceipt, RECEIPTS_MAX, type ReceiptStatus } from '../../../schemas/api/receipt.ts'

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
