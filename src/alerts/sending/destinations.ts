import type { LookupAddress } from 'node:dns'
import { isIP } from 'node:net'
import { networkInterfaces } from 'node:os'
import { judgedAddress } from '../../enrichment/addresses/judged.ts'
import { parseCidr } from '../../enrichment/addresses/network.ts'
import { RangeMap } from '../../enrichment/addresses/range-map.ts'
import { ReservedRanges } from '../../enrichment/addresses/reserved.ts'
import { parseAddress } from '../../pipeline/event/address.ts'
import { cutText } from '../../run/cut-text.ts'
import { InputError } from '../../run/errors.ts'
import { resolveHost } from './resolve-host.ts'

/** All addresses of a host name. Rejects when it has none, and soon after `signal` aborts. */
export type Resolve = (host: string, signal: AbortSignal) => Promise<readonly LookupAddress[]>

interface DestinationsOptions {
  /** Setting WEBHOOK_PRIVATE. */
  readonly allowsPrivate: boolean
  /** Default: `resolveHost`. */
  readonly resolve?: Resolve
  /** Addresses of this machine. Default: those of its network interfaces. */
  readonly ownAddresses?: () => readonly string[]
}

const URL_CHARS_MAX = 2_048
/** For the check of a new destination. */
const RESOLVE_MS = 10_000
const IN_TIME: ReadonlySet<unknown> = new Set(['ECANCELLED', 'ETIMEOUT'])

/**
 * Networks with visitors but no receivers of messages: those that the registries of IANA call globally reachable but that
 * serve the network of the machine, and the address at which a virtual machine in Azure reaches its platform.
 */
const NO_RECEIVERS = [
  ['168.63.129.16/32', 'cloud platform'],
  ['192.0.0.0/24', 'protocol assignments'],
  ['192.31.196.0/24', 'AS112'],
  ['192.52.193.0/24', 'multicast relays'],
  ['192.175.48.0/24', 'AS112'],
  ['2001::/23', 'protocol assignments'],
  ['2620:4f:8000::/48', 'AS112'],
] as const

/** A destination may not be used. The message is for the tenant: it does not say where a name leads in our network. */
export class DestinationRefusedError extends InputError {
  override name = 'DestinationRefusedError'
  /** The refused address and why, for the log of the operator. */
  readonly found: string

  constructor(message: string, found: string) {
    super(message)
    this.found = found
  }
}

/**
 * Where messages may go. Tenants choose destinations, so these must not be reachable only for this machine: private, loopback,
 * link-local, shared and other reserved networks, and the machine itself, also when their addresses are embedded in IPv6. The server of
 * SMTP_URL is not checked: the operator chooses it, and it is often in a private network.
 */
export class Destinations {
  readonly #options: DestinationsOptions
  readonly #reserved = new ReservedRanges()
  readonly #noReceivers = RangeMap.of(
    NO_RECEIVERS.map(([network, value]) => {
      const range = parseCidr(network)
      if (typeof range === 'string') throw new Error(range)
      return { range, value }
    }),
  )

  constructor(options: DestinationsOptions) {
    this.#options = options
  }

  /**
   * Checks the text of a URL, and its addresses now.
   * @throws DestinationRefusedError, InputError
   */
  async read(text: string): Promise<URL> {
    const url = parseUrl(text)
    await this.addressesOf(url, AbortSignal.timeout(RESOLVE_MS))
    return url
  }

  /**
   * Resolves the host of a URL once, and returns all its addresses. Connect to no other address: a second DNS answer may differ.
   * @param signal ends the wait for name servers
   * @throws DestinationRefusedError when one of them is not public; InputError when there is none
   */
  async addressesOf({ hostname }: URL, signal: AbortSignal): Promise<readonly LookupAddress[]> {
    // URL writes IPv6 in brackets, and every spelling of an IPv4 address in decimals.
    const host = hostname.replace(/^\[|\]$/g, '')
    const family = isIP(host)
    const found = family === 0 ? await this.#resolve(host, signal) : [{ address: host, family }]
    if (found.length === 0) throw new InputError(`${host} has no address`)
    if (!this.#options.allowsPrivate) for (const { address } of found) this.#assertPublic(host, address)
    return found
  }

  async #resolve(host: string, signal: AbortSignal): Promise<readonly LookupAddress[]> {
    try {
      return await (this.#options.resolve ?? resolveHost)(host, signal)
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      const isLate = signal.aborted || IN_TIME.has(code)
      throw new InputError(
        `${host} cannot be resolved: ${isLate ? 'the name servers do not answer in time' : (code ?? error)}`,
      )
    }
  }

  #assertPublic(host: string, text: string): void {
    const why = this.#reasonAgainst(text)
    if (why === undefined) return
    const what =
      host === text ? `${host} is not a public address (${why})` : `${host} does not lead to a public address`
    throw new DestinationRefusedError(`${what}; WEBHOOK_PRIVATE=on allows those of this network`, `${text} (${why})`)
  }

  /** Why messages must not go to an address; undefined: they may. */
  #reasonAgainst(text: string): string | undefined {
    const address = parseAddress(text)
    if (address === undefined) return 'not an address'
    const embedded = judgedAddress(address)
    const block = this.#noReceivers.find(address) ?? this.#noReceivers.find(embedded)
    const reserved = this.#reserved.find(address)?.name ?? block?.value
    return reserved ?? (this.#own().has(embedded.text) ? 'this machine' : undefined)
  }

  /** Reads them at each check: a machine may get another address. */
  #own(): ReadonlySet<string> {
    const texts = (this.#options.ownAddresses ?? interfaceAddresses)()
    return new Set(texts.flatMap((text) => parseAddress(text.replace(/%.*/, ''))?.text ?? []))
  }
}

function interfaceAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((all = []) => all.map(({ address }) => address))
}

/** @throws InputError */
function parseUrl(text: string): URL {
  const shown = JSON.stringify(cutText(text, 100))
  if (text.length > URL_CHARS_MAX) throw new InputError(`${shown}… is longer than ${URL_CHARS_MAX} characters`)
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw new InputError(`${shown} must start with https:// or http://`)
  }
  if (url.username !== '' || url.password !== '') {
    throw new InputError('the URL must not have a user and a password: the receiver checks the signature instead')
  }
  url.hash = ''
  return url
}
