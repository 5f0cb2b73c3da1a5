import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'

/** The user of ipid's own processes. Its password is the secret of this start. */
export const OWN_USER = 'ipid'

/** Clients with reserved slots. Other processes of ipid, such as the dashboard, share slots with all clients. */
const HAS_OWN_SLOTS = /^ipid-(?:sink|migrate)\b/

/** Recognises the requests of ipid's own processes by their secret. */
export class OwnClients {
  readonly #secret: () => string | undefined

  /** @param secret returns undefined without a secret, or before it arrives */
  constructor(secret: () => string | undefined) {
    this.#secret = secret
  }

  /** Whether this is the password of the user `ipid`. */
  knows(password: string): boolean {
    const secret = this.#secret()
    return secret !== undefined && timingSafeEqual(digest(password), digest(secret))
  }

  /** Whether a request of this user gets a reserved slot. */
  mayPass(user: string, headers: IncomingHttpHeaders): boolean {
    return user === OWN_USER && HAS_OWN_SLOTS.test(headers['user-agent'] ?? '')
  }
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
