import { atOnce } from '../../run/slices.ts'
import { RefusedEvent, type Tally } from './live/translated.ts'
import { matomoTime } from './tools/clock.ts'
import { hasTooManyParameters, readParameters, TOO_MANY_PARAMETERS } from './tools/payload.ts'
import {
  idOf,
  type JsonObject,
  labelOf,
  objectOf,
  pageOf,
  sessionIdOf,
  type ToolEvent,
  taggedCampaign,
  unlessEmpty,
  without,
} from './tools/tool-event.ts'
import {
  ABOUT_BROWSER,
  ABOUT_SERVER,
  addressSample,
  besideBlock,
  PIXEL,
  type Tool,
  type ToolRequest,
  type ToolRoute,
  toolSource,
} from './tools/tool-source.ts'

const CHARSET_FIELD = 'cs'

const PLACED = [
  'idsite',
  'rec',
  'url',
  'urlref',
  'cip',
  'cdt',
  'cdo',
  CHARSET_FIELD,
  'queuedtracking',
  'uid',
  '_id',
  'cid',
  'ua',
  'token_auth',
  'rand',
  'apiv',
  'send_image',
  'r',
  'bots',
]

/**
 * Reads requests of Matomo's tracking API: the parameters of one, or `{requests: ['?idsite=…', {…}], token_auth}`.
 * @param receivedAtMs milliseconds since the epoch
 */
export function readMatomoRequests(payload: unknown, receivedAtMs: number): readonly (ToolEvent | RefusedEvent)[] {
  const { requests } = objectOf(payload)
  const all = Array.isArray(requests) ? requests : [payload]
  return all.map((request) => {
    if (typeof request !== 'string') return readRequest(objectOf(request), receivedAtMs)
    const query = request.slice(request.indexOf('?') + 1)
    if (hasTooManyParameters(query)) return new RefusedEvent([{ path: '', message: TOO_MANY_PARAMETERS }])
    return readRequest(atOnce(readParameters(query, CHARSET_FIELD)), receivedAtMs)
  })
}

function readRequest(request: JsonObject, receivedAtMs: number): ToolEvent {
  const ids = without({ uid: request.uid, visitor_id: request._id ?? request.cid })
  const { timestamp, warning } = matomoTime(request, receivedAtMs)
  return {
    timestamp,
    event_type: idOf(typeOf(request)),
    session_id: sessionIdOf(request._idn === '1' ? undefined : request.pv_session),
    platform: 'matomo',
    properties: unlessEmpty({
      ...without(request, ...PLACED),
      ...(request.ua !== undefined && { user_agent: request.ua }),
      ...(warning !== undefined && { timestamp_warning: warning }),
    }),
    user_properties: unlessEmpty(ids),
    page: pageOf(request.url, request.urlref, {
      ...{ campaign: request._rcn, term: request._rck },
      ...taggedCampaign((name) => request[name]),
    }),
    ip: request.cip,
  }
}

/** An action makes an event. Searches, goals, downloads and links are recognised by a parameter. All else is a page view. */
function typeOf(request: JsonObject): unknown {
  if (labelOf(request.e_a) !== undefined) return request.e_a
  if (labelOf(request.search) !== undefined) return 'search'
  if (labelOf(request.idgoal) !== undefined) return 'goal'
  if (labelOf(request.download) !== undefined) return 'download'
  if (labelOf(request.link) !== undefined) return 'outlink'
  return request.ping === '1' ? 'ping' : 'page'
}

const FIELDS = { keyFields: ['token_auth'], lists: ['requests'], charsetField: CHARSET_FIELD }

/** Matomo's libraries take 200 and 204 for success, and do not repeat. */
const tool: Tool = {
  kind: 'matomo',
  title: 'Matomo',
  script: { paths: ['/matomo.js', '/piwik.js'], from: 'your Matomo' },
  setup: (base, key, browserKey) => [
    {
      title: 'Node, on your servers',
      about: ABOUT_SERVER,
      key: 'server',
      code: `import MatomoTracker from 'matomo-tracker'
const matomo = new MatomoTracker(1, '${base}/s/matomo/${key}/matomo.php')`,
    },
    addressSample(`matomo.track({ url, token_auth: '${key}', cip: request.ip })`),
    {
      title: 'Browser, in your pages',
      about: `In Matomo's code, in place of its own line with setTrackerUrl. matomo.js still comes from your Matomo. ${ABOUT_BROWSER}`,
      key: 'browser',
      code: `_paq.push(['setTrackerUrl', '${base}/s/matomo/${browserKey}/matomo.php'])`,
    },
    besideBlock(
      'Matomo',
      "before _paq.push(['trackPageView'])",
      undefined,
      `_paq.push(['addTracker', '${base}/s/matomo/${browserKey}/matomo.php', '1'])`,
    ),
  ],
  routes: ['/matomo.php', '/piwik.php'].flatMap((path): ToolRoute[] => [
    { method: 'GET', path, ...FIELDS, read: readMatomoRequests, answer: imageOf },
    {
      method: 'POST',
      path,
      ...FIELDS,
      read: readMatomoRequests,
      answer: ({ received, rejected }) => ({
        status: 200,
        body: JSON.stringify({ status: 'success', tracked: received - rejected.length, invalid: rejected.length }),
      }),
    },
  ]),
}

export const matomo = toolSource(tool)

/** An image, unless the request asks for none. */
function imageOf(_tally: Tally, { payload }: ToolRequest) {
  return objectOf(payload).send_image === '0' ? { status: 204, body: '' } : PIXEL
}
