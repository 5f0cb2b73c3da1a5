import type { EventContext } from '../../declaration/source.ts'
import type { Address } from '../../event/address.ts'
import type { Enrichment } from '../../event/enrichment.ts'
import { utcDay } from '../../event/outcomes.ts'
import { maskedAddress } from '../../event/pseudonym.ts'
import type { ReadEvent } from '../../event/read-event.ts'
import { columnsWithoutHostname, flatText, rowSuffix, tsv, tsvTime } from '../../event/row.ts'

/*
 * Rows are made of as few pieces as possible. V8 represents a concatenation of 13 characters or more as a tree node, and walks the
 * tree to encode it. So short pieces are joined first, and text that rows share is made once.
 */

/** Text that the rows of the last context share. */
let shared: { context: EventContext | undefined; tenant: string; time: string; received: string } = {
  context: undefined,
  tenant: '',
  time: '',
  received: '',
}

/** The row of an event before enrichment. Its last column is the caller's account. */
export function rawRow(event: ReadEvent, eventId: string, address: Address, context: EventContext): string {
  if (shared.context !== context) shared = sharedBy(context)
  const { mask, receivedAtMs } = context
  const { timestampMs = receivedAtMs, isPlain } = event
  const plain = isPlain ? same : tsv
  const timestamp = timestampMs === receivedAtMs ? shared.time : tsvTime(timestampMs)
  const ip = mask === undefined ? address.text : maskedAddress(mask, address, utcDay(timestampMs))
  const head = `${ip}${shared.tenant}${plain(eventId)}${shared.received}${timestamp}`
  return head + columnsOf(event, plain) + plain(event.accountId)
}

function sharedBy(context: EventContext): typeof shared {
  const time = tsvTime(context.receivedAtMs)
  return { context, tenant: flatText('\t', context.tenantId, '\t'), time, received: flatText('\t', time, '\t') }
}

/** The columns between timestamp and account. */
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

/** Adds the enrichment to a row of `rawRow`. */
export function completeRow(
  raw: string,
  { accountId }: ReadEvent,
  enrichment: Enrichment,
  { mask }: EventContext,
): string {
  if (mask === undefined) return raw + rowSuffix(enrichment, accountId !== '')
  return raw + rowSuffix(enrichment, accountId !== '', columnsWithoutHostname(enrichment))
}
