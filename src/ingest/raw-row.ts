import type { Address } from '../core/event/address.ts'
import type { Enrichment } from '../core/event/enrichment.ts'
import { utcDay } from '../core/event/outcomes.ts'
import { maskedAddress } from '../core/event/pseudonym.ts'
import type { ReadEvent } from '../core/event/read-event.ts'
import { columnsWithoutHostname, rowSuffix, tsv, tsvTime } from '../core/event/row.ts'
import type { Receipt } from '../core/pipeline/source.ts'

/** The row of an event before enrichment: it ends with the caller's account. */
export function rawRow(event: ReadEvent, eventId: string, address: Address, receipt: Receipt): string {
  const { mask, receivedAtMs } = receipt
  const { timestampMs = receivedAtMs, sessionId } = event
  const received = tsvTime(receivedAtMs)
  const timestamp = timestampMs === receivedAtMs ? received : tsvTime(timestampMs)
  const ip = mask === undefined ? address.text : maskedAddress(mask, address, utcDay(timestampMs))
  const session = sessionId === '' ? '\\N' : sessionId
  const { isPlain, isPlainJson } = event
  const plain = isPlain ? same : tsv
  const json = isPlainJson ? same : tsv
  return (
    `${ip}\t${receipt.tenantId}\t${plain(eventId)}\t${received}\t${timestamp}\t${plain(event.eventType)}\t` +
    `${session}\t${plain(event.platform)}\t${json(event.properties)}\t${json(event.userProperties)}\t` +
    `${json(event.extra)}\t${plain(event.accountId)}`
  )
}

function same(text: string): string {
  return text
}

/**
 * The row of an event, complete.
 * @param raw see `rawRow`
 */
export function completeRow(raw: string, { accountId }: ReadEvent, enrichment: Enrichment, { mask }: Receipt): string {
  const columns = mask === undefined ? enrichment.columns : columnsWithoutHostname(enrichment)
  return raw + rowSuffix(enrichment, accountId !== '', columns)
}
