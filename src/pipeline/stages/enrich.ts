import { IDENTIFIED, type Stage } from '../declaration/stage.ts'
import type { Address } from '../event/address.ts'
import type { Block } from '../event/block.ts'
import { EnvelopeState } from '../event/envelope.ts'
import { completeRows, rawAddresses } from '../event/make-row.ts'
import { countsOf, OriginTally, originOf, originText } from '../event/origins.ts'
import { columnOf } from '../event/row.ts'

/**
 * Enriches the rows that their source did not enrich: most rows of the batch lane. Rows that a source has enriched, because it
 * answered with the result or removed the address, stay as they are.
 */
export const enrich: Stage<void> = {
  name: 'enrich',
  async gather(block, _delivery, { hostnames }) {
    if (hostnames === undefined || !block.states.includes(EnvelopeState.Raw)) return
    await hostnames.prefetch(rawAddresses(block))
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
    // Noise too: an event that an earlier delivery claimed is kept even if it is noise.
    const changed = isRaw ? completeRows(block, judge) : block
    const seen = block.job === undefined ? [] : countsOf(origins)
    return { changed, counts: { [IDENTIFIED]: identified, ...Object.fromEntries(seen) } }
  },
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
