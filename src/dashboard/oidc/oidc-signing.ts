import type { Logger } from 'pino'
import type { OidcStart } from '../../../schemas/dashboard/session.ts'
import type { Exchange } from '../../http/engine/exchange.ts'
import { HttpError } from '../../http/engine/http-error.ts'
import type { HttpResponse } from '../../http/engine/response.ts'
import { causeText } from '../../run/cause-text.ts'
import type { Clock } from '../../run/clock.ts'
import { escaped } from '../../run/escaped.ts'
import { Attempts, clientOf } from '../server/attempts.ts'
import type { SecretCookie } from '../server/cookie.ts'
import type { PersonOfTenant } from '../server/people.ts'
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
  readonly #started: Attempts
  readonly #finished: Attempts

  constructor(options: OidcSigningOptions) {
    this.#options = options
    this.#started = new Attempts(options.clock)
    this.#finished = new Attempts(options.clock)
  }

  /** `POST /sign-in/oidc`: the address of the provider to go to. */
  async start(exchange: Exchange): Promise<HttpResponse> {
    const { origin, cookie } = exchange.request.head
    const { oidc, sessions, attemptCookie, log } = this.#options
    if (origin === '') throw new HttpError('forbidden', 'the request does not come from the sign-in page')
    if (oidc === undefined)
      throw new HttpError('conflict', 'this ipid has no such sign-in: an operator sets OIDC_ISSUER')
    assertTries(this.#started, exchange)
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

  /** `GET /sign-in/oidc`: the provider leads back here. It starts a session, or asks which workspace. */
  async finish(exchange: Exchange): Promise<HttpResponse> {
    const { head, query } = exchange.request
    const { oidc, attemptCookie, log } = this.#options
    if (oidc === undefined) throw new HttpError('unknown_path', 'this ipid has no such sign-in')
    if (head.fetchDest !== '' && head.fetchDest !== 'document')
      throw new HttpError('forbidden', 'open the sign-in as a page')
    try {
      const secret = attemptCookie.read(head.cookie)
      // Another site may have led here: this answer must not end an attempt.
      if (!isSecret(secret) || !oidc.provider.isAnswerTo(secret, query))
        throw new OidcRefusal(400, 'This sign-in has ended, or began in another browser or tab. Begin again.')
      assertTries(this.#finished, exchange)
      exchange.addHeader('set-cookie', attemptCookie.write('', 0))
      const identity = await oidc.provider.finish(secret, query)
      const found = await oidc.people.of(identity, oidc.provider.name)
      return await (found.length === 1 ? this.#enter(found[0]!, exchange) : this.#choose(found))
    } catch (error) {
      if (!(error instanceof OidcRefusal)) throw error
      logRefusal(log, error)
      return this.#page(
        error.status,
        `<p>${escaped(error.message)}</p><p><a class="ui-button" href="/">Back to the sign-in page</a></p>`,
      )
    }
  }

  async #enter(of: PersonOfTenant, exchange: Exchange): Promise<HttpResponse> {
    const { sessions, cookie } = this.#options
    const { head } = exchange.request
    // By a link, so that whatever ends the links of a person or a tenant meanwhile ends this one too.
    const link = await this.#link(of)
    const secret = await sessions.signIn(link, { device: deviceOf(head.userAgent) })
    if (secret === undefined) throw new OidcRefusal(400, 'You were removed or signed out meanwhile. Begin again.')
    const former = cookie.read(head.cookie)
    if (former !== '') await sessions.signOut(former).catch(() => {})
    const headers = { location: '/', 'cache-control': 'no-store', 'set-cookie': cookie.write(secret, SESSION_MS) }
    return { status: 303, body: '', headers }
  }

  async #choose(found: readonly PersonOfTenant[]): Promise<HttpResponse> {
    const forms: string[] = []
    for (const of of found) {
      const token = await this.#link(of)
      forms.push(`<form method="post" action="/sign-in"><input type="hidden" name="token" value="${token}">
<p><button type="submit" class="ui-button">${escaped(of.tenant.id)}</button></p></form>`)
    }
    return this.#page(200, `<p>You are in several workspaces. Which one do you open?</p>${forms.join('')}`)
  }

  #link({ tenant, person: { id, role } }: PersonOfTenant): Promise<string> {
    return this.#options.sessions.createLink({ role, tenant, personId: id }, CHOICE_MS)
  }

  #page(status: number, content: string): HttpResponse {
    const body = pageWithoutScripts(this.#options.index, content)
    return { status, type: 'text/html; charset=utf-8', body, headers: { 'cache-control': 'no-store' } }
  }
}

/** @throws HttpError after too many attempts of a client */
function assertTries(attempts: Attempts, exchange: Exchange): void {
  const waitSeconds = attempts.add(clientOf(exchange.peerAddress(), exchange.request.head.forwardedFor))
  if (waitSeconds === 0) return
  const headers = { 'retry-after': String(waitSeconds) }
  throw new HttpError('rate_limited', 'too many sign-ins were tried: wait a minute', { headers })
}

function logRefusal(log: Logger, { cause }: OidcRefusal): void {
  if (cause !== undefined) log.warn({ reason: causeText(cause) }, 'a sign-in by OpenID Connect failed')
}
