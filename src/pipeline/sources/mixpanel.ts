import type { HttpError } from '../../http/engine/http-error.ts'
import { derivedUuid } from '../../run/derived-uuid.ts'
import type { Tally } from './live/translated.ts'
import { correctedTime, instantOf } from './tools/clock.ts'
import { stringifyExactly } from './tools/exact-json.ts'
import {
  idOf,
  type JsonObject,
  labelOf,
  listOf,
  objectOf,
  pageOf,
  repeatKey,
  sessionIdOf,
  type ToolEvent,
  unlessEmpty,
  without,
} from './tools/tool-event.ts'
import {
  ABOUT_BROWSER,
  ABOUT_SERVER,
  addressSample,
  besideBlock,
  hostOf,
  protocolOf,
  snippetBlock,
  type Tool,
  type ToolRequest,
  type ToolRoute,
  toolSource,
} from './tools/tool-source.ts'

const EVENT_COLUMNS = ['token', 'time', 'ip', '$ip', 'distinct_id', '$user_id', '$device_id']
const HOUR_MS = 3_600_000

/**
 * Reads the events of Mixpanel's `/track` and `/import`: `{event, properties: {token, time, $insert_id, ip, …}}`, or an array of them.
 * @param receivedAtMs milliseconds since the epoch
 */
export function readMixpanelEvents(payload: unknown, receivedAtMs: number): readonly ToolEvent[] {
  return listOf(payload).map((entry) => {
    const event = objectOf(entry)
    const properties = objectOf(event.properties)
    const group = properties.company ?? properties.$group_id ?? properties.company_id
    return {
      event_id: keyOf(event.event, properties),
      timestamp: correctedTime(properties.time, undefined, receivedAtMs),
      event_type: idOf(event.event),
      account_id: labelOf(listOf(group)[0]),
      session_id: sessionIdOf(properties.$session_id ?? properties.session_id),
      platform: labelOf(properties.mp_lib),
      properties: unlessEmpty({ ...without(event, 'event', 'properties'), ...without(properties, ...EVENT_COLUMNS) }),
      user_properties: unlessEmpty(personOf(properties)),
      page: pageOf(properties.$current_url ?? properties.current_url, properties.$referrer, properties),
      ip: properties.ip ?? properties.$ip,
      library: properties.mp_lib,
    }
  })
}

/** Event, person, time and `$insert_id`: events that differ in one of them are not repeats. A time in seconds equals one in milliseconds. */
function keyOf(event: unknown, { $insert_id: id, distinct_id, time }: JsonObject): unknown {
  return repeatKey('mixpanel', id, event, distinct_id, instantOf(time) ?? time)
}

/** Operations that change nothing when repeated, and those that do. */
const IDEMPOTENT = ['$set', '$set_once', '$union', '$remove', '$unset', '$delete']
const ADDING = ['$add', '$append']

/**
 * Reads the updates of `/engage` and `/groups`: `{$token, $distinct_id, $ip, $set: {…}}`. Each is an event of type `identify`, or
 * `group`. Mixpanel gives them no id, although its browser library repeats them after failures, and after it sent them while the page
 * was left. So the id is made of the update. Without `$time` it is also made of the visitor's address and the UTC hour of receipt: an
 * update that is set again later is another visit. The library waits up to 10 minutes until it repeats, and a repeat in another hour
 * counts twice: a lost visit costs more. An update that adds something has no id: it counts each time, as at Mixpanel.
 */
export function readMixpanelUpdates(
  payload: unknown,
  type: 'identify' | 'group',
  receivedAtMs: number,
): readonly ToolEvent[] {
  return listOf(payload).map((entry) => {
    const update = objectOf(entry)
    const values = { ...objectOf(update.$set_once), ...objectOf(update.$set) }
    const rest = without(update, '$token', '$ip', '$time', '$distinct_id', '$set', '$set_once')
    const adds = ADDING.some((key) => key in update)
    return {
      ...(!adds && identityOf(update, receivedAtMs)),
      timestamp: correctedTime(update.$time, undefined, receivedAtMs),
      event_type: adds || IDEMPOTENT.some((key) => key in update) ? type : undefined,
      account_id: labelOf(update.$group_id),
      properties: unlessEmpty(type === 'group' ? { ...rest, ...values } : rest),
      user_properties: unlessEmpty(
        without({ ...(type === 'group' ? {} : values), distinct_id: update.$distinct_id ?? undefined }),
      ),
      ip: update.$ip === 0 || update.$ip === '0' ? undefined : update.$ip,
    }
  })
}

function identityOf(update: JsonObject, receivedAtMs: number): Pick<ToolEvent, 'event_id' | 'attemptKey'> {
  const text = stringifyExactly(update)
  if (labelOf(update.$time) !== undefined) return { event_id: derivedUuid(text) }
  return { attemptKey: `${Math.floor(receivedAtMs / HOUR_MS)} ${text}` }
}

function personOf(properties: JsonObject): JsonObject {
  const { distinct_id, $user_id, $device_id } = properties
  return without({ distinct_id, $user_id, $device_id })
}

/**
 * Mixpanel's libraries look at the body alone: `1`, or with `verbose` `{"status":1}`. The browser library repeats after 429, 5xx and
 * time-outs, and on the next page the events of a page that was left; the others do not repeat.
 */
const tool: Tool = {
  kind: 'mixpanel',
  title: 'Mixpanel',
  script: { paths: ['/libs/mixpanel-2-latest.min.js', '/lib.min.js'], from: 'https://cdn.mxpnl.com' },
  repeats: true,
  setup: (base, key, browserKey) => [
    {
      title: 'Node, on your servers',
      about: ABOUT_SERVER,
      key: 'server',
      code: `import Mixpanel from 'mixpanel'
const mixpanel = Mixpanel.init('${key}', { host: '${hostOf(base)}', protocol: '${protocolOf(base)}', path: '/s/mixpanel' })`,
    },
    addressSample("mixpanel.track('Page View', { distinct_id, ip: request.ip })"),
    {
      title: 'Browser, in your pages',
      about: ABOUT_BROWSER,
      key: 'browser',
      code: `import mixpanel from 'mixpanel-browser'
mixpanel.init('${browserKey}', { api_host: '${base}/s/mixpanel', track_pageview: true })`,
    },
    snippetBlock(
      'Mixpanel',
      'in place of mixpanel.init(…)',
      `mixpanel.init('${browserKey}', { api_host: '${base}/s/mixpanel', track_pageview: true })`,
    ),
    besideBlock(
      'Mixpanel',
      'after your own mixpanel.init(…)',
      'mixpanel.ipid.track(…)',
      `mixpanel.init('${browserKey}', { api_host: '${base}/s/mixpanel', track_pageview: true }, 'ipid')`,
    ),
  ],
  routes: [
    ...both('/track', readMixpanelEvents),
    ...both('/track/', readMixpanelEvents),
    ...both('/engage', (payload, nowMs) => readMixpanelUpdates(payload, 'identify', nowMs)),
    ...both('/engage/', (payload, nowMs) => readMixpanelUpdates(payload, 'identify', nowMs)),
    ...both('/groups', (payload, nowMs) => readMixpanelUpdates(payload, 'group', nowMs)),
    ...both('/groups/', (payload, nowMs) => readMixpanelUpdates(payload, 'group', nowMs)),
    ...both('/import', readMixpanelEvents),
  ],
}

export const mixpanel = toolSource(tool)

function both(path: string, read: ToolRoute['read']): ToolRoute[] {
  const shared = {
    path,
    keyFields: ['properties.token', '$token', 'token'],
    read,
    answer: answer.bind(undefined, path),
    refuse,
  }
  return [
    { method: 'GET', ...shared },
    { method: 'POST', ...shared },
  ]
}

/** Only the libraries name `verbose`. Without it, `/import` answers with counts as its documentation says. */
function answer(path: string, { received, rejected }: Tally, { query }: ToolRequest) {
  const verbose = new URLSearchParams(query).get('verbose')
  if (verbose === '1') return { status: 200, type: JSON_TYPE, body: '{"status":1,"error":null}' }
  if (verbose !== null || path !== '/import') return { status: 200, type: TEXT_TYPE, body: '1' }
  const counts = { code: 200, num_records_imported: received - rejected.length, status: 'OK' }
  return { status: 200, type: JSON_TYPE, body: JSON.stringify(counts) }
}

/** The libraries take any body but `1` for the text of an error. */
function refuse({ status, message }: HttpError) {
  return { status, type: TEXT_TYPE, body: message }
}

const JSON_TYPE = 'application/json'
const TEXT_TYPE = 'text/plain; charset=utf-8'
