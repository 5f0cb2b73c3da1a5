import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { GZIP_LEVEL } from '../../pipeline/sinks/archive/destination.ts'
import { indexKey, type PartLocation, partKey } from '../../pipeline/sinks/archive/layout.ts'
import type { PartIndex } from '../../pipeline/sinks/archive/part.ts'
import { compressed, linesOf } from '../../pipeline/sinks/archive/part-lines.ts'
import type { ObjectStore } from '../../stores/objects/object-store.ts'

/** The index of a part while lines are removed from it. */
export interface IndexInChange extends PartIndex {
  /** Positions of the lines to remove, until it is certain that the part lost them. */
  readonly erasing?: readonly number[]
}

const zip = promisify(gzip)

/** Whether a change of the part was begun and not completed. */
export function isHalfDone({ erasing }: IndexInChange): boolean {
  return erasing !== undefined
}

/**
 * Removes lines from a part and from its index; a part without lines is deleted. Three steps make a repeat after a crash
 * safe: the index notes the lines, the part is rewritten, the index is updated.
 * @param found the lines of the part, and those to remove, ascending
 * @returns the number of removed lines, without those of a call that was killed after the second step
 */
export async function removeLines(
  store: ObjectStore,
  location: PartLocation,
  index: IndexInChange,
  found: { readonly lines: number; readonly going: readonly number[] },
): Promise<number> {
  const earlier = index.erasing ?? []
  const { erasing: _, ...bare } = index
  const isWithoutEarlier = earlier.length > 0 && found.lines === index.lines - earlier.length
  let current: IndexInChange = bare
  if (isWithoutEarlier) {
    current = shrunk(bare, new Set(earlier), await bytesOf(store, location, new Set()))
    await putIndex(store, location, current)
  }
  const going = new Set(isWithoutEarlier ? found.going : [...earlier, ...found.going])
  if (going.size === 0) return 0
  await putIndex(store, location, { ...current, erasing: [...going].sort((a, b) => a - b) })
  // A part without lines may still count the rejected lines of its job.
  if (going.size === found.lines && current.rejected === undefined) {
    await store.delete(partKey(location))
    await store.delete(indexKey(location))
    return going.size
  }
  const bytes = await bytesOf(store, location, going)
  await store.put(partKey(location), await compressed(linesWithout(store, location, going)))
  await putIndex(store, location, shrunk(current, going, bytes))
  return going.size
}

async function* linesWithout(
  store: ObjectStore,
  location: PartLocation,
  going: ReadonlySet<number>,
): AsyncGenerator<Buffer> {
  let at = 0
  for await (const line of (await linesOf(store, partKey(location))) ?? []) if (!going.has(at++)) yield line
}

async function bytesOf(store: ObjectStore, location: PartLocation, going: ReadonlySet<number>): Promise<number> {
  let bytes = 0
  for await (const line of linesWithout(store, location, going)) bytes += line.length
  return bytes
}

function putIndex(store: ObjectStore, location: PartLocation, index: IndexInChange): Promise<void> {
  return zip(JSON.stringify(index), { level: GZIP_LEVEL }).then((bytes) => store.put(indexKey(location), bytes))
}

function shrunk(index: IndexInChange, going: ReadonlySet<number>, bytes: number): IndexInChange {
  const { entries, requests } = index
  const entryLines = remaining(entries, ([, , , lines]) => lines, going)
  const requestLines = requests && remaining(requests, ([, lines]) => lines, going)
  return {
    ...index,
    lines: index.lines - going.size,
    bytes,
    entries: entryLines.map(([[partition, id, commit], lines]) => [partition, id, commit, lines] as const),
    ...(requestLines === undefined ? {} : { requests: requestLines.map(([[id], lines]) => [id, lines] as const) }),
  }
}

/** Runs of lines with their remaining counts; empty runs are left out. */
function remaining<Run>(
  runs: readonly Run[],
  linesOfRun: (run: Run) => number,
  going: ReadonlySet<number>,
): [run: Run, lines: number][] {
  let at = 0
  return runs.flatMap((run) => {
    let left = 0
    for (const end = at + linesOfRun(run); at < end; at++) if (!going.has(at)) left++
    return left === 0 ? [] : [[run, left] as [Run, number]]
  })
}
