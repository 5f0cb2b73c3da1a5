import { InputError } from '../../../run/errors.ts'
import { eachV6Cidr, v4Cidrs } from '../../addresses/cidrs.ts'
import type { AddressRange } from '../../addresses/network.ts'
import type { NetworkBits } from './tree-builder.ts'

const NETWORKS_AT_FIRST = 1_024
/** One range can be hundreds of CIDRs. */
const NETWORKS_MAX = 2 ** 24
/** Bits before an IPv4 address in a tree for both families. */
const V4_PREFIX_BITS = 96

/** A CIDR of the list. */
interface ListedNetwork extends NetworkBits {
  readonly record: number
}

/** Networks of one layer and size. */
interface Rank {
  readonly number: number
  readonly layer: number
  readonly addresses: number
  networks: number
}

/** Networks with their records, as columns of numbers because there can be millions. */
export class NetworkList {
  readonly #isV4: boolean
  #words = new Uint32Array(4 * NETWORKS_AT_FIRST)
  #lengths = new Uint8Array(NETWORKS_AT_FIRST)
  #records = new Float64Array(NETWORKS_AT_FIRST)
  #rankOf = new Uint32Array(NETWORKS_AT_FIRST)
  readonly #ranks: Rank[] = []
  /** By layer, then by size. */
  readonly #rankOfSize = new Map<number, Map<number, Rank>>()
  /** Scratch for an IPv4 network; only one word is used. */
  readonly #word = new Uint32Array(4)
  #size = 0

  readonly #networksMax: number

  /** @param ipVersion 6 puts IPv4 at `::/96` */
  constructor(ipVersion: 4 | 6, networksMax = NETWORKS_MAX) {
    this.#isV4 = ipVersion === 4
    this.#networksMax = networksMax
  }

  /** @param layer networks of a higher layer sort after all others, regardless of size */
  add(range: AddressRange, record: number, layer: number): void {
    const rank = this.#rank(layer, sizeOf(range))
    if (range.version === 4) {
      const prefix = this.#isV4 ? 0 : V4_PREFIX_BITS
      for (const { first, length } of v4Cidrs(range.first, range.last)) {
        this.#word[this.#isV4 ? 0 : 3] = first
        this.#add(this.#word, prefix + length, record, rank)
      }
    } else {
      eachV6Cidr(range.first, range.last, (words, length) => this.#add(words, length, record, rank))
    }
  }

  /** General networks before specific ones; equal ones in the order of `add`. */
  *inOrder(): Generator<ListedNetwork> {
    const order = this.#order()
    for (const i of order) yield { words: this.#words, at: 4 * i, length: this.#lengths[i]!, record: this.#records[i]! }
  }

  /** A counting sort: there are few sizes, so it is faster than comparisons and needs less memory. */
  #order(): Uint32Array {
    const next = new Uint32Array(this.#ranks.length)
    let start = 0
    for (const rank of [...this.#ranks].sort((a, b) => a.layer - b.layer || b.addresses - a.addresses)) {
      next[rank.number] = start
      start += rank.networks
    }
    const order = new Uint32Array(this.#size)
    for (let i = 0; i < this.#size; i++) order[next[this.#rankOf[i]!]!++] = i
    return order
  }

  /** Splits the network of all addresses in two, because a network needs at least one bit. */
  #add(words: ArrayLike<number>, length: number, record: number, rank: Rank): void {
    this.#push(words, Math.max(length, 1), record, rank)
    if (length === 0) this.#push([2 ** 31, 0, 0, 0], 1, record, rank)
  }

  #push(words: ArrayLike<number>, length: number, record: number, rank: Rank): void {
    if (this.#size === this.#networksMax) throw new InputError(`its ranges are more than ${this.#networksMax} networks`)
    if (this.#size === this.#lengths.length) this.#grow()
    const i = this.#size++
    for (let word = 0; word < 4; word++) this.#words[4 * i + word] = words[word]!
    this.#lengths[i] = length
    this.#records[i] = record
    this.#rankOf[i] = rank.number
    rank.networks++
  }

  #rank(layer: number, addresses: number): Rank {
    let ranks = this.#rankOfSize.get(layer)
    if (ranks === undefined) {
      ranks = new Map()
      this.#rankOfSize.set(layer, ranks)
    }
    let rank = ranks.get(addresses)
    if (rank === undefined) {
      rank = { number: this.#ranks.length, layer, addresses, networks: 0 }
      this.#ranks.push(rank)
      ranks.set(addresses, rank)
    }
    return rank
  }

  #grow(): void {
    const size = 2 * this.#lengths.length
    const words = new Uint32Array(4 * size)
    words.set(this.#words)
    this.#words = words
    const lengths = new Uint8Array(size)
    lengths.set(this.#lengths)
    this.#lengths = lengths
    const records = new Float64Array(size)
    records.set(this.#records)
    this.#records = records
    const rankOf = new Uint32Array(size)
    rankOf.set(this.#rankOf)
    this.#rankOf = rankOf
  }
}

function sizeOf(range: AddressRange): number {
  return range.version === 4 ? range.last - range.first : Number(range.last - range.first)
}
