import type { Bot } from '../../../../schemas/bots.ts'
import { setting } from '../../../config/setting.ts'
import { botOf } from '../../../enrichment/bots/user-agent.ts'
import { clientAddress, type TrustedProxies, trustedProxies } from '../../../http/engine/client-address.ts'
import type { ArrivedRequest } from '../../../http/engine/engine.ts'
import type { Exchange } from '../../../http/engine/exchange.ts'
import type { HttpError } from '../../../http/engine/http-error.ts'
import type { HttpResponse } from '../../../http/engine/response.ts'
import { andThen } from '../../../run/and-then.ts'
import { InputError } from '../../../run/errors.ts'
import { isRawKey } from '../../../tenants/key.ts'
import type { CallerSource } from '../../../tenants/tenancy.ts'
import type { Source, SourceRoute, SourceTool } from '../../declaration/source.ts'
import { type Tally, translatedRoute } from '../live/translated.ts'
import { unmarked } from './exact-json.ts'
import { sourceOperation } from './operation.ts'
import { readPayload, readQuery } from './payload.ts'
import { eventOf, labelOf, REMOTE, type ToolEvent, textOf } from './tool-event.ts'

/** Bytes of a body, as sent and decoded; more are answered 413. The libraries of the tools send 0.5 to 4 MB. */
const BODY_MAX_BYTES = 4_194_304
/** Events of a request; more are answered 413. The tools take 100 to 2,500. */
const EVENTS_MAX = 2_500

/** An analytics tool whose libraries send their events here, with the host and the key changed. */
export interface Tool extends Pick<SourceTool, 'title' | 'group' | 'repeats'> {
  /** Kind of its sources, and first part of their paths: a to z. */
  readonly kind: string
  /** What people paste to send events here. @param base `https://host:port` @param key the source key */
  setup(base: string, key: string): string
  readonly routes: readonly ToolRoute[]
}

/** An operation of a tool's own API. */
export interface ToolRoute {
  readonly method: 'GET' | 'POST'
  /** Comes after `/s/KIND`, and after `/s/KIND/SOURCE_KEY`. A parameter in it is a key. */
  readonly path: string
  /** What it does, for the document of the API. Default: it takes events. */
  readonly about?: string
  /** Status of `answer`, for the document of the API. Default: 200. */
  readonly status?: number
  /** The key in the payload; undefined: the payload never has it. */
  key?(payload: unknown): unknown
  /** Reads the events of a payload. Pure. @throws HttpError that refuses the request as a whole */
  read(payload: unknown, receivedAtMs: number): readonly ToolEvent[]
  /** The answer that the tool's libraries take for success. */
  answer(tally: Tally, request: ToolRequest): Pick<HttpResponse, 'status' | 'type'> & { readonly body: string }
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
  key?: ToolRoute['key'],
): ToolRoute {
  return {
    method,
    path,
    about: 'asks for settings, of which nothing is switched on',
    read: () => [],
    answer,
    ...(key && { key }),
  }
}

/** An image of one pixel, for libraries that send by loading an image: an answer that is none counts as a failure. */
export const PIXEL = {
  status: 200,
  type: 'image/gif',
  body: 'GIF89a\x01\0\x01\0\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x01L\0;',
}

/** `http` or `https` of a base URL, for texts to paste. */
export function protocolOf(base: string): string {
  return new URL(base).protocol.slice(0, -1)
}

/** Host name and port of a base URL, for texts to paste. */
export function hostOf(base: string): string {
  return new URL(base).host
}

/** What an answer may depend on. */
export interface ToolRequest {
  /** The last parameter of the path; undefined: the path has none. */
  readonly parameter: string | undefined
  readonly payload: unknown
  /** Without a question mark; `''` when there is none. */
  readonly query: string
  /** Of the body, decoded. */
  readonly bytes: number
  readonly nowMs: number
}

/** Settings of every source that has keys of its own. */
export const sourceSettings = {
  trustedProxies: setting(
    'TRUSTED_PROXIES',
    'cidrs',
    '127.0.0.0/8,::1/128',
    'proxies that may say whose requests they pass on to /s/…, separated by commas',
    proxies,
  ),
}

/** Networks as text: settings go to other processes. */
function proxies(value: string): readonly string[] {
  const networks = value.split(',').map((network) => network.trim())
  try {
    trustedProxies(networks)
    return networks
  } catch (error) {
    throw new InputError(`must be networks such as 10.0.0.0/8, separated by commas: ${(error as Error).message}`)
  }
}

/** Makes the source of a tool: its routes, with the key in their path and without. */
export function toolSource({ kind, setup, routes, title = kind, group, repeats }: Tool): Source<typeof sourceSettings> {
  return {
    name: kind,
    lane: 'live',
    settings: sourceSettings,
    tool: {
      path: (key) => `/s/${kind}/${key}`,
      setup,
      ...(title && { title }),
      ...(group && { group }),
      ...(repeats && { repeats }),
    },
    routes: routes.flatMap((route) => [
      keyedRoute(kind, title, route, `/s/${kind}${route.path}`),
      keyedRoute(kind, title, route, `/s/${kind}/:source_key${route.path}`),
    ]),
  }
}

function keyedRoute(kind: string, title: string, route: ToolRoute, path: string): SourceRoute<typeof sourceSettings> {
  let trusted: TrustedProxies | undefined
  const payloads = new WeakMap<Exchange, { readonly value: unknown; readonly bytes: number }>()
  const hasBody = route.method === 'POST'
  /** Read twice by routes whose key is in the payload. */
  const payloadOf = (exchange: Exchange, text: string): unknown => {
    let payload = payloads.get(exchange)
    if (payload === undefined) {
      // A beacon of Matomo has its parameters in the query, and no body.
      const value = hasBody && text !== '' ? readPayload(text) : readQuery(exchange.request.query)
      payload = { value, bytes: Buffer.byteLength(text) }
      payloads.set(exchange, payload)
    }
    return payload.value
  }
  return translatedRoute<typeof sourceSettings>({
    method: route.method,
    path,
    operation: sourceOperation({
      ...{ method: route.method, path, title, about: route.about, status: route.status },
      request: 'what the libraries of the tool send, plain or gzip: JSON, a form or base64',
      answer:
        'What the libraries take for success. Events are on disk by then; those without an address are only counted',
    }),
    ...(hasBody && { bodyMaxBytes: BODY_MAX_BYTES, detectsGzip: true }),
    eventsMax: EVENTS_MAX,
    countsNoIp: true,
    keepsPeer: true,
    sourceKind: kind,
    cors: true,
    ...(route.refuse && { refuse: route.refuse }),
    keyOf(exchange) {
      const key = keyInHead(exchange.request)
      if (isRawKey(key) || route.key === undefined) return key
      exchange.assertBody()
      return andThen(hasBody ? exchange.text() : '', (text) => {
        if (!mayHaveKey(text === '' ? exchange.request.query : text)) return key
        return textOf(route.key!(payloadOf(exchange, text))) ?? key
      })
    },
    translate(text, exchange, { trustedProxies: networks }, caller) {
      trusted ??= trustedProxies(networks)
      const payload = payloadOf(exchange, text)
      const sender = new Sender(exchange, trusted, caller.source!.address)
      return route.read(payload, Date.now()).map((event) => {
        const ip = sender.addressOf(event)
        return eventOf(sender.withBot(event, ip), ip)
      })
    },
    answer(tally, exchange) {
      const { value: payload, bytes } = payloads.get(exchange)!
      const { query, parameters } = exchange.request
      return route.answer(tally, { payload, bytes, query, parameter: parameters.at(-1), nowMs: Date.now() })
    },
  })
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

/** What is no key here may be a secret of the tool, such as Mixpanel's or a token of Segment's OAuth. */
function keyOfAuthorization(authorization: string): string {
  const [, scheme = '', value = ''] = /^(Basic|Bearer) +(\S+)$/i.exec(authorization) ?? []
  return scheme.toLowerCase() === 'basic' ? keyOfBasic(Buffer.from(value, 'base64').toString('latin1')) : value
}

/** The first characters of a source key, as they are and in base64, where they depend on the position modulo 3. */
const KEY_START = /src_|c3JjX|NyY1|zcmNf/

/** Whether a source key may be in a text, which may be JSON, a form, or base64. Without one it need not be parsed. */
export function mayHaveKey(text: string): boolean {
  return KEY_START.test(text)
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

/** Who sent a request, as far as addresses of visitors are concerned. */
export class Sender {
  readonly #exchange: Exchange
  readonly #trusted: TrustedProxies
  readonly #mode: CallerSource['address']
  #address: string | undefined
  /** The bot that the connection's user agent names. Undefined: not judged yet. */
  #bot: { readonly name: Bot | undefined } | undefined

  constructor(exchange: Exchange, trusted: TrustedProxies, mode: CallerSource['address']) {
    this.#exchange = exchange
    this.#trusted = trusted
    this.#mode = mode
  }

  /** The visitor's address; undefined: there is none. */
  addressOf({ ip, library }: ToolEvent): unknown {
    if (this.#mode === 'connection') return this.#connection()
    if (ip !== REMOTE && ip !== undefined && ip !== null && ip !== '') return unmarked(ip)
    if (this.#mode === 'payload' || SERVER_LIBRARY.test(labelOf(library) ?? '')) return undefined
    return ip === REMOTE || this.#isBrowser ? this.#connection() : undefined
  }

  /**
   * The event with the user agent of the connection, when it names a bot and the address is the connection's. The user agents of people
   * are not stored. A program that sends for a visitor is no bot, so names of HTTP libraries do not count.
   * @param ip from `addressOf`
   */
  withBot(event: ToolEvent, ip: unknown): ToolEvent {
    const isForwarded = this.#mode !== 'connection' && event.ip === ip
    if (this.#address === undefined || ip !== this.#address || isForwarded) return event
    this.#bot ??= { name: botOf(this.#exchange.request.head.userAgent) }
    const { name } = this.#bot
    if (name === undefined || name === 'http-library') return event
    const user_agent = this.#exchange.request.head.userAgent
    return { ...event, properties: { user_agent, ...event.properties } }
  }

  get #isBrowser(): boolean {
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
