import type { ReadEvent } from '../../src/pipeline/event/read-event.ts'
import { scanEvents } from '../../src/pipeline/sources/live/scan-events.ts'
import { sliceEvents } from '../../src/pipeline/sources/live/slice-event.ts'

/** The events of a valid request body, as a server reads them. */
export function readEvents(text: string): ReadEvent[] {
  return scanEvents(text) ?? sliceEvents(text, JSON.parse(text).events)
}
