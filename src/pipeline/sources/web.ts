import { readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import type { RequestHead } from '../../http/engine/head.ts'
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
import { PIXEL, type Tool, toolSource } from './tools/tool-source.ts'
import { webSetup } from './web-setup.ts'

/** How long browsers and proxies keep the script. */
const SCRIPT_KEPT_SECONDS = 3_600

/** The same text for every key. Read for the first page, as most processes serve none. */
let script: { readonly plain: Buffer; readonly compressed: Buffer } | undefined

function readScript(): NonNullable<typeof script> {
  const source = readFileSync(new URL('./web-script.js', import.meta.url), 'utf8')
  const plain = Buffer.from(source.replace(/^ *(?:\/\/.*\n)?/gm, ''))
  return { plain, compressed: gzipSync(plain, { level: 9 }) }
}

/**
 * Reads the body of our own script: `{events: [{id, type, at, url, referrer, title, properties, user, session}], hash, sent_at}`, with times
 * in milliseconds by the browser's clock. With `hash` the fragment of a URL is its page: see `routeOf`. Scripts up to 0.2.0 have one
 * `session` beside `events`.
 * @param receivedAtMs milliseconds since the epoch
 */
export function readPageEvents(payload: unknown, receivedAtMs: number): readonly ToolEvent[] {
  const { events, session, hash, sent_at } = objectOf(payload)
  const pageAt = (url: unknown) => (hash === true ? routeOf(url) : url)
  return listOf(events).map((entry) => {
    const event = objectOf(entry)
    return {
      event_id: idOf(event.id),
      timestamp: correctedTime(event.at, sent_at, receivedAtMs),
      event_type: idOf(event.type),
      session_id: sessionIdOf(event.session ?? session),
      platform: 'web',
      properties: unlessEmpty({ ...without({ title: textOf(event.title) }), ...objectOf(event.properties) }),
      user_properties: unlessEmpty(objectOf(event.user)),
      page: pageOf(pageAt(event.url), pageAt(event.referrer)),
      ip: REMOTE,
    }
  })
}

/**
 * The URL whose path is the fragment, for sites that route by it: `https://a.example/?utm_source=x#/pricing?plan=1` becomes
 * `https://a.example/pricing?plan=1&utm_source=x`. A URL is stored without its fragment, so all routes would be one page.
 */
function routeOf(url: unknown): unknown {
  const text = textOf(url)
  const at = text?.indexOf('#') ?? -1
  if (at < 0) return url
  const [path, query] = halvesOf(text!.slice(0, at), '?')
  const [route, own] = halvesOf(text!.slice(at + 1).replace(/^!?\/*/, ''), '?')
  const parameters = [own, query].filter((each) => each !== '').join('&')
  const place = route === '' ? path : `${path.endsWith('/') ? path : `${path}/`}${route}`
  return parameters === '' ? place : `${place}?${parameters}`
}

function halvesOf(text: string, mark: string): readonly [string, string] {
  const at = text.indexOf(mark)
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)]
}

/** The page view of an image in `<noscript>`. None for a visitor who refuses to be tracked, as in the script. */
export function readPageImage({ referer, refusesTracking }: RequestHead): readonly ToolEvent[] {
  if (refusesTracking) return []
  return [{ event_type: 'page', platform: 'web', page: pageOf(referer, undefined), ip: REMOTE }]
}

/** Our own script for websites. It repeats with the same ids after 408, 429, 5xx and network errors. */
const tool: Tool = {
  kind: 'web',
  title: 'Script tag',
  group: 'website',
  keys: 'browser',
  setup: (base, _key, browserKey) => webSetup(base, browserKey),
  routes: [
    {
      method: 'POST',
      path: '',
      status: 204,
      lists: ['events'],
      read: readPageEvents,
      answer: () => ({ status: 204, body: '' }),
    },
    {
      method: 'GET',
      path: '/page.gif',
      about: 'takes a page view of a browser without JavaScript; the page is the Referer',
      read: (_payload, _receivedAtMs, _query, head) => readPageImage(head),
      answer: () => PIXEL,
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
    if (!SCRIPT_NAME.test(exchange.request.parameters[0]!))
      throw new HttpError('unknown_path', 'the script is at SOURCE_KEY.js')
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
