import type { Tally } from './live/translated.ts'
import { callRoute, callRoutes } from './segment.ts'
import {
  ABOUT_BROWSER,
  ABOUT_SERVER,
  addressSample,
  settingsRoute,
  snippetBlock,
  type Tool,
  type ToolRequest,
  toolSource,
  webhookBlock,
} from './tools/tool-source.ts'

/**
 * RudderStack's HTTP API, which has Segment's form. Its libraries take 2xx for success and repeat 429 and 5xx three times. The Node
 * library sends gzip, and calls it a form. The browser library asks for its source's settings first: without them it sends nothing. The
 * form of it that is bundled loads no plugins from RudderStack. A page has one instance of it, so nothing runs beside: RudderStack's
 * webhooks send to both.
 */
const tool: Tool = {
  kind: 'rudderstack',
  title: 'RudderStack',
  script: {
    paths: ['/v3/modern/rsa.min.js', '/v3/legacy/rsa.min.js', '/v1.1/rudder-analytics.min.js'],
    from: 'https://cdn.rudderlabs.com',
  },
  setup: (base, key, browserKey) => [
    {
      title: 'Node, on your servers',
      about: ABOUT_SERVER,
      key: 'server',
      code: `import Analytics from '@rudderstack/rudder-sdk-node'
const analytics = new Analytics('${key}', { dataPlaneUrl: '${base}/s/rudderstack' })`,
    },
    addressSample('analytics.page({ userId, name, context: { ip: request.ip } })'),
    {
      title: 'Browser, in your pages',
      about: ABOUT_BROWSER,
      key: 'browser',
      code: `import { RudderAnalytics } from '@rudderstack/analytics-js/bundled'
const analytics = new RudderAnalytics()
analytics.load('${browserKey}', '${base}/s/rudderstack', { configUrl: '${base}/s/rudderstack' })
analytics.page()`,
    },
    snippetBlock(
      'RudderStack',
      'in place of rudderanalytics.load(…)',
      `rudderanalytics.load('${browserKey}', '${base}/s/rudderstack', { configUrl: '${base}/s/rudderstack' })
rudderanalytics.page()`,
    ),
    webhookBlock('Destinations > Webhook > Webhook URL', `${base}/s/rudderstack/${key}`),
  ],
  routes: [
    ...callRoutes('rudderstack', success),
    callRoute('rudderstack', '/beacon/v1/batch', undefined, success),
    settingsRoute('GET', '/sourceConfig', settingsOf),
    settingsRoute('GET', '/sourceConfig/', settingsOf),
  ],
}

export const rudderstack = toolSource(tool)

function success() {
  return { status: 200, type: 'text/plain; charset=utf-8', body: 'OK' }
}

/** A source without destinations, whose library reports no errors or metrics of its own. */
function settingsOf(_tally: Tally, { nowMs }: ToolRequest) {
  const updatedAt = new Date(nowMs).toISOString()
  const config = { statsCollection: { errors: { enabled: false }, metrics: { enabled: false } } }
  const source = { id: 'ipid', name: 'ipid', writeKey: '', enabled: true, workspaceId: 'ipid', config, updatedAt }
  return { status: 200, body: JSON.stringify({ source: { ...source, destinations: [], dataplanes: {} }, updatedAt }) }
}
