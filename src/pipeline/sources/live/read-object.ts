import type { EventEnvelope } from '../../../../schemas/api/event.ts'
import { wellFormed } from '../../../run/well-formed.ts'
import type { ReadEvent } from '../../event/read-event.ts'
import { parseTimestamp } from '../../event/timestamp.ts'
import { stringifyExactly } from '../tools/exact-json.ts'

/** Quotes, backslashes, control characters, and surrogates. */
const NOT_PLAIN = /[^ !#-[\]-\ud7ff\ue000-\uffff]/

/**
 * Reads an event from an object. The result is that of reading the object's JSON.
 * @param event checked against the schema; its JSON texts are those of `stringifyExactly`
 * @param start position of its JSON in the text of the request, and `end` after it
 */
export function readObject(event: EventEnvelope, start: number, end: number): ReadEvent {
  const {
    ip,
    event_id,
    timestamp,
    event_type = '',
    account_id = '',
    platform = '',
    session_id,
    properties,
    user_properties,
    ...others
  } = event
  const isPlain = !NOT_PLAIN.test(`${ip}${event_id ?? ''}${event_type}${account_id}${platform}`)
  const whole = isPlain ? same : wellFormed
  const json = jsonOf(properties)
  const userJson = jsonOf(user_properties)
  const otherJson = jsonOf(others)
  return {
    ip,
    eventId: event_id && whole(event_id),
    timestampMs: timestamp === undefined ? undefined : parseTimestamp(timestamp),
    eventType: whole(event_type),
    accountId: whole(account_id),
    platform: whole(platform),
    sessionId: session_id === undefined ? '' : String(session_id),
    properties: json,
    userProperties: userJson,
    extra: otherJson === '{}' ? '' : otherJson,
    isPlain,
    // Characters that TabSeparated escapes have a backslash in JSON.
    isPlainJson: !(json.includes('\\') || userJson.includes('\\') || otherJson.includes('\\')),
    start,
    end,
  }
}

function same(text: string): string {
  return text
}

function jsonOf(value: unknown): string {
  return value === undefined ? '' : stringifyExactly(value)
}
