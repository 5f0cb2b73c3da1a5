import type { EventEnvelope } from '../../schemas/api/event.ts'
import type { Address } from '../core/event/address.ts'
import { tsv, tsvTime } from '../core/event/row.ts'
import { parseTimestamp } from '../core/event/timestamp.ts'
import type { Receipt } from '../core/pipeline/source.ts'
import type { EventParts } from './slice-event.ts'

/** The row of an event before enrichment: it ends with the caller's account. */
export function rawRow(
  event: EventEnvelope,
  eventId: string,
  address: Address,
  receipt: Receipt,
  parts: EventParts,
): string {
  const received = tsvTime(receipt.receivedAtMs)
  const timestamp = event.timestamp === undefined ? received : tsvTime(parseTimestamp(event.timestamp))
  const session = event.session_id === undefined ? '\\N' : String(event.session_id)
  return (
    `${address.text}\t${receipt.tenantId}\t${tsv(eventId)}\t${received}\t${timestamp}\t${tsv(event.event_type ?? '')}\t` +
    `${session}\t${tsv(event.platform ?? '')}\t${tsv(parts.properties)}\t${tsv(parts.userProperties)}\t` +
    `${tsv(parts.extra)}\t${tsv(event.account_id ?? '')}`
  )
}
