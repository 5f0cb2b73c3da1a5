import { callRoutes } from './segment.ts'
import { type Tool, toolSource } from './tools/tool-source.ts'

/**
 * RudderStack's HTTP API, which has Segment's form. Its libraries take 2xx for success and repeat 429 and 5xx three times. The Node
 * library sends gzip, and calls it a form.
 */
const tool: Tool = {
  kind: 'rudderstack',
  setup: (base, key) => `Node:
  import Analytics from '@rudderstack/rudder-sdk-node'
  const analytics = new Analytics('${key}', { dataPlaneUrl: '${base}/s/rudderstack' })
  // The address of your visitor. Without it no company can be found:
  analytics.page({ userId, name, context: { ip: request.ip } })

Browser:
  rudderanalytics.load('${key}', '${base}/s/rudderstack')
`,
  routes: callRoutes('rudderstack', () => ({ status: 200, type: 'text/plain; charset=utf-8', body: 'OK' })),
}

export const rudderstack = toolSource(tool)
