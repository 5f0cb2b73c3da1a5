import { BROWSER_KEY, ENRICHMENT_COLUMNS } from '../../../schemas/row.ts'
import { wellFormedJson } from '../../run/well-formed.ts'
import { type Address, parseAddress } from './address.ts'
import type { Block } from './block.ts'
import type { Enrichment } from './enrichment.ts'
import { EnvelopeState, stateOf } from './envelope.ts'
import { evidenceOf, knownDomainOfRow, type RowEvidence } from './known-domain.ts'
import { utcDay } from './outcomes.ts'
import { maskedAddress } from './pseudonym.ts'
import type { EventContext, ReadEvent } from './read-event.ts'
import { flatText, tsv, tsvTime } from './row.ts'

/*
 * Makes the row of an event from any source. A row has three parts: the raw row, which holds the event as sent; the suffix,
 * which holds the enrichment; and the tail, which says how the event came. `judgedRow` makes a whole row. `rawRow` makes the first
 * part alone, and `completeRows` adds the others later, to all raw rows of a block. Both ways give the same bytes.
 *
 * Rows are made of as few pieces as possible. V8 represents a concatenation of 13 characters or more as a tree node, and walks the
 * tree to encode it. So short pieces are joined first, and text that rows share is made once.
 */

/** Text that the rows of a context share. */
interface SharedText {
  readonly context: EventContext | undefined
  readonly tenant: string
  readonly time: string
  readonly received: string
  /** Tails of events without a known domain: most events. */
  readonly tails: Map<RowEvidence, string>
}

/** Text of the context that was used last. */
let shared: SharedText = { context: undefined, tenant: '', time: '', received: '', tails: new Map() }

/** The row of an event before it is judged. Its last column is the caller's account. */
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

function sharedBy(context: EventContext): SharedText {
  const time = tsvTime(context.receivedAtMs)
  const [tenant, received] = [flatText('\t', context.tenantId, '\t'), flatText('\t', time, '\t')]
  return { context, tenant, time, received, tails: new Map() }
}

/** The columns between timestamp and account. */
function columnsOf(event: ReadEvent, plain: (text: string) => string): string {
  const { eventType, sessionId, platform, properties, userProperties, extra, isPlainJson } = event
  const json = isPlainJson ? same : tsvJson
  const head = `\t${plain(eventType)}`
  const middle = `\t${sessionId === '' ? '\\N' : sessionId}\t${plain(platform)}\t`
  if (userProperties === '' && extra === '') return `${head}${middle}${json(properties)}\t\t\t`
  return `${head}${middle}${json(properties)}\t${json(userProperties)}\t${json(extra)}\t`
}

function same(text: string): string {
  return text
}

function tsvJson(json: string): string {
  return tsv(wellFormedJson(json))
}

/** The whole row of an event that is judged. */
export function judgedRow(
  event: ReadEvent,
  eventId: string,
  address: Address,
  enrichment: Enrichment,
  context: EventContext,
): string {
  const raw = rawRow(event, eventId, address, context)
  const hasAccount = event.accountId !== ''
  const suffix =
    context.mask === undefined
      ? rowSuffix(enrichment, hasAccount)
      : rowSuffix(enrichment, hasAccount, columnsWithoutHostname(enrichment))
  return raw + suffix + tailOf(evidenceOf(event, context.isBrowser === true), context)
}

/** @param context the one of `shared` */
function tailOf(evidence: RowEvidence, context: EventContext): string {
  if (evidence.knownDomain !== '') return rowTail(context, evidence)
  let tail = shared.tails.get(evidence)
  if (tail === undefined) {
    tail = rowTail(context, evidence)
    shared.tails.set(evidence, tail)
  }
  return tail
}

/**
 * The organisation as the account if the caller gave none, and the enrichment columns.
 * @param hasAccount whether the raw row ends with the caller's account
 */
export function rowSuffix(enrichment: Enrichment, hasAccount: boolean, columns = enrichment.columns): string {
  if (hasAccount) return `\t${columns}`
  return columns === enrichment.columns ? enrichment.accountColumns : `${tsv(enrichment.companyId)}\t${columns}`
}

const HOSTNAME_AT = ENRICHMENT_COLUMNS.indexOf('hostname')

/** The host name may contain the address: `203-0-113-7.dsl.example.net`. */
function columnsWithoutHostname({ columns, data }: Enrichment): string {
  if (data.hostname === undefined) return columns
  const values = columns.split('\t')
  values[HOSTNAME_AT] = ''
  return values.join('\t')
}

/** The columns after the enrichment. They end before the first of those that are all empty. */
export function rowTail(
  { job = '', requestId = '', sourceId = '' }: Pick<EventContext, 'job' | 'requestId' | 'sourceId'>,
  evidence?: RowEvidence,
): string {
  const { knownDomain = '', browserKey = BROWSER_KEY.no } = evidence ?? {}
  const isLong = sourceId !== '' || knownDomain !== '' || browserKey !== BROWSER_KEY.no
  if (!isLong) return requestId === '' ? (job === '' ? '' : `\t${tsv(job)}`) : `\t${tsv(job)}\t${tsv(requestId)}`
  const tail = `\t${tsv(job)}\t${tsv(requestId)}\t${sourceId}`
  if (browserKey !== BROWSER_KEY.no) return `${tail}\t${tsv(knownDomain)}\t${browserKey}`
  return knownDomain === '' ? tail : `${tail}\t${tsv(knownDomain)}`
}

/**
 * Adds suffix and tail to the raw rows of a block. Only batch jobs have raw rows, and no browser key makes jobs.
 * @param judge called for each of them, in order
 */
export function completeRows(block: Block, judge: (address: Address) => Enrichment): Block {
  // Builds the rows as one text with a character per byte. A buffer for each piece costs several times as much.
  const text = block.rows.toString('latin1')
  const tailOf = (knownDomain: string) =>
    asCharacters(`${rowTail(block, { knownDomain, browserKey: BROWSER_KEY.no })}\n`)
  const tail = tailOf('')
  const states = Uint8Array.from(block.states)
  let rows = ''
  let copied = 0
  let at = text.indexOf('@')
  for (const { position, address, start, end } of rawRowsOf(block, text)) {
    const enrichment = judge(address)
    // The account is the last column of a raw row.
    const hasAccount = text.charCodeAt(end - 1) !== TAB
    states[position] = stateOf(enrichment)
    if (at >= 0 && at < start) at = text.indexOf('@', start)
    const knownDomain = at >= 0 && at < end ? knownDomainOfRow(Buffer.from(text.slice(start, end), 'latin1')) : ''
    const rowEnd = knownDomain === '' ? tail : tailOf(knownDomain)
    rows += text.slice(copied, end) + suffixCharacters(enrichment, hasAccount) + rowEnd
    copied = end + 1
  }
  return { ...block, states, rows: Buffer.from(rows + text.slice(copied), 'latin1') }
}

/** The addresses of the raw rows of a block, each once. */
export function rawAddresses(block: Block): Address[] {
  const addresses = new Map<string, Address>()
  for (const { address } of rawRowsOf(block, block.rows.toString('latin1'))) addresses.set(address.text, address)
  return [...addresses.values()]
}

const TAB = 9

interface RawRow {
  readonly position: number
  readonly address: Address
  /** Offset of the row in the text. */
  readonly start: number
  /** Offset of its line feed. */
  readonly end: number
}

/** @param text the rows, one character per byte */
function* rawRowsOf({ count, states }: Block, text: string): Generator<RawRow, void, void> {
  let start = 0
  for (let position = 0; position < count; position++) {
    const end = text.indexOf('\n', start)
    if (end < 0) throw new Error(`block of ${count} events has only ${position} rows`)
    if (states[position] === EnvelopeState.Raw) {
      // The address is the first column, and is never escaped.
      const address = parseAddress(text.slice(start, text.indexOf('\t', start)))
      if (address === undefined) throw new Error('a row without an address')
      yield { position, address, start, end }
    }
    start = end + 1
  }
}

/** The engine caches enrichments, so most suffixes are encoded only once. */
const suffixes = [new WeakMap<Enrichment, string>(), new WeakMap<Enrichment, string>()] as const

function suffixCharacters(enrichment: Enrichment, hasAccount: boolean): string {
  const known = suffixes[hasAccount ? 1 : 0]
  let suffix = known.get(enrichment)
  if (suffix === undefined) {
    suffix = asCharacters(rowSuffix(enrichment, hasAccount))
    known.set(enrichment, suffix)
  }
  return suffix
}

/** The UTF-8 bytes of a text, each as a character. */
function asCharacters(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1')
}
