import type { PayloadStatus } from '../../pipeline/event/payload.ts'
import { eachMember } from '../../pipeline/sources/live/json-slices.ts'
import type { ArchivedEvent, ArchivedLine, ArchivedLines, ArchivedUnit } from './ports.ts'

/** Members that the archive adds before those of the event; see `payloadOf`. */
const HEAD =
  /^\{"_received_at":"([^"\\]+)","_event_id":("(?:[^"\\]|\\.)*"),"_status":"(ok|filtered|invalid_ip)",(?:"_source_id":"(src_[0-9a-f]{7})",)?(?:"_browser_key":(true),)?/

/** Holds members of the caller that have the same names as ours. */
const SENT = '"_sent":'

/** The event of a line; undefined when the line is not an archived event. */
export function readLine({ text, requestId }: ArchivedLine): ArchivedEvent | undefined {
  const [head, received, eventId, status, sourceId, browserKey] = HEAD.exec(text) ?? []
  if (head === undefined) return undefined
  const receivedAtMs = Date.parse(received!)
  if (Number.isNaN(receivedAtMs)) return undefined
  const sent = `{${text.slice(head.length)}`
  try {
    return {
      eventId: JSON.parse(eventId!) as string,
      receivedAtMs,
      status: status as PayloadStatus,
      text: sent.startsWith(SENT, 1) ? asSent(sent) : sent,
      requestId,
      sourceId,
      isBrowser: browserKey !== undefined,
    }
  } catch {
    return undefined
  }
}

/** Moves the members under `_sent` back to the top level. */
function asSent(text: string): string {
  const members: string[] = []
  eachMember(text, 0, (key, start, valueStart, valueEnd) => {
    if (key !== '_sent') members.push(text.slice(start, valueEnd))
    else eachMember(text, valueStart, (_, from, __, to) => members.push(text.slice(from, to)))
  })
  return `{${members.join(',')}}`
}

/** @param onUnreadable called for each line that is no archived event */
export function readUnit({ lines, ...unit }: ArchivedLines, onUnreadable: () => void): ArchivedUnit {
  const events: ArchivedEvent[] = []
  for (const line of lines) {
    const event = readLine(line)
    if (event === undefined) onUnreadable()
    else events.push(event)
  }
  return { ...unit, events }
}
