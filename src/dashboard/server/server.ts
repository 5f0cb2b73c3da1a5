import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import type { TObject, TSchema } from 'typebox'
import type { SignInWays } from '../../../schemas/dashboard/session.ts'
import type { AlertAdmin } from '../../alerts/admin.ts'
import type { RedisAddresses } from '../../alerts/redis/address-store.ts'
import type { EngineChoice } from '../../http/engine/choose.ts'
import type { Exchange } from '../../http/engine/exchange.ts'
import { HttpError } from '../../http/engine/http-error.ts'
import type { HttpResponse } from '../../http/engine/response.ts'
import { createServer, type HttpServer, type Target } from '../../http/engine/server.ts'
import { errorResponse } from '../../http/route/errors.ts'
import { parseJson } from '../../http/route/parse-json.ts'
import { parseQuery, single } from '../../http/route/query.ts'
import { assertSchema } from '../../http/route/schema.ts'
import { compileValidator } from '../../pipeline/event/validator.ts'
import { forCaller } from '../../run/caller.ts'
import type { Clock } from '../../run/clock.ts'
import { READ_WORK_MS } from '../../stores/clickhouse/read-limits.ts'
import type { Tenant } from '../../tenants/tenancy.ts'
import { type Oidc, OidcSigning } from '../oidc/oidc-signing.ts'
import type { SharedPages } from '../shared-links/shared-page.ts'
import { Access, refusalOf } from './access.ts'
import { Confirming } from './confirming.ts'
import { SecretCookie } from './cookie.ts'
import { isOurHost, isOurOrigin } from './hosts.ts'
import { LinkRequests } from './link-requests.ts'
import { loadPageFiles, type PageFile, type PageFiles } from './page-files.ts'
import type { People } from './people.ts'
import type { DashboardRoute } from './route.ts'
import { isCsrfToken, type Session, type Sessions } from './sessions.ts'
import type { SignInMails } from './sign-in-mails.ts'
import { Signing } from './signing.ts'
import { Unsubscribing } from './unsubscribing.ts'

interface DashboardOptions {
  readonly host: string
  readonly port: number
  /** Public URL, if it differs. With https, browsers send the cookie over https only. */
  readonly publicUrl: string | undefined
  readonly engine: EngineChoice
  /** See `ServerOptions`. */
  readonly idleSeconds?: number | undefined
  readonly sessions: Sessions
  readonly people: Pick<People, 'introduce' | 'remove' | 'namesOf'>
  readonly addresses: Pick<RedisAddresses, 'addressOf' | 'waitingFor' | 'confirm'>
  /** Pages for people without an account. */
  readonly sharedPages: Pick<SharedPages, 'open'>
  /** Undefined: SMTP_URL is not set. */
  readonly mails: Pick<SignInMails, 'request'> | undefined
  /** Undefined: OIDC_ISSUER is not set. */
  readonly oidc: Oidc | undefined
  readonly digests: Pick<AlertAdmin, 'subscriptionOfLink' | 'unsubscribe'>
  readonly routes: readonly DashboardRoute[]
  readonly findTenant: (id: string) => Promise<Tenant | undefined>
  /** Resolves when earlier changes are on disk. */
  readonly persisted: () => Promise<void>
  /** Called to end open streams of a session. */
  readonly onSignedOut?: (session: Session) => void
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: Registry
}

const BODY_MAX_BYTES = 2 ** 20
const FORM_MAX_BYTES = 2 ** 12
/** The form names each alert that waits for an address: at most those of a tenant, see `ALERT_LIMITS`. */
const CONFIRM_FORM_MAX_BYTES = 2 ** 13
/** Unknown paths under `/api/`: they must not get a page. */
const unknownCalls = [1, 2, 3, 4, 5, 6].map((n) => `/api${'/:x'.repeat(n)}`)

/** Headers of every response. Pages load nothing from other sites, and cannot be framed. */
const HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; " +
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
}

/** Serves the pages and their API. Order of checks: host, session, CSRF, access, schemas. */
export async function createDashboard(options: DashboardOptions): Promise<HttpServer> {
  const { host, port, engine, idleSeconds, log, metrics } = options
  const gate = new Gate(options)
  const files = await loadPageFiles()
  const targets = [
    ...options.routes.flatMap((route) => gate.target(route)),
    ...gate.signing(files),
    ...gate.pages(files),
  ]
  const listen = { host, port, hostSetting: 'DASHBOARD_HOST', portSetting: 'DASHBOARD_PORT' }
  const limits = { workMs: READ_WORK_MS }
  const shared = { engine, idleSeconds, log, metrics, limits }
  return createServer({ ...listen, ...shared, sharePort: true, targets, explain: errorResponse })
}

class Gate {
  readonly #options: DashboardOptions
  readonly #cookie: SecretCookie
  readonly #access: Access

  constructor(options: DashboardOptions) {
    this.#options = options
    this.#cookie = cookieOf(options, 'session', 'Strict')
    this.#access = new Access(options.sessions, options.findTenant)
  }

  target(route: DashboardRoute): Target[] {
    const { method, path, streamedMaxBytes } = route
    const names = path.split('/').flatMap((segment) => (segment.startsWith(':') ? [segment.slice(1)] : []))
    const readBody = route.body === undefined ? undefined : compileValidator(route.body)
    const validQuery = route.query === undefined ? undefined : compileValidator(route.query)
    const answer = async (exchange: Exchange) => {
      const session = await this.#session(exchange)
      if (method === 'POST' && !isCsrfToken(session, exchange.request.head.csrfToken)) {
        throw new HttpError('forbidden', 'the x-csrf-token header does not match this session: reload the page')
      }
      const refusal = refusalOf(session.role, route.access)
      if (refusal !== undefined) throw new HttpError('forbidden', refusal)
      const parameters = Object.fromEntries(names.map((name, i) => [name, decoded(exchange.request.parameters[i]!)]))
      const tenant = parameters.tenant === undefined ? undefined : await this.#tenant(session, parameters.tenant)
      if (tenant?.sampleUntil !== undefined && route.access !== 'viewer')
        throw new HttpError('forbidden', 'these are sample data, which nobody changes: switch them off to see your own')
      exchange.admit(tenant?.id ?? session.role)
      exchange.assertBody()
      const query = route.query === undefined ? {} : readQuery(exchange.request.query, route.query)
      if (validQuery !== undefined) assertSchema(validQuery, query)
      const body = readBody === undefined ? undefined : parseJson(await exchange.text())
      if (readBody !== undefined) assertSchema(readBody, body)
      const handle = () => route.handle({ exchange, session, parameters, tenant: tenant!, query, body })
      const response = await (route.endsWithCaller ? forCaller(exchange.left, handle) : handle())
      if (route.changes) await this.#options.persisted()
      return response
    }
    const respond = async (exchange: Exchange) => {
      let isKept = false
      try {
        const response = await answer(exchange)
        isKept = response.headers?.['cache-control'] !== undefined
        return response
      } finally {
        // Applies to refusals too.
        if (!isKept) exchange.addHeader('cache-control', 'no-store')
      }
    }
    const headers =
      route.contentSecurityPolicy === undefined
        ? HEADERS
        : { ...HEADERS, 'content-security-policy': route.contentSecurityPolicy }
    const bodyMaxBytes = streamedMaxBytes ?? (route.body === undefined ? undefined : BODY_MAX_BYTES)
    const streamsBody = streamedMaxBytes !== undefined
    return [{ method, path, endpoint: { path, bodyMaxBytes, streamsBody, respond: this.#guarded(respond, headers) } }]
  }

  /**
   * `/sign-in` starts a session, `/sign-in/mail` mails a link for one, `/sign-in/oidc` leads to the provider and back, `/sign-in/ways` says which of
   * them work, `/sign-out` ends the session, `/confirm` confirms the e-mail address of an alert, `/unsubscribe` ends a digest.
   */
  signing({ index }: PageFiles): Target[] {
    const { sessions, people, clock, onSignedOut = () => {} } = this.#options
    const [cookie, access] = [this.#cookie, this.#access]
    const signing = new Signing({ sessions, people, cookie, access, onSignedOut, index: index.plain.toString(), clock })
    const endpoint = (path: string, respond: (exchange: Exchange) => Promise<HttpResponse>) => ({
      path,
      // Under `no-referrer`, browsers would not send the origin of a form.
      respond: this.#guarded(respond, { ...HEADERS, 'referrer-policy': 'strict-origin' }),
    })
    const [inPath, outPath] = ['/sign-in', '/sign-out']
    const confirm = endpoint(inPath, (exchange) => signing.confirm(exchange))
    const { addresses, digests, persisted } = this.#options
    const confirming = new Confirming({ addresses, persisted, index: index.plain.toString(), clock })
    const { mails, oidc, log } = this.#options
    const attemptCookie = cookieOf(this.#options, 'sign_in', 'Lax')
    const providing = new OidcSigning({
      ...{ oidc, sessions, cookie, attemptCookie, index: index.plain.toString(), clock, log },
    })
    const oidcPath = '/sign-in/oidc'
    const start = endpoint(oidcPath, (exchange) => providing.start(exchange))
    const waysPath = '/sign-in/ways'
    const ways: SignInWays = { can_email: mails !== undefined, provider: oidc?.provider.name ?? null }
    const waysAnswer = { status: 200, body: JSON.stringify(ways), headers: { 'cache-control': 'no-store' } }
    const requesting = new LinkRequests(mails, clock)
    const mailPath = '/sign-in/mail'
    const request = endpoint(mailPath, (exchange) => requesting.take(exchange))
    const linkPath = '/confirm'
    const agreed = endpoint(linkPath, (exchange) => confirming.confirm(exchange))
    const unsubscribing = new Unsubscribing({ digests, persisted, index: index.plain.toString() })
    const endPath = '/unsubscribe'
    const ending = endpoint(endPath, (exchange) => unsubscribing.end(exchange))
    return [
      { method: 'GET', path: inPath, endpoint: endpoint(inPath, (exchange) => signing.open(exchange)) },
      { method: 'POST', path: inPath, endpoint: { ...confirm, bodyMaxBytes: FORM_MAX_BYTES } },
      { method: 'GET', path: waysPath, endpoint: endpoint(waysPath, async () => waysAnswer) },
      { method: 'POST', path: oidcPath, endpoint: { ...start, bodyMaxBytes: FORM_MAX_BYTES } },
      { method: 'GET', path: oidcPath, endpoint: endpoint(oidcPath, (exchange) => providing.finish(exchange)) },
      { method: 'POST', path: mailPath, endpoint: { ...request, bodyMaxBytes: FORM_MAX_BYTES } },
      { method: 'GET', path: linkPath, endpoint: endpoint(linkPath, (exchange) => confirming.open(exchange)) },
      { method: 'POST', path: linkPath, endpoint: { ...agreed, bodyMaxBytes: CONFIRM_FORM_MAX_BYTES } },
      { method: 'GET', path: endPath, endpoint: endpoint(endPath, (exchange) => unsubscribing.open(exchange)) },
      { method: 'POST', path: endPath, endpoint: { ...ending, bodyMaxBytes: FORM_MAX_BYTES } },
      { method: 'POST', path: outPath, endpoint: endpoint(outPath, (exchange) => signing.leave(exchange)) },
    ]
  }

  /** Files of the pages, and pages of shared links. Every other path gets `index.html`, which draws the page in the browser. */
  pages({ index, assets }: PageFiles): Target[] {
    const { sharedPages } = this.#options
    const asset = (exchange: Exchange) => {
      const file = assets.get(exchange.request.parameters[0]!)
      if (file === undefined) throw new HttpError('not_found', 'file not found')
      return sent(file, exchange, 'public, max-age=31536000, immutable')
    }
    const page = (exchange: Exchange) => sent(index, exchange, 'no-cache')
    const none = (): never => {
      throw new HttpError('unknown_path', 'unknown call')
    }
    const get = (path: string, respond: (exchange: Exchange) => HttpResponse | Promise<HttpResponse>): Target[] =>
      (['GET', 'HEAD'] as const).map((method) => ({
        method,
        path,
        endpoint: { path: path === '/*' ? '(page)' : path, respond: this.#guarded(respond) },
      }))
    return [
      ...get('/assets/:name', asset),
      ...get('/shared/:tenant/:secret', (exchange) => sharedPages.open(exchange, index.plain.toString())),
      ...unknownCalls.map(
        (path): Target => ({ method: 'any', path, endpoint: { path: '(none)', respond: this.#guarded(none) } }),
      ),
      ...get('/*', page),
      { method: 'any', path: '/*', endpoint: { path: '(none)', respond: this.#guarded(none) } },
    ]
  }

  #guarded(
    respond: (exchange: Exchange) => HttpResponse | Promise<HttpResponse>,
    headers = HEADERS,
  ): Target['endpoint']['respond'] {
    const { publicUrl } = this.#options
    return (exchange) => {
      for (const name in headers) exchange.addHeader(name, headers[name]!)
      const { host, origin } = exchange.request.head
      if (!isOurHost(host, publicUrl)) {
        throw new HttpError(
          'forbidden',
          `the dashboard does not serve the host ${JSON.stringify(host)}: set DASHBOARD_URL`,
        )
      }
      if (origin !== '' && !isOurOrigin(origin, host, publicUrl))
        throw new HttpError('forbidden', 'the request comes from another site')
      return respond(exchange)
    }
  }

  async #session(exchange: Exchange): Promise<Session> {
    const secret = this.#cookie.read(exchange.request.head.cookie)
    const session = await this.#options.sessions.find(secret, (validMs) => {
      // Send the cookie again: its use alone does not extend it.
      exchange.addHeader('set-cookie', this.#cookie.write(secret, validMs))
    })
    if (session === undefined)
      throw new HttpError('not_signed_in', 'not signed in: open the link of "./ipid dashboard"')
    return session
  }

  /** The same error for a missing tenant and a hidden one, so that a member does not learn which tenants exist. */
  async #tenant(session: Session, id: string): Promise<Tenant> {
    const tenant = await this.#access.tenantOf(session, id)
    if (tenant === undefined) throw new HttpError('unknown_workspace', 'tenant not found')
    return tenant
  }
}

function cookieOf(
  { port, publicUrl }: Pick<DashboardOptions, 'port' | 'publicUrl'>,
  name: 'session' | 'sign_in',
  sameSite: 'Strict' | 'Lax',
): SecretCookie {
  return new SecretCookie({ name, port, isSecure: publicUrl?.startsWith('https:') === true, sameSite })
}

function sent(file: PageFile, exchange: Exchange, caching: string): HttpResponse {
  const { acceptEncoding } = exchange.request.head
  const encoding = /\bbr\b/.test(acceptEncoding) ? 'br' : /\bgzip\b/.test(acceptEncoding) ? 'gzip' : undefined
  const body = encoding === 'br' ? file.brotli : encoding === 'gzip' ? file.gzip : file.plain
  const headers = {
    'cache-control': caching,
    vary: 'accept-encoding',
    ...(encoding && { 'content-encoding': encoding }),
  }
  return { status: 200, body, type: file.type, headers }
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    throw new HttpError('unknown_path', 'invalid path')
  }
}

/**
 * Converts a query by a schema: numbers and booleans from text, lists from repeated names. Leaves invalid numbers and unknown
 * names as they are, so that the schema refuses them.
 */
function readQuery(text: string, schema: TObject): Record<string, unknown> {
  const query = parseQuery(text)
  // Without a prototype, `__proto__` is an unknown name like others.
  const value: Record<string, unknown> = Object.create(null)
  for (const [name, values] of query) {
    const property = schema.properties[name] as (TSchema & { type?: string }) | undefined
    value[name] = property?.type === 'array' ? [...values] : converted(single(query, name)!, property?.type)
  }
  return value
}

function converted(text: string, type: string | undefined): unknown {
  if ((type === 'number' || type === 'integer') && /^-?\d{1,15}(?:\.\d{1,9})?$/.test(text)) return Number(text)
  if (type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true'
  return text
}
