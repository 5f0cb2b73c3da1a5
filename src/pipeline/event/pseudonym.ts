import { createHmac, type KeyObject } from 'node:crypto'
import { type Address, formatV4, formatV6 } from './address.ts'

/*
 * Pseudonyms for the column `ip` of tenants that do not store addresses (schemas/README.md, Addresses). A pseudonym is the same for
 * an address during a UTC day, and differs between addresses, so that visits can be counted.
 */

/** How a tenant's addresses are replaced. */
export interface AddressMask {
  /** `truncated`: the network and the pseudonym. `dropped`: the pseudonym only. */
  readonly keep: 'truncated' | 'dropped'
  /** The tenant's key. A `KeyObject` does not print its content in logs or JSON. */
  readonly key: KeyObject
}

/** 64 bits, as many as the views use to count. */
const PSEUDONYM_CHARS = 16
const V4_BITS_KEPT = 24
const V6_BITS_KEPT = 48
/** A 6to4 address (RFC 3056) contains an IPv4 address in bits 16 to 48. Its last 8 bits are removed too. */
const SIX_TO_FOUR = 0x2002
const SIX_TO_FOUR_BITS_KEPT = 16 + V4_BITS_KEPT

/**
 * HMAC-SHA-256 of day and address, cut to 64 bits, as hexadecimal.
 * @param day UTC, `YYYY-MM-DD`
 */
export function pseudonymOf(key: KeyObject, address: Address, day: string): string {
  return createHmac('sha256', key).update(`${day} ${address.text}`).digest('hex').slice(0, PSEUDONYM_CHARS)
}

/** The value stored in place of an address: the network if it is kept, `#`, and the pseudonym. */
export function maskedAddress({ keep, key }: AddressMask, address: Address, day: string): string {
  return `${keep === 'truncated' ? networkOf(address) : ''}#${pseudonymOf(key, address, day)}`
}

/** The network of a truncated address, as CIDR. */
export function networkOf({ v4, v6 }: Address): string {
  if (v6 === undefined) return `${formatV4((v4 & (-1 << (32 - V4_BITS_KEPT))) >>> 0)}/${V4_BITS_KEPT}`
  const bits = v6[0] === SIX_TO_FOUR ? SIX_TO_FOUR_BITS_KEPT : V6_BITS_KEPT
  const kept = v6.map((group, i) => group & (0xffff << Math.min(16, Math.max(0, 16 * (i + 1) - bits))) & 0xffff)
  return `${formatV6(kept)}/${bits}`
}
