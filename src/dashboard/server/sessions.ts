import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { DashboardRole } from '../../../schemas/dashboard/roles.ts'
import type { Maker } from '../../../schemas/maker.ts'
import type { Clock } from '../../run/clock.ts'

/** Rights of a sign-in link and of its session. */
export interface Grant {
  readonly role: DashboardRole
  /** The tenant of a viewer, member or admin. A new tenant with the name of a deleted one is another tenant. */
  readonly tenant?: { readonly id: string; readonly createdAt: string }
  /** A person of the tenant's list. Removing the person ends the link or session. */
  readonly personId?: string
  /** Name of the user: of a person, as the list has it. */
  readonly name?: string
  /** Id of the maker of the link, see `makerOf`; undefined: it was made on the command line, or by an earlier version. */
  readonly madeBy?: string
  /** Of a link: its person asked for it, to sign in at once. It is no invitation. */
  readonly isAsked?: true
}

export interface StoredSession extends Grant {
  /** Required with every change, because another site could make the browser send the cookie. */
  readonly csrfToken: string
  /** Latest end, milliseconds. */
  readonly endsMs: number
  /** Time of the sign-in, milliseconds; undefined: an earlier version did not store it. */
  readonly startedMs?: number
  /** Last use, milliseconds, up to a minute old. */
  readonly usedMs?: number
  /** In a few words, see `deviceOf`. */
  readonly device?: string
}

export interface Session extends StoredSession {
  /** Digest of its secret. */
  readonly id: string
}

/** A link that was not opened, or a session. */
export type SignIn =
  | { readonly kind: 'link'; readonly digest: string; readonly grant: Grant; readonly endsMs: number }
  | { readonly kind: 'session'; readonly digest: string; readonly grant: StoredSession }

/** Number of ended links and sessions. */
export interface Withdrawn {
  readonly links: number
  readonly sessions: number
}

/** Stores links and sessions under digests of their secrets, never the secrets. Rejects with `UnavailableError`. */
export interface SessionStore {
  /** @throws InputError when too many links and sessions of the tenant are open */
  putLink(digest: string, grant: Grant, validMs: number): Promise<void>
  /** Undefined when the link is unknown, used, withdrawn or expired, or its person or maker was removed. */
  getLink(digest: string): Promise<Grant | undefined>
  /** When an unused link expires, milliseconds; undefined when it is unknown, used or expired. */
  linkEndsMs(digest: string): Promise<number | undefined>
  /** Whether it existed. Only one caller gets true. */
  removeLink(digest: string): Promise<boolean>
  putSession(digest: string, session: StoredSession, validMs: number): Promise<void>
  /** Undefined when it has ended, or its person was removed; without a person, the maker of its link. */
  getSession(digest: string): Promise<StoredSession | undefined>
  /** Does nothing when the session does not exist. @param usedMs time of its last use */
  extendSession(digest: string, usedMs: number, validMs: number): Promise<void>
  /** Whether it existed. */
  removeSession(digest: string): Promise<boolean>
  /**
   * Links and sessions of tenants with this name, deleted ones included, latest end first, at most `SIGN_INS_MAX`.
   * @param tenantId undefined: of operators
   */
  listSignIns(tenantId: string | undefined): Promise<SignIn[]>
  /**
   * Removes every link and session that exists during the whole call, links first.
   * @param tenantId only those of members of tenants with this name, deleted ones included
   */
  removeAll(tenantId: string | undefined): Promise<Withdrawn>
}

/** Validity of an operator's link. */
export const LINK_MS = 600_000
/** A session ends this long after its last use. */
export const SESSION_MS = 43_200_000
/** Most links and sessions of a list. */
export const SIGN_INS_MAX = 2_000
/** Most sessions of a person: without a limit, one person could fill the list of the tenant and keep all others out. */
export const SESSIONS_OF_PERSON_MAX = 20
/** Most open links that a person asked for, in a tenant. */
export const ASKED_LINKS_MAX = 5
/** A session ends this long after its sign-in. */
const SESSION_AGE_MAX_MS = 30 * 86_400_000
const EXTEND_AFTER_MS = 60_000
const EXTENDED_MAX = 10_000

/** Sign-in links that work once, and their sessions. Secrets have 256 bits. */
export class Sessions {
  readonly #store: SessionStore
  readonly #clock: Clock
  /** When each session was last extended. A missing one is extended again. */
  readonly #extended = new Map<string, number>()

  constructor(store: SessionStore, clock: Clock) {
    this.#store = store
    this.#clock = clock
  }

  /**
   * Creates a link and returns its secret. Ends earlier links that the person asked for, above `ASKED_LINKS_MAX`.
   * @param validMs its validity
   */
  async createLink(grant: Grant, validMs: number): Promise<string> {
    const secret = newSecret()
    await this.#store.putLink(digestOf(secret), grant, validMs)
    if (grant.isAsked) await this.#endOldest('link', grant, ASKED_LINKS_MAX)
    return secret
  }

  /** The rights of a link, without using it; undefined when it is unknown, used or expired. */
  async grantOf(linkSecret: string): Promise<Grant | undefined> {
    return isSecret(linkSecret) ? await this.#store.getLink(digestOf(linkSecret)) : undefined
  }

  /** When a link expires, milliseconds; undefined when it is unknown, used or expired. */
  async endsMsOf(linkSecret: string): Promise<number | undefined> {
    return isSecret(linkSecret) ? await this.#store.linkEndsMs(digestOf(linkSecret)) : undefined
  }

  /**
   * Uses a link. Returns the secret of a new session; undefined when the link is unknown, used or expired. Ends the person's sessions above
   * `SESSIONS_OF_PERSON_MAX`, those first that were not used for longest.
   * @param as facts about the user that the link lacks
   */
  async signIn(
    linkSecret: string,
    as: Pick<StoredSession, 'personId' | 'name' | 'device'> = {},
  ): Promise<string | undefined> {
    const grant = await this.grantOf(linkSecret)
    if (grant === undefined) return undefined
    const secret = newSecret()
    const nowMs = this.#clock.now()
    const times = { endsMs: nowMs + SESSION_AGE_MAX_MS, startedMs: nowMs, usedMs: nowMs }
    const { isAsked: _, ...rights } = grant
    const session = { ...as, ...rights, csrfToken: newSecret(), ...times }
    // Write the session before removing the link: `removeAll` removes links first, so it misses neither.
    await this.#store.putSession(digestOf(secret), session, SESSION_MS)
    await this.#endOldest('session', session, SESSIONS_OF_PERSON_MAX)
    if (await this.#store.removeLink(digestOf(linkSecret))) return secret
    await this.#store.removeSession(digestOf(secret))
    return undefined
  }

  /** The session, without extending it; undefined when it has ended. */
  async look(secret: string): Promise<Session | undefined> {
    return isSecret(secret) ? await this.#byId(digestOf(secret)) : undefined
  }

  /**
   * Finds and extends the session; undefined when it has ended.
   * @param onExtended called with the new validity, at most once a minute
   */
  async find(secret: string, onExtended: (validMs: number) => void = () => {}): Promise<Session | undefined> {
    const session = await this.look(secret)
    const nowMs = this.#clock.now()
    if (session !== undefined && nowMs - (this.#extended.get(session.id) ?? 0) > EXTEND_AFTER_MS) {
      if (this.#extended.size >= EXTENDED_MAX) this.#extended.clear()
      this.#extended.set(session.id, nowMs)
      const validMs = Math.min(SESSION_MS, session.endsMs - nowMs)
      try {
        await this.#store.extendSession(session.id, nowMs, validMs)
        onExtended(validMs)
      } catch {
        // On a full disk Redis still reads: pages such as System are needed most then. The session is extended later.
        this.#extended.delete(session.id)
      }
    }
    return session
  }

  /** Whether a session is still valid. */
  async isValid({ id }: Session): Promise<boolean> {
    return (await this.#byId(id)) !== undefined
  }

  async signOut(secret: string): Promise<void> {
    if (isSecret(secret)) await this.#store.removeSession(digestOf(secret))
  }

  /** Ends links and sessions, see `SessionStore.removeAll`. */
  withdraw(tenantId?: string): Promise<Withdrawn> {
    return this.#store.removeAll(tenantId)
  }

  /** Links and sessions that may still be used, see `SessionStore.listSignIns`. */
  async list(tenantId: string | undefined): Promise<SignIn[]> {
    const nowMs = this.#clock.now()
    const all = await this.#store.listSignIns(tenantId)
    return all.filter((found) => nowMs < (found.kind === 'link' ? found.endsMs : found.grant.endsMs))
  }

  /** Ends a link or a session. Returns whether it existed. */
  async end({ kind, digest }: SignIn): Promise<boolean> {
    return await (kind === 'link' ? this.#store.removeLink(digest) : this.#store.removeSession(digest))
  }

  /** The caller has written its own: of parallel calls, the last to read sees those of all. */
  async #endOldest(kind: SignIn['kind'], { tenant, personId }: Grant, most: number): Promise<void> {
    if (tenant === undefined || personId === undefined) return
    const own = (await this.#store.listSignIns(tenant.id)).filter(
      (found) =>
        found.kind === kind &&
        found.grant.personId === personId &&
        (kind === 'session' || found.grant.isAsked === true),
    )
    // The list has the latest end first, and each use puts the end of a session off.
    await Promise.all(own.slice(most).map((found) => this.end(found)))
  }

  async #byId(id: string): Promise<Session | undefined> {
    const stored = await this.#store.getSession(id)
    return stored !== undefined && this.#clock.now() < stored.endsMs ? { ...stored, id } : undefined
  }
}

/** The author of a change, for records of it: the name of the user, else the role. */
export function authorOf({ name, role }: Grant): string {
  return name ?? role
}

/**
 * The maker of records that a session makes. A session without a person whose link a person made counts as that person, so that a removal ends
 * their access through it.
 */
export function makerOf(session: Session): Maker {
  return { id: makerIdOf({ kind: 'session', digest: session.id, grant: session }), name: authorOf(session) }
}

/** As `makerOf`, of a listed session. */
export function makerIdOf({ digest, grant }: SignIn & { readonly kind: 'session' }): string {
  if (grant.role === 'operator') return `operator:${signInIdOf(digest)}`
  if (grant.personId !== undefined) return personMaker(grant.personId)
  const isOwn = grant.madeBy === undefined || grant.madeBy.startsWith('operator:')
  return isOwn ? `session:${signInIdOf(digest)}` : grant.madeBy
}

/** Maker id of a person. */
export function personMaker(personId: string): string {
  return `person:${personId}`
}

/** The person of a maker id; undefined: it is not of a person. */
export function personOfMaker(makerId: string | undefined): string | undefined {
  return makerId?.startsWith('person:') ? makerId.slice('person:'.length) : undefined
}

/** Identifies a link or a session in lists. It reveals neither the secret nor the key of the record. */
export function signInIdOf(digest: string): string {
  return createHash('sha256').update(`listed ${digest}`).digest('hex').slice(0, 16)
}

/** Whether a change comes from our own page. */
export function isCsrfToken(session: Session, token: string): boolean {
  const wanted = Buffer.from(session.csrfToken)
  const given = Buffer.from(token)
  return wanted.length === given.length && timingSafeEqual(wanted, given)
}

/** URL of a sign-in link. @param dashboardUrl public URL of the dashboard; `''` makes the link relative */
export function signInUrl(dashboardUrl: string, secret: string): string {
  return `${dashboardUrl.replace(/\/$/, '')}/sign-in?token=${secret}`
}

/** 256 random bits as text. */
export function newSecret(): string {
  return randomBytes(32).toString('base64url')
}

/** Whether a text has the form of a secret. */
export function isSecret(text: string): boolean {
  return /^[\w-]{43}$/.test(text)
}

/** SHA-256 of a secret, in hex: what is stored of it. */
export function digestOf(secret: string): string {
  return createHash('sha256').update(secret).digest('hex')
}
