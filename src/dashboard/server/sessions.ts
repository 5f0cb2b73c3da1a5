import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { DashboardRole } from '../../../schemas/dashboard/session.ts'
import type { Clock } from '../../run/clock.ts'

/** What a sign-in link gives, and a session has. */
export interface Grant {
  readonly role: DashboardRole
  /** The tenant of a member. A tenant made anew under the same name is another one. */
  readonly tenant?: { readonly id: string; readonly createdAt: string }
}

/** What is kept of a session. */
export interface StoredSession extends Grant {
  /** Sent with every change, so that no other site makes one with the cookie alone. */
  readonly csrfToken: string
  /** When it ends, however much it is used, milliseconds. */
  readonly endsMs: number
}

/** Somebody who has signed in. */
export interface Session extends StoredSession {
  /** By which it is kept. */
  readonly id: string
}

/** How many were ended by one call. */
export interface Withdrawn {
  readonly links: number
  readonly sessions: number
}

/** What is kept of links and sessions: digests of their secrets, never the secrets. Rejects with `UnavailableError`. */
export interface SessionStore {
  putLink(digest: string, grant: Grant, validMs: number): Promise<void>
  /** Undefined when it is unknown, used, withdrawn or too old. */
  getLink(digest: string): Promise<Grant | undefined>
  /** Whether it was there: true to one caller only. */
  removeLink(digest: string): Promise<boolean>
  putSession(digest: string, session: StoredSession, validMs: number): Promise<void>
  getSession(digest: string): Promise<StoredSession | undefined>
  /** Does nothing when there is no such session. */
  extendSession(digest: string, validMs: number): Promise<void>
  removeSession(digest: string): Promise<void>
  /**
   * Removes every link and session that is there during the whole call, links first.
   * @param tenantId only those of members of a tenant of this name, however often it was made anew
   */
  removeAll(tenantId: string | undefined): Promise<Withdrawn>
}

/** How long the link of an operator works. */
export const LINK_MS = 600_000
/** How long a session lives behind its last use. */
export const SESSION_MS = 43_200_000
/** How long it lives behind its sign-in, however much it is used. */
const SESSION_AGE_MAX_MS = 30 * 86_400_000
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

  /** What a link gives, which is not spent by this; undefined when it is unknown, used or too old. */
  async grantOf(linkSecret: string): Promise<Grant | undefined> {
    return isSecret(linkSecret) ? await this.#store.getLink(digestOf(linkSecret)) : undefined
  }

  /** The secret of a new session; undefined when the link is unknown, used or too old. */
  async signIn(linkSecret: string): Promise<string | undefined> {
    const grant = await this.grantOf(linkSecret)
    if (grant === undefined) return undefined
    const secret = newSecret()
    const session = { ...grant, csrfToken: newSecret(), endsMs: this.#clock.now() + SESSION_AGE_MAX_MS }
    // There before the link is gone: who withdraws links, and sessions behind them, misses neither.
    await this.#store.putSession(digestOf(secret), session, SESSION_MS)
    if (await this.#store.removeLink(digestOf(linkSecret))) return secret
    await this.#store.removeSession(digestOf(secret))
    return undefined
  }

  /** The session as it is; undefined when it has ended. */
  async look(secret: string): Promise<Session | undefined> {
    return isSecret(secret) ? await this.#byId(digestOf(secret)) : undefined
  }

  /**
   * The session, which lives on for its full time; undefined when it has ended.
   * @param onExtended called when that was noted, with the milliseconds that it has: once a minute, and not at each use
   */
  async find(secret: string, onExtended: (validMs: number) => void = () => {}): Promise<Session | undefined> {
    const session = await this.look(secret)
    const nowMs = this.#clock.now()
    if (session !== undefined && nowMs - (this.#extended.get(session.id) ?? 0) > EXTEND_AFTER_MS) {
      if (this.#extended.size >= EXTENDED_MAX) this.#extended.clear()
      this.#extended.set(session.id, nowMs)
      const validMs = Math.min(SESSION_MS, session.endsMs - nowMs)
      await this.#store.extendSession(session.id, validMs)
      onExtended(validMs)
    }
    return session
  }

  /** Whether a session has not ended since it was found. */
  async goesOn({ id }: Session): Promise<boolean> {
    return (await this.#byId(id)) !== undefined
  }

  async signOut(secret: string): Promise<void> {
    if (isSecret(secret)) await this.#store.removeSession(digestOf(secret))
  }

  /** Ends links and sessions, see `SessionStore.removeAll`. */
  withdraw(tenantId?: string): Promise<Withdrawn> {
    return this.#store.removeAll(tenantId)
  }

  async #byId(id: string): Promise<Session | undefined> {
    const stored = await this.#store.getSession(id)
    return stored !== undefined && this.#clock.now() < stored.endsMs ? { ...stored, id } : undefined
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

/** Whether a text has the form of a secret. */
export function isSecret(text: string): boolean {
  return /^[\w-]{43}$/.test(text)
}

function digestOf(secret: string): string {
  return createHash('sha256').update(secret).digest('hex')
}
