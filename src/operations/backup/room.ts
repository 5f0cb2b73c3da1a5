import { statfsSync } from 'node:fs'
import { UnavailableError } from '../../run/errors.ts'

/** Left free on the disk of the spool: Redis stops taking events and the embedded ClickHouse ends where a disk is full. */
const KEPT_FREE = { share: 0.04, minBytes: 134_217_728, maxBytes: 2_147_483_648 }

/** @throws UnavailableError when the disk of a folder has no more room for a backup; never when the folder does not exist yet */
export function assertRoom(folder: string, facts: typeof statfsSync = statfsSync): void {
  let disk: ReturnType<typeof statfsSync>
  try {
    disk = facts(folder)
  } catch {
    return
  }
  const { blocks, bavail, bsize } = disk
  const { share, minBytes, maxBytes } = KEPT_FREE
  const kept = Math.min(maxBytes, Math.max(minBytes, blocks * bsize * share))
  if (bavail * bsize >= kept) return
  throw new UnavailableError(
    `a backup leaves ${Math.round(kept / 2 ** 20)} MiB free on the disk of ${folder}, and ${Math.floor((bavail * bsize) / 2 ** 20)} MiB are left: make room, or mount a larger disk there`,
  )
}
