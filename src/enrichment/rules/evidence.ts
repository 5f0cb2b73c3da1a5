import type { Bot } from '../../../schemas/bots.ts'
import type { Classification } from '../../../schemas/classification.ts'

/** The classifier's input for one address. Empty strings count as absent. */
export interface Evidence {
  /** Number of the AS that announces the address. */
  asn?: number
  asName?: string
  asDomain?: string
  /** IPv4 addresses that the AS announces. */
  asAddresses?: number
  /** Whether the AS announces any IPv6. */
  asHasV6?: boolean
  /** `packScatter` of the IPv4 addresses that the AS announces. */
  asScatter?: number
  /** A vendor's type of the AS. */
  asType?: string
  /** The ISP in a record that names no customer. It may be the user itself if the AS belongs to another company. */
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
  /** Purpose of the block, given in place of a customer's name: `dslam`. */
  allocation?: string
  isHosting?: boolean
  isAnonymousVpn?: boolean
  isTor?: boolean
  isProxy?: boolean
  /** One of these; the record does not state which. */
  isAnonymous?: boolean
  /** Names that a table or a vendor states as an organisation's. They are never a private person's. */
  organisationNames?: readonly string[]
  /** From an organisation table or a list of noise. */
  explicit?: Classification
  /** Name of that table or list. */
  explicitSource?: string
  /** The bot that a list publishes the address for. */
  bot?: Bot
}

/** The organisation that uses an address, according to one record. At least one member is known. */
export interface Organisation {
  readonly name: string | undefined
  /** Registrable domain, lower case. */
  readonly domain: string | undefined
}
