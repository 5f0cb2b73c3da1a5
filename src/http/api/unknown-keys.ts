import { LRUCache } from 'lru-cache'
import { formatV6, parseAddress } from '../../pipeline/event/address.ts'
import type { Clock } from '../../run/clock.ts'
import { tooMany } from '../engine/http-error.ts'

/** Unknown keys that a client may send at once, and each second. A mistyped key in a program of many requests stays below it for a while. */
const BURST = 100
const PER_SECOND = 20
/** Clients that are remembered. */
const CLIENTS_MAX = 10_000

interface Client {
  /** Unknown keys that it may still send. */
  left: number
  atMs: number
}

/**
 * Slows down clients that send many unknown keys: to find out that a key is unknown costs a call to Redis or a search of a body. Customers
 * may share an address with a stranger, that of a load balancer for example. So a formerly known key is never refused, and the
 * start of a body is always searched for it.
 */
export class UnknownKeys {
  readonly #clock: Clock
  /** Only clients that sent an unknown key. */
  readonly #clients = new LRUCache<string, Client>({ max: CLIENTS_MAX })

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Whether a client has sent too many unknown keys. @param client see `ServerOptions.clientOf` */
  areTooMany(client: () => string): boolean {
    // Most servers know no client: its address is not asked for then.
    if (this.#clients.size === 0) return false
    const found = this.#clients.get(client())
    return found !== undefined && this.#refill(found) < 1
  }

  /** @throws HttpError 429 when the client has sent too many unknown keys */
  assertFew(client: () => string): void {
    if (this.areTooMany(client)) {
      throw tooMany('too many requests from this address had an unknown key', 1, 'rate')
    }
  }

  /** Counts an unknown key. */
  add(client: string): void {
    let found = this.#clients.get(client)
    if (found === undefined) {
      found = { left: BURST, atMs: this.#clock.now() }
      this.#clients.set(client, found)
    }
    this.#refill(found)
    found.left = Math.max(0, found.left - 1)
  }

  #refill(client: Client): number {
    const nowMs = this.#clock.now()
    client.left = Math.min(BURST, client.left + (Math.max(0, nowMs - client.atMs) * PER_SECOND) / 1_000)
    client.atMs = nowMs
    return client.left
  }
}

/** The network of a client that counts as one: an IPv4 address, or the 64 bits of IPv6 that one line has. */
export function clientNetwork(address: string): string {
  const parsed = parseAddress(address)
  if (parsed?.v6 === undefined) return parsed?.text ?? address
  return formatV6([...parsed.v6.slice(0, 4), 0, 0, 0, 0])
}
