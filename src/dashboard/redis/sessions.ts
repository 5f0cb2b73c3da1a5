import type { TenantRole } from '../../../schemas/dashboard/roles.ts'
import { type Clock, systemClock } from '../../run/clock.ts'
import { InputError } from '../../run/errors.ts'
import type { RedisClient } from '../../stores/redis/connect.ts'
import { persisted } from '../../stores/redis/durability/persisted.ts'
import { answeredOr } from '../../stores/redis/errors.ts'
import { keys } from '../../stores/redis/keys.ts'
import { keysLike } from '../../stores/redis/nodes.ts'
import {
  type Grant,
  personOfMaker,
  type SessionStore,
  SIGN_INS_MAX,
  type SignIn,
  type StoredSession,
  type Withdrawn,
} from '../server/sessions.ts'
import { RedisPersonStore } from './people.ts'

const answered = answeredOr('Redis does not keep links and sessions of the dashboard now')

/** The longest link is valid for 90 days. */
const INDEX_MS = 91 * 86_400_000
/** Most open links and sessions when a link is added. Parallel calls may pass it, so a list has room for twice this number. */
const LINKS_UP_TO = SIGN_INS_MAX / 2
/** Redis expires keys by its own clock. */
const CLOCK_SLACK_MS = 60_000

/** Sign-in links and sessions, as expiring JSON under their digests, with an index for lists. */
export class RedisSessionStore implements SessionStore {
  readonly #client: RedisClient
  readonly #clock: Clock
  readonly #people: RedisPersonStore

  constructor(client: RedisClient, clock: Clock = systemClock) {
    this.#client = client
    this.#clock = clock
    this.#people = new RedisPersonStore(client)
  }

  async putLink(digest: string, grant: Grant, validMs: number): Promise<void> {
    const key = keys.signIns(grant.tenant?.id)
    // Signing a person out needs a list of all links and sessions.
    if ((await answered(this.#client.zcount(key, this.#clock.now(), '+inf'))) >= LINKS_UP_TO) {
      throw new InputError('too many invitations and sessions are open: end some of them first')
    }
    await this.#index(grant, `link:${digest}`, validMs)
    await answered(this.#client.set(keys.signInLink(digest), jsonOf(grant), 'PX', validMs))
  }

  async getLink(digest: string): Promise<Grant | undefined> {
    const grant = await this.#named(parsed<Grant>(await answered(this.#client.get(keys.signInLink(digest)))))
    return grant !== undefined && (await this.#hasMaker(grant)) ? grant : undefined
  }

  async linkEndsMs(digest: string): Promise<number | undefined> {
    const leftMs = await answered(this.#client.pttl(keys.signInLink(digest)))
    return leftMs < 0 ? undefined : this.#clock.now() + leftMs
  }

  async removeLink(digest: string): Promise<boolean> {
    const key = keys.signInLink(digest)
    const grant = parsed<Grant>(await answered(this.#client.get(key)))
    const isRemoved = (await answered(this.#client.del(key))) === 1
    if (grant !== undefined) await this.#unindex(grant, `link:${digest}`)
    return isRemoved
  }

  async putSession(digest: string, session: StoredSession, validMs: number): Promise<void> {
    await this.#index(session, `session:${digest}`, validMs)
    await answered(this.#client.set(keys.session(digest), jsonOf(session), 'PX', validMs))
    await answered(persisted(this.#client))
  }

  async getSession(digest: string): Promise<StoredSession | undefined> {
    const session = await this.#named(parsed<StoredSession>(await answered(this.#client.get(keys.session(digest)))))
    // A person stays when their inviter is removed.
    const isOwn = session?.personId !== undefined
    return session !== undefined && (isOwn || (await this.#hasMaker(session))) ? session : undefined
  }

  async extendSession(digest: string, usedMs: number, validMs: number): Promise<void> {
    const key = keys.session(digest)
    const session = parsed<StoredSession>(await answered(this.#client.get(key)))
    if (session === undefined) return
    const json = jsonOf({ ...session, usedMs })
    // XX: another process may have ended it meanwhile.
    const reply = await answered(this.#client.set(key, json, 'PX', validMs, 'XX'))
    if (reply !== null) await this.#index(session, `session:${digest}`, validMs)
  }

  async removeSession(digest: string): Promise<boolean> {
    const key = keys.session(digest)
    const session = parsed<StoredSession>(await answered(this.#client.get(key)))
    const isRemoved = (await answered(this.#client.del(key))) === 1
    if (session !== undefined) await this.#unindex(session, `session:${digest}`)
    await answered(persisted(this.#client))
    return isRemoved
  }

  async listSignIns(tenantId: string | undefined): Promise<SignIn[]> {
    const [key, from] = [keys.signIns(tenantId), String(this.#clock.now() - CLOCK_SLACK_MS)]
    const found = await answered(
      this.#client.zrange(key, '+inf', from, 'BYSCORE', 'REV', 'LIMIT', 0, SIGN_INS_MAX, 'WITHSCORES'),
    )
    const reads: Promise<SignIn | undefined>[] = []
    for (let i = 0; i < found.length; i += 2) reads.push(this.#signIn(found[i]!, Number(found[i + 1])))
    return (await Promise.all(reads)).flatMap((signIn) => signIn ?? [])
  }

  async removeAll(tenantId: string | undefined): Promise<Withdrawn> {
    // A link that is used meanwhile has its session before the second scan starts.
    const links = await answered(this.#removeLike('link', tenantId))
    return { links, sessions: await answered(this.#removeLike('session', tenantId)) }
  }

  async #removeLike(kind: SignIn['kind'], tenantId: string | undefined): Promise<number> {
    const keyOf = kind === 'link' ? keys.signInLink : keys.session
    let removed = 0
    for await (const key of keysLike(this.#client, keyOf('*'))) {
      const grant = parsed<Grant>(await this.#client.get(key))
      if (grant === undefined || (tenantId !== undefined && grant.tenant?.id !== tenantId)) continue
      removed += await this.#client.del(key)
      await this.#unindex(grant, `${kind}:${key.slice(keyOf('').length)}`)
    }
    return removed
  }

  async #signIn(member: string, endsMs: number): Promise<SignIn | undefined> {
    const digest = member.slice(member.indexOf(':') + 1)
    if (member.startsWith('session:')) {
      const grant = await this.getSession(digest)
      return grant && { kind: 'session', digest, grant }
    }
    const grant = await this.getLink(digest)
    return grant && { kind: 'link', digest, grant, endsMs }
  }

  /** Adds the name and the role of the person; undefined when the person was removed. */
  async #named<T extends Grant>(grant: T | undefined): Promise<T | undefined> {
    if (grant?.personId === undefined || grant.tenant === undefined) return grant
    const person = await this.#people.getPerson(grant.tenant, grant.personId)
    return person && { ...grant, name: person.name, role: person.role }
  }

  /** Whether the person who made the link, if a person made it, was not removed. */
  async #hasMaker({ tenant, madeBy }: Grant): Promise<boolean> {
    const maker = personOfMaker(madeBy)
    return maker === undefined || tenant === undefined || (await this.#people.getPerson(tenant, maker)) !== undefined
  }

  /** Call this before writing the link or session. An entry without a record is harmless, but no list shows a record without an entry. */
  async #index({ tenant }: Grant, member: string, validMs: number): Promise<void> {
    const key = keys.signIns(tenant?.id)
    const nowMs = this.#clock.now()
    await answered(this.#client.zremrangebyscore(key, '-inf', nowMs - CLOCK_SLACK_MS))
    await answered(this.#client.zadd(key, nowMs + validMs, member))
    await answered(this.#client.pexpire(key, INDEX_MS))
  }

  async #unindex({ tenant }: Grant, member: string): Promise<void> {
    await answered(this.#client.zrem(keys.signIns(tenant?.id), member))
  }
}

/** A grant in Redis. Earlier versions know two roles, and no `rights`: their members could do everything in their tenant. */
type Stored<T extends Grant> = Omit<T, 'role'> & {
  readonly role: 'operator' | 'member'
  readonly rights?: TenantRole | undefined
}

/** Name and role of a person are stored in the list of people only, so that a change there is one everywhere. */
function jsonOf<T extends Grant>(grant: T): string {
  const { role, ...rest } = grant
  const own = grant.personId === undefined ? {} : { name: undefined }
  if (role === 'operator') return JSON.stringify({ ...rest, role })
  return JSON.stringify({ ...rest, role: 'member', rights: role, ...own })
}

function parsed<T extends Grant>(json: string | null): T | undefined {
  if (json === null) return undefined
  const { role, rights = 'admin', ...rest } = JSON.parse(json) as Stored<T>
  return { ...rest, role: role === 'operator' ? role : rights } as unknown as T
}
