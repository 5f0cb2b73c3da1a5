import { IDENTIFIED, type Stage } from '../declaration/stage.ts'
import type { Address } from '../event/address.ts'
import type { Block } from '../event/block.ts'
import { EnvelopeState } from '../event/envelope.ts'
import { completeRows, rawAddresses } from '../event/make-row.ts'
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
    let identified = block.job === undefined ? 0 : identifiedAtSource(block)
    const judge = (address: Address) => {
      const enrichment = enricher.enrich(address)
      if (!enrichment.noise && enrichment.companyId !== '') identified++
      return enrichment
    }
    // Noise too: an event that an earlier delivery claimed is kept even if it is noise.
    const changed = isRaw ? completeRows(block, judge) : block
    return { changed, counts: { [IDENTIFIED]: identified } }
  },
}

/** Events of a known organisation that their source enriched, because the tenant has rules or does not store addresses. */
function identifiedAtSource(block: Block): number {
  if (block.states.every((state) => state === EnvelopeState.Raw)) return 0
  const companies = columnOf(block, 'company_id')
  return block.states.filter((state, i) => state === EnvelopeState.Enriched && companies[i] !== '').length
}
