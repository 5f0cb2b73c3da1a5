import { readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { HttpError } from '../../http/engine/http-error.ts'
import type { OpenSourceRoute } from '../declaration/source.ts'
import { correctedTime } from './tools/clock.ts'
import { sourceOperation } from './tools/operation.ts'
import {
  idOf,
  listOf,
  objectOf,
  pageOf,
  REMOTE,
  sessionIdOf,
  type ToolEvent,
  textOf,
  unlessEmpty,
  without,
} from './tools/tool-event.ts'
import { ABOUT_BROWSER, type Tool, toolSource } from './tools/tool-source.ts'

/** How long browsers and proxies keep the script. */
const SCRIPT_KEPT_SECONDS = 3_600

/** The same text for every key. Read for the first page, as most processes serve none. */
let script: { readonly plain: Buffer; readonly compressed: Buffer } | undefined

function readScript(): NonNullable<typeof script> {
  const plain = readFileSync(new URL('./web-script.js', import.meta.url))
  return { plain, compressed: gzipSync(plain, { level: 9 }) }
}

/**
 * Reads the body of our own script: `{events: [{id, type, at, url, referrer, title, properties, user}], session, sent_at}`, with times in
 * milliseconds by the browser's clock.
 * @param receivedAtMs milliseconds since the epoch
 */
export function readPageEvents(payload: unknown, receivedAtMs: number): readonly ToolEvent[] {
  const { events, session, sent_at } = objectOf(payload)
  return listOf(events).map((entry) => {
    const event = objectOf(entry)
    return {
      event_id: idOf(event.id),
      timestamp: correctedTime(event.at, sent_at, receivedAtMs),
      event_type: idOf(event.type),
      session_id: sessionIdOf(session),
      platform: 'web',
      properties: unlessEmpty({ ...without({ title: textOf(event.title) }), ...objectOf(event.properties) }),
      user_properties: unlessEmpty(objectOf(event.user)),
      page: pageOf(event.url, event.referrer),
      ip: REMOTE,
    }
  })
}

/** Our own script for websites. It repeats with the same ids after 408, 429, 5xx and network errors. */
const tool: Tool = {
  kind: 'web',
  title: 'Script tag',
  group: 'website',
  keys: 'browser',
  setup: (base, _key, browserKey) => [
    {
      title: 'In the head of every page',
      about: ABOUT_BROWSER,
      key: 'browser',
      code: `<script async src="${base}/s/web/${browserKey}.js"></script>`,
    },
    {
      title: 'Only for pages with a Content-Security-Policy: allow this',
      key: 'browser',
      code: `script-src ${base}; connect-src ${base}`,
    },
    {
      title: 'Only to send events of your own: once in the page, before the first of them',
      key: 'browser',
      code: '<script>window.ipid ||= (...call) => (ipid.q ||= []).push(call)</script>',
    },
    {
      title: 'An event of your own',
      about: 'Call it when that happens, not with each page view.',
      key: 'browser',
      isSample: true,
      code: "ipid('track', NAME_OF_THE_EVENT, { plan: NAME_OF_THE_PLAN })",
    },
    {
      title: 'Who the visitor is',
      about: 'Call it after a person signed up or signed in. It is stored, and proves nothing about a company.',
      key: 'browser',
      isSample: true,
      code: "ipid('identify', { email: EMAIL_OF_THE_VISITOR })",
    },
  ],
  routes: [
    {
      method: 'POST',
      path: '',
      status: 204,
      lists: ['events'],
      read: readPageEvents,
      answer: () => ({ status: 204, body: '' }),
    },
  ],
}

const source = toolSource(tool)

const SCRIPT_NAME = /^(?:src|pub)_[0-9a-f]{40}\.js$/

/**
 * `GET /s/web/SOURCE_KEY.js`: the script, which is the same for all keys. It takes nothing of the tenant's rate: a browser does not
 * ask again for a script that was refused, and would send nothing from its page.
 */
const scriptRoute: OpenSourceRoute = {
  method: 'GET',
  path: '/s/web/:source_key',
  operation: sourceOperation({
    ...{ method: 'GET', path: '/s/web/:source_key', title: 'Script tag', about: 'gets the script' },
    request: 'none; the path ends with .js',
    answer: 'JavaScript',
    errors: [404],
  }),
  open: () => (exchange) => {
    if (!SCRIPT_NAME.test(exchange.request.parameters[0]!)) throw new HttpError(404, 'the script is at SOURCE_KEY.js')
    script ??= readScript()
    const isCompressed = /\bgzip\b/.test(exchange.request.head.acceptEncoding)
    return {
      status: 200,
      type: 'text/javascript; charset=utf-8',
      headers: {
        'cache-control': `public, max-age=${SCRIPT_KEPT_SECONDS}`,
        // For `<script crossorigin>` and `<script type=module>`.
        'access-control-allow-origin': '*',
        'cross-origin-resource-policy': 'cross-origin',
        'x-content-type-options': 'nosniff',
        vary: 'accept-encoding',
        ...(isCompressed && { 'content-encoding': 'gzip' }),
      },
      body: isCompressed ? script.compressed : script.plain,
    }
  },
}

export const web = { ...source, openRoutes: [scriptRoute] }
