/** Claim ids count milliseconds from here: 2024-01-01 UTC. */
export const CLAIM_EPOCH_MS = Date.UTC(2024, 0, 1)

const LANE_BITS = 3
const SEQUENCE_BITS = 20
/** Milliseconds take the other 41 of 64 bits; this many values of them fit into the lower 32 bits. */
const LOW_MS = 2 ** (32 - LANE_BITS - SEQUENCE_BITS)

/**
 * The claim id of a stream entry: 41 bits of milliseconds since 2024, 3 bits of lane, 20 bits of sequence number. Unique among the
 * entries of a stream in one partition, over both lanes.
 * @param id entry id, `milliseconds-sequence`
 */
export function claimIdOf(id: string, laneIndex: number): Buffer {
  const [ms, sequence] = id.split('-')
  const sinceEpoch = Number(ms) - CLAIM_EPOCH_MS
  const high = Math.floor(sinceEpoch / LOW_MS)
  const lowMs = sinceEpoch - high * LOW_MS
  const claimId = Buffer.allocUnsafe(8)
  claimId.writeUInt32BE(high >>> 0)
  claimId.writeUInt32BE(((((lowMs << LANE_BITS) | laneIndex) << SEQUENCE_BITS) | Number(sequence)) >>> 0, 4)
  return claimId
}

/** When the entry of a claim id was written, Unix milliseconds. */
export function claimIdMs(claimId: Buffer): number {
  return claimId.readUInt32BE() * LOW_MS + (claimId.readUInt32BE(4) >>> (LANE_BITS + SEQUENCE_BITS)) + CLAIM_EPOCH_MS
}

/** No lane has this number. */
const NO_LANE = (1 << LANE_BITS) - 1

/** A claim id that no entry has. Use it to claim for an event whose entry is not known any more. */
export function claimIdOfNoEntry(ms: number): Buffer {
  return claimIdOf(`${Math.max(CLAIM_EPOCH_MS, Math.floor(ms))}-0`, NO_LANE)
}
