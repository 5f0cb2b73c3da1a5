import { LRUCache } from 'lru-cache'
import { clientNetwork } from '../../http/api/unknown-keys.ts'
import { type Address, parseAddress } from '../../pipeline/event/address.ts'
import { clientIn, NO_PROXIES } from '../../pipeline/event/client-address.ts'
import type { Clock } from '../../run/clock.ts'

const WINDOW_MS = 60_000
const ATTEMPTS_MAX = 20
/** Maximum number of clients in memory. The least recent attempt is dropped first. */
const CLIENTS_MAX = 10_000

interface Counted {
  readonly startedMs: number
  count: number
}

/**
 * Counts attempts of strangers by client, and asks a client with too many to wait. Failed sign-ins need it not against guessing: a
 * secret has 256 bits, and a valid link always works. Requests for mails need it, because each costs a search.
 */
export class Attempts {
  readonly #clock: Clock
  readonly #clients = new LRUCache<string, Counted>({ max: CLIENTS_MAX })

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * Counts an attempt. Returns the seconds that the client must wait; 0: none.
   * @param client see `clientOf`
   */
  add(client: string): number {
    const nowMs = this.#clock.now()
    let counted = this.#clients.get(client)
    if (counted === undefined || nowMs - counted.startedMs >= WINDOW_MS) {
      counted = { startedMs: nowMs, count: 0 }
      this.#clients.set(client, counted)
    }
    counted.count++
    return counted.count <= ATTEMPTS_MAX ? 0 : Math.ceil((counted.startedMs + WINDOW_MS - nowMs) / 1_000)
  }
}

/**
 * Address of the client. A proxy on this machine appends it to `X-Forwarded-For`. From other machines that header is not
 * trusted.
 * @param peer remote address of the connection
 * @param forwardedFor the header; `''` when absent
 */
export function clientAddress(peer: string, forwardedFor: string): Address | undefined {
  const direct = parseAddress(peer)
  if (direct === undefined || !/^127\.|^::1$/.test(direct.text)) return direct
  return clientIn(forwardedFor, NO_PROXIES) ?? direct
}

/** The client as failures are counted: an IPv6 client owns a whole /64. Parameters as of `clientAddress`. */
export function clientOf(peer: string, forwardedFor: string): string {
  const address = clientAddress(peer, forwardedFor)
  return address === undefined ? peer : networkOf(address)
}

/** An IPv4 address, or the /64 of an IPv6 address. */
export function networkOf({ text, v6 }: Address): string {
  return v6 === undefined ? text : `${clientNetwork(text)}/64`
}
