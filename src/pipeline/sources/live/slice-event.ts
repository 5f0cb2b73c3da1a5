import type { EventEnvelope } from '../../../../schemas/api/event.ts'
import { wellFormed } from '../../../run/well-formed.ts'
import type { ReadEvent } from '../../event/read-event.ts'
import { parseTimestamp } from '../../event/timestamp.ts'
import { eachElement, eachMember } from './json-slices.ts'

const QUERIED_KEYS = new Set(['ip', 'event_id', 'timestamp', 'event_type', 'account_id', 'session_id', 'platform'])

/**
 * Reads the event object at `start`.
 * @param event the same object from `JSON.parse`, checked against the schema
 */
export function sliceEvent(text: string, start: number, event: EventEnvelope): ReadEvent {
  let properties = ''
  let userProperties = ''
  let extra = ''
  const end = eachMember(text, start, (key, keyStart, valueStart, valueEnd) => {
    if (QUERIED_KEYS.has(key)) return
    if (key === 'properties') properties = text.slice(valueStart, valueEnd)
    else if (key === 'user_properties') userProperties = text.slice(valueStart, valueEnd)
    else extra += `${extra === '' ? '{' : ','}${text.slice(keyStart, valueEnd)}`
  })
  return {
    ip: event.ip,
    eventId: event.event_id && wellFormed(event.event_id),
    timestampMs: event.timestamp === undefined ? undefined : parseTimestamp(event.timestamp),
    eventType: wellFormed(event.event_type ?? ''),
    accountId: wellFormed(event.account_id ?? ''),
    platform: wellFormed(event.platform ?? ''),
    sessionId: event.session_id === undefined ? '' : String(event.session_id),
    properties,
    userProperties,
    extra: extra === '' ? '' : `${extra}}`,
    isPlain: false,
    isPlainJson: false,
    start,
    end,
  }
}

/**
 * Reads the events of a request's body.
 * @param events the same events from `JSON.parse`, checked against the schema
 */
export function sliceEvents(text: string, events: readonly EventEnvelope[]): ReadEvent[] {
  let at = -1
  eachMember(text, 0, (key, _start, valueStart) => {
    // The last of repeated keys counts, as for JSON.parse. The schema has checked only that one.
    if (key === 'events') at = valueStart
  })
  const read: ReadEvent[] = []
  eachElement(text, at, (start) => {
    const event = events[read.length]
    if (event === undefined) throw new Error(`there are more than ${events.length} events`)
    read.push(sliceEvent(text, start, event))
    return read.at(-1)!.end
  })
  if (read.length !== events.length) throw new Error(`sliced ${read.length} events of ${events.length}`)
  return read
}
