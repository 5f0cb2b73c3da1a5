import { type Envelope, EnvelopeState } from '../../event/envelope.ts'
import { PAYLOAD_KEYS, type PayloadStatus, payloadRow } from '../../event/payload.ts'
import type { EventContext } from '../../event/read-event.ts'
import { eachMember } from './json-slices.ts'

/** An event for the archive. */
interface ReceivedEvent {
  /** A valid JSON object. */
  readonly text: string
  readonly identity: string
  readonly eventId: string
  readonly status: PayloadStatus
  readonly isIdGenerated: boolean
}

/** The archive's envelope of an event: our members, then the event's members exactly as sent. */
export function payloadOf(
  { text, identity, eventId, status, isIdGenerated }: ReceivedEvent,
  context: EventContext,
): Envelope {
  const receivedAt = new Date(context.receivedAtMs).toISOString()
  const source = context.sourceId === undefined ? '' : `,"_source_id":"${context.sourceId}"`
  const key = context.isBrowser ? ',"_browser_key":true' : ''
  const own = `{"_received_at":"${receivedAt}","_event_id":${JSON.stringify(eventId)},"_status":"${status}"${source}${key}`
  const line = `${own},${membersOf(text)}}`
  return {
    identity,
    state: EnvelopeState.Raw,
    row: payloadRow(context.tenantId, receivedAt, line, context.requestId),
    isIdGenerated,
  }
}

/** JSON has line breaks between tokens only. */
const LINE_BREAKS = /[\r\n]+/g

function membersOf(text: string): string {
  const isOneLine = !text.includes('\n') && !text.includes('\r')
  const object = (isOneLine ? text : text.replace(LINE_BREAKS, ' ')).trim()
  const members = object.slice(1, -1).trim()
  // A cheap check for a key of ours. Its first character may be an escape.
  const mayBeOurs = members.includes('"_') || members.includes('"\\')
  return mayBeOurs ? (separatedMembers(object) ?? members) : members
}

/** Moves members with our names into an object `_sent`. Undefined when there are none. */
function separatedMembers(object: string): string | undefined {
  const kept: string[] = []
  const separated: string[] = []
  eachMember(object, 0, (key, start, _valueStart, valueEnd) => {
    const isOurs = PAYLOAD_KEYS.some((ours) => ours === key)
    ;(isOurs ? separated : kept).push(object.slice(start, valueEnd))
  })
  if (separated.length === 0) return undefined
  return [`"_sent":{${separated.join(',')}}`, ...kept].join(',')
}
