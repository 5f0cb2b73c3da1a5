import { type Address, formatV4, formatV6, parseAddress } from '../../pipeline/event/address.ts'

/** Addresses of one family from `first` to `last`, both inclusive: 32-bit numbers or 128-bit integers. */
export type AddressRange =
  | { readonly version: 4; readonly first: number; readonly last: number }
  | { readonly version: 6; readonly first: bigint; readonly last: bigint }

/** The subject of a table row: a range of addresses, or every address of an autonomous system. */
export type Network = AddressRange | { readonly version: 'as'; readonly asn: number }

/** Largest AS number, RFC 6793. */
export const ASN_MAX = 4_294_967_295

/**
 * Parses `192.0.2.0/24`, `2001:db8::/32`, a single address, `a-b`, or `AS64500`. Ignores the bits after the prefix.
 * IPv4-mapped networks become IPv4. Returns the problem as text when it can parse none of them.
 */
export function parseNetwork(text: string): Network | string {
  const as = /^as(\d{1,10})$/i.exec(text)
  if (as !== null) {
    const asn = Number(as[1])
    return asn >= 1 && asn <= ASN_MAX ? { version: 'as', asn } : `"${clip(text)}" is not an AS number`
  }
  const dash = text.indexOf('-')
  if (dash >= 0) return parseSpan(text, text.slice(0, dash).trim(), text.slice(dash + 1).trim())
  return parseCidr(text)
}

/** Parses a CIDR or a single address. Returns the problem as text when it is neither. */
export function parseCidr(text: string): AddressRange | string {
  const slash = text.indexOf('/')
  const address = parseAddress(slash < 0 ? text : text.slice(0, slash))
  if (address === undefined) return `"${clip(text)}" is not a network`
  if (slash < 0) return prefixRange(address, address.v6 === undefined ? 32 : 128)
  const digits = text.slice(slash + 1)
  if (!/^\d{1,3}$/.test(digits)) return `"${clip(text)}" has no prefix length after the slash`
  const mapped = address.v6 === undefined && text.includes(':')
  const length = Number(digits) - (mapped ? 96 : 0)
  if (length < 0 || length > (address.v6 === undefined ? 32 : 128)) {
    return `"${clip(text)}" has a prefix length out of range`
  }
  return prefixRange(address, length)
}

function parseSpan(text: string, from: string, to: string): AddressRange | string {
  const first = parseAddress(from)
  const last = parseAddress(to)
  if (first === undefined || last === undefined) return `"${clip(text)}" is not a range of addresses`
  if ((first.v6 === undefined) !== (last.v6 === undefined)) return `"${clip(text)}" mixes IPv4 and IPv6`
  const range: AddressRange =
    first.v6 === undefined
      ? { version: 4, first: first.v4, last: last.v4 }
      : { version: 6, first: v6Number(first.v6), last: v6Number(last.v6!) }
  return range.first <= range.last ? range : `"${clip(text)}" ends before it starts`
}

/** The network with this prefix length that contains the address. */
export function prefixRange(address: Address, length: number): AddressRange {
  if (address.v6 === undefined) {
    const size = 2 ** (32 - length)
    const first = Math.floor(address.v4 / size) * size
    return { version: 4, first, last: first + size - 1 }
  }
  const host = (1n << BigInt(128 - length)) - 1n
  const last = v6Number(address.v6) | host
  return { version: 6, first: last - host, last }
}

/** The 128 bits of an IPv6 address as an integer. */
export function v6Number(groups: readonly number[]): bigint {
  const [a, b, c, d, e, f, g, h] = groups as [number, number, number, number, number, number, number, number]
  // Doubles are exact up to 53 bits, and much faster than bigints.
  const high = (a * 65_536 + b) * 65_536 + c
  const middle = (d * 65_536 + e) * 65_536 + f
  return (BigInt(high) << 80n) | (BigInt(middle) << 32n) | BigInt(g * 65_536 + h)
}

/** As `prefixRange`, formatted as a CIDR. */
export function formatPrefix({ v4, v6 }: Address, length: number): string {
  if (v6 === undefined) return `${formatV4(length === 0 ? 0 : (v4 & (-1 << (32 - length))) >>> 0)}/${length}`
  const groups = v6.map((group, i) => {
    const bits = length - 16 * i
    if (bits >= 16) return group
    return bits <= 0 ? 0 : group & (65_535 << (16 - bits)) & 65_535
  })
  return `${formatV6(groups)}/${length}`
}

/** Formats a range as a CIDR if it is one, else as `a-b`. */
export function formatRange(range: AddressRange): string {
  const first = formatBound(range, range.first)
  const length = range.version === 4 ? v4Length(range.first, range.last) : v6Length(range.first, range.last)
  return length < 0 ? `${first}-${formatBound(range, range.last)}` : `${first}/${length}`
}

/** Prefix length of the range as a CIDR; -1 when it is not one. */
function v4Length(first: number, last: number): number {
  const bits = Math.log2(last - first + 1)
  return Number.isInteger(bits) && first % 2 ** bits === 0 ? 32 - bits : -1
}

function v6Length(first: bigint, last: bigint): number {
  const size = last - first + 1n
  if ((size & (size - 1n)) !== 0n || (first & (size - 1n)) !== 0n) return -1
  return 129 - size.toString(2).length
}

function formatBound(range: AddressRange, bound: number | bigint): string {
  return range.version === 4 ? formatV4(Number(bound)) : formatV6(v6Groups(BigInt(bound)))
}

function v6Groups(value: bigint): number[] {
  return Array.from({ length: 8 }, (_, i) => Number((value >> BigInt(112 - 16 * i)) & 65_535n))
}

/** Shortens text of a file to one line for a message. */
export function clip(text: string): string {
  const line = text.replace(/\s+/g, ' ')
  return line.length > 60 ? `${line.slice(0, 60)}…` : line
}
