import { EVENT_VALUES_MAX } from '../../../schemas/api/event.ts'
import { hasTooManyValues, isTooDeep } from '../event/json-depth.ts'
import { snowplowTime } from './tools/clock.ts'
import { parseExactly } from './tools/exact-json.ts'
import { PAYLOAD_LEVELS_MAX } from './tools/payload-json.ts'
import {
  idOf,
  type JsonObject,
  labelOf,
  listOf,
  objectOf,
  pageOf,
  sessionIdOf,
  type ToolEvent,
  textOf,
  unlessEmpty,
  without,
} from './tools/tool-event.ts'
import {
  ABOUT_BROWSER,
  ABOUT_SERVER,
  addressSample,
  besideBlock,
  PIXEL,
  snippetBlock,
  type Tool,
  toolSource,
} from './tools/tool-source.ts'

/** The names of events by their short forms in Snowplow's tracker protocol. `ue` and `se` have names of their own. */
const EVENTS: Readonly<Record<string, string>> = {
  pv: 'page',
  pp: 'page_ping',
  tr: 'transaction',
  ti: 'transaction_item',
}
const PLACED = [
  'e',
  'eid',
  'dtm',
  'ttm',
  'stm',
  'p',
  'uid',
  'duid',
  'nuid',
  'tnuid',
  'ip',
  'ua',
  'ue_px',
  'ue_pr',
  'cx',
  'co',
  'sid',
]

/**
 * Reads the events of Snowplow's tracker protocol: `{schema, data: [{e, eid, dtm, stm, …}]}`, whose values are texts, or the query of
 * a GET.
 * @param receivedAtMs milliseconds since the epoch
 */
export function readSnowplowEvents(payload: unknown, receivedAtMs: number): readonly ToolEvent[] {
  const body = objectOf(payload)
  return listOf(body.data ?? payload).map((event) => readEvent(objectOf(event), receivedAtMs))
}

function readEvent(event: JsonObject, receivedAtMs: number): ToolEvent {
  const named = objectOf(objectOf(jsonOf(event.ue_px, event.ue_pr)).data)
  const contexts = listOf(objectOf(jsonOf(event.cx, event.co)).data)
  const client = contexts.map(objectOf).find(({ schema }) => textOf(schema)?.includes('/client_session/'))
  const ids = without({
    uid: event.uid,
    duid: event.duid,
    nuid: event.nuid ?? event.tnuid,
  })
  return {
    event_id: idOf(event.eid),
    timestamp: snowplowTime(event, receivedAtMs),
    event_type: idOf(typeOf(event, named)),
    session_id: sessionIdOf(event.sid ?? objectOf(client?.data).sessionId),
    platform: labelOf(event.p),
    properties: unlessEmpty({
      ...objectOf(named.data),
      ...without(event, ...PLACED),
      ...(contexts.length > 0 && { contexts }),
      ...(event.ua !== undefined && { user_agent: event.ua }),
    }),
    user_properties: unlessEmpty(ids),
    page: pageOf(event.url, event.refr),
    ip: event.ip,
    library: event.tv,
  }
}

/** A self-describing event has the name of its schema, `iglu:com.acme/NAME/jsonschema/1-0-0`; a structured one that of its action. */
function typeOf(event: JsonObject, named: JsonObject): unknown {
  const { e } = event
  if (e === 'ue') return textOf(named.schema)?.split('/')[1] ?? 'unstruct'
  if (e === 'se') return event.se_ac ?? 'struct'
  return (typeof e === 'string' && Object.hasOwn(EVENTS, e) && EVENTS[e]) || e
}

/** JSON in base64url, or plain. Undefined when it is missing, invalid, or has too many levels or values to parse. */
function jsonOf(encoded: unknown, plain: unknown): unknown {
  const text = typeof encoded === 'string' ? Buffer.from(encoded, 'base64url').toString('utf8') : textOf(plain)
  if (text === undefined) return undefined
  try {
    const isOver = isTooDeep(text, PAYLOAD_LEVELS_MAX) || hasTooManyValues(text, EVENT_VALUES_MAX)
    return isOver ? undefined : parseExactly(text)
  } catch {
    return undefined
  }
}

/**
 * Snowplow's trackers take 2xx for success and repeat everything but 400, 401, 403, 410 and 422. Their protocol has no key: it is in
 * the path.
 */
const tool: Tool = {
  kind: 'snowplow',
  title: 'Snowplow',
  script: { paths: ['/sp.js', '/sp.lite.js'], from: 'where it is now' },
  setup: (base, key, browserKey) => {
    const { protocol, hostname, port } = new URL(base)
    return [
      {
        title: 'Node, on your servers',
        about: ABOUT_SERVER,
        key: 'server',
        code: `import { newTracker, buildPageView } from '@snowplow/node-tracker'
const tracker = newTracker({ namespace: 'sp', appId: 'my-app' }, { endpoint: '${hostname}', protocol: '${protocol.slice(0, -1)}', port: ${port || (protocol === 'https:' ? 443 : 80)}, postPath: '/s/snowplow/${key}/com.snowplowanalytics.snowplow/tp2' })`,
      },
      addressSample(`tracker.setIpAddress(request.ip)
tracker.track(buildPageView({ pageUrl: request.url }))`),
      {
        title: 'Browser, in your pages',
        about: ABOUT_BROWSER,
        key: 'browser',
        code: `import { newTracker, trackPageView } from '@snowplow/browser-tracker'
newTracker('sp', '${base}/s/snowplow/${browserKey}', { appId: 'my-site' })
trackPageView()`,
      },
      snippetBlock(
        'Snowplow',
        "in place of snowplow('newTracker', …)",
        `snowplow('newTracker', 'sp', '${base}/s/snowplow/${browserKey}', { appId: 'my-site' })`,
      ),
      besideBlock(
        'Snowplow',
        "after your own snowplow('trackPageView')",
        "snowplow('trackPageView'): calls that name no tracker go to both",
        `snowplow('newTracker', 'ipid', '${base}/s/snowplow/${browserKey}', { appId: 'my-site' })
snowplow('trackPageView:ipid')`,
      ),
    ]
  },
  routes: [
    {
      method: 'POST',
      path: '/com.snowplowanalytics.snowplow/tp2',
      lists: ['data'],
      read: readSnowplowEvents,
      answer: () => ({ status: 200, type: 'text/plain; charset=utf-8', body: 'ok' }),
    },
    {
      method: 'GET',
      path: '/i',
      lists: ['data'],
      read: readSnowplowEvents,
      answer: () => PIXEL,
    },
  ],
}

export const snowplow = toolSource(tool)
