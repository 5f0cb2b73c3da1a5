import type { Grant, Session, SessionStore } from '../../dashboard/server/sessions.ts'
import type { RedisClient } from '../connect.ts'
import { keys } from '../keys.ts'
import { orUnavailable } from '../or-unavailable.ts'

/** Sign-in links and sessions as JSON under their digests, which expire. */
export class RedisSessionStore implements SessionStore {
  readonly #client: RedisClient

  constructor(client: RedisClient) {
    this.#client = client
  }

  async putLink(digest: string, grant: Grant, validMs: number): Promise<void> {
    await answered(this.#client.set(keys.signInLink(digest), JSON.stringify(grant), 'PX', validMs))
  }

  async takeLink(digest: string): Promise<Grant | undefined> {
    return parsed<Grant>(await answered(this.#client.getdel(keys.signInLink(digest))))
  }

  async putSession(digest: string, session: Session, validMs: number): Promise<void> {
    await answered(this.#client.set(keys.session(digest), JSON.stringify(session), 'PX', validMs))
  }

  async getSession(digest: string): Promise<Session | undefined> {
    return parsed<Session>(await answered(this.#client.get(keys.session(digest))))
  }

  async extendSession(digest: string, validMs: number): Promise<void> {
    await answered(this.#client.pexpire(keys.session(digest), validMs))
  }

  async removeSession(digest: string): Promise<void> {
    await answered(this.#client.del(keys.session(digest)))
  }
}

function parsed<T>(json: string | null): T | undefined {
  return json === null ? undefined : (JSON.parse(json) as T)
}

function answered<T>(reply: Promise<T>): Promise<T> {
  return orUnavailable(reply, 'Redis does not keep links and sessions of the dashboard now')
}
