import { createHmac, type KeyObject } from 'node:crypto'
import { type Address, formatV4, formatV6 } from './address.ts'

/*
 * What stands in the column `ip` of tenants whose addresses are not kept (schemas/README.md, Addresses): something that is
 * the same for an address on a UTC day, and for no other, so that visits are counted as if it were the address.
 */

/** What is kept of the addresses of a tenant's events. */
export interface AddressMask {
  /** `truncated`: the network, and the pseudonym; `dropped`: the pseudonym. */
  readonly keep: 'truncated' | 'dropped'
  /** The tenant's. As a `KeyObject` it shows itself neither in a log nor as JSON. */
  readonly key: KeyObject
}

/** 64 bits: the views count by as many. */
const PSEUDONYM_CHARS = 16
const V4_BITS_KEPT = 24
const V6_BITS_KEPT = 48
/** 6to4 (RFC 3056) has an IPv4 address in bits 16 to 48: of it, too, the last 8 bits go. */
const SIX_TO_FOUR = 0x2002
const SIX_TO_FOUR_BITS_KEPT = 16 + V4_BITS_KEPT

/**
 * HMAC-SHA-256 of day and address, cut to 64 bits, as hexadecimal.
 * @param day UTC, `YYYY-MM-DD`
 */
export function pseudonymOf(key: KeyObject, address: Address, day: string): string {
  return createHmac('sha256', key).update(`${day} ${address.text}`).digest('hex').slice(0, PSEUDONYM_CHARS)
}

/** What is stored in place of an address: `#` and the pseudonym, behind the network if that is kept. */
export function maskedAddress({ keep, key }: AddressMask, address: Address, day: string): string {
  return `${keep === 'truncated' ? networkOf(address) : ''}#${pseudonymOf(key, address, day)}`
}

/** The network of an address that may be kept of it, as CIDR. */
export function networkOf({ v4, v6 }: Address): string {
  if (v6 === undefined) return `${formatV4((v4 & (-1 << (32 - V4_BITS_KEPT))) >>> 0)}/${V4_BITS_KEPT}`
  const bits = v6[0] === SIX_TO_FOUR ? SIX_TO_FOUR_BITS_KEPT : V6_BITS_KEPT
  const kept = v6.map((group, i) => group & (0xffff << Math.min(16, Math.max(0, 16 * (i + 1) - bits))) & 0xffff)
  return `${formatV6(kept)}/${bits}`
}
