import { EVENT_LIMITS } from '../../schemas/api/event.ts'
import type { ReadEvent } from '../core/event/read-event.ts'
import { parseTimestamp } from '../core/event/timestamp.ts'
import { CLOSE_BRACE, CLOSE_BRACKET, COLON, COMMA, OPEN_BRACE, OPEN_BRACKET, QUOTE } from './json-codes.ts'
import { behindInteger, behindPlainString, behindSpace, behindValue, isSpecial, NONE } from './json-scan.ts'

/*
 * Events as callers usually send them are read in one pass over their text. Whatever is unusual, or wrong, is left to
 * JSON.parse, the schema and `sliceEvents`, which say what is wrong: what is read here is exactly what those would read.
 */

const { eventIdMaxChars, labelMaxChars, eventsMaxPerRequest } = EVENT_LIMITS
/** All numbers of so many digits are safe integers. */
const SESSION_DIGITS_MAX = 15
const HEAD = '"events"'

/** The events of a request's body; undefined: they are to be read another way. */
export function scanEvents(text: string): ReadEvent[] | undefined {
  let at = behindSpace(text, 0)
  if (text.charCodeAt(at) !== OPEN_BRACE) return undefined
  at = behindSpace(text, at + 1)
  if (!text.startsWith(HEAD, at)) return undefined
  at = behindSpace(text, at + HEAD.length)
  if (text.charCodeAt(at) !== COLON) return undefined
  at = behindSpace(text, at + 1)
  if (text.charCodeAt(at) !== OPEN_BRACKET) return undefined
  const events: ReadEvent[] = []
  do {
    const event = scanEvent(text, behindSpace(text, at + 1))
    if (event === undefined || events.push(event) > eventsMaxPerRequest) return undefined
    at = behindSpace(text, event.end)
  } while (text.charCodeAt(at) === COMMA)
  if (text.charCodeAt(at) !== CLOSE_BRACKET) return undefined
  at = behindSpace(text, at + 1)
  return text.charCodeAt(at) === CLOSE_BRACE && behindSpace(text, at + 1) === text.length ? events : undefined
}

/**
 * The event of the line from `start` to `end`, where its line feed is, or the text ends; undefined: it is to be read another way.
 * Parts of a text would be scanned at half the speed.
 */
export function scanEventLine(text: string, start = 0, end = text.length): ReadEvent | undefined {
  const event = scanEvent(text, behindSpace(text, start))
  return event !== undefined && event.end <= end && behindSpace(text, event.end) >= end ? event : undefined
}

/** The event object that starts at `start`. */
function scanEvent(text: string, start: number): ReadEvent | undefined {
  if (text.charCodeAt(start) !== OPEN_BRACE) return undefined
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
    const keyAt = behindSpace(text, at + 1)
    const keyEnd = text.charCodeAt(keyAt) === QUOTE ? behindPlainString(text, keyAt) : NONE
    if (keyEnd < 0) return undefined
    const colon = behindSpace(text, keyEnd)
    if (text.charCodeAt(colon) !== COLON) return undefined
    const valueAt = behindSpace(text, colon + 1)
    const key = text.slice(keyAt + 1, keyEnd - 1)
    switch (key) {
      case 'ip':
      case 'event_id':
      case 'timestamp':
      case 'event_type':
      case 'account_id':
      case 'platform': {
        at = text.charCodeAt(valueAt) === QUOTE ? behindPlainString(text, valueAt) : NONE
        if (at < 0) return undefined
        const value = text.slice(valueAt + 1, at - 1)
        if (key === 'ip') {
          ip = value
        } else if (key === 'timestamp') {
          timestampMs = parseTimestamp(value)
          if (Number.isNaN(timestampMs)) return undefined
        } else if (key === 'event_id') {
          if (value === '' || value.length > eventIdMaxChars) return undefined
          eventId = value
        } else {
          if (value.length > labelMaxChars) return undefined
          if (key === 'event_type') eventType = value
          else if (key === 'platform') platform = value
          else accountId = value
        }
        break
      }
      case 'session_id':
        at = behindInteger(text, valueAt, SESSION_DIGITS_MAX)
        if (at < 0) return undefined
        sessionId = text.slice(valueAt, at)
        break
      default: {
        at = behindValue(text, valueAt)
        if (at < 0) return undefined
        isPlainJson &&= !isSpecial()
        if (key === 'properties') {
          properties = text.slice(valueAt, at)
        } else if (key === 'user_properties') {
          userProperties = text.slice(valueAt, at)
        } else {
          // Between key and value there may be white space of any kind.
          isPlainJson &&= valueAt === keyEnd + 1
          extra += `${extra === '' ? '{' : ','}${text.slice(keyAt, at)}`
        }
      }
    }
    at = behindSpace(text, at)
  } while (text.charCodeAt(at) === COMMA)
  if (text.charCodeAt(at) !== CLOSE_BRACE || ip === undefined) return undefined
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
