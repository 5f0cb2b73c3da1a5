import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { StageTools } from '../../../src/pipeline/declaration/stage.ts'
import { type Block, identityAt } from '../../../src/pipeline/event/block.ts'
import { IDENTITY_BYTES, NO_IDENTITY } from '../../../src/pipeline/event/envelope.ts'
import { dedup } from '../../../src/pipeline/stages/dedup.ts'

const DELIVERY = { partition: 0, lane: 'live', id: '1-0', claimId: Buffer.alloc(8), repeated: false } as const

/** @param values the sources of the identities: 0 is none */
function blockOf(values: readonly number[]): Block {
  const identities = Buffer.alloc(values.length * IDENTITY_BYTES)
  // Most of them differ in the last four bytes alone, or in the first.
  for (const [i, value] of values.entries()) {
    identities.writeUInt32LE(value % 3, i * IDENTITY_BYTES)
    identities.writeUInt32LE(Math.floor(value / 3), i * IDENTITY_BYTES + 12)
  }
  const rows = Buffer.from('row\n'.repeat(values.length))
  return { count: values.length, identities, states: new Uint8Array(values.length), rows, job: undefined }
}

/** The positions of repeats, and the claimed identities, one event after the other. */
function oneByOne(block: Block, isTaken: (identity: string) => boolean) {
  const seen = new Set<string>()
  const repeats: number[] = []
  for (let i = 0; i < block.count; i++) {
    const identity = identityAt(block, i)
    if (identity === NO_IDENTITY) continue
    if (seen.has(identity) || isTaken(identity)) repeats.push(i)
    seen.add(identity)
  }
  return { repeats, claimed: [...seen] }
}

test('each identity of a block is claimed once, by the first, and events without one are kept', async () => {
  for (let round = 0; round < 300; round++) {
    const count = 1 + Math.floor(Math.random() * (round % 2 === 0 ? 8 : 1_200))
    const different = 1 + Math.floor(Math.random() * 2 * count)
    const block = blockOf(Array.from({ length: count }, () => Math.floor(Math.random() * different)))
    const taken = new Set(Array.from({ length: round % 3 }, () => identityAt(block, Math.floor(Math.random() * count))))
    const claimed: string[] = []
    const claim = async (identities: Buffer) => {
      const call = blockOf(new Array(identities.length / IDENTITY_BYTES).fill(0))
      const asked = Array.from({ length: call.count }, (_, i) => identityAt({ ...call, identities }, i))
      claimed.push(...asked)
      return asked.flatMap((identity, i) => (taken.has(identity) ? [i] : []))
    }
    const tools = { seen: { claim, held: async () => [] } } as unknown as StageTools
    const { outcomes = new Map() } = dedup.decide(block, await dedup.gather!(block, DELIVERY, tools), tools)
    const expected = oneByOne(block, (identity) => taken.has(identity))
    assert.deepEqual(
      [...outcomes.keys()].sort((a, b) => a - b),
      expected.repeats,
    )
    assert.deepEqual(claimed, expected.claimed)
  }
})
