import { EnvelopeState } from '../core/event/envelope.ts'
import type { Outcome } from '../core/pipeline/outcome.ts'
import type { Stage } from '../core/pipeline/stage.ts'

const FILTERED: Outcome = { kind: 'drop', reason: 'filtered' }

/** Drops events from infrastructure (schemas/README.md, Status of an event): cloud, CDN, hosting, access, reserved. */
export const filterNoise: Stage = {
  name: 'filter-noise',
  drops: [FILTERED.reason],
  decide(block) {
    if (!block.states.includes(EnvelopeState.Noise)) return {}
    const outcomes = new Map<number, Outcome>()
    for (let i = 0; i < block.count; i++) {
      if (block.states[i] === EnvelopeState.Noise) outcomes.set(i, FILTERED)
    }
    return { outcomes }
  },
}
