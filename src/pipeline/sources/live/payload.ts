import type { EventContext } from '../../declaration/source.ts'
import { type Envelope, EnvelopeState } from '../../event/envelope.ts'
import { PAYLOAD_KEYS, type PayloadStatus, payloadRow } from '../../event/payload.ts'
import { eachMember } from './json-slices.ts'

/** An event that is to be archived: its text, which is a valid JSON object, its id, and what became of it. */
export interface ReceivedEvent {
  readonly text: string
  readonly identity: string
  readonly eventId: string
  readonly status: PayloadStatus
  readonly idMade: boolean
}

/** What the archive is given of an event: its members as they came, to the letter, behind ours. */
export function payloadOf({ text, identity, eventId, status, idMade }: ReceivedEvent, context: EventContext): Envelope {
  const receivedAt = new Date(context.receivedAtMs).toISOString()
  const own = `{"_received_at":"${receivedAt}","_event_id":${JSON.stringify(eventId)},"_status":"${status}"`
  const line = `${own},${membersOf(text)}}`
  return {
    identity,
    state: EnvelopeState.Raw,
    row: payloadRow(context.tenantId, receivedAt, line, context.requestId),
    idMade,
  }
}

/** Strings of JSON hold no line breaks, so what is one is white space. */
const LINE_BREAKS = /[\r\n]+/g

function membersOf(text: string): string {
  const isOneLine = !text.includes('\n') && !text.includes('\r')
  const object = (isOneLine ? text : text.replace(LINE_BREAKS, ' ')).trim()
  const members = object.slice(1, -1).trim()
  // Only a string that begins like this can be a key of ours; a letter may be written as an escape.
  const mayBeOurs = members.includes('"_') || members.includes('"\\')
  return mayBeOurs ? (partedMembers(object) ?? members) : members
}

/** Members whose names are ours go into an object of their own. Undefined when there are none. */
function partedMembers(object: string): string | undefined {
  const kept: string[] = []
  const parted: string[] = []
  eachMember(object, 0, (key, start, _valueStart, valueEnd) => {
    const isOurs = PAYLOAD_KEYS.some((ours) => ours === key)
    ;(isOurs ? parted : kept).push(object.slice(start, valueEnd))
  })
  if (parted.length === 0) return undefined
  return [`"_sent":{${parted.join(',')}}`, ...kept].join(',')
}
