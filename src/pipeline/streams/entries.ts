import { NewerDataError } from '../../run/errors.ts'
import { LANES, type Lane } from '../declaration/lane.ts'
import { type Block, CLAIM_ID_FIELD, decodeBlock, fieldOf } from '../event/block.ts'
import type { BrokenEntry, Entry } from '../runner/ports.ts'
import { claimIdOf } from './claim-id.ts'

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
