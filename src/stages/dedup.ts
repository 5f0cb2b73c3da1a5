import { type Block, identityAt } from '../core/event/block.ts'
import { IDENTITY_BYTES, NO_IDENTITY } from '../core/event/envelope.ts'
import type { Outcome } from '../core/pipeline/outcome.ts'
import type { Delivery, Stage } from '../core/pipeline/stage.ts'

/** Remembers for the dedup window which delivery saw an identity first. */
export interface SeenStore {
  /**
   * Claims identities for a delivery. Returns the positions of those that another delivery claimed before. Claiming again
   * for the same delivery changes nothing and finds the same.
   * @param identities 16 bytes each, without repeats among them
   */
  claim(identities: Buffer, delivery: Delivery): Promise<readonly number[]>
}

/** Drops events whose (tenant, event id) was seen before. */
export function dedup(store: SeenStore): Stage<ReadonlySet<number>> {
  return {
    name: 'dedup',
    async gather(block, delivery) {
      const { first, repeats } = firstSights(block)
      const claimed = first.length === block.count ? block.identities : pick(block, first)
      if (first.length === 0) return repeats
      for (const position of await store.claim(claimed, delivery)) repeats.add(first[position]!)
      return repeats
    },
    decide(_block, repeats) {
      const outcomes = new Map<number, Outcome>()
      for (const position of repeats) outcomes.set(position, { kind: 'drop', reason: 'duplicate' })
      return { outcomes }
    },
  }
}

/** Tells apart the first sight of each identity within a block and its repeats. */
function firstSights(block: Block): { first: number[]; repeats: Set<number> } {
  const seen = new Set<string>()
  const first: number[] = []
  const repeats = new Set<number>()
  for (let i = 0; i < block.count; i++) {
    const identity = identityAt(block, i)
    if (identity === NO_IDENTITY) continue
    if (seen.has(identity)) repeats.add(i)
    else first.push(i)
    seen.add(identity)
  }
  return { first, repeats }
}

function pick(block: Block, positions: readonly number[]): Buffer {
  return Buffer.concat(positions.map((i) => block.identities.subarray(i * IDENTITY_BYTES, (i + 1) * IDENTITY_BYTES)))
}
