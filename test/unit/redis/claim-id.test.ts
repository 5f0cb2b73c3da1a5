import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CLAIM_EPOCH_MS, claimIdMs, claimIdOf } from '../../../src/pipeline/streams/entries.ts'

test('a claim id is 41 bits of milliseconds since 2024, 3 of the lane and 20 of the sequence', () => {
  const random = (below: number) => Math.floor(Math.random() * below)
  const edges = [0, 1, 511, 512, 2 ** 31, 2 ** 32, 2 ** 40, 2 ** 41 - 1, 1 - CLAIM_EPOCH_MS]
  const ids = [...edges, ...Array.from({ length: 2_000 }, () => random(2 ** 41))].map((sinceEpoch) => ({
    sinceEpoch,
    lane: random(8),
    sequence: random(2) * (2 ** 20 - 1 - random(3)),
  }))
  for (const { sinceEpoch, lane, sequence } of ids) {
    const claimId = claimIdOf(`${CLAIM_EPOCH_MS + sinceEpoch}-${sequence}`, lane)
    const packed = (BigInt(sinceEpoch) << 23n) | (BigInt(lane) << 20n) | BigInt(sequence)
    assert.equal(claimId.readBigUInt64BE(), BigInt.asUintN(64, packed))
    assert.equal(claimIdMs(claimId), Number(BigInt.asUintN(64, packed) >> 23n) + CLAIM_EPOCH_MS)
  }
})
