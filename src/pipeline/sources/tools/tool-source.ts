import type { Bot } from '../../../../schemas/bots.ts'
import { botOf } from '../../../enrichment/bots/user-agent.ts'
import { clientAddress } from '../../../http/engine/client-address.ts'
import type { ArrivedRequest } from '../../../http/engine/engine.ts'
import type { Exchange } from '../../../http/engine/exchange.ts'
import type { RequestHead } from '../../../http/engine/head.ts'
import { HttpError } from '../../../http/engine/http-error.ts'
import type { HttpResponse } from '../../../http/engine/response.ts'
import { type TrustedProxies, trustedProxies, trustedProxiesSetting } from '../../../http/engine/trusted-proxies.ts'
import { isRawKey } from '../../../tenants/key.ts'
import type { CallerSource } from '../../../tenants/tenancy.ts'
import type {
  OpenSourceRoute,
  SetupBlock,
  SetupPlace,
  Source,
  SourceRoute,
  SourceTool,
} from '../../declaration/source.ts'
import { visitorInField } from '../../event/client-address.ts'
import { RefusedEvent, type Tally, translatedRoute } from '../live/translated.ts'
import { bodyKeyFinder } from './body-key.ts'
import { instantOf } from './clock.ts'
import { unmarked } from './exact-json.ts'
import { sourceOperation } from './operation.ts'
import { readPayload, readQuery } from './payload.ts'
import { SeveralPayloads } from './payload-json.ts'
import { eventOf, labelOf, objectOf, REMOTE, type ToolEvent } from './tool-event.ts'

/** Bytes of a body, as sent and decoded; more are answered 413. The libraries of the tools send 0.5 to 4 MB. */
const BODY_MAX_BYTES = 4_194_304
/** Events of a request; more are answered 413. The tools take 100 to 2,500. */
const EVENTS_MAX = 2_500

/** An analytics tool whose libraries send their events here, with the host and the key changed. */
export interface Tool extends Pick<SourceTool, 'title' | 'group' | 'keys' | 'repeats'> {
  /** Kind of its sources, and first part of their paths: a to z. */
  readonly kind: string
  /** The blocks that people paste to send events here, for each key that its sources get. @param base `https://host:port` */
  setup(base: string, key: string, browserKey: string): readonly SetupBlock[]
  readonly routes: readonly ToolRoute[]
  /** The script that the tool's own snippet loads. Undefined: there is none. */
  readonly script?: ToolScript
}

/** The script of a tool's snippet, which stays where the tool has it. Pages whose snippet has our host ask for it here. */
export interface ToolScript {
  /** Its paths on the tool's host, with parameters as in `Route.path`. */
  readonly paths: readonly string[]
  /** The place where it is, for people. */
  readonly from: string
}

/** An operation of a tool's own API. */
export interface ToolRoute {
  readonly method: 'GET' | 'POST'
  /** Comes after `/s/KIND`, and after `/s/KIND/SOURCE_KEY`. A parameter in it is a key. */
  readonly path: string
  /** Its purpose, for the API document. Default: it takes events. */
  readonly about?: string
  /** Status of `answer`, for the document of the API. Default: 200. */
  readonly status?: number
  /**
   * Fields that may hold the key, in the payload or, if it is an array, in its first event; `properties.token` is a field of a field. The
   * first one with a key counts. Default: the payload never has it.
   */
  readonly keyFields?: readonly string[]
  /** Fields of the payload that may hold its events; the first one present does. Default: the payload is an array of events, or one event. */
  readonly lists?: readonly string[]
  /** The parameter that names the character set of the others, if they are not UTF-8. Default: none does. */
  readonly charsetField?: string
  /**
   * Reads the events of a payload. Pure.
   * @param query of the request, without a question mark
   * @throws HttpError that refuses the request as a whole
   */
  read(payload: unknown, receivedAtMs: number, query: string, head: RequestHead): readonly (ToolEvent | RefusedEvent)[]
  /** The answer that the tool's libraries take for success. */
  answer(
    tally: Tally,
    request: ToolRequest,
  ): Pick<HttpResponse, 'status' | 'type' | 'headers'> & { readonly body: string }
  /** The answer to a request that failed. Default: `{"detail"}`. */
  refuse?(error: HttpError): HttpResponse
}

/**
 * A request that brings no events: the libraries ask for settings before they send. The answer is that nothing is switched on, so that
 * they load and record nothing else.
 */
export function settingsRoute(
  method: ToolRoute['method'],
  path: string,
  answer: ToolRoute['answer'],
  keyFields?: ToolRoute['keyFields'],
): ToolRoute {
  return {
    method,
    path,
    about: 'asks for settings, all of which are off',
    read: () => [],
    answer,
    ...(keyFields && { keyFields }),
  }
}

/**
 * An image of one pixel, for senders that load an image: libraries take any other answer for a failure. A stored image would be a view
 * that is not counted.
 */
export const PIXEL = {
  status: 200,
  type: 'image/gif',
  headers: { 'cache-control': 'no-store', 'cross-origin-resource-policy': 'cross-origin' },
  body: 'GIF89a\x01\0\x01\0\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x01L\0;',
}

/** Notes about the key of a block. */
export const ABOUT_SERVER = 'The key is secret: ipid trusts everything that is sent with it.'
export const ABOUT_BROWSER = 'The key may be public: the address of a visitor is that of the connection.'

/** Purpose of the routes for webhooks. */
export const ABOUT_WEBHOOKS = 'takes events that it sends on as webhooks'

/** The URL for the events that a tool sends on by itself. @param title where in the tool it belongs */
export function webhookBlock(title: string, url: string): SetupBlock {
  const about = 'For events that already arrive there: no code changes. They need the address of their visitor.'
  return { title, about: `${about} ${ABOUT_SERVER}`, key: 'server', code: url }
}

/** A sample of a call that names its visitor's address. @param code with names in place of values */
export function addressSample(code: string): SetupBlock {
  return {
    title: 'Each call in Node',
    about: 'Names the address of your visitor. Without it no company can be found.',
    ...{ code, key: 'server', isSample: true, givesAddress: true },
  }
}

/** The line of the tool's own HTML snippet that sends its events to ipid. @param line that it replaces */
export function snippetBlock(tool: string, place: string, code: string): SetupBlock {
  const about = `Leave the rest of the snippet as it is: the script still comes from ${tool}. Its events go to ipid instead.`
  return { title: `HTML, in the snippet of ${tool} ${place}`, about, key: 'browser', code }
}

/** JavaScript that sends to ipid too, and changes nothing for the tool. @param call for events of one's own; undefined: the same as before */
export function besideBlock(tool: string, place: string, call: string | undefined, code: string): SetupBlock {
  const about = `Sends page views to ${tool} and to ipid.${call === undefined ? ' So do all other calls.' : ` Events of your own: ${call}.`}`
  return { title: `JavaScript beside ${tool}, ${place}`, about, key: 'browser', code }
}

/** `http` or `https` of a base URL, for texts to paste. */
export function protocolOf(base: string): string {
  return new URL(base).protocol.slice(0, -1)
}

/** Host name and port of a base URL, for texts to paste. */
export function hostOf(base: string): string {
  return new URL(base).host
}

/** The inputs of an answer. */
export interface ToolRequest {
  /** The last parameter of the path; undefined: the path has none. */
  readonly parameter: string | undefined
  readonly payload: unknown
  /** Without a question mark; `''` when there is none. */
  readonly query: string
  /** Size of the decoded body. */
  readonly bytes: number
  readonly nowMs: number
}

/** Settings of every source that has keys of its own. */
export const sourceSettings = { trustedProxies: trustedProxiesSetting }

/** Makes the source of a tool, by default one with libraries for servers and for browsers: its routes, with the key in their path and without. */
export function toolSource(tool: Tool): Source<typeof sourceSettings> {
  const { kind, routes, script, title = kind, group, keys = 'both', repeats } = tool
  return {
    name: kind,
    lane: 'live',
    settings: sourceSettings,
    tool: {
      path: (key) => `/s/${kind}/${key}`,
      setup: (place) => setupOf(tool, place),
      keys,
      ...(title && { title }),
      ...(group && { group }),
      ...(repeats && { repeats }),
    },
    routes: routes.flatMap((route) => [
      keyedRoute(kind, title, route, `/s/${kind}${route.path}`),
      keyedRoute(kind, title, route, `/s/${kind}/:source_key${route.path}`),
    ]),
    openRoutes: (script?.paths ?? []).flatMap((path) =>
      [path, `/s/${kind}${path}`, `/s/${kind}/:source_key${path}`].map((place) => noScript(title, script!.from, place)),
    ),
  }
}

/** The blocks of a tool whose keys are known. */
function setupOf({ setup }: Tool, { base, key, browserKey }: SetupPlace): readonly SetupBlock[] {
  return setup(base, key ?? '', browserKey ?? '').filter(
    (block) => (block.key === 'server' ? key : block.key === 'browser' ? browserKey : '') !== undefined,
  )
}

/** Answers 404 with what to do. It is not a way to send events, so the API document does not list it. */
function noScript(title: string, from: string, path: string): OpenSourceRoute<typeof sourceSettings> {
  const remedy =
    `this is ipid, which has no script of ${title}: keep loading it from ${from}, and change only the line that says where events go. ` +
    'Sources in the dashboard, and ./ipid source show, print that line with your key'
  return {
    method: 'GET',
    path,
    open: () => () => {
      throw new HttpError('unknown_path', remedy)
    },
  }
}

function keyedRoute(kind: string, title: string, route: ToolRoute, path: string): SourceRoute<typeof sourceSettings> {
  let trusted: TrustedProxies | undefined
  const payloads = new WeakMap<Exchange, { readonly value: unknown; readonly bytes: number }>()
  const hasBody = route.method === 'POST'
  const { lists = [], charsetField } = route
  return translatedRoute<typeof sourceSettings>({
    method: route.method,
    path,
    operation: sourceOperation({
      ...{ method: route.method, path, title, about: route.about, status: route.status },
      request: 'a request of the tool’s libraries, plain or compressed: JSON, a form or base64',
      answer:
        'What the libraries take for success. Events are on disk by then; those without an address are only counted',
    }),
    ...(hasBody && { bodyMaxBytes: BODY_MAX_BYTES, takesAnyCoding: true }),
    eventsMax: EVENTS_MAX,
    countsNoIp: true,
    keepsPeer: true,
    sourceKind: kind,
    cors: true,
    ...(route.refuse && { refuse: route.refuse }),
    keyOf: ({ request }) => keyInHead(request),
    ...(route.keyFields && { keyInBody: bodyKeyFinder(route.keyFields) }),
    *translate(text, exchange, { trustedProxies: networks }, caller) {
      trusted ??= trustedProxies(networks)
      // A beacon of Matomo has its parameters in the query, and no body.
      const read =
        hasBody && text !== ''
          ? readPayload(text, lists, charsetField)
          : readQuery(exchange.request.query, lists, charsetField)
      const payload = yield* read
      payloads.set(exchange, { value: payload, bytes: Buffer.byteLength(text) })
      const sender = new Sender(exchange, trusted, caller.source!)
      return eventsOf(route, payload, exchange.request, sender)
    },
    answer(tally, exchange) {
      const { value: payload, bytes } = payloads.get(exchange)!
      const { query, parameters } = exchange.request
      return route.answer(tally, { payload, bytes, query, parameter: parameters.at(-1), nowMs: Date.now() })
    },
  })
}

/** Events that are translated together, as parts of one payload. */
const EVENTS_AT_ONCE = 8

/** Translates the events of a payload while they are read. */
function* eventsOf(
  route: ToolRoute,
  payload: unknown,
  { query, head }: ArrivedRequest,
  sender: Sender,
): Iterable<object> {
  const { lists = [], read } = route
  const nowMs = Date.now()
  for (const part of partsOf(payload, lists)) {
    const events = part instanceof RefusedEvent ? [part] : read(part, nowMs, query, head)
    for (const event of events) {
      if (event instanceof RefusedEvent) {
        yield event
        continue
      }
      const ip = sender.addressOf(event)
      yield eventOf(sender.withBot(sender.withTime(event, nowMs), ip), ip)
    }
  }
}

/** The payload as several with a few events each, and the events that are refused by themselves. */
function* partsOf(payload: unknown, lists: readonly string[]): Iterable<unknown> {
  if (payload instanceof SeveralPayloads) {
    for (const each of payload.all) yield* partsOf(each, lists)
    return
  }
  const name = Array.isArray(payload)
    ? undefined
    : lists.find((list) => (objectOf(payload)[list] ?? undefined) !== undefined)
  const events = name === undefined ? payload : objectOf(payload)[name]
  if (!Array.isArray(events) || events.length === 0) {
    yield payload
    return
  }
  const partOf = (some: readonly unknown[]) => (name === undefined ? some : { ...objectOf(payload), [name]: some })
  let some: unknown[] = []
  for (const event of events) {
    if (!(event instanceof RefusedEvent) && some.push(event) < EVENTS_AT_ONCE) continue
    if (some.length > 0) yield partOf(some)
    some = []
    if (event instanceof RefusedEvent) yield event
  }
  if (some.length > 0) yield partOf(some)
}

/**
 * The key where every tool may put it: in the path, in a header of its own, as the user of Basic, as Bearer, or in the query. The value
 * need not have the form of a key.
 */
export function keyInHead({ head, query, parameters: [inPath] }: ArrivedRequest): string {
  if (inPath !== undefined) return inPath
  if (head.sourceKey !== '') return head.sourceKey
  const credentials = keyOfAuthorization(head.authorization)
  if (isRawKey(credentials)) return credentials
  const parameters = query === '' ? undefined : new URLSearchParams(query)
  return parameters?.get('api_key') ?? parameters?.get('token') ?? parameters?.get('writeKey') ?? credentials
}

/** A value that is not one of our keys may be a secret of the tool, such as Mixpanel's or a token of Segment's OAuth. */
function keyOfAuthorization(authorization: string): string {
  const [, scheme = '', value = ''] = /^(Basic|Bearer) +(\S+)$/i.exec(authorization) ?? []
  return scheme.toLowerCase() === 'basic' ? keyOfBasic(Buffer.from(value, 'base64').toString('latin1')) : value
}

/** @param credentials `user:password`. The key is the user; shippers that ask for a user name have it as password. */
function keyOfBasic(credentials: string): string {
  const colon = credentials.indexOf(':')
  if (colon < 0) return credentials
  const [user, password] = [credentials.slice(0, colon), credentials.slice(colon + 1)]
  return !isRawKey(user) && isRawKey(password) ? password : user
}

/** Libraries that run on servers, by the start of their names: their connection is never a visitor's. */
const SERVER_LIBRARY = /node|python|ruby|php|java$|golang|-go$|^go|dotnet|\.net|csharp|elixir|rust|server/i
const LIBRARY_CHARS_MAX = 200

/**
 * How long before its receipt an event with a browser key may have happened. Scripts wait some seconds before they send, and a page that
 * lost its connection somewhat longer. With a day or more, a stranger could make visits on several days at once.
 */
const BROWSER_AGE_MAX_MS = 3_600_000

/** The sender of a request, as far as addresses and times of events depend on it. */
export class Sender {
  readonly #exchange: Exchange
  readonly #trusted: TrustedProxies
  readonly #mode: CallerSource['address']
  readonly #isBrowser: boolean
  #address: string | undefined
  /** The bot that the connection's user agent names. Undefined: not judged yet. */
  #bot: { readonly name: Bot | undefined } | undefined

  constructor(
    exchange: Exchange,
    trusted: TrustedProxies,
    { address, isBrowser }: Pick<CallerSource, 'address' | 'isBrowser'>,
  ) {
    this.#exchange = exchange
    this.#trusted = trusted
    this.#mode = address
    this.#isBrowser = isBrowser
  }

  /** The visitor's address; undefined: there is none. */
  addressOf({ ip, library }: ToolEvent): unknown {
    const isServer = SERVER_LIBRARY.test(labelOf(library)?.slice(0, LIBRARY_CHARS_MAX) ?? '')
    // A server library with a browser key sends from the server's address, and may not name another.
    if (this.#isBrowser) return isServer ? undefined : this.#connection()
    if (this.#mode === 'connection') return this.#connection()
    const named = this.#named(ip)
    if (named !== undefined) return named
    if (this.#mode === 'payload' || isServer) return undefined
    return ip === REMOTE || this.#comesFromPage ? this.#connection() : undefined
  }

  /**
   * The event without its time when that cannot be believed, so that it gets the time of receipt: with a browser key one more than
   * `BROWSER_AGE_MAX_MS` before the receipt, or after it.
   */
  withTime(event: ToolEvent, receivedAtMs: number): ToolEvent {
    const ms = this.#isBrowser ? instantOf(event.timestamp) : undefined
    if (ms === undefined || (ms <= receivedAtMs && ms >= receivedAtMs - BROWSER_AGE_MAX_MS)) return event
    return { ...event, timestamp: undefined }
  }

  /**
   * The event with the user agent of the connection, when it names a bot and the address is the connection's. The user agents of people
   * are not stored. A program that sends for a visitor is not a bot, so names of HTTP libraries do not count.
   * @param ip from `addressOf`
   */
  withBot(event: ToolEvent, ip: unknown): ToolEvent {
    if (this.#address === undefined || ip !== this.#address) return event
    const isForwarded = !this.#isBrowser && this.#mode !== 'connection' && this.#named(event.ip) === ip
    if (isForwarded) return event
    this.#bot ??= { name: botOf(this.#exchange.request.head.userAgent) }
    const { name } = this.#bot
    if (name === undefined || name === 'http-library') return event
    const user_agent = this.#exchange.request.head.userAgent
    return { ...event, properties: { user_agent, ...event.properties } }
  }

  /** The address in a payload; undefined: it names none. */
  #named(ip: unknown): unknown {
    if (ip === REMOTE || ip === null) return undefined
    const value = unmarked(ip)
    return typeof value === 'string' ? visitorInField(value, this.#trusted) : value
  }

  get #comesFromPage(): boolean {
    const { origin, fetchSite, fetchDest } = this.#exchange.request.head
    return origin !== '' || fetchSite !== '' || fetchDest !== ''
  }

  /** Undefined when the visitor's address must not be stored. */
  #connection(): string | undefined {
    if (this.#exchange.request.head.isAnonymous) return undefined
    this.#address ??= clientAddress(this.#exchange.peerAddress(), this.#exchange.request.head, this.#trusted)
    return this.#address
  }
}
