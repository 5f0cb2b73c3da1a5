import type { EventEnvelope } from '../../schemas/api/event.ts'
import type { Address } from '../core/event/address.ts'
import type { Enrichment } from '../core/event/enrichment.ts'
import { utcDay } from '../core/event/outcomes.ts'
import { maskedAddress } from '../core/event/pseudonym.ts'
import { columnsWithoutHostname, rowSuffix, tsv, tsvTime } from '../core/event/row.ts'
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
  const { mask, receivedAtMs } = receipt
  const received = tsvTime(receivedAtMs)
  const timestampMs = event.timestamp === undefined ? receivedAtMs : parseTimestamp(event.timestamp)
  const timestamp = event.timestamp === undefined ? received : tsvTime(timestampMs)
  const ip = mask === undefined ? address.text : maskedAddress(mask, address, utcDay(timestampMs))
  const session = event.session_id === undefined ? '\\N' : String(event.session_id)
  return (
    `${ip}\t${receipt.tenantId}\t${tsv(eventId)}\t${received}\t${timestamp}\t${tsv(event.event_type ?? '')}\t` +
    `${session}\t${tsv(event.platform ?? '')}\t${tsv(parts.properties)}\t${tsv(parts.userProperties)}\t` +
    `${tsv(parts.extra)}\t${tsv(event.account_id ?? '')}`
  )
}

const TAB = 9

/** The row of an event, complete. @param raw see `rawRow` */
export function completeRow(raw: string, enrichment: Enrichment, { mask }: Receipt): string {
  const columns = mask === undefined ? enrichment.columns : columnsWithoutHostname(enrichment)
  return raw + rowSuffix(enrichment, raw.charCodeAt(raw.length - 1) !== TAB, columns)
}
