import type { Tally } from './live/translated.ts'
import { type CallTool, readCalls } from './tools/calls.ts'
import {
  ABOUT_BROWSER,
  ABOUT_SERVER,
  ABOUT_WEBHOOKS,
  addressSample,
  hostOf,
  protocolOf,
  settingsRoute,
  snippetBlock,
  type Tool,
  type ToolRequest,
  type ToolRoute,
  toolSource,
  webhookBlock,
} from './tools/tool-source.ts'

const CALLS = ['track', 'identify', 'page', 'screen', 'group', 'alias'] as const

/**
 * Segment's HTTP tracking API, version 1, as the libraries `@segment/analytics-node` and `@segment/analytics-next` speak it. They take
 * any 2xx for success and repeat 429 and 5xx; they drop a 400, so an error that a repeat may heal is never one. The browser
 * library names calls by their first letter, and asks for settings first: without them it sends nothing.
 */
const tool: Tool = {
  kind: 'segment',
  title: 'Segment',
  script: { paths: ['/analytics.js/v1/:key/:file'], from: 'https://cdn.segment.com' },
  setup: (base, key, browserKey) => [
    {
      title: 'Node, on your servers',
      about: ABOUT_SERVER,
      key: 'server',
      code: `import { Analytics } from '@segment/analytics-node'
const analytics = new Analytics({ writeKey: '${key}', host: '${base}', path: '/s/segment/v1/batch' })`,
    },
    addressSample('analytics.page({ userId, context: { ip: request.ip } })'),
    {
      title: 'Browser, in your pages',
      about: ABOUT_BROWSER,
      key: 'browser',
      code: `import { AnalyticsBrowser } from '@segment/analytics-next'
const analytics = AnalyticsBrowser.load(
  { writeKey: '${browserKey}', cdnURL: '${base}/s/segment' },
  { integrations: { 'Segment.io': { protocol: '${protocolOf(base)}', apiHost: '${hostOf(base)}/s/segment/v1' } } },
)
analytics.page()`,
    },
    snippetBlock(
      'Segment',
      'after analytics.load(…)',
      `analytics._loadOptions = { integrations: { 'Segment.io': { protocol: '${protocolOf(base)}', apiHost: '${hostOf(base)}/s/segment/${browserKey}/v1' } } }`,
    ),
    {
      title: 'JavaScript beside Segment, after your own analytics.load(…)',
      about: 'Copies each call to ipid, and changes nothing for Segment. A copy that fails on its way is not repeated.',
      key: 'browser',
      code: `analytics.addSourceMiddleware(({ payload, next }) => {
  fetch('${base}/s/segment/${browserKey}', { method: 'POST', keepalive: true, body: JSON.stringify(payload.obj) }).catch(() => {})
  next(payload)
})`,
    },
    webhookBlock('Destinations > Webhooks > Webhook URL', `${base}/s/segment/${key}`),
  ],
  routes: [
    ...callRoutes('segment', success),
    ...CALLS.map((type): ToolRoute => callRoute('segment', `/v1/${type[0]}`, type, success)),
    callRoute('segment', '/v1/b', undefined, success),
    settingsRoute('GET', '/v1/projects/:key/settings', settingsOf),
  ],
}

export const segment = toolSource(tool)

/** The routes of an API in Segment's form. The URL of the source itself takes the tool's webhooks. */
export function callRoutes(kind: CallTool, answer: ToolRoute['answer']): ToolRoute[] {
  return [
    ...['', '/'].map((path): ToolRoute => ({ ...callRoute(kind, path, undefined, answer), about: ABOUT_WEBHOOKS })),
    callRoute(kind, '/v1/batch', undefined, answer),
    callRoute(kind, '/v1/import', undefined, answer),
    ...CALLS.map((type) => callRoute(kind, `/v1/${type}`, type, answer)),
  ]
}

/** @param type the call of the path; undefined: each call names its own */
export function callRoute(
  kind: CallTool,
  path: string,
  type: string | undefined,
  answer: ToolRoute['answer'],
): ToolRoute {
  return {
    method: 'POST',
    path,
    keyFields: ['writeKey'],
    lists: ['batch'],
    read: (payload, nowMs) => readCalls(payload, type, kind, nowMs),
    answer,
  }
}

function success(_tally: Tally) {
  return { status: 200, body: '{"success":true}' }
}

/** No destination but this one. `metrics` are the library's own. */
function settingsOf(_tally: Tally, { parameter }: ToolRequest) {
  const integrations = { 'Segment.io': { apiKey: parameter } }
  return { status: 200, body: JSON.stringify({ integrations, metrics: { sampleRate: 0 } }) }
}
