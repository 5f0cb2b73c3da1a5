import type { Address } from '../core/event/address.ts'
import type { Enrichment } from '../core/event/enrichment.ts'
import { utcDay } from '../core/event/outcomes.ts'
import { maskedAddress } from '../core/event/pseudonym.ts'
import type { ReadEvent } from '../core/event/read-event.ts'
import { columnsWithoutHostname, rowSuffix, tsv, tsvTime } from '../core/event/row.ts'
import type { Receipt } from '../core/pipeline/source.ts'

/** The columns between time and account of an event that has none of them. */
const NO_COLUMNS = '\t\t\\N\t\t\t\t\t'

let lastReceived = { ms: Number.NaN, time: '', column: '' }

/** The row of an event before enrichment: it ends with the caller's account. */
export function rawRow(event: ReadEvent, eventId: string, address: Address, receipt: Receipt): string {
  const { mask, receivedAtMs } = receipt
  if (lastReceived.ms !== receivedAtMs) {
    const time = tsvTime(receivedAtMs)
    lastReceived = { ms: receivedAtMs, time, column: `\t${time}\t` }
  }
  const { timestampMs = receivedAtMs, isPlain } = event
  const plain = isPlain ? same : tsv
  const timestamp = timestampMs === receivedAtMs ? lastReceived.time : tsvTime(timestampMs)
  const ip = mask === undefined ? address.text : maskedAddress(mask, address, utcDay(timestampMs))
  const head = `${ip}\t${receipt.tenantId}\t${plain(eventId)}${lastReceived.column}${timestamp}`
  return head + columnsOf(event, plain) + plain(event.accountId)
}

function columnsOf(event: ReadEvent, plain: (text: string) => string): string {
  const { eventType, sessionId, platform, properties, userProperties, extra, isPlainJson } = event
  if (
    eventType === '' &&
    sessionId === '' &&
    platform === '' &&
    properties === '' &&
    userProperties === '' &&
    extra === ''
  )
    return NO_COLUMNS
  const session = sessionId === '' ? '\\N' : sessionId
  const json = isPlainJson ? same : tsv
  return (
    `\t${plain(eventType)}\t${session}\t${plain(platform)}\t${json(properties)}\t${json(userProperties)}\t` +
    `${json(extra)}\t`
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
