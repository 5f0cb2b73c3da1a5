import { type EventFate, type EventReceipt, RECEIPTS_MAX, type ReceiptStatus } from '../../../schemas/api/receipt.ts'

/** What the sources know. */
export interface Findings {
  readonly waiting: readonly EventReceipt[]
  readonly stored: readonly EventReceipt[]
  readonly dead: readonly EventReceipt[]
  readonly unarchived: readonly EventReceipt[]
  readonly archived: readonly EventReceipt[]
}

/** What became of an event is the first of these that a receipt of it has. */
const ORDER: readonly ReceiptStatus[] = [
  'stored',
  'in_progress',
  'dead',
  'accepted',
  'duplicate',
  'filtered',
  'invalid_ip',
]

/** Puts together what several sources know: a receipt is told once, by what became of it. Undefined when none knows one. */
export function fateOf(eventId: string, findings: Findings): EventFate | undefined {
  const { stored, dead, waiting, unarchived, archived } = findings
  // What has arrived may still be where it came from.
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

/** Adds receipts that are not among those that are known; each of these stands for one. */
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
 * Two sources speak of one receipt: it is of the same millisecond and came in the same way. An event that one request holds
 * twice is two receipts of the archive, and one anywhere else.
 */
function isSame(a: EventReceipt, b: EventReceipt): boolean {
  if (a.received_at === undefined || a.received_at !== b.received_at) return false
  if (isAside(a.status) !== isAside(b.status)) return false
  return same(a.request_id, b.request_id) && same(a.job_id, b.job_id)
}

/** It went no further when it was received. */
function isAside(status: ReceiptStatus): boolean {
  return status === 'filtered' || status === 'invalid_ip'
}

/** What is left out is not known. */
function same(a: string | undefined, b: string | undefined): boolean {
  return a === undefined || b === undefined || a === b
}

function timeOf({ received_at: text }: EventReceipt): number {
  return text === undefined ? Number.MAX_SAFE_INTEGER : Date.parse(text)
}
