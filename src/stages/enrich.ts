import { parseAddress } from '../core/event/address.ts'
import { type RowChange, rowAt, rowEnds } from '../core/event/block.ts'
import type { Enricher } from '../core/event/enrichment.ts'
import { EnvelopeState } from '../core/event/envelope.ts'
import { enrichRow, rowAddress } from '../core/event/row.ts'
import type { Stage } from '../core/pipeline/stage.ts'

/** Completes the rows that ingress did not: those of the batch lane. What was answered already is not asked again. */
export function enrich(enricher: Enricher): Stage {
  return {
    name: 'enrich',
    decide(block) {
      if (!block.states.includes(EnvelopeState.Raw)) return {}
      const changes = new Map<number, RowChange>()
      const ends = rowEnds(block)
      for (let i = 0; i < block.count; i++) {
        if (block.states[i] !== EnvelopeState.Raw) continue
        const row = rowAt(block, ends, i).toString('utf8')
        const address = parseAddress(rowAddress(row))
        if (address === undefined) throw new Error('a row without an address')
        const enrichment = enricher.enrich(address)
        changes.set(
          i,
          enrichment.noise
            ? { state: EnvelopeState.Noise, row: '' }
            : { state: EnvelopeState.Enriched, row: enrichRow(row, enrichment) },
        )
      }
      return { changes }
    },
  }
}
