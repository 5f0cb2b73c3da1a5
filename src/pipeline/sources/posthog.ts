import type { Tally } from './live/translated.ts'
import { posthogTime } from './tools/clock.ts'
import {
  idOf,
  type JsonObject,
  labelOf,
  listOf,
  objectOf,
  pageOf,
  sessionIdOf,
  type ToolEvent,
  unlessEmpty,
  without,
} from './tools/tool-event.ts'
import {
  ABOUT_BROWSER,
  ABOUT_SERVER,
  ABOUT_WEBHOOKS,
  addressSample,
  besideBlock,
  settingsRoute,
  type Tool,
  type ToolRequest,
  type ToolRoute,
  toolSource,
  webhookBlock,
} from './tools/tool-source.ts'

const PLACED = [
  'event',
  'uuid',
  'timestamp',
  'properties',
  'distinct_id',
  '$set',
  '$set_once',
  'api_key',
  'token',
  'sent_at',
  'offset',
  'options',
]
/** Properties whose value is a column of the event. */
const COLUMNS = ['$ip', 'token', '$set', '$set_once']

/**
 * Reads the events of PostHog's capture API, of which there are three forms: a batch `{api_key, batch, sent_at}`, an array of events, and
 * one event. The form of `/i/v1/analytics/events` is a batch with `created_at` instead of `sent_at`. A webhook of PostHog, by its own
 * template, is `{event: {…}, person: {…}}`.
 * @param receivedAtMs milliseconds since the epoch
 * @param query of the request, without a question mark: libraries for browsers say in it when they sent
 */
export function readPosthogEvents(payload: unknown, receivedAtMs: number, query = ''): readonly ToolEvent[] {
  const body = objectOf(payload)
  if (Object.keys(objectOf(body.event)).length > 0) return [readEvent(deliveredEvent(body), {}, receivedAtMs)]
  const events = Array.isArray(payload) ? payload : (body.batch ?? body.data ?? payload)
  const parameters = new URLSearchParams(query)
  const clock = {
    sentAt: body.sent_at ?? body.created_at ?? millisecondsOf(parameters.get('_') ?? parameters.get('sent_at')),
    offset: body.offset ?? parameters.get('offset'),
  }
  return listOf(events).map((event) => readEvent(objectOf(event), clock, receivedAtMs))
}

/** The fields of a request about its sender's clock. */
interface RequestClock {
  readonly sentAt?: unknown
  /** For events without one. */
  readonly offset?: unknown
}

/** PostHog ignores the seconds that its first libraries sent. */
function millisecondsOf(text: string | null): string | undefined {
  return text !== null && /^\d{13}$/.test(text) ? text : undefined
}

/** The event of a webhook, with what PostHog knows of the person. Its time is corrected already. */
function deliveredEvent({ event, person }: JsonObject): JsonObject {
  return { ...without(objectOf(event), 'elements_chain', 'url'), $set: objectOf(person).properties }
}

function readEvent(event: JsonObject, clock: RequestClock, receivedAtMs: number): ToolEvent {
  const properties = objectOf(event.properties)
  const groups = objectOf(properties.$groups)
  const person = {
    ...objectOf(event.$set_once ?? properties.$set_once),
    ...objectOf(event.$set ?? properties.$set),
  }
  const distinctId = event.distinct_id ?? properties.distinct_id
  const group = event.event === '$groupidentify' ? properties.$group_key : (groups.company ?? Object.values(groups)[0])
  const sentAt = ignoresSentAt(event, properties) ? undefined : clock.sentAt
  const { timestamp, warning } = posthogTime(event.timestamp, event.offset ?? clock.offset, sentAt, receivedAtMs)
  return {
    event_id: idOf(event.uuid ?? properties.$insert_id),
    timestamp,
    event_type: idOf(event.event),
    account_id: labelOf(group),
    session_id: sessionIdOf(event.session_id ?? properties.$session_id),
    platform: labelOf(properties.$lib),
    properties: unlessEmpty({
      ...without(event, ...PLACED),
      ...without(properties, ...COLUMNS, 'distinct_id'),
      ...(warning !== undefined && { timestamp_warning: warning }),
    }),
    user_properties: unlessEmpty(without({ ...person, distinct_id: distinctId ?? undefined })),
    page: pageOf(
      properties.$current_url,
      properties.$referrer === '$direct' ? undefined : properties.$referrer,
      properties,
    ),
    ip: properties.$ip,
    library: properties.$is_server === true ? SERVER : properties.$lib,
  }
}

/** The library name for events that mark themselves as sent by a server. */
const SERVER = 'posthog-node'

/** An import says so, because its times are right and old. Version 1 has an option for it. */
function ignoresSentAt({ options }: JsonObject, { $ignore_sent_at: ignores }: JsonObject): boolean {
  return [ignores, objectOf(options).disable_skew_correction].some((value) => value === true || value === 'true')
}

const KEY_FIELDS = ['api_key', 'token', '$token', 'properties.token']
const LISTS = ['batch', 'data']
/** Paths of its libraries, with and without the slash at the end. */
const PATHS = ['/batch', '/capture', '/track', '/e', '/i/v0/e']

/** PostHog's script for pages. It is the same for all projects. */
/** Calls that return nothing, so that they can be made later. */
const QUEUED_CALLS =
  'capture identify alias group reset register register_once unregister setPersonProperties onFeatureFlags opt_in_capturing opt_out_capturing'
const ARRAY_JS = 'https://us-assets.i.posthog.com/static/array.js'

/** PostHog's libraries take 2xx for success and repeat 408, 429 and 5xx; on 413 they send half of the batch. */
const tool: Tool = {
  kind: 'posthog',
  title: 'PostHog',
  script: {
    paths: ['/static/:file', '/static/:version/:file'],
    from: 'https://us-assets.i.posthog.com, or https://eu-assets.i.posthog.com',
  },
  setup: (base, key, browserKey) => [
    {
      title: 'Node, on your servers',
      about: ABOUT_SERVER,
      key: 'server',
      code: `import { PostHog } from 'posthog-node'
const posthog = new PostHog('${key}', { host: '${base}/s/posthog' })`,
    },
    addressSample("posthog.capture({ distinctId, event: '$pageview', properties: { $ip: request.ip } })"),
    {
      title: 'Browser, in your pages',
      about: ABOUT_BROWSER,
      key: 'browser',
      code: `posthog.init('${browserKey}', { api_host: '${base}/s/posthog' })`,
    },
    {
      title: 'HTML, in place of the snippet of PostHog',
      about:
        'The script still comes from PostHog. Its events go to ipid instead. Calls before it has loaded wait for it.',
      key: 'browser',
      code: `<script>
  window.posthog = Object.assign([], { _i: [['${browserKey}', { api_host: '${base}/s/posthog' }]], people: [] })
  for (const name of '${QUEUED_CALLS}'.split(' ')) posthog[name] = (...call) => posthog.push([name, ...call])
</script>
<script async crossorigin="anonymous" src="${ARRAY_JS}"></script>`,
    },
    besideBlock(
      'PostHog',
      'after your own posthog.init',
      'posthog.ipid.capture(…)',
      `posthog.push(['init', '${browserKey}', { api_host: '${base}/s/posthog' }, 'ipid'])`,
    ),
    webhookBlock('Data pipelines > Destinations > HTTP Webhook > Webhook URL', `${base}/s/posthog/${key}`),
  ],
  routes: [
    ...['', '/'].map(
      (path): ToolRoute => ({
        method: 'POST',
        path,
        about: ABOUT_WEBHOOKS,
        lists: LISTS,
        read: readPosthogEvents,
        answer: () => ({ status: 200, body: '{"status":1}' }),
      }),
    ),
    ...PATHS.flatMap((path) => [path, `${path}/`]).flatMap((path): ToolRoute[] => [
      {
        method: 'POST',
        path,
        keyFields: KEY_FIELDS,
        lists: LISTS,
        read: readPosthogEvents,
        answer: () => ({ status: 200, body: '{"status":1}' }),
      },
      {
        method: 'GET',
        path,
        keyFields: KEY_FIELDS,
        lists: LISTS,
        read: readPosthogEvents,
        answer: () => ({ status: 200, body: '{"status":1}' }),
      },
    ]),
    { method: 'POST', path: '/i/v1/analytics/events', lists: LISTS, read: readPosthogEvents, answer: resultsOf },
    ...['/flags', '/flags/', '/decide', '/decide/'].map((path) => settingsRoute('POST', path, noFlags, KEY_FIELDS)),
    settingsRoute('GET', '/array/:key/config', noSettings),
    settingsRoute('GET', '/array/:key/config.js', noScript),
  ],
}

export const posthog = toolSource(tool)

/** Version 1 answers each event by its uuid. An event that does not fit is dropped: sending it again changes nothing. */
function resultsOf({ rejected }: Tally, { payload }: ToolRequest) {
  const dropped = new Set(rejected.map(({ index }) => index))
  const results = listOf(objectOf(payload).batch).map((event, i) => [
    labelOf(objectOf(event).uuid) ?? '',
    { result: dropped.has(i) ? 'drop' : 'ok' },
  ])
  return { status: 200, body: JSON.stringify({ results: Object.fromEntries(results) }) }
}

/**
 * The browser features that PostHog's servers can switch on, all off. Surveys and tours must be missing: with `false` the library
 * loads their scripts.
 */
const SETTINGS = {
  supportedCompression: ['gzip', 'gzip-js'],
  hasFeatureFlags: false,
  sessionRecording: false,
  heatmaps: false,
  captureDeadClicks: false,
  capturePerformance: false,
  autocaptureExceptions: false,
  errorTracking: { autocaptureExceptions: false, suppressionRules: [] },
  toolbarParams: {},
  siteApps: [],
}

function noSettings() {
  return { status: 200, body: JSON.stringify(SETTINGS) }
}

/** A library that finds no settings in it asks for them as JSON. */
function noScript() {
  return { status: 200, type: 'text/javascript; charset=utf-8', body: '' }
}

function noFlags() {
  const none = { featureFlags: {}, featureFlagPayloads: {}, flags: {}, errorsWhileComputingFlags: false }
  return { status: 200, body: JSON.stringify({ ...SETTINGS, ...none, config: {} }) }
}
