import type { Outcome, Stage } from '../declaration/stage.ts'
import { EnvelopeState, FILTERED_STATES } from '../event/envelope.ts'

const REASON = 'filtered'
const OUTCOMES: ReadonlyMap<EnvelopeState, Outcome> = new Map(
  [...FILTERED_STATES].map(([state, detail]) => [state, { kind: 'drop', reason: REASON, detail }]),
)

/** Drops noise: events from infrastructure (schemas/README.md, Status of an event), and those that the tenant's rules call noise. */
export const filterNoise: Stage = {
  name: 'filter-noise',
  drops: [REASON],
  decide(block) {
    let outcomes: Map<number, Outcome> | undefined
    for (let i = 0; i < block.count; i++) {
      const state = block.states[i] as EnvelopeState
      if (state === EnvelopeState.Enriched) continue
      const outcome = OUTCOMES.get(state)
      if (outcome === undefined) continue
      outcomes ??= new Map()
      outcomes.set(i, outcome)
    }
    return outcomes === undefined ? {} : { outcomes }
  },
}
