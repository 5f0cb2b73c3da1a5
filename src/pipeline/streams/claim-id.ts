/** Start of the claim ids' clock: 2024-01-01 UTC. */
export const CLAIM_EPOCH_MS = Date.UTC(2024, 0, 1)

const LANE_BITS = 3
const SEQUENCE_BITS = 20
/** The milliseconds are what is left of 64 bits: so many of them stand in the lower half. */
const LOW_MS = 2 ** (32 - LANE_BITS - SEQUENCE_BITS)

/**
 * Stands for a stream entry in the dedup store: 41 bits of milliseconds since 2024, 3 bits of lane, 20 bits of sequence
 * number. Unique among the entries of one stream in one partition, both lanes together.
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

/** Milliseconds since the Unix epoch at which the claim id's entry was written. */
export function claimIdMs(claimId: Buffer): number {
  return claimId.readUInt32BE() * LOW_MS + (claimId.readUInt32BE(4) >>> (LANE_BITS + SEQUENCE_BITS)) + CLAIM_EPOCH_MS
}

/** No lane has this number. */
const NO_LANE = (1 << LANE_BITS) - 1

/** A claim id that stands for no entry: what it claims was claimed by one that is not known any more. */
export function claimIdOfNoEntry(ms: number): Buffer {
  return claimIdOf(`${Math.max(CLAIM_EPOCH_MS, Math.floor(ms))}-0`, NO_LANE)
}
