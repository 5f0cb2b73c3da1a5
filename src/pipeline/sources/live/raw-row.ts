import type { Receipt } from '../../declaration/source.ts'
import type { Address } from '../../event/address.ts'
import type { Enrichment } from '../../event/enrichment.ts'
import { flatText } from '../../event/flat-text.ts'
import { utcDay } from '../../event/outcomes.ts'
import { maskedAddress } from '../../event/pseudonym.ts'
import type { ReadEvent } from '../../event/read-event.ts'
import { columnsWithoutHostname, rowSuffix, tsv, tsvTime } from '../../event/row.ts'

/*
 * Of as few pieces as can be: V8 makes a node of a tree of each that is 13 characters or longer with what stands before it, and goes
 * round the tree to make bytes of it. Short pieces are put together first, and what rows share is one text.
 */

/** What the rows of a receipt share: the last one that was seen. */
let shared: { receipt: Receipt | undefined; tenant: string; time: string; received: string } = {
  receipt: undefined,
  tenant: '',
  time: '',
  received: '',
}

/** The row of an event before enrichment: it ends with the caller's account. */
export function rawRow(event: ReadEvent, eventId: string, address: Address, receipt: Receipt): string {
  if (shared.receipt !== receipt) shared = sharedBy(receipt)
  const { mask, receivedAtMs } = receipt
  const { timestampMs = receivedAtMs, isPlain } = event
  const plain = isPlain ? same : tsv
  const timestamp = timestampMs === receivedAtMs ? shared.time : tsvTime(timestampMs)
  const ip = mask === undefined ? address.text : maskedAddress(mask, address, utcDay(timestampMs))
  const head = `${ip}${shared.tenant}${plain(eventId)}${shared.received}${timestamp}`
  return head + columnsOf(event, plain) + plain(event.accountId)
}

function sharedBy(receipt: Receipt): typeof shared {
  const time = tsvTime(receipt.receivedAtMs)
  return { receipt, tenant: flatText('\t', receipt.tenantId, '\t'), time, received: flatText('\t', time, '\t') }
}

/** The columns between time and account. */
function columnsOf(event: ReadEvent, plain: (text: string) => string): string {
  const { eventType, sessionId, platform, properties, userProperties, extra, isPlainJson } = event
  const json = isPlainJson ? same : tsv
  const head = `\t${plain(eventType)}`
  const middle = `\t${sessionId === '' ? '\\N' : sessionId}\t${plain(platform)}\t`
  if (userProperties === '' && extra === '') return `${head}${middle}${json(properties)}\t\t\t`
  return `${head}${middle}${json(properties)}\t${json(userProperties)}\t${json(extra)}\t`
}

function same(text: string): string {
  return text
}

/**
 * The row of an event, complete.
 * @param raw see `rawRow`
 */
export function completeRow(raw: string, { accountId }: ReadEvent, enrichment: Enrichment, { mask }: Receipt): string {
  if (mask === undefined) return raw + rowSuffix(enrichment, accountId !== '')
  return raw + rowSuffix(enrichment, accountId !== '', columnsWithoutHostname(enrichment))
}
