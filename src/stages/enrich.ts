import { type Address, parseAddress } from '../core/event/address.ts'
import { type Block, type RowChange, rowEnds } from '../core/event/block.ts'
import type { Enrichment } from '../core/event/enrichment.ts'
import { EnvelopeState } from '../core/event/envelope.ts'
import { countsOf, OriginTally, originOf, originText } from '../core/event/origins.ts'
import { columnOf, rowSuffix, rowTail } from '../core/event/row.ts'
import { stateOf } from '../core/event/verdict.ts'
import { IDENTIFIED } from '../core/pipeline/counts.ts'
import type { Stage } from '../core/pipeline/stage.ts'

/**
 * Completes the rows that their source did not: those of the batch lane. What a source has enriched, because it was
 * answered, or because the row has no address any more, is not judged again.
 */
export const enrich: Stage<void> = {
  name: 'enrich',
  async gather(block, _delivery, { hostnames }) {
    if (hostnames === undefined || !block.states.includes(EnvelopeState.Raw)) return
    const addresses = new Map<string, Address>()
    for (const { address } of rawEvents(block)) addresses.set(address.text, address)
    if (addresses.size > 0) await hostnames.prefetch([...addresses.values()])
  },
  decide(block, _facts, { enricher }) {
    // Live events come complete, and belong to no job that would count them.
    if (block.job === undefined && !block.states.includes(EnvelopeState.Raw)) return {}
    const changes = new Map<number, RowChange>()
    const suffixOf = suffixesFor(block.job)
    const origins = new OriginTally()
    let identified = block.job === undefined ? 0 : countAtSource(block, origins)
    for (const { position, address, hasAccount } of rawEvents(block)) {
      const enrichment = enricher.enrich(address)
      if (!enrichment.noise && enrichment.companyId !== '') identified++
      origins.add(originOf(enrichment))
      // The row of noise is completed, too: an event that an earlier delivery promised to keep is kept all the same.
      changes.set(position, { state: stateOf(enrichment), append: suffixOf(enrichment, hasAccount) })
    }
    const seen = block.job === undefined ? [] : countsOf(origins)
    return { changes, counts: { [IDENTIFIED]: identified, ...Object.fromEntries(seen) } }
  },
}

/**
 * Counts events of a batch job that their source enriched: of tenants with rules, or whose addresses are not kept.
 * @returns those of which an organisation is known
 */
function countAtSource(block: Block, origins: OriginTally): number {
  if (block.states.every((state) => state === EnvelopeState.Raw)) return 0
  const companies = columnOf(block, 'company_id')
  const classes = columnOf(block, 'classification')
  const numbers = columnOf(block, 'asn')
  const names = columnOf(block, 'as_name')
  const owners = columnOf(block, 'org_name')
  let identified = 0
  for (const [i, state] of block.states.entries()) {
    if (state === EnvelopeState.Raw) continue
    if (state === EnvelopeState.Enriched && companies[i] !== '') identified++
    const name = names[i] || owners[i]!
    origins.add(state === EnvelopeState.Noise ? originText(classes[i]!, Number(numbers[i]), name) : '')
  }
  return identified
}

const TAB = 9

interface RawEvent {
  readonly position: number
  readonly address: Address
  readonly hasAccount: boolean
}

function* rawEvents(block: Block): Generator<RawEvent, void, void> {
  if (!block.states.includes(EnvelopeState.Raw)) return
  const { rows } = block
  const ends = rowEnds(block)
  for (let position = 0; position < block.count; position++) {
    if (block.states[position] !== EnvelopeState.Raw) continue
    const start = position === 0 ? 0 : ends[position - 1]!
    // The first column never needs escapes, and the account comes last.
    const address = parseAddress(rows.toString('latin1', start, rows.indexOf(TAB, start)))
    if (address === undefined) throw new Error('a row without an address')
    yield { position, address, hasAccount: rows[ends[position]! - 2] !== TAB }
  }
}

/** Equal enrichments are one object as long as they are cached, so most suffixes are encoded only once. */
const suffixes = [new WeakMap<Enrichment, Buffer>(), new WeakMap<Enrichment, Buffer>()] as const

function suffixBytes(enrichment: Enrichment, hasAccount: boolean): Buffer {
  const known = suffixes[hasAccount ? 1 : 0]
  let bytes = known.get(enrichment)
  if (bytes === undefined) {
    bytes = Buffer.from(rowSuffix(enrichment, hasAccount), 'utf8')
    known.set(enrichment, bytes)
  }
  return bytes
}

/** As `suffixBytes`, and behind it the batch job. Its column stays empty for live events. */
function suffixesFor(job: string | undefined): typeof suffixBytes {
  if (job === undefined) return suffixBytes
  const tail = Buffer.from(rowTail(job))
  const known = new Map<Buffer, Buffer>()
  return (enrichment, hasAccount) => {
    const suffix = suffixBytes(enrichment, hasAccount)
    let bytes = known.get(suffix)
    if (bytes === undefined) {
      bytes = Buffer.concat([suffix, tail])
      known.set(suffix, bytes)
    }
    return bytes
  }
}
