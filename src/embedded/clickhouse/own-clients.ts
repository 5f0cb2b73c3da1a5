import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'

/** The user by whose name ipid's processes come in, with the secret of this start as the password. */
export const OWN_USER = 'ipid'

/** They wait for nobody else; other processes of ours, such as the dashboard, read like anybody. */
const WAITS_FOR_NOBODY = /^ipid-(?:sink|migrate)\b/

/** Knows the requests of ipid's own processes by a secret that nobody else has. */
export class OwnClients {
  readonly #secret: () => string | undefined

  /** @param secret undefined while, or when, there is none */
  constructor(secret: () => string | undefined) {
    this.#secret = secret
  }

  /** Whether this is the password of the user `ipid`. */
  knows(password: string): boolean {
    const secret = this.#secret()
    return secret !== undefined && timingSafeEqual(digest(password), digest(secret))
  }

  /** Whether a request of this user is to have a slot of our own. */
  mayPass(user: string, headers: IncomingHttpHeaders): boolean {
    return user === OWN_USER && WAITS_FOR_NOBODY.test(headers['user-agent'] ?? '')
  }
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
