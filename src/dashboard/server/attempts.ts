import { LRUCache } from 'lru-cache'
import { type Address, parseAddress } from '../../pipeline/event/address.ts'
import { clientIn, NO_PROXIES } from '../../pipeline/event/client-address.ts'
import type { Clock } from '../../run/clock.ts'

const WINDOW_MS = 60_000
const FAILURES_MAX = 20
/** Maximum number of clients in memory. The least recent failure is dropped first. */
const CLIENTS_MAX = 10_000

interface Failures {
  readonly startedMs: number
  count: number
}

/**
 * Counts failed sign-ins by client, and asks a client with too many failures to wait. This is not needed against guessing: a
 * secret has 256 bits. A valid link always works.
 */
export class FailedSignIns {
  readonly #clock: Clock
  readonly #clients = new LRUCache<string, Failures>({ max: CLIENTS_MAX })

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * Counts a failure. Returns the seconds that the client must wait; 0: none.
   * @param client see `clientOf`
   */
  add(client: string): number {
    const nowMs = this.#clock.now()
    let failures = this.#clients.get(client)
    if (failures === undefined || nowMs - failures.startedMs >= WINDOW_MS) {
      failures = { startedMs: nowMs, count: 0 }
      this.#clients.set(client, failures)
    }
    failures.count++
    return failures.count <= FAILURES_MAX ? 0 : Math.ceil((failures.startedMs + WINDOW_MS - nowMs) / 1_000)
  }
}

/**
 * Address of the client. A proxy on this machine appends it to `X-Forwarded-For`. From other machines that header is not
 * trusted. An IPv6 client owns a whole /64.
 * @param peer remote address of the connection
 * @param forwardedFor the header; `''` when absent
 */
export function clientOf(peer: string, forwardedFor: string): string {
  const direct = networkOf(parseAddress(peer)) ?? peer
  if (!/^127\.|^::1\/64$/.test(direct)) return direct
  return networkOf(clientIn(forwardedFor, NO_PROXIES)) ?? direct
}

function networkOf(address: Address | undefined): string | undefined {
  if (address?.v6 === undefined) return address?.text
  return address.text === '::1' ? '::1/64' : address.v6.slice(0, 4).join(':')
}
