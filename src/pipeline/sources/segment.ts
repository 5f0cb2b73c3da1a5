import type { Tally } from './live/translated.ts'
import { readCalls } from './tools/calls.ts'
import { objectOf } from './tools/tool-event.ts'
import { type Tool, type ToolRoute, toolSource } from './tools/tool-source.ts'

const CALLS = ['track', 'identify', 'page', 'screen', 'group', 'alias'] as const

/**
 * Segment's HTTP tracking API, version 1, as the libraries `@segment/analytics-node` and `analytics.js` speak it. They take any 2xx for
 * success and repeat 429 and 5xx; what is answered 400 is lost, so nothing that a repeat would heal is.
 */
const tool: Tool = {
  kind: 'segment',
  setup: (base, key) => `Node:
  import { Analytics } from '@segment/analytics-node'
  const analytics = new Analytics({ writeKey: '${key}', host: '${base}', path: '/s/segment/v1/batch' })
  // The address of your visitor. Without it no company can be found:
  analytics.page({ userId, context: { ip: request.ip } })

Browser:
  analytics.load({ writeKey: '${key}' }, { integrations: { 'Segment.io': { apiHost: '${base.replace(/^https?:\/\//, '')}/s/segment/v1' } } })
`,
  routes: [...callRoutes('segment', success)],
}

export const segment = toolSource(tool)

/** The routes of an API in Segment's form. */
export function callRoutes(kind: string, answer: ToolRoute['answer']): ToolRoute[] {
  const shared = { method: 'POST' as const, key: (payload: unknown) => objectOf(payload).writeKey, answer }
  return [
    { ...shared, path: '/v1/batch', read: (payload, nowMs) => readCalls(payload, undefined, kind, nowMs) },
    { ...shared, path: '/v1/import', read: (payload, nowMs) => readCalls(payload, undefined, kind, nowMs) },
    ...CALLS.map(
      (type): ToolRoute => ({
        ...shared,
        path: `/v1/${type}`,
        read: (payload, nowMs) => readCalls(payload, type, kind, nowMs),
      }),
    ),
  ]
}

function success(_tally: Tally) {
  return { status: 200, body: '{"success":true}' }
}
