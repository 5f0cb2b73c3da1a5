import type { EventSource } from '../../../schemas/api/receipt.ts'
import type { Unknown } from './receipts.ts'

const PLACES: Readonly<Record<EventSource, string>> = {
  pipeline: 'the events in progress',
  dead_letters: 'the dead letters',
  archive: 'the archive; received_at says when to look',
}

/** Explains to the tenant why no event was found. */
export function whyUnknown({ incomplete }: Unknown, archived: boolean): string {
  const unsearched = incomplete.map((source) => PLACES[source])
  const limits = archived ? '' : '; without an archive nothing is kept of filtered and invalid events'
  const searched = unsearched.length === 0 ? '' : `; not searched to the end: ${unsearched.join(', ')}`
  return `there is no such event${limits}${searched}`
}
