import type { Outcome, Stage } from '../declaration/stage.ts'
import type { Block } from '../event/block.ts'
import { IDENTITY_BYTES } from '../event/envelope.ts'

const DUPLICATE: Outcome = { kind: 'drop', reason: 'duplicates' }

/** Drops repeats of events, by (tenant, event id), that were kept within the dedup window (schemas/README.md, Events). */
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
 * Tells apart the first sight of each identity within a block and its repeats; those that have none are neither. Identities are
 * bits of a hash, so their end, which does not tell the partition, is a place in a table that is at least half empty.
 */
function firstSights({ count, identities }: Block): { first: number[]; repeats: number[] } {
  const mask = 2 ** Math.ceil(Math.log2(2 * count)) - 1
  /** Positions, counted from 1. */
  const places = new Uint32Array(mask + 1)
  const first: number[] = []
  const repeats: number[] = []
  for (let i = 0; i < count; i++) {
    const at = i * IDENTITY_BYTES
    const word = identities.readInt32LE(at + IDENTITY_BYTES - 4)
    if (word === 0 && isNone(identities, at)) continue
    let place = word & mask
    while (places[place] !== 0 && !isSame(identities, at, (places[place]! - 1) * IDENTITY_BYTES)) {
      place = (place + 1) & mask
    }
    if (places[place] === 0) {
      places[place] = i + 1
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
