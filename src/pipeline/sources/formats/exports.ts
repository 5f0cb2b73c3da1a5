import { visitorInField } from '../../event/client-address.ts'
import { readAmplitudeEvents } from '../amplitude.ts'
import { readPosthogEvents } from '../posthog.ts'
import { type CallTool, readCalls } from '../tools/calls.ts'
import { parseNested } from '../tools/nested-json.ts'
import { type JsonObject, objectOf, REMOTE, type ToolEvent, textOf, without } from '../tools/tool-event.ts'
import { jsonReader, mostObjects } from './json-lines.ts'
import type { LineFormat, ReadLineOptions } from './line-format.ts'

/*
 * Events as analytics tools export them. A tool has corrected their times already, and no connection has an address.
 */

interface ExportFormat {
  readonly name: string
  readonly about: string
  matches(record: JsonObject): boolean
  read(record: JsonObject, nowMs: number): ToolEvent
}

function exportFormat({ name, about, matches, read }: ExportFormat): LineFormat {
  return {
    name,
    about,
    recognises: (lines) => mostObjects(lines, matches),
    reader: ({ nowMs, trusted }: ReadLineOptions) =>
      jsonReader((record) => {
        const event = read(record, nowMs)
        const ip = typeof event.ip === 'string' ? visitorInField(event.ip, trusted) : event.ip
        return { event: { ...event, ip: ip === REMOTE ? undefined : ip } }
      }),
  }
}

const CALLS = ['track', 'identify', 'page', 'screen', 'group', 'alias']

function isCall(record: JsonObject): boolean {
  return typeof record.messageId === 'string' && CALLS.includes(textOf(record.type) ?? '')
}

/** Every exported call was received by the tool, which says when. */
function readCall(record: JsonObject, tool: CallTool, nowMs: number): ToolEvent {
  return readCalls({ receivedAt: nowMs, ...record }, undefined, tool, nowMs)[0]!
}

export const rudderstackExport = exportFormat({
  name: 'rudderstack',
  about: 'RudderStack, events in object storage',
  matches: (record) => isCall(record) && ('rudderId' in record || 'request_ip' in record),
  read: (record, nowMs) => readCall(record, 'rudderstack', nowMs),
})

export const segmentExport = exportFormat({
  name: 'segment',
  about: 'Segment, raw data in object storage',
  matches: isCall,
  read: (record, nowMs) => readCall(record, 'segment', nowMs),
})

export const posthogExport = exportFormat({
  name: 'posthog',
  about: 'PostHog, batch export as JSON lines',
  matches: (record) => 'uuid' in record && 'distinct_id' in record && 'event' in record && 'properties' in record,
  read(record, nowMs) {
    const { set, set_once: setOnce, person_properties: person, created_at: _created, ip, ...event } = record
    const properties = objectOf(parsed(record.properties))
    const [read] = readPosthogEvents(
      [
        {
          ...without(event, 'team_id', 'elements_chain', 'elements', 'site_url', '_inserted_at'),
          properties: { $ip: ip ?? undefined, ...properties },
          $set_once: objectOf(parsed(setOnce)),
          $set: { ...objectOf(parsed(person)), ...objectOf(parsed(set)) },
        },
      ],
      nowMs,
    )
    return read!
  },
})

export const amplitudeExport = exportFormat({
  name: 'amplitude',
  about: "Amplitude's Export API and its export to object storage",
  matches: (record) => 'event_time' in record && 'event_type' in record && ('uuid' in record || '$insert_id' in record),
  read(record, nowMs) {
    const { $insert_id: insertId, uuid, event_time: time, ip_address: ip, ...event } = record
    const [read] = readAmplitudeEvents(
      {
        events: [
          {
            ...without(event, ...AMPLITUDE_OWN),
            insert_id: insertId,
            time,
            ip: ip ?? undefined,
          },
        ],
      },
      nowMs,
    )
    // Amplitude's own id of an event whose sender gave it none.
    return { ...read!, event_id: read!.event_id ?? uuid }
  },
})

/** Times by which Amplitude computes `event_time`, and its own bookkeeping. */
const AMPLITUDE_OWN = [
  ...['$schema', 'amplitude_id', 'client_event_time', 'client_upload_time', 'server_received_time', 'data'],
  ...['server_upload_time', 'processed_time', 'sample_rate', 'partner_id', 'source_id', 'app', 'event_id'],
]

/** Exports may hold JSON in a text. */
function parsed(value: unknown): unknown {
  return typeof value === 'string' ? parseNested(value) : value
}
