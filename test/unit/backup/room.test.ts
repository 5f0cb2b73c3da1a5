import assert from 'node:assert/strict'
import { type StatsFs, statfsSync } from 'node:fs'
import { test } from 'node:test'
import { assertRoom } from '../../../src/operations/backup/scheduled.ts'
import { UnavailableError } from '../../../src/run/errors.ts'

const MIB = 1_048_576

/** A disk of this size, MiB. */
function disk(mib: number, free: number) {
  return (() => ({ bsize: MIB, blocks: mib, bavail: free }) as StatsFs) as unknown as typeof statfsSync
}

test('a backup leaves a share of the disk free, within bounds, and says which disk is full', () => {
  for (const [mib, kept] of [
    [1_000, 128],
    [10_000, 400],
    [1_000_000, 2_048],
  ] as const) {
    assertRoom('/data/backup-spool', disk(mib, kept))
    assert.throws(
      () => assertRoom('/data/backup-spool', disk(mib, kept - 1)),
      (error) =>
        error instanceof UnavailableError &&
        error.message ===
          `a backup leaves ${kept} MiB free on the disk of /data/backup-spool, and ${kept - 1} MiB are left: make room, or mount a larger disk there`,
    )
  }
  assertRoom('/no/such/folder', statfsSync)
})
