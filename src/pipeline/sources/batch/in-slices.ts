import { setImmediate as nextTurn } from 'node:timers/promises'
import type { ChunkReading, SlicedReading } from '../../declaration/source.ts'

/** Reads while others have their turn in between: the steps wait for Redis half of their time, and Redis for them. */
export async function inSlices(reading: SlicedReading): Promise<ChunkReading> {
  for (;;) {
    const { done, value } = reading.next()
    if (done) return value
    await nextTurn()
  }
}
