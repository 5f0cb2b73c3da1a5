import { type Address, formatV4 } from '../../pipeline/event/address.ts'

/**
 * The address to look up for a visitor's address. If an IPv6 address embeds an IPv4 address, that one is the visitor's.
 * Every other address is looked up itself. These embed IPv4:
 * - NAT64, `64:ff9b::/96` (RFC 6052): the last 32 bits. Its local-use sibling `64:ff9b:1::/48` (RFC 8215) does not count,
 *   because each site chooses the position of the IPv4 address in it.
 * - 6to4, `2002::/16` (RFC 3056): the 32 bits after the prefix.
 * - Teredo, `2001::/32` (RFC 4380): the last 32 bits, inverted.
 *
 * The parser already turns IPv4-mapped IPv6 into IPv4.
 */
export function judgedAddress(address: Address): Address {
  const { v6 } = address
  if (v6 === undefined) return address
  switch (v6[0]) {
    case 0x64:
      return isNat64(v6) ? ofV4(v6[6]!, v6[7]!) : address
    case 0x2001:
      return v6[1] === 0 ? ofV4(v6[6]! ^ 0xffff, v6[7]! ^ 0xffff) : address
    case 0x2002:
      return ofV4(v6[1]!, v6[2]!)
    default:
      return address
  }
}

function isNat64(v6: readonly number[]): boolean {
  return v6[1] === 0xff9b && v6[2] === 0 && v6[3] === 0 && v6[4] === 0 && v6[5] === 0
}

function ofV4(high: number, low: number): Address {
  const v4 = high * 65_536 + low
  return { text: formatV4(v4), v4, v6: undefined }
}
