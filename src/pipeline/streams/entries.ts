import { NewerDataError } from '../../run/errors.ts'
import { LANES, type Lane } from '../declaration/lane.ts'
import { type Block, CLAIM_ID_FIELD, decodeBlock, fieldOf } from '../event/block.ts'
import type { BrokenEntry, Entry } from '../runner/ports.ts'

/** An entry of a Redis reply. `fields` is null if the entry was deleted while it was pending. */
export type RawEntry = readonly [id: Buffer, fields: readonly Buffer[] | null]

/** Reply of XREADGROUP: null after a time-out. */
export type RawStreams = readonly (readonly [key: Buffer, entries: readonly RawEntry[]])[] | null

/** Field of an entry that was put back for one group. Other groups of its stream skip it. */
export const GROUP_FIELD = 'g'

/** Whether an entry was put back for another group only. */
export function isForOther([, fields]: RawEntry, group: string): boolean {
  const only = fields === null ? undefined : fieldOf(fields, GROUP_FIELD)
  return only !== undefined && only.toString('utf8') !== group
}

/**
 * @param deliveries number of deliveries, including this one
 * @throws NewerDataError when a later version wrote it: it must stay pending for that one
 */
export function readEntry(raw: RawEntry, lane: Lane, partition: number, deliveries: number): Entry | BrokenEntry {
  const id = raw[0].toString('latin1')
  const fields = raw[1]
  if (fields === null) return { id, lane, reason: 'its fields were deleted while it was pending' }
  try {
    const block = decodeBlock(fields)
    const carried = fieldOf(fields, CLAIM_ID_FIELD)
    const claimId = carried ?? claimIdOf(id, LANES.indexOf(lane))
    return { id, lane, partition, claimId, block, deliveries, repeated: deliveries > 1 || carried !== undefined }
  } catch (error) {
    if (error instanceof NewerDataError) throw error
    return { id, lane, reason: error instanceof Error ? error.message : String(error) }
  }
}

/**
 * The value of `outcomes.source` for events that leave with the settlement of an entry: the commit that brought them, a slash, then
 * group and entry.
 * @param commit the commit of the event, if the entry joins several
 */
export function outcomeSource(
  group: string,
  entry: {
    readonly partition: number
    readonly lane: Lane
    readonly id: string
    readonly block: Pick<Block, 'commit'>
  },
  commit: string | undefined = entry.block.commit,
): string {
  return `${commit ?? ''}/${group}:${entry.partition}:${entry.lane}:${entry.id}`
}

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
