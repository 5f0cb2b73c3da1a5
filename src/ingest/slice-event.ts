import { eachElement, eachMember } from './json-slices.ts'

/** The parts of an event that are kept as text: `''` where the event has none. */
export interface EventParts {
  readonly properties: string
  readonly userProperties: string
  /** The unknown keys and their values as one JSON object. */
  readonly extra: string
}

const QUERIED_KEYS = new Set(['ip', 'event_id', 'timestamp', 'event_type', 'account_id', 'session_id', 'platform'])

/** Where an event object stands in a text. */
export interface EventPlace {
  readonly start: number
  /** Behind it. */
  readonly end: number
}

/** Reads the parts of the event object that starts at `start`. */
export function sliceEvent(text: string, start: number): EventParts & EventPlace {
  let properties = ''
  let userProperties = ''
  let extra = ''
  const end = eachMember(text, start, (key, keyStart, valueStart, valueEnd) => {
    if (QUERIED_KEYS.has(key)) return
    if (key === 'properties') properties = text.slice(valueStart, valueEnd)
    else if (key === 'user_properties') userProperties = text.slice(valueStart, valueEnd)
    else extra += `${extra === '' ? '{' : ','}${text.slice(keyStart, valueEnd)}`
  })
  return { properties, userProperties, extra: extra === '' ? '' : `${extra}}`, start, end }
}

/** Reads the parts of every event of a request's body. */
export function sliceEvents(text: string, count: number): (EventParts & EventPlace)[] {
  let at = -1
  eachMember(text, 0, (key, _start, valueStart) => {
    // Of repeated keys the last one counts, as for JSON.parse; only that one was held to the schema.
    if (key === 'events') at = valueStart
  })
  const parts: (EventParts & EventPlace)[] = []
  eachElement(text, at, (start) => {
    const part = sliceEvent(text, start)
    parts.push(part)
    return part.end
  })
  if (parts.length !== count) throw new Error(`sliced ${parts.length} events of ${count}`)
  return parts
}
