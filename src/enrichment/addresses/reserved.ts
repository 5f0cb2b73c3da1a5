import type { Address } from '../../pipeline/event/address.ts'
import { v6Cidrs } from './cidrs.ts'
import { judgedAddress } from './judged.ts'
import { type AddressRange, formatRange, parseCidr } from './network.ts'
import { RangeMap } from './range-map.ts'

/**
 * Blocks of the IANA special-purpose registries (RFC 6890 and its updates), multicast and deprecated blocks: no visitor
 * comes from them. `undefined` marks the globally reachable exceptions inside a reserved block.
 */
const BLOCKS: readonly (readonly [network: string, name: string | undefined])[] = [
  ['0.0.0.0/8', 'this network'],
  ['10.0.0.0/8', 'private use'],
  ['100.64.0.0/10', 'shared address space'],
  ['127.0.0.0/8', 'loopback'],
  ['169.254.0.0/16', 'link local'],
  ['172.16.0.0/12', 'private use'],
  ['192.0.0.0/24', 'protocol assignments'],
  ['192.0.0.9/32', undefined],
  ['192.0.0.10/32', undefined],
  ['192.0.2.0/24', 'documentation'],
  ['192.88.99.0/24', 'deprecated 6to4 relay anycast'],
  ['192.168.0.0/16', 'private use'],
  ['198.18.0.0/15', 'benchmarking'],
  ['198.51.100.0/24', 'documentation'],
  ['203.0.113.0/24', 'documentation'],
  ['224.0.0.0/4', 'multicast'],
  ['240.0.0.0/4', 'reserved for future use'],
  ['::/96', 'unspecified, loopback and deprecated IPv4-compatible'],
  ['64:ff9b:1::/48', 'local-use translation'],
  ['100::/64', 'discard only'],
  ['100:0:0:1::/64', 'dummy prefix'],
  ['2001::/23', 'protocol assignments'],
  ['2001:1::1/128', undefined],
  ['2001:1::2/128', undefined],
  ['2001:1::3/128', undefined],
  ['2001:3::/32', undefined],
  ['2001:4:112::/48', undefined],
  ['2001:20::/28', undefined],
  ['2001:30::/28', undefined],
  ['2001:db8::/32', 'documentation'],
  ['3fff::/20', 'documentation'],
  ['5f00::/16', 'segment routing identifiers'],
  ['fc00::/7', 'unique local'],
  ['fe80::/10', 'link local'],
  ['fec0::/10', 'deprecated site local'],
  ['ff00::/8', 'multicast'],
]

interface Block {
  readonly network: string
  readonly name: string
}

/** An index of the reserved blocks and of unallocated IPv6. */
export class ReservedRanges {
  readonly #blocks = RangeMap.of([
    ...unallocated().map((range) => ({ range, value: { network: formatRange(range), name: 'unallocated' } })),
    ...BLOCKS.map(([network, name]) => ({
      range: rangeOf(network),
      value: name === undefined ? name : { network, name },
    })),
  ])

  /** The reserved block that contains the address, or the IPv4 address embedded in it (`judgedAddress`). */
  find(address: Address): Block | undefined {
    return this.#blocks.find(judgedAddress(address))?.value
  }
}

let shared: ReservedRanges | undefined

/** One index for callers that need it rarely; made when it is first needed. */
export function reservedRanges(): ReservedRanges {
  shared ??= new ReservedRanges()
  return shared
}

const V6_END = 1n << 128n

/** The gaps between the allocated IPv6 networks, as CIDRs. */
function unallocated(): AddressRange[] {
  const gaps: AddressRange[] = []
  let from = 0n
  for (const network of [...ALLOCATED_V6, undefined]) {
    const range = network === undefined ? { first: V6_END, last: V6_END } : rangeOf(network)
    for (const { first, last } of v6Cidrs(from, BigInt(range.first) - 1n)) gaps.push({ version: 6, first, last })
    from = BigInt(range.last) + 1n
  }
  return gaps
}

function rangeOf(network: string): AddressRange {
  const range = parseCidr(network)
  if (typeof range === 'string') throw new Error(range)
  return range
}

/**
 * The IPv6 networks that IANA has assigned to the regional registries. No visitor comes from outside of them. From
 * https://www.iana.org/assignments/ipv6-unicast-address-assignments, as of 2025; it grows by a network every few
 * years. All of it is in `2000::/3`, the only space for global unicast (RFC 4291).
 */
const ALLOCATED_V6: readonly string[] = [
  '2001::/23',
  '2001:200::/23',
  '2001:400::/23',
  '2001:600::/23',
  '2001:800::/22',
  '2001:c00::/23',
  '2001:e00::/23',
  '2001:1200::/23',
  '2001:1400::/22',
  '2001:1800::/23',
  '2001:1a00::/23',
  '2001:1c00::/22',
  '2001:2000::/19',
  '2001:4000::/23',
  '2001:4200::/23',
  '2001:4400::/23',
  '2001:4600::/23',
  '2001:4800::/23',
  '2001:4a00::/23',
  '2001:4c00::/23',
  '2001:5000::/20',
  '2001:8000::/19',
  '2001:a000::/20',
  '2001:b000::/20',
  '2002::/16',
  '2003::/18',
  '2400::/12',
  '2410::/12',
  '2600::/12',
  '2610::/23',
  '2620::/23',
  '2630::/12',
  '2800::/12',
  '2a00::/12',
  '2a10::/12',
  '2c00::/12',
]
