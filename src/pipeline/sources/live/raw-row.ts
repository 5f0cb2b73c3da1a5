import type { EventContext } from '../../declaration/source.ts'
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

/** What the rows of a context share: the last one that was seen. */
let shared: { context: EventContext | undefined; tenant: string; time: string; received: string } = {
  context: undefined,
  tenant: '',
  time: '',
  received: '',
}

/** The row of an event before enrichment: it ends with the caller's account. */
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
export function completeRow(
  raw: string,
  { accountId }: ReadEvent,
  enrichment: Enrichment,
  { mask }: EventContext,
): string {
  if (mask === undefined) return raw + rowSuffix(enrichment, accountId !== '')
  return raw + rowSuffix(enrichment, accountId !== '', columnsWithoutHostname(enrichment))
}
