import type { Exchange } from '../../http/engine/exchange.ts'
import { HttpError } from '../../http/engine/http-error.ts'
import type { HttpResponse } from '../../http/engine/response.ts'
import type { Clock } from '../../run/clock.ts'
import type { Access } from './access.ts'
import { clientOf, FailedSignIns } from './attempts.ts'
import type { SessionCookie } from './cookie.ts'
import { type Grant, isCsrfToken, isSecret, SESSION_MS, type Session, type Sessions } from './sessions.ts'
import { type SignInQuestion, signInPage } from './sign-in-page.ts'

interface SigningOptions {
  readonly sessions: Sessions
  readonly cookie: SessionCookie
  readonly access: Access
  /** Called to end open streams of a session. */
  readonly onSignedOut: (session: Session) => void
  /** HTML of the pages. */
  readonly index: string
  readonly clock: Clock
}

/** `Sec-Fetch-Site` of requests that need no question: from our own pages, or from outside of a browser page. */
const DIRECT = ['', 'none', 'same-origin']

const FAILED = '/?sign-in=failed'

/** Sign-in by link, and sign-out. */
export class Signing {
  readonly #options: SigningOptions
  readonly #failed: FailedSignIns

  constructor(options: SigningOptions) {
    this.#options = options
    this.#failed = new FailedSignIns(options.clock)
  }

  /**
   * `GET /sign-in?token=…` starts a session. When another site led here, or the browser prefetches, it does not use the link,
   * but shows a page that asks first.
   */
  async open(exchange: Exchange): Promise<HttpResponse> {
    const { request } = exchange
    const { fetchDest, fetchSite, purpose, cookie } = request.head
    if (fetchDest !== '' && fetchDest !== 'document') throw new HttpError(403, 'open the sign-in link as a page')
    const token = new URLSearchParams(request.query).get('token') ?? ''
    const isMeant = DIRECT.includes(fetchSite) && !/prefetch|prerender|preview/i.test(purpose)
    // Do not count an invalid token as a failure here: another site could make its visitors fail.
    if (!isMeant) return isSecret(token) ? this.#ask({ token }) : seeOther(FAILED)
    return await this.#enter(token, cookie, false, clientOfRequest(exchange))
  }

  /** `POST /sign-in`: the form of our page, with `token`, and `replace=yes` if it replaces a session. */
  async confirm(exchange: Exchange): Promise<HttpResponse> {
    const { origin, cookie } = exchange.request.head
    if (origin === '') throw new HttpError(403, 'the request does not come from the sign-in page')
    exchange.assertBody()
    const client = clientOfRequest(exchange)
    const form = new URLSearchParams(await exchange.text())
    return await this.#enter(form.get('token') ?? '', cookie, form.get('replace') === 'yes', client)
  }

  /** `POST /sign-out` ends the session. */
  async leave({ request }: Exchange): Promise<HttpResponse> {
    const { sessions, cookie, onSignedOut } = this.#options
    const secret = cookie.read(request.head.cookie)
    const session = await sessions.look(secret)
    if (session === undefined) throw new HttpError(401, 'not signed in')
    if (!isCsrfToken(session, request.head.csrfToken))
      throw new HttpError(403, 'the x-csrf-token header does not match this session')
    await sessions.signOut(secret)
    onSignedOut(session)
    return { status: 204, body: '', headers: { 'set-cookie': cookie.write('', 0) } }
  }

  /**
   * A valid link always signs in, even after many invalid ones.
   * @param replaces whether the user agreed to replace the current session
   */
  async #enter(token: string, cookies: string, replaces: boolean, client: string): Promise<HttpResponse> {
    const response = await this.#tried(token, this.#options.cookie.read(cookies), replaces)
    if (response !== undefined) return response
    const waitSeconds = this.#failed.add(client)
    if (waitSeconds === 0) return seeOther(FAILED)
    const headers = { 'retry-after': String(waitSeconds) }
    throw new HttpError(429, 'too many invalid sign-in links: wait a minute, or open a valid one', { headers })
  }

  /** Undefined: the link does not work. */
  async #tried(token: string, formerSecret: string, replaces: boolean): Promise<HttpResponse | undefined> {
    const { sessions, access, cookie, onSignedOut } = this.#options
    const [former, grant] = await Promise.all([sessions.look(formerSecret), sessions.grantOf(token)])
    if (grant === undefined || !(await access.opens(grant))) return undefined
    if (former !== undefined && !replaces && !isSame(former, grant)) {
      return this.#ask({ token, replaced: { current: former, next: grant } })
    }
    const secret = await sessions.signIn(token)
    if (secret === undefined) return undefined
    if (former !== undefined) {
      // If this fails, the former session expires. The browser loses its cookie anyway.
      await sessions.signOut(formerSecret).catch(() => {})
      onSignedOut(former)
    }
    return seeOther('/', { 'set-cookie': cookie.write(secret, SESSION_MS) })
  }

  #ask(question: SignInQuestion): HttpResponse {
    const headers = { 'cache-control': 'no-store' }
    const body = signInPage(this.#options.index, question)
    return { status: 200, type: 'text/html; charset=utf-8', body, headers }
  }
}

function clientOfRequest(exchange: Exchange): string {
  return clientOf(exchange.peerAddress(), exchange.request.head.forwardedFor)
}

function isSame(one: Grant, other: Grant): boolean {
  return (
    one.role === other.role && one.tenant?.id === other.tenant?.id && one.tenant?.createdAt === other.tenant?.createdAt
  )
}

function seeOther(location: string, headers: Readonly<Record<string, string>> = {}): HttpResponse {
  return { status: 303, body: '', headers: { location, 'cache-control': 'no-store', ...headers } }
}
