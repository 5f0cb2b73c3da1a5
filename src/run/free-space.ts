import { statfsSync } from 'node:fs'

const MIB = 1_048_576
/** Disk space that ClickHouse keeps free. With less, a disk counts as full. */
const KEPT_FREE = { share: 0.02, minBytes: 64 * MIB, maxBytes: 1_024 * MIB }

/** The disk of a folder. */
export interface DiskSpace {
  readonly free_bytes: number
  readonly total_bytes: number
}

/** @param folder must exist */
export function spaceOf(folder: string): DiskSpace {
  const { bavail, blocks, bsize } = statfsSync(folder)
  return { free_bytes: bavail * bsize, total_bytes: blocks * bsize }
}

/** The space to keep free on a disk of this size. */
export function keptFreeBytes({ total_bytes: total }: DiskSpace): number {
  const { share, minBytes, maxBytes } = KEPT_FREE
  return Math.round(Math.min(maxBytes, Math.max(minBytes, total * share)))
}

/** Whether a disk has less than the space to keep free: no insert or merge of ClickHouse starts that would use it. */
export function isFull(space: DiskSpace): boolean {
  return space.free_bytes < keptFreeBytes(space)
}
