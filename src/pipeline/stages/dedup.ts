import type { Outcome, Stage } from '../declaration/stage.ts'
import type { Block } from '../event/block.ts'
import { IDENTITY_BYTES } from '../event/envelope.ts'

const DUPLICATE: Outcome = { kind: 'drop', reason: 'duplicates' }

/** Drops events whose (tenant, event id) was kept within the dedup window (schemas/README.md, Events). */
export const dedup: Stage<readonly number[]> = {
  name: 'dedup',
  drops: [DUPLICATE.reason],
  claims: true,
  async gather(block, delivery, { seen }) {
    const { first, repeats } = firstSights(block)
    if (first.length === 0) return repeats
    const claimed = first.length === block.count ? block.identities : pick(block, first)
    for (const position of await seen.claim(claimed, delivery)) repeats.push(first[position]!)
    return repeats
  },
  decide(_block, repeats) {
    return repeats.length === 0 ? {} : { outcomes: new Map(repeats.map((position) => [position, DUPLICATE])) }
  },
}

/**
 * Finds the first event of each identity in a block, and its repeats. Events without an identity are in neither list. Uses a hash
 * table that is at most half full. The slot is the end of an identity, which is a hash; its start chose the partition.
 */
function firstSights({ count, identities }: Block): { first: number[]; repeats: number[] } {
  const mask = 2 ** Math.ceil(Math.log2(2 * count)) - 1
  /** Positions, counted from 1. */
  const slots = new Uint32Array(mask + 1)
  const first: number[] = []
  const repeats: number[] = []
  for (let i = 0; i < count; i++) {
    const at = i * IDENTITY_BYTES
    const word = identities.readInt32LE(at + IDENTITY_BYTES - 4)
    if (word === 0 && isNone(identities, at)) continue
    let slot = word & mask
    while (slots[slot] !== 0 && !isSame(identities, at, (slots[slot]! - 1) * IDENTITY_BYTES)) {
      slot = (slot + 1) & mask
    }
    if (slots[slot] === 0) {
      slots[slot] = i + 1
      first.push(i)
    } else {
      repeats.push(i)
    }
  }
  return { first, repeats }
}

function isNone(identities: Buffer, at: number): boolean {
  for (let i = at; i < at + IDENTITY_BYTES; i++) if (identities[i] !== 0) return false
  return true
}

function isSame(identities: Buffer, a: number, b: number): boolean {
  for (let i = 0; i < IDENTITY_BYTES; i++) if (identities[a + i] !== identities[b + i]) return false
  return true
}

function pick({ identities }: Block, positions: readonly number[]): Buffer {
  return Buffer.concat(positions.map((i) => identities.subarray(i * IDENTITY_BYTES, (i + 1) * IDENTITY_BYTES)))
}
