import { isDeepStrictEqual } from 'node:util'
import type { Exchange } from '../../http/engine/exchange.ts'
import { HttpError } from '../../http/engine/http-error.ts'
import type { HttpResponse } from '../../http/engine/response.ts'
import type { Clock } from '../../run/clock.ts'
import type { Access } from './access.ts'
import { Attempts, clientOf } from './attempts.ts'
import type { SecretCookie } from './cookie.ts'
import { type People, validName } from './people.ts'
import { type Grant, isCsrfToken, isSecret, SESSION_MS, type Session, type Sessions } from './sessions.ts'
import { type LinkInvitation, type SignInQuestion, signInPage } from './sign-in-page.ts'

interface SigningOptions {
  readonly sessions: Sessions
  readonly people: Pick<People, 'introduce' | 'remove' | 'namesOf'>
  readonly cookie: SecretCookie
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

/** Facts of a request about its user. */
interface Visitor {
  /** Secret of the current session; `''` without one. */
  readonly secret: string
  readonly device: string | undefined
  readonly client: string
}

/** Answers to the questions of the sign-in page. */
interface Answers {
  /** Whether the user agreed to replace the current session. */
  readonly replaces: boolean
  /** Undefined: the user gave none. */
  readonly name: string | undefined
}

/** Sign-in by link, and sign-out. */
export class Signing {
  readonly #options: SigningOptions
  readonly #failed: Attempts

  constructor(options: SigningOptions) {
    this.#options = options
    this.#failed = new Attempts(options.clock)
  }

  /**
   * `GET /sign-in?token=…` shows a page that asks first, and for a name if the link of a member has none: programs that scan mail open
   * links too. Links of operators come from a terminal and hold for minutes, so they start a session at once, except when another site
   * led here or the browser prefetches.
   */
  async open(exchange: Exchange): Promise<HttpResponse> {
    const { request } = exchange
    const { fetchDest, fetchSite, purpose } = request.head
    if (fetchDest !== '' && fetchDest !== 'document')
      throw new HttpError('forbidden', 'open the sign-in link as a page')
    const token = new URLSearchParams(request.query).get('token') ?? ''
    const isMeant = DIRECT.includes(fetchSite) && !/prefetch|prerender|preview/i.test(purpose)
    if (isMeant) return await this.#enter(token, this.#visitor(exchange), undefined)
    // Do not count an invalid token as a failure here: another site could make its visitors fail.
    if (!isSecret(token)) return seeOther(FAILED)
    return await this.#ask(token, await this.#options.sessions.grantOf(token))
  }

  /** `POST /sign-in`: the form of our page, with `token`, `name` if it asked, and `replace=yes` if it replaces a session. */
  async confirm(exchange: Exchange): Promise<HttpResponse> {
    const { origin } = exchange.request.head
    if (origin === '') throw new HttpError('forbidden', 'the request does not come from the sign-in page')
    exchange.assertBody()
    const visitor = this.#visitor(exchange)
    const form = new URLSearchParams(await exchange.text())
    const name = form.get('name')?.trim() ?? ''
    const answers = { replaces: form.get('replace') === 'yes', name: name === '' ? undefined : validName(name) }
    return await this.#enter(form.get('token') ?? '', visitor, answers)
  }

  /** `POST /sign-out` ends the session. */
  async leave({ request }: Exchange): Promise<HttpResponse> {
    const { sessions, cookie, onSignedOut } = this.#options
    const secret = cookie.read(request.head.cookie)
    const session = await sessions.look(secret)
    if (session === undefined) throw new HttpError('not_signed_in', 'not signed in')
    if (!isCsrfToken(session, request.head.csrfToken))
      throw new HttpError('forbidden', 'the x-csrf-token header does not match this session')
    await sessions.signOut(secret)
    onSignedOut(session)
    return { status: 204, body: '', headers: { 'set-cookie': cookie.write('', 0) } }
  }

  /**
   * A valid link always signs in, even after many invalid ones.
   * @param answers undefined: the user was not asked
   */
  async #enter(token: string, visitor: Visitor, answers: Answers | undefined): Promise<HttpResponse> {
    const response = await this.#tried(token, visitor, answers)
    if (response !== undefined) return response
    const waitSeconds = this.#failed.add(visitor.client)
    if (waitSeconds === 0) return seeOther(FAILED)
    const headers = { 'retry-after': String(waitSeconds) }
    throw new HttpError('rate_limited', 'too many invalid sign-in links: wait a minute, or open a valid one', {
      headers,
    })
  }

  /** Undefined: the link does not work. */
  async #tried(
    token: string,
    { secret: formerSecret, device }: Visitor,
    answers: Answers | undefined,
  ): Promise<HttpResponse | undefined> {
    const { sessions, access, cookie, onSignedOut } = this.#options
    const [former, grant] = await Promise.all([sessions.look(formerSecret), sessions.grantOf(token)])
    if (grant === undefined || !(await access.opens(grant))) return undefined
    const isReplaced = former !== undefined && answers?.replaces !== true && !isSame(former, grant)
    if (isReplaced || (answers === undefined && grant.role !== 'operator')) {
      return await this.#ask(token, grant, isReplaced ? former : undefined)
    }
    const secret = await this.#signedIn(token, grant, answers?.name ?? operatorName(former), device)
    if (secret === undefined) return undefined
    if (former !== undefined) {
      // If this fails, the former session expires. The browser loses its cookie anyway.
      await sessions.signOut(formerSecret).catch(() => {})
      onSignedOut(former)
    }
    return seeOther('/', { 'set-cookie': cookie.write(secret, SESSION_MS) })
  }

  /** Uses the link, under the name that the user gave if the link has none. */
  async #signedIn(token: string, grant: Grant, name: string | undefined, device: string | undefined) {
    const { sessions, people } = this.#options
    if (name === undefined || !isNameless(grant)) return await sessions.signIn(token, { device })
    if (grant.tenant === undefined) return await sessions.signIn(token, { name, device })
    const personId = await people.introduce(grant.tenant, name, grant)
    const secret = await sessions.signIn(token, { personId, device })
    // Another request used the link meanwhile.
    if (secret === undefined) await people.remove(grant.tenant, personId)
    return secret
  }

  #visitor(exchange: Exchange): Visitor {
    const { cookie, userAgent, forwardedFor } = exchange.request.head
    const client = clientOf(exchange.peerAddress(), forwardedFor)
    return { secret: this.#options.cookie.read(cookie), device: deviceOf(userAgent), client }
  }

  /**
   * Asks before a link is used.
   * @param grant of the link; undefined: it does not work
   * @param current the session that the link would end
   */
  async #ask(token: string, grant: Grant | undefined, current?: Grant): Promise<HttpResponse> {
    const question: SignInQuestion = {
      ...{ token, asksName: isNameless(grant), invitation: grant && (await this.#invitation(token, grant)) },
      replaced: current && grant && { current, next: grant },
    }
    const headers = { 'cache-control': 'no-store' }
    const body = signInPage(this.#options.index, question)
    return { status: 200, type: 'text/html; charset=utf-8', body, headers }
  }

  /** Undefined: the link is of an operator. */
  async #invitation(token: string, grant: Grant): Promise<LinkInvitation | undefined> {
    const { sessions, people } = this.#options
    const { role, tenant, madeBy, isAsked } = grant
    if (tenant === undefined || role === 'operator') return undefined
    const [names, endsMs] = await Promise.all([people.namesOf(tenant, grant), sessions.endsMsOf(token)])
    const isOfOperator = madeBy === undefined || madeBy.startsWith('operator:')
    const by = names.maker ?? (isOfOperator ? 'An operator' : 'An admin')
    return { tenantId: tenant.id, role, person: names.person, endsMs, ...(isAsked !== true && { by }) }
  }
}

function isNameless(grant: Grant | undefined): boolean {
  return grant !== undefined && grant.name === undefined
}

/** An operator who signs in again keeps the name. */
function operatorName(former: Grant | undefined): string | undefined {
  return former?.role === 'operator' ? former.name : undefined
}

function isSame(one: Grant, other: Grant): boolean {
  const [first, second] = [one, other].map(({ role, tenant, personId }) => [role, tenant, personId])
  return isDeepStrictEqual(first, second)
}

function seeOther(location: string, headers: Readonly<Record<string, string>> = {}): HttpResponse {
  return { status: 303, body: '', headers: { location, 'cache-control': 'no-store', ...headers } }
}

const BROWSERS = [
  ['Edge', /\bEdgA?(?:iOS)?\//],
  ['Opera', /\bOPR\//],
  ['Samsung Internet', /\bSamsungBrowser\//],
  ['Firefox', /\b(?:Firefox|FxiOS)\//],
  ['Chrome', /\b(?:Headless)?(?:Chrome|Chromium|CriOS)\//],
  ['Safari', /\bSafari\//],
] as const

const SYSTEMS = [
  ['iPhone', /\biPhone\b/],
  ['iPad', /\biPad\b/],
  ['Android', /\bAndroid\b/],
  ['Windows', /\bWindows\b/],
  ['ChromeOS', /\bCrOS\b/],
  ['macOS', /\bMac OS X\b/],
  ['Linux', /\bLinux\b/],
] as const

/**
 * Browser and system in a few words: "Chrome on macOS". Made of our own words only, so a list never shows text of a client.
 * @returns undefined when neither is known
 */
export function deviceOf(userAgent: string): string | undefined {
  const browser = BROWSERS.find(([, pattern]) => pattern.test(userAgent))?.[0]
  const system = SYSTEMS.find(([, pattern]) => pattern.test(userAgent))?.[0]
  if (browser !== undefined && system !== undefined) return `${browser} on ${system}`
  return browser ?? system
}
