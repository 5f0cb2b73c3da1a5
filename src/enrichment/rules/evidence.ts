import type { Classification } from '../../../schemas/classification.ts'

/**
 * What providers know of one address. Empty strings count as absent.
 */
export interface Evidence {
  /** Number of the AS that announces the address. */
  asn?: number
  asName?: string
  asDomain?: string
  /** IPv4 addresses that the AS announces. */
  asAddresses?: number
  /** Whether it announces any of IPv6. */
  asHasV6?: boolean
  /** A vendor's type of the AS. */
  asType?: string
  /** Who carries the address, by ISP data that name no customer: it may be the user, where the AS is another's. */
  ispName?: string
  /** The organisation that uses the address. */
  orgName?: string
  /** Its domain, or the registrable domain of the reverse name. */
  domain?: string
  /** Reverse name of the address. */
  hostname?: string
  /** A vendor's type of the address or of the company that uses it. */
  orgType?: string
  connectionType?: string
  /** What the block is for, where a customer's name would stand: `dslam`. */
  allocation?: string
  isHosting?: boolean
  isAnonymousVpn?: boolean
  isTor?: boolean
  isProxy?: boolean
  /** One of these, and it is not said which. */
  isAnonymous?: boolean
  /** From an organisation table or a list of noise. */
  explicit?: Classification
  /** Names the table or list. */
  explicitSource?: string
}

/** The organisation that uses an address, as one record names it. At least one of both is known. */
export interface Organisation {
  readonly name: string | undefined
  /** Registrable domain, lower case. */
  readonly domain: string | undefined
}
