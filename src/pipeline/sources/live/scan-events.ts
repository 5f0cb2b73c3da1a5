import { EVENT_LIMITS } from '../../../../schemas/api/event.ts'
import { CLOSE_BRACE, CLOSE_BRACKET, COLON, COMMA, OPEN_BRACE, OPEN_BRACKET, QUOTE } from '../../event/json-codes.ts'
import type { ReadEvent } from '../../event/read-event.ts'
import { parseTimestamp } from '../../event/timestamp.ts'
import {
  behindInteger,
  behindPlainString,
  behindSpace,
  behindValue,
  type CodeUnits,
  codesOf,
  isSpecial,
  NONE,
  startsWith,
  unitsOf,
} from './json-scan.ts'

/*
 * Events as callers usually send them are read in one pass over their text. Whatever is unusual, or wrong, is left to
 * JSON.parse, the schema and `sliceEvents`, which say what is wrong: what is read here is exactly what those would read.
 */

const { eventIdMaxChars, labelMaxChars, eventsMaxPerRequest } = EVENT_LIMITS
/** All numbers of so many digits are safe integers. */
const SESSION_DIGITS_MAX = 15
const HEAD = unitsOf('"events"')

/** Keys, as positions in `QUOTED`; values of the first ones are texts. */
const [IP, EVENT_ID, TIMESTAMP, EVENT_TYPE, ACCOUNT_ID, PLATFORM] = [0, 1, 2, 3, 4, 5]
const [SESSION_ID, PROPERTIES, USER_PROPERTIES, OTHER] = [6, 7, 8, 9]
const QUOTED = [
  ...['ip', 'event_id', 'timestamp', 'event_type', 'account_id', 'platform'],
  ...['session_id', 'properties', 'user_properties'],
].map((key) => unitsOf(`"${key}"`))

/** The events of a request's body; undefined: they are to be read another way. */
export function scanEvents(text: string): ReadEvent[] | undefined {
  const codes = codesOf(text)
  let at = behindSpace(codes, 0)
  if (codes[at] !== OPEN_BRACE) return undefined
  at = behindSpace(codes, at + 1)
  if (!startsWith(codes, at, HEAD)) return undefined
  at = behindSpace(codes, at + HEAD.length)
  if (codes[at] !== COLON) return undefined
  at = behindSpace(codes, at + 1)
  if (codes[at] !== OPEN_BRACKET) return undefined
  const events: ReadEvent[] = []
  do {
    const event = scanEvent(text, codes, behindSpace(codes, at + 1))
    if (event === undefined || events.push(event) > eventsMaxPerRequest) return undefined
    at = behindSpace(codes, event.end)
  } while (codes[at] === COMMA)
  if (codes[at] !== CLOSE_BRACKET) return undefined
  at = behindSpace(codes, at + 1)
  return codes[at] === CLOSE_BRACE && behindSpace(codes, at + 1) === text.length ? events : undefined
}

/**
 * The event of the line from `start` to `end`, where its line feed is, or the text ends; undefined: it is to be read another way.
 * @param codes those of the text, of which several lines are read
 */
export function scanEventLine(
  text: string,
  codes = codesOf(text),
  start = 0,
  end = text.length,
): ReadEvent | undefined {
  const event = scanEvent(text, codes, behindSpace(codes, start))
  return event !== undefined && event.end <= end && behindSpace(codes, event.end) >= end ? event : undefined
}

/** The event object that starts at `start`. */
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
    const keyAt = behindSpace(codes, at + 1)
    if (codes[keyAt] !== QUOTE) return undefined
    const key = keyOf(codes, keyAt)
    const keyEnd = key === OTHER ? behindPlainString(codes, keyAt) : keyAt + QUOTED[key]!.length
    if (keyEnd < 0) return undefined
    const colon = behindSpace(codes, keyEnd)
    if (codes[colon] !== COLON) return undefined
    const valueAt = behindSpace(codes, colon + 1)
    if (key <= PLATFORM) {
      at = codes[valueAt] === QUOTE ? behindPlainString(codes, valueAt) : NONE
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
      at = behindInteger(codes, valueAt, SESSION_DIGITS_MAX)
      if (at < 0) return undefined
      sessionId = text.slice(valueAt, at)
    } else {
      at = behindValue(codes, valueAt)
      if (at < 0) return undefined
      isPlainJson &&= !isSpecial()
      if (key === PROPERTIES) {
        properties = text.slice(valueAt, at)
      } else if (key === USER_PROPERTIES) {
        userProperties = text.slice(valueAt, at)
      } else {
        // Between key and value there may be white space of any kind.
        isPlainJson &&= valueAt === keyEnd + 1
        extra += `${extra === '' ? '{' : ','}${text.slice(keyAt, at)}`
      }
    }
    at = behindSpace(codes, at)
  } while (codes[at] === COMMA)
  if (codes[at] !== CLOSE_BRACE || ip === undefined) return undefined
  if (extra !== '') extra += '}'
  const end = at + 1
  // Spelled out: to copy them from objects takes as long as all else.
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

/** The key whose quote is at `at`, compared where it stands: a text for each would take as long as its value. */
function keyOf(codes: CodeUnits, at: number): number {
  const key = candidateOf(codes, at)
  return key !== OTHER && startsWith(codes, at, QUOTED[key]!) ? key : OTHER
}

/** The only one that it can be. */
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
