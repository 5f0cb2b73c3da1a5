import { EnvelopeState } from '../core/event/envelope.ts'
import type { Outcome } from '../core/pipeline/outcome.ts'
import type { Stage } from '../core/pipeline/stage.ts'

const FILTERED: Outcome = { kind: 'drop', reason: 'filtered' }

/** Drops events from infrastructure: cloud, CDN, hosting, access providers, reserved ranges. */
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
