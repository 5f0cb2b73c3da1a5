import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { DashboardRole } from '../../../schemas/dashboard/session.ts'
import type { Clock } from '../../core/run/clock.ts'

/** What a sign-in link gives, and a session has. */
export interface Grant {
  readonly role: DashboardRole
  /** The tenant of a member. A tenant made anew under the same name is another one. */
  readonly tenant?: { readonly id: string; readonly createdAt: string }
}

/** Somebody who has signed in. */
export interface Session extends Grant {
  /** Sent with every change, so that no other site makes one with the cookie alone. */
  readonly csrfToken: string
}

/** What is kept of links and sessions: digests of their secrets, never the secrets. Rejects with `UnavailableError`. */
export interface SessionStore {
  putLink(digest: string, grant: Grant, validMs: number): Promise<void>
  /** What a link gives, to one caller only; undefined when it is unknown, used or too old. */
  takeLink(digest: string): Promise<Grant | undefined>
  putSession(digest: string, session: Session, validMs: number): Promise<void>
  getSession(digest: string): Promise<Session | undefined>
  /** Does nothing when there is no such session. */
  extendSession(digest: string, validMs: number): Promise<void>
  removeSession(digest: string): Promise<void>
}

/** How long the link of an operator works. */
export const LINK_MS = 600_000
/** How long a session lives behind its last use. */
export const SESSION_MS = 43_200_000
const EXTEND_AFTER_MS = 60_000
const EXTENDED_MAX = 10_000

/** Links that sign in once, and the sessions that they begin. Secrets have 256 bits. */
export class Sessions {
  readonly #store: SessionStore
  readonly #clock: Clock
  /** When a session was extended last; what is forgotten is extended once more. */
  readonly #extended = new Map<string, number>()

  constructor(store: SessionStore, clock: Clock) {
    this.#store = store
    this.#clock = clock
  }

  /** Makes a link's secret. @param validMs how long it works */
  async createLink(grant: Grant, validMs: number): Promise<string> {
    const secret = newSecret()
    await this.#store.putLink(digestOf(secret), grant, validMs)
    return secret
  }

  /** The secret of a new session; undefined when the link is unknown, used or too old. */
  async signIn(linkSecret: string): Promise<string | undefined> {
    const grant = isSecret(linkSecret) ? await this.#store.takeLink(digestOf(linkSecret)) : undefined
    if (grant === undefined) return undefined
    const secret = newSecret()
    await this.#store.putSession(digestOf(secret), { ...grant, csrfToken: newSecret() }, SESSION_MS)
    return secret
  }

  /**
   * The session, which lives on for its full time; undefined when it has ended.
   * @param onExtended called when that was noted: once a minute, and not at each use
   */
  async find(secret: string, onExtended: () => void = () => {}): Promise<Session | undefined> {
    if (!isSecret(secret)) return undefined
    const digest = digestOf(secret)
    const session = await this.#store.getSession(digest)
    const nowMs = this.#clock.now()
    if (session !== undefined && nowMs - (this.#extended.get(digest) ?? 0) > EXTEND_AFTER_MS) {
      if (this.#extended.size >= EXTENDED_MAX) this.#extended.clear()
      this.#extended.set(digest, nowMs)
      await this.#store.extendSession(digest, SESSION_MS)
      onExtended()
    }
    return session
  }

  async signOut(secret: string): Promise<void> {
    if (isSecret(secret)) await this.#store.removeSession(digestOf(secret))
  }
}

/** Whether a change was meant by a page of ours. */
export function isCsrfToken(session: Session, token: string): boolean {
  const wanted = Buffer.from(session.csrfToken)
  const given = Buffer.from(token)
  return wanted.length === given.length && timingSafeEqual(wanted, given)
}

function newSecret(): string {
  return randomBytes(32).toString('base64url')
}

function isSecret(text: string): boolean {
  return /^[\w-]{43}$/.test(text)
}

function digestOf(secret: string): string {
  return createHash('sha256').update(secret).digest('hex')
}
