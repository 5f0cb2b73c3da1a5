import { type Block, identityAt } from '../core/event/block.ts'
import { IDENTITY_BYTES, NO_IDENTITY } from '../core/event/envelope.ts'
import type { Outcome } from '../core/pipeline/outcome.ts'
import type { Stage } from '../core/pipeline/stage.ts'

const DUPLICATE: Outcome = { kind: 'drop', reason: 'duplicates' }

/** Drops repeats of events, by (tenant, event id), that were kept within the dedup window (schemas/README.md, Events). */
export const dedup: Stage<ReadonlySet<number>> = {
  name: 'dedup',
  drops: [DUPLICATE.reason],
  claims: true,
  async gather(block, delivery, { seen }) {
    const { first, repeats } = firstSights(block)
    const claimed = first.length === block.count ? block.identities : pick(block, first)
    if (first.length === 0) return repeats
    for (const position of await seen.claim(claimed, delivery)) repeats.add(first[position]!)
    return repeats
  },
  decide(_block, repeats) {
    const outcomes = new Map<number, Outcome>()
    for (const position of repeats) outcomes.set(position, DUPLICATE)
    return { outcomes }
  },
}

/** Tells apart the first sight of each identity within a block and its repeats. */
function firstSights(block: Block): { first: number[]; repeats: Set<number> } {
  const sights = new Set<string>()
  const first: number[] = []
  const repeats = new Set<number>()
  for (let i = 0; i < block.count; i++) {
    const identity = identityAt(block, i)
    if (identity === NO_IDENTITY) continue
    if (sights.has(identity)) repeats.add(i)
    else first.push(i)
    sights.add(identity)
  }
  return { first, repeats }
}

function pick(block: Block, positions: readonly number[]): Buffer {
  return Buffer.concat(positions.map((i) => block.identities.subarray(i * IDENTITY_BYTES, (i + 1) * IDENTITY_BYTES)))
}
