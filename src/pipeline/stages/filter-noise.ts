import { addFiltered, type FilteredBy, filteredBy } from '../../../schemas/filtered.ts'
import { FILTERED_COUNT, type Outcome, type Stage } from '../declaration/stage.ts'
import { rowEnds } from '../event/block.ts'
import { EnvelopeState, FILTERED_STATES } from '../event/envelope.ts'
import { classificationOf } from '../event/outcomes.ts'

const REASON = 'filtered'
const OUTCOMES: ReadonlyMap<EnvelopeState, Outcome & { readonly detail: string }> = new Map(
  [...FILTERED_STATES].map(([state, detail]) => [state, { kind: 'drop', reason: REASON, detail }]),
)

/**
 * Drops noise: events from infrastructure (schemas/README.md, Status of an event), and those that the tenant's rules call noise. Counts
 * those of a batch job by reason.
 */
export const filterNoise: Stage = {
  name: 'filter-noise',
  drops: [REASON],
  decide(block) {
    let outcomes: Map<number, Outcome> | undefined
    let ends: Uint32Array | undefined
    const sums: Partial<Record<FilteredBy, number>> = {}
    for (let i = 0; i < block.count; i++) {
      const state = block.states[i] as EnvelopeState
      if (state === EnvelopeState.Enriched) continue
      const outcome = OUTCOMES.get(state)
      if (outcome === undefined) continue
      outcomes ??= new Map()
      outcomes.set(i, outcome)
      if (block.job === undefined) continue
      ends ??= rowEnds(block)
      addFiltered(sums, filteredBy(outcome.detail, outcome.detail === '' ? classificationOf(block, i, ends) : ''))
    }
    if (outcomes === undefined) return {}
    const counts = Object.fromEntries(Object.entries(sums).map(([by, events]) => [FILTERED_COUNT + by, events]))
    return { outcomes, counts }
  },
}
