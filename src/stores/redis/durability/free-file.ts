import { close, fstat, ftruncate, open } from 'node:fs'
import { promisify } from 'node:util'
import { pause as pauseFor, poll } from '../../../run/loop.ts'

const statFile = promisify(fstat)
const openFile = promisify(open)
const truncateFile = promisify(ftruncate)
const closeFile = promisify(close)

const PIECE_BYTES = 8 * 2 ** 20
const PAUSE_MS = 20
/** How long to wait until Redis removes the file. */
const NAMED_MAX_MS = 1_000

/**
 * Closes a file that Redis is about to remove, and frees its space in pieces first. Otherwise the file system frees all of it at the
 * last close, and every sync waits for that: 80 ms for 500 MB on ext4 with discards. Closes a file that keeps its name as it is. Never
 * rejects.
 * @param pause between pieces
 */
export async function closeInPieces(file: number, pause: () => Promise<void> = pauseBriefly): Promise<void> {
  try {
    if (await losesItsName(file)) await freeInPieces(file, pause)
  } catch {
    // The close frees the rest at once.
  } finally {
    await closeFile(file).catch(() => {})
  }
}

async function losesItsName(file: number): Promise<boolean> {
  const look = async () => {
    const { nlink, size } = await statFile(file)
    return nlink === 0 || size <= PIECE_BYTES ? nlink === 0 : undefined
  }
  const deadlineMs = performance.now() + NAMED_MAX_MS
  return (await poll(look, { everyMs: PAUSE_MS, deadlineMs, unref: true })) ?? false
}

/** Only Linux can open a file without a name. Reads its size each time, because other processes may free it too. */
async function freeInPieces(file: number, pause: () => Promise<void>): Promise<void> {
  const writable = await openFile(`/proc/self/fd/${file}`, 'r+')
  try {
    for (;;) {
      const { size } = await statFile(writable)
      if (size <= PIECE_BYTES) return
      await truncateFile(writable, size - PIECE_BYTES)
      await pause()
    }
  } finally {
    await closeFile(writable)
  }
}

function pauseBriefly(): Promise<void> {
  return pauseFor(PAUSE_MS, undefined, false)
}
