/** Start of the owners' clock: 2024-01-01 UTC. */
export const OWNER_EPOCH_MS = Date.UTC(2024, 0, 1)

const LANE_BITS = 3n
const SEQUENCE_BITS = 20n

/**
 * Stands for a stream entry in the dedup store: 41 bits of milliseconds since 2024, 3 bits of lane, 20 bits of sequence
 * number. Unique among the entries of one stream in one partition, both lanes together.
 * @param id entry id, `milliseconds-sequence`
 */
export function ownerOf(id: string, laneIndex: number): Buffer {
  const [ms, sequence] = id.split('-')
  const sinceEpoch = BigInt(ms!) - BigInt(OWNER_EPOCH_MS)
  const value = (sinceEpoch << (LANE_BITS + SEQUENCE_BITS)) | (BigInt(laneIndex) << SEQUENCE_BITS) | BigInt(sequence!)
  const owner = Buffer.allocUnsafe(8)
  owner.writeBigUInt64BE(BigInt.asUintN(64, value))
  return owner
}

/** Milliseconds since the Unix epoch at which the owner's entry was written. */
export function ownerMs(owner: Buffer): number {
  return Number(owner.readBigUInt64BE() >> (LANE_BITS + SEQUENCE_BITS)) + OWNER_EPOCH_MS
}

/** No lane has this number. */
const NO_LANE = (1 << Number(LANE_BITS)) - 1

/** An owner that stands for no entry: what it claims was claimed by one that is not known any more. */
export function ownerOfNobody(ms: number): Buffer {
  return ownerOf(`${Math.max(OWNER_EPOCH_MS, Math.floor(ms))}-0`, NO_LANE)
}
