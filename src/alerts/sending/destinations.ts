import { promises as dns, type LookupAddress } from 'node:dns'
import { isIP } from 'node:net'
import { ReservedRanges } from '../../enrichment/addresses/reserved.ts'
import { parseAddress } from '../../pipeline/event/address.ts'
import { InputError } from '../../run/errors.ts'

/** All addresses of a host name. Rejects when it has none. */
export type Resolve = (host: string) => Promise<readonly LookupAddress[]>

interface DestinationsOptions {
  /** Setting WEBHOOK_PRIVATE. */
  readonly allowsPrivate: boolean
  /** Default: the name servers of the machine, then its hosts file. */
  readonly resolve?: Resolve
}

const URL_CHARS_MAX = 2_048
const DNS_TRY_MS = 3_000
const DNS_TRIES = 2
/** The name servers know no such name, or there are none: the hosts file may know it. */
const UNKNOWN: ReadonlySet<string> = new Set(['ENOTFOUND', 'ENODATA', 'ECONNREFUSED'])

/** A destination may not be used. The message is the reason. */
export class DestinationRefusedError extends InputError {
  override name = 'DestinationRefusedError'
}

/**
 * Where messages may go. Tenants choose destinations, so these must not reach what only this machine can reach: private, loopback,
 * link-local, shared and other reserved networks, also when they are embedded in IPv6.
 */
export class Destinations {
  readonly #options: DestinationsOptions
  readonly #reserved = new ReservedRanges()

  constructor(options: DestinationsOptions) {
    this.#options = options
  }

  /**
   * Checks the text of a URL, and where it leads now.
   * @throws DestinationRefusedError, InputError
   */
  async read(text: string): Promise<URL> {
    const url = parseUrl(text)
    await this.addressesOf(url)
    return url
  }

  /**
   * Resolves the host of a URL once, and returns all its addresses. Connect to no other address: a second DNS answer may differ.
   * @throws DestinationRefusedError when one of them is not public; InputError when there is none
   */
  async addressesOf({ hostname }: URL): Promise<readonly LookupAddress[]> {
    // URL writes IPv6 in brackets, and every spelling of an IPv4 address in decimals.
    const host = hostname.replace(/^\[|\]$/g, '')
    const family = isIP(host)
    const found = family === 0 ? await this.#resolve(host) : [{ address: host, family }]
    if (found.length === 0) throw new InputError(`${host} has no address`)
    if (!this.#options.allowsPrivate) for (const { address } of found) this.#assertPublic(host, address)
    return found
  }

  async #resolve(host: string): Promise<readonly LookupAddress[]> {
    try {
      return await (this.#options.resolve ?? resolveHost)(host)
    } catch (error) {
      throw new InputError(`${host} cannot be resolved: ${(error as NodeJS.ErrnoException).code ?? error}`)
    }
  }

  #assertPublic(host: string, text: string): void {
    const address = parseAddress(text)
    const block = address === undefined ? { name: 'not an address' } : this.#reserved.find(address)
    if (block === undefined) return
    const what = host === text ? host : `${host} leads to ${text}, which`
    throw new DestinationRefusedError(
      `${what} is not a public address (${block.name}); WEBHOOK_PRIVATE=on allows those of this network`,
    )
  }
}

/** @throws InputError */
function parseUrl(text: string): URL {
  const shown = JSON.stringify(text.slice(0, 100))
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

/** Asks the name servers without a thread: a server that is silent would hold one of the few threads of the process. */
async function resolveHost(host: string): Promise<readonly LookupAddress[]> {
  const resolver = new dns.Resolver({ timeout: DNS_TRY_MS, tries: DNS_TRIES })
  const [v4, v6] = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
  const of = (settled: PromiseSettledResult<string[]>, family: number) =>
    settled.status === 'fulfilled' ? settled.value.map((address) => ({ address, family })) : []
  const found = [...of(v4, 4), ...of(v6, 6)]
  if (found.length > 0) return found
  const failures = [v4, v6].flatMap((settled) => (settled.status === 'rejected' ? [settled.reason] : []))
  const other = failures.find(({ code }) => !UNKNOWN.has(code))
  if (other !== undefined) throw other
  return await dns.lookup(host, { all: true })
}
