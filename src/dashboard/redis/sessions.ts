import type { RedisClient } from '../../stores/redis/connect.ts'
import { persisted } from '../../stores/redis/durability/persisted.ts'
import { orUnavailable } from '../../stores/redis/errors.ts'
import { keys } from '../../stores/redis/keys.ts'
import { keysLike } from '../../stores/redis/nodes.ts'
import type { Grant, SessionStore, StoredSession, Withdrawn } from '../server/sessions.ts'

/** Sign-in links and sessions, as expiring JSON under their digests. */
export class RedisSessionStore implements SessionStore {
  readonly #client: RedisClient

  constructor(client: RedisClient) {
    this.#client = client
  }

  async putLink(digest: string, grant: Grant, validMs: number): Promise<void> {
    await answered(this.#client.set(keys.signInLink(digest), JSON.stringify(grant), 'PX', validMs))
  }

  async getLink(digest: string): Promise<Grant | undefined> {
    return parsed<Grant>(await answered(this.#client.get(keys.signInLink(digest))))
  }

  async removeLink(digest: string): Promise<boolean> {
    return (await answered(this.#client.del(keys.signInLink(digest)))) === 1
  }

  async putSession(digest: string, session: StoredSession, validMs: number): Promise<void> {
    await answered(this.#client.set(keys.session(digest), JSON.stringify(session), 'PX', validMs))
    await answered(persisted(this.#client))
  }

  async getSession(digest: string): Promise<StoredSession | undefined> {
    return parsed<StoredSession>(await answered(this.#client.get(keys.session(digest))))
  }

  async extendSession(digest: string, validMs: number): Promise<void> {
    await answered(this.#client.pexpire(keys.session(digest), validMs))
  }

  async removeSession(digest: string): Promise<void> {
    await answered(this.#client.del(keys.session(digest)))
    await answered(persisted(this.#client))
  }

  async removeAll(tenantId: string | undefined): Promise<Withdrawn> {
    // A link that is used meanwhile has its session before the second scan starts.
    const links = await answered(this.#removeLike(keys.signInLink('*'), tenantId))
    return { links, sessions: await answered(this.#removeLike(keys.session('*'), tenantId)) }
  }

  async #removeLike(pattern: string, tenantId: string | undefined): Promise<number> {
    let removed = 0
    for await (const key of keysLike(this.#client, pattern)) {
      const grant = parsed<Grant>(await this.#client.get(key))
      if (grant === undefined || (tenantId !== undefined && grant.tenant?.id !== tenantId)) continue
      removed += await this.#client.del(key)
    }
    return removed
  }
}

function parsed<T>(json: string | null): T | undefined {
  return json === null ? undefined : (JSON.parse(json) as T)
}

function answered<T>(reply: Promise<T>): Promise<T> {
  return orUnavailable(reply, 'Redis does not keep links and sessions of the dashboard now')
}
