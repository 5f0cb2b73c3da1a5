import { amplitudeTime } from './tools/clock.ts'
import {
  idOf,
  type JsonObject,
  labelOf,
  listOf,
  objectOf,
  pageOf,
  REMOTE,
  repeatKey,
  sessionIdOf,
  type ToolEvent,
  unlessEmpty,
  without,
  withRest,
} from './tools/tool-event.ts'
import {
  ABOUT_BROWSER,
  ABOUT_SERVER,
  addressSample,
  besideBlock,
  snippetBlock,
  type Tool,
  type ToolRoute,
  toolSource,
} from './tools/tool-source.ts'

const PLACED = [
  'time',
  'event_type',
  'event_properties',
  'user_properties',
  'groups',
  'session_id',
  'ip',
  'user_id',
  'device_id',
]

/**
 * Reads the body of Amplitude's HTTP API version 2, and of its batch API: `{api_key, events, client_upload_time}`. `event` is an
 * older name of `events`.
 * @param receivedAtMs milliseconds since the epoch
 */
export function readAmplitudeEvents(payload: unknown, receivedAtMs: number): readonly ToolEvent[] {
  const body = objectOf(payload)
  return listOf(body.events ?? body.event).map((event) =>
    readEvent(objectOf(event), body.client_upload_time, receivedAtMs),
  )
}

function readEvent(event: JsonObject, uploadedAt: unknown, receivedAtMs: number): ToolEvent {
  const properties = objectOf(event.event_properties)
  const groups = objectOf(event.groups)
  const { library, session_id: session } = event
  return {
    event_id: repeatKey('amplitude', event.insert_id, ...deviceOf(event)),
    timestamp: amplitudeTime(event.time, uploadedAt, receivedAtMs),
    event_type: idOf(event.event_type),
    account_id: labelOf(listOf(groups.company ?? Object.values(groups)[0])[0]),
    // An event outside of a session has -1.
    session_id: session === -1 ? undefined : sessionIdOf(session),
    platform: labelOf(library) ?? labelOf(event.platform),
    properties: withRest(
      properties,
      'amplitude',
      without({ ...event, groups: unlessEmpty(groups) }, ...PLACED.filter((key) => key !== 'groups')),
    ),
    user_properties: unlessEmpty(
      without({
        ...setProperties(event.user_properties),
        user_id: event.user_id ?? undefined,
        device_id: event.device_id ?? undefined,
      }),
    ),
    page: pageOf(properties['[Amplitude] Page URL'] ?? properties.page_url, properties.referrer, properties),
    ip: event.ip === '$remote' ? REMOTE : event.ip,
    library,
  }
}

/** Amplitude makes the device id of an event without one of its user id. */
function deviceOf({ device_id, user_id }: JsonObject): readonly unknown[] {
  return labelOf(device_id) === undefined ? [undefined, user_id] : [device_id]
}

/** `$set` and `$setOnce` are operations: their values become properties. */
function setProperties(value: unknown): JsonObject {
  const { $set, $setOnce, ...others } = objectOf(value)
  return { ...objectOf($setOnce), ...objectOf($set), ...others }
}

/**
 * Amplitude's libraries look at `code` of the answer. They repeat 429 and 5xx, halve the batch on 413, and leave out the events that a
 * 400 names; nothing is answered 400 for the sake of one event.
 */
const tool: Tool = {
  kind: 'amplitude',
  title: 'Amplitude',
  script: { paths: ['/libs/:file', '/script/:file'], from: 'https://cdn.amplitude.com' },
  setup: (base, key, browserKey) => [
    {
      title: 'Node, on your servers',
      about: ABOUT_SERVER,
      key: 'server',
      code: `import { init, track } from '@amplitude/analytics-node'
init('${key}', { serverUrl: '${base}/s/amplitude/2/httpapi' })`,
    },
    addressSample("track('Page Viewed', properties, { user_id, ip: request.ip })"),
    {
      title: 'Browser, in your pages',
      about: ABOUT_BROWSER,
      key: 'browser',
      code: `import * as amplitude from '@amplitude/analytics-browser'
amplitude.init('${browserKey}', { serverUrl: '${base}/s/amplitude/2/httpapi', fetchRemoteConfig: false })`,
    },
    snippetBlock(
      'Amplitude',
      'in place of amplitude.init(…)',
      `amplitude.init('${browserKey}', { serverUrl: '${base}/s/amplitude/2/httpapi', fetchRemoteConfig: false })`,
    ),
    // Instances of the snippet need names of their own, and the package's types allow none.
    ...['its snippet', 'its package'].map((place) =>
      besideBlock(
        'Amplitude',
        `after your own amplitude.init(…) of ${place}`,
        'ipid.track(…)',
        `const ipid = amplitude.createInstance(${place === 'its snippet' ? "'ipid'" : ''})
ipid.init('${browserKey}', { serverUrl: '${base}/s/amplitude/2/httpapi', fetchRemoteConfig: false })`,
      ),
    ),
  ],
  routes: ['/2/httpapi', '/batch'].map(
    (path): ToolRoute => ({
      method: 'POST',
      path,
      keyFields: ['api_key'],
      lists: ['events', 'event'],
      read: readAmplitudeEvents,
      answer: ({ received }, { nowMs, bytes }) => ({
        status: 200,
        body: JSON.stringify({
          code: 200,
          events_ingested: received,
          payload_size_bytes: bytes,
          server_upload_time: nowMs,
        }),
      }),
      refuse: ({ status, message }) => ({ status, body: JSON.stringify({ code: status, error: message }) }),
    }),
  ),
}

export const amplitude = toolSource(tool)
