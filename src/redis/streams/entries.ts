import { type Block, decodeBlock, OWNER_FIELD } from '../../core/event/block.ts'
import { LANES, type Lane } from '../../core/pipeline/lane.ts'
import type { BrokenEntry, Entry } from '../../runner/ports.ts'
import { ownerOf } from './owner.ts'

/** An entry as Redis answers it. `fields` is null for one that was deleted while it was pending. */
export type RawEntry = readonly [id: Buffer, fields: readonly Buffer[] | null]

/** Answer of XREADGROUP: null when nothing came in time. */
export type RawStreams = readonly (readonly [key: Buffer, entries: readonly RawEntry[]])[] | null

/** @param deliveries this one included */
export function readEntry(raw: RawEntry, lane: Lane, partition: number, deliveries: number): Entry | BrokenEntry {
  const id = raw[0].toString('latin1')
  const fields = raw[1]
  if (fields === null) return { id, lane, reason: 'its fields were deleted while it was pending' }
  try {
    const block = decodeBlock(fields)
    const carried = fields.findIndex((field, i) => i % 2 === 0 && field.toString('latin1') === OWNER_FIELD)
    const owner = carried < 0 ? ownerOf(id, LANES.indexOf(lane)) : fields[carried + 1]!
    return { id, lane, partition, owner, block, deliveries, repeated: deliveries > 1 || carried >= 0 }
  } catch (error) {
    return { id, lane, reason: error instanceof Error ? error.message : String(error) }
  }
}

/**
 * What stands in `outcomes.source` for events that left with the settlement of an entry: the commit that brought them, and
 * behind a slash the group and the entry.
 */
export function outcomeSource(
  group: string,
  entry: {
    readonly partition: number
    readonly lane: Lane
    readonly id: string
    readonly block: Pick<Block, 'commit'>
  },
): string {
  return `${entry.block.commit ?? ''}/${group}:${entry.partition}:${entry.lane}:${entry.id}`
}
