import type { Logger } from 'pino'
import type { OidcStart } from '../../../schemas/dashboard/session.ts'
import type { Exchange } from '../../http/engine/exchange.ts'
import { HttpError } from '../../http/engine/http-error.ts'
import type { HttpResponse } from '../../http/engine/response.ts'
import { explainAs } from '../../http/route/errors.ts'
import { causeText } from '../../run/cause-text.ts'
import type { Clock } from '../../run/clock.ts'
import { escaped } from '../../run/escaped.ts'
import { Attempts, clientOf } from '../server/attempts.ts'
import type { SecretCookie } from '../server/cookie.ts'
import { askedLinks, type PersonOfTenant } from '../server/people.ts'
import { isSecret, newSecret, SESSION_MS, type Sessions } from '../server/sessions.ts'
import { pageWithoutScripts } from '../server/sign-in-page.ts'
import { deviceOf } from '../server/signing.ts'
import type { OidcPeople } from './people.ts'
import type { OidcProvider } from './provider.ts'
import { OidcRefusal } from './refusal.ts'

/** What signs people in by OpenID Connect. */
export interface Oidc {
  readonly provider: OidcProvider
  readonly people: Pick<OidcPeople, 'of'>
}

interface OidcSigningOptions {
  /** Undefined: OIDC_ISSUER is not set. */
  readonly oidc: Oidc | undefined
  readonly sessions: Sessions
  /** Of sessions. */
  readonly cookie: SecretCookie
  /** Of an attempt. Browsers send it when the provider leads back here. */
  readonly attemptCookie: SecretCookie
  /** HTML of the pages. */
  readonly index: string
  readonly clock: Clock
  readonly log: Logger
}

/** A person has this long at the provider. */
const ATTEMPT_MS = 900_000
/** How long a person may choose among workspaces. */
const CHOICE_MS = 900_000

/**
 * Sign-in by OpenID Connect. An attempt is one secret in a cookie of its browser: an answer of the provider works in that browser only, and once.
 */
export class OidcSigning {
  readonly #options: OidcSigningOptions
  readonly #failed: Attempts
  readonly #explain = explainAs(({ status, message }) => this.#refusal(status, `You are not signed in: ${message}.`))

  constructor(options: OidcSigningOptions) {
    this.#options = options
    this.#failed = new Attempts(options.clock)
  }

  /** `POST /sign-in/oidc`: the address of the provider to go to. */
  async start(exchange: Exchange): Promise<HttpResponse> {
    const { origin, cookie } = exchange.request.head
    const { oidc, sessions, attemptCookie, log } = this.#options
    if (origin === '') throw new HttpError('forbidden', 'the request does not come from the sign-in page')
    if (oidc === undefined)
      throw new HttpError('conflict', 'this ipid has no such sign-in: an operator sets OIDC_ISSUER')
    exchange.assertBody()
    await exchange.text()
    if ((await sessions.look(this.#options.cookie.read(cookie))) !== undefined)
      throw new HttpError('conflict', 'you are signed in already: reload the page')
    const own = new URL(oidc.provider.redirectUri).origin
    // The provider leads back there, and the cookie of the attempt must be there too.
    if (origin !== own) throw new HttpError('conflict', `open ${own} to sign in with ${oidc.provider.name}`)
    const secret = newSecret()
    try {
      const started: OidcStart = { url: (await oidc.provider.begin(secret)).href }
      const headers = { 'set-cookie': attemptCookie.write(secret, ATTEMPT_MS), 'cache-control': 'no-store' }
      return { status: 200, body: JSON.stringify(started), headers }
    } catch (error) {
      if (!(error instanceof OidcRefusal)) throw error
      logRefusal(log, error)
      throw new HttpError('provider_unavailable', error.message)
    }
  }

  /**
   * `GET /sign-in/oidc`: the provider leads back here. It starts a session, or asks which workspace. A right answer always signs in, even after many
   * wrong ones.
   */
  async finish(exchange: Exchange): Promise<HttpResponse> {
    const { head, query } = exchange.request
    const { oidc, attemptCookie, log } = this.#options
    if (oidc === undefined) throw new HttpError('unknown_path', 'this ipid has no such sign-in')
    if (head.fetchDest !== '' && head.fetchDest !== 'document')
      throw new HttpError('forbidden', 'open the sign-in as a page')
    const secret = attemptCookie.read(head.cookie)
    // Another site may have led here: this answer must not end an attempt, nor count as one.
    if (!isSecret(secret) || !oidc.provider.isAnswerTo(secret, query))
      return this.#refusal(400, 'This sign-in has ended, or began in another browser or tab. Begin again.')
    try {
      exchange.addHeader('set-cookie', attemptCookie.write('', 0))
      const identity = await oidc.provider.finish(secret, query)
      const found = await oidc.people.of(identity, oidc.provider.name)
      return await (found.length === 1 ? this.#enter(found[0]!, exchange) : this.#choose(found))
    } catch (error) {
      if (error instanceof OidcRefusal) {
        logRefusal(log, error)
        const waitSeconds = this.#failed.add(clientOf(exchange.peerAddress(), head.forwardedFor))
        if (waitSeconds === 0) return this.#refusal(error.status, error.message)
        const text = 'Too many sign-ins failed. Wait a minute, then begin again.'
        return withHeaders(this.#refusal(429, text), { 'retry-after': String(waitSeconds) })
      }
      const { response, unexpected } = this.#explain(error)
      if (unexpected) throw error
      return response
    }
  }

  async #enter(of: PersonOfTenant, exchange: Exchange): Promise<HttpResponse> {
    const { sessions, cookie } = this.#options
    const { head } = exchange.request
    // By a link, so that whatever ends the links of a person or a tenant meanwhile ends this one too.
    const [link] = await askedLinks(sessions, [of], CHOICE_MS)
    const secret = await sessions.signIn(link!.secret, { device: deviceOf(head.userAgent) })
    if (secret === undefined) throw new OidcRefusal(400, 'You were removed or signed out meanwhile. Begin again.')
    const former = cookie.read(head.cookie)
    if (former !== '') await sessions.signOut(former).catch(() => {})
    const headers = { location: '/', 'cache-control': 'no-store', 'set-cookie': cookie.write(secret, SESSION_MS) }
    return { status: 303, body: '', headers }
  }

  async #choose(found: readonly PersonOfTenant[]): Promise<HttpResponse> {
    const links = await askedLinks(this.#options.sessions, found, CHOICE_MS)
    const forms = links.map(
      ({
        tenant,
        secret,
      }) => `<form method="post" action="/sign-in"><input type="hidden" name="token" value="${secret}">
<p><button type="submit" class="ui-button">${escaped(tenant.id)}</button></p></form>`,
    )
    const full = found.filter((one) => !links.some(({ tenant }) => tenant.id === one.tenant.id))
    const names = full.map(({ tenant }) => escaped(tenant.id)).join(', ')
    const note = full.length === 0 ? '' : `<p>Too many invitations and sessions are open in ${names}.</p>`
    return this.#page(200, `<p>You are in several workspaces. Which one do you open?</p>${forms.join('')}${note}`)
  }

  #refusal(status: number, text: string): HttpResponse {
    return this.#page(
      status,
      `<p>${escaped(text)}</p><p><a class="ui-button" href="/">Back to the sign-in page</a></p>`,
    )
  }

  #page(status: number, content: string): HttpResponse {
    const body = pageWithoutScripts(this.#options.index, content)
    return { status, type: 'text/html; charset=utf-8', body, headers: { 'cache-control': 'no-store' } }
  }
}

function withHeaders(response: HttpResponse, headers: Readonly<Record<string, string>>): HttpResponse {
  return { ...response, headers: { ...response.headers, ...headers } }
}

function logRefusal(log: Logger, { cause }: OidcRefusal): void {
  if (cause !== undefined) log.warn({ reason: causeText(cause) }, 'a sign-in by OpenID Connect failed')
}
