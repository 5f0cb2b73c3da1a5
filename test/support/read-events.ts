import type { ReadEvent } from '../../src/core/event/read-event.ts'
import { scanEvents } from '../../src/ingest/scan-events.ts'
import { sliceEvents } from '../../src/ingest/slice-event.ts'

/** The events of a request's body that holds to the schema, as a server reads them. */
export function readEvents(text: string): ReadEvent[] {
  return scanEvents(text) ?? sliceEvents(text, JSON.parse(text).events)
}
