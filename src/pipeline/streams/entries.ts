import { LANES, type Lane } from '../declaration/lane.ts'
import { type Block, CLAIM_ID_FIELD, decodeBlock, fieldOf } from '../event/block.ts'
import type { BrokenEntry, Entry } from '../runner/ports.ts'
import { claimIdOf } from './claim-id.ts'

/** An entry as Redis answers it. `fields` is null for one that was deleted while it was pending. */
export type RawEntry = readonly [id: Buffer, fields: readonly Buffer[] | null]

/** Answer of XREADGROUP: null when nothing came in time. */
export type RawStreams = readonly (readonly [key: Buffer, entries: readonly RawEntry[]])[] | null

/** Field of an entry that is for one group only, though others read its stream too: what is put back for it. */
export const GROUP_FIELD = 'g'

/** Whether an entry was put back for another group, which then is the only one that has something to do with it. */
export function isForOther([, fields]: RawEntry, group: string): boolean {
  const only = fields === null ? undefined : fieldOf(fields, GROUP_FIELD)
  return only !== undefined && only.toString('utf8') !== group
}

/** @param deliveries this one included */
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
    return { id, lane, reason: error instanceof Error ? error.message : String(error) }
  }
}

/**
 * What stands in `outcomes.source` for events that left with the settlement of an entry: the commit that brought them, and
 * behind a slash the group and the entry.
 * @param commit of an entry that several brought
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
