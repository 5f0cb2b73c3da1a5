import { EVENT_LIMITS } from '../../../../schemas/api/event.ts'
import { CLOSE_BRACE, CLOSE_BRACKET, COLON, COMMA, OPEN_BRACE, OPEN_BRACKET, QUOTE } from '../../../run/json-codes.ts'
import {
  type CodeUnits,
  codesOf,
  isSpecial,
  NONE,
  skipInteger,
  skipPlainString,
  skipSpace,
  skipValue,
  startsWith,
  unitsOf,
} from '../../../run/json-scan.ts'
import type { ReadEvent } from '../../event/read-event.ts'
import { parseTimestamp } from '../../event/timestamp.ts'

/*
 * Reads the usual form of events in one pass over their text. Anything unusual or wrong is left to JSON.parse, the schema and
 * `sliceEvents`, which report errors. Both ways give exactly the same events.
 */

const { eventIdMaxChars, labelMaxChars, eventsMaxPerRequest } = EVENT_LIMITS
/** Numbers of up to 15 digits are safe integers. */
const SESSION_DIGITS_MAX = 15
const HEAD = unitsOf('"events"')

/** Keys, as positions in `QUOTED`. The values of the first line are strings. */
const [IP, EVENT_ID, TIMESTAMP, EVENT_TYPE, ACCOUNT_ID, PLATFORM] = [0, 1, 2, 3, 4, 5]
const [SESSION_ID, PROPERTIES, USER_PROPERTIES, OTHER] = [6, 7, 8, 9]
const QUOTED = [
  ...['ip', 'event_id', 'timestamp', 'event_type', 'account_id', 'platform'],
  ...['session_id', 'properties', 'user_properties'],
].map((key) => unitsOf(`"${key}"`))

/** The events of a request's body; undefined when the body is not in the usual form. */
export function scanEvents(text: string): ReadEvent[] | undefined {
  const codes = codesOf(text)
  let at = skipSpace(codes, 0)
  if (codes[at] !== OPEN_BRACE) return undefined
  at = skipSpace(codes, at + 1)
  if (!startsWith(codes, at, HEAD)) return undefined
  at = skipSpace(codes, at + HEAD.length)
  if (codes[at] !== COLON) return undefined
  at = skipSpace(codes, at + 1)
  if (codes[at] !== OPEN_BRACKET) return undefined
  const events: ReadEvent[] = []
  do {
    const event = scanEvent(text, codes, skipSpace(codes, at + 1))
    if (event === undefined || events.push(event) > eventsMaxPerRequest) return undefined
    at = skipSpace(codes, event.end)
  } while (codes[at] === COMMA)
  if (codes[at] !== CLOSE_BRACKET) return undefined
  at = skipSpace(codes, at + 1)
  return codes[at] === CLOSE_BRACE && skipSpace(codes, at + 1) === text.length ? events : undefined
}

/**
 * The event of the line from `start` to `end`; undefined when it is not in the usual form.
 * @param codes of the whole text
 * @param end position of the line feed, or the end of the text
 */
export function scanEventLine(
  text: string,
  codes = codesOf(text),
  start = 0,
  end = text.length,
): ReadEvent | undefined {
  const event = scanEvent(text, codes, skipSpace(codes, start))
  return event !== undefined && event.end <= end && skipSpace(codes, event.end) >= end ? event : undefined
}

/** The event object at `start`. */
function scanEvent(text: string, codes: CodeUnits, start: number): ReadEvent | undefined {
  if (codes[start] !== OPEN_BRACE) return undefined
  let ip: string | undefined
  let eventId: string | undefined
  let timestampMs: number | undefined
  let eventType = ''
  let accountId = ''
  let platform = ''
  let sessionId = ''
  let properties = ''
  let userProperties = ''
  let extra = ''
  let isPlainJson = true
  let at = start
  do {
    const keyAt = skipSpace(codes, at + 1)
    if (codes[keyAt] !== QUOTE) return undefined
    const key = keyOf(codes, keyAt)
    const keyEnd = key === OTHER ? skipPlainString(codes, keyAt) : keyAt + QUOTED[key]!.length
    if (keyEnd < 0) return undefined
    const colon = skipSpace(codes, keyEnd)
    if (codes[colon] !== COLON) return undefined
    const valueAt = skipSpace(codes, colon + 1)
    if (key <= PLATFORM) {
      at = codes[valueAt] === QUOTE ? skipPlainString(codes, valueAt) : NONE
      if (at < 0) return undefined
      const value = text.slice(valueAt + 1, at - 1)
      if (key === IP) {
        ip = value
      } else if (key === TIMESTAMP) {
        timestampMs = parseTimestamp(value)
        if (Number.isNaN(timestampMs)) return undefined
      } else if (key === EVENT_ID) {
        if (value === '' || value.length > eventIdMaxChars) return undefined
        eventId = value
      } else {
        if (value.length > labelMaxChars) return undefined
        if (key === EVENT_TYPE) eventType = value
        else if (key === PLATFORM) platform = value
        else accountId = value
      }
    } else if (key === SESSION_ID) {
      at = skipInteger(codes, valueAt, SESSION_DIGITS_MAX)
      if (at < 0) return undefined
      sessionId = text.slice(valueAt, at)
    } else {
      at = skipValue(codes, valueAt)
      if (at < 0) return undefined
      isPlainJson &&= !isSpecial()
      if (key === PROPERTIES) {
        properties = text.slice(valueAt, at)
      } else if (key === USER_PROPERTIES) {
        userProperties = text.slice(valueAt, at)
      } else {
        // White space between key and value may need escapes.
        isPlainJson &&= valueAt === keyEnd + 1
        extra += `${extra === '' ? '{' : ','}${text.slice(keyAt, at)}`
      }
    }
    at = skipSpace(codes, at)
  } while (codes[at] === COMMA)
  if (codes[at] !== CLOSE_BRACE || ip === undefined) return undefined
  if (extra !== '') extra += '}'
  const end = at + 1
  // Copying the fields from another object would double the time.
  return {
    ip,
    eventId,
    timestampMs,
    eventType,
    accountId,
    platform,
    sessionId,
    properties,
    userProperties,
    extra,
    isPlain: true,
    isPlainJson,
    start,
    end,
  }
}

/** The key whose quote is at `at`. Compares in place: making a string would cost as much as reading the value. */
function keyOf(codes: CodeUnits, at: number): number {
  const key = candidateOf(codes, at)
  return key !== OTHER && startsWith(codes, at, QUOTED[key]!) ? key : OTHER
}

/** The only key that it can be. */
function candidateOf(codes: CodeUnits, at: number): number {
  switch (codes[at + 1]) {
    case 105: // i
      return IP
    case 101: // e
      return codes[at + 7] === 105 ? EVENT_ID : EVENT_TYPE
    case 116: // t
      return TIMESTAMP
    case 97: // a
      return ACCOUNT_ID
    case 112: // p
      return codes[at + 2] === 108 ? PLATFORM : PROPERTIES
    case 115: // s
      return SESSION_ID
    case 117: // u
      return USER_PROPERTIES
    default:
      return OTHER
  }
}
