import { BROWSER_KEY } from '../../../schemas/row.ts'
import { IDENTIFIED, type Stage } from '../declaration/stage.ts'
import { type Address, parseAddress } from '../event/address.ts'
import type { Block } from '../event/block.ts'
import type { Enrichment } from '../event/enrichment.ts'
import { EnvelopeState, stateOf } from '../event/envelope.ts'
import { knownDomainOfRow } from '../event/known-domain.ts'
import { countsOf, OriginTally, originOf, originText } from '../event/origins.ts'
import { columnOf, rowSuffix, rowTail } from '../event/row.ts'

/**
 * Enriches the rows that their source did not enrich: most rows of the batch lane. Rows that a source has enriched, because it
 * answered with the result or removed the address, stay as they are.
 */
export const enrich: Stage<void> = {
  name: 'enrich',
  async gather(block, _delivery, { hostnames }) {
    if (hostnames === undefined || !block.states.includes(EnvelopeState.Raw)) return
    const addresses = new Map<string, Address>()
    for (const { address } of rawEvents(block, block.rows.toString('latin1'))) addresses.set(address.text, address)
    if (addresses.size > 0) await hostnames.prefetch([...addresses.values()])
  },
  decide(block, _facts, { enricher }) {
    const isRaw = block.states.includes(EnvelopeState.Raw)
    // Live events are enriched already, and have no job that counts them.
    if (block.job === undefined && !isRaw) return {}
    const origins = new OriginTally()
    let identified = block.job === undefined ? 0 : countAtSource(block, origins)
    const judge = (address: Address) => {
      const enrichment = enricher.enrich(address)
      if (!enrichment.noise && enrichment.companyId !== '') identified++
      origins.add(originOf(enrichment))
      return enrichment
    }
    const changed = isRaw ? completed(block, judge) : block
    const seen = block.job === undefined ? [] : countsOf(origins)
    return { changed, counts: { [IDENTIFIED]: identified, ...Object.fromEntries(seen) } }
  },
}

/** Completes all rows, noise too: an event that an earlier delivery claimed is kept even if it is noise. */
function completed(block: Block, judge: (address: Address) => Enrichment): Block {
  // Builds the rows as one text with a character per byte. A buffer for each piece costs several times as much.
  const text = block.rows.toString('latin1')
  // Only batch jobs have such rows, and no browser key makes jobs.
  const tailOf = (knownDomain: string) =>
    asCharacters(`${rowTail(block, { knownDomain, browserKey: BROWSER_KEY.no })}\n`)
  const tail = tailOf('')
  const states = Uint8Array.from(block.states)
  let rows = ''
  let copied = 0
  let at = text.indexOf('@')
  for (const { position, address, start, end } of rawEvents(block, text)) {
    const enrichment = judge(address)
    // The account is the last column of a raw row.
    const hasAccount = text.charCodeAt(end - 1) !== TAB
    states[position] = stateOf(enrichment)
    if (at >= 0 && at < start) at = text.indexOf('@', start)
    const knownDomain = at >= 0 && at < end ? knownDomainOfRow(Buffer.from(text.slice(start, end), 'latin1')) : ''
    const rowEnd = knownDomain === '' ? tail : tailOf(knownDomain)
    rows += text.slice(copied, end) + suffixOf(enrichment, hasAccount) + rowEnd
    copied = end + 1
  }
  return { ...block, states, rows: Buffer.from(rows + text.slice(copied), 'latin1') }
}

/**
 * Counts the events of a batch job that their source enriched, because the tenant has rules or does not store addresses.
 * @returns the number of events with a known organisation
 */
function countAtSource(block: Block, origins: OriginTally): number {
  if (block.states.every((state) => state === EnvelopeState.Raw)) return 0
  const companies = columnOf(block, 'company_id')
  const classes = columnOf(block, 'classification')
  const numbers = columnOf(block, 'asn')
  const names = columnOf(block, 'as_name')
  const organisations = columnOf(block, 'org_name')
  let identified = 0
  for (const [i, state] of block.states.entries()) {
    if (state === EnvelopeState.Raw) continue
    if (state === EnvelopeState.Enriched && companies[i] !== '') identified++
    const name = names[i] || organisations[i]!
    origins.add(state === EnvelopeState.Noise ? originText(classes[i]!, Number(numbers[i]), name) : '')
  }
  return identified
}

const TAB = 9

interface RawEvent {
  readonly position: number
  readonly address: Address
  /** Offset of the row in the text. */
  readonly start: number
  /** Offset of its line feed. */
  readonly end: number
}

/** @param text the rows, one character per byte */
function* rawEvents({ count, states }: Block, text: string): Generator<RawEvent, void, void> {
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

function suffixOf(enrichment: Enrichment, hasAccount: boolean): string {
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
