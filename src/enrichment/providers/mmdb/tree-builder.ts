import { InputError } from '../../../run/errors.ts'

/** Initial capacity; it doubles when full. */
const NODES_AT_FIRST = 1_024
/** Needs some 1.9 GB while the tree is finished. Two million IPv4 networks make 4 million nodes. */
const NODES_MAX = 2 ** 25

/** A record of a tree: 0 for no data, n > 0 for the data at offset n - 1, n < 0 for the node -n. */
type TreeRecord = number

/** The nodes of a finished tree, root first, as alternating left and right records. */
export type TreeNodes = Float64Array

/** The first `length` bits of four 32-bit words, highest first. */
export interface NetworkBits {
  readonly words: ArrayLike<number>
  /** Index of the first word. */
  readonly at: number
  readonly length: number
}

/**
 * Builds a binary tree of networks. A network replaces earlier ones that it covers, so insert general networks first. Nodes
 * are numbers in one array, because trees have millions of them.
 */
export class TreeBuilder {
  #records = new Float64Array(2 * NODES_AT_FIRST)
  readonly #nodesMax: number
  #nodes = 1
  /** The last inserted network and the nodes on its path. Neighbours share most of the path. */
  readonly #lastWords = new Uint32Array(4)
  readonly #lastPath = new Uint32Array(128)
  #lastLength = 0

  constructor(nodesMax = NODES_MAX) {
    this.#nodesMax = nodesMax
  }

  /** @param network of at least one bit */
  insert(network: NetworkBits, record: TreeRecord): void {
    const last = network.length - 1
    const shared = Math.min(last, this.#lastLength - 1, this.#bitsShared(network))
    let node = shared > 0 ? this.#lastPath[shared]! : 0
    for (let depth = Math.max(shared, 0); depth < last; depth++) {
      node = this.#descend(node, bitOf(network, depth))
      this.#lastPath[depth + 1] = node
    }
    this.#records[2 * node + bitOf(network, last)] = record
    for (let word = 0; word < 4; word++) this.#lastWords[word] = network.words[network.at + word]!
    this.#lastLength = network.length
  }

  /** Length of the common prefix with the last network. */
  #bitsShared({ words, at }: NetworkBits): number {
    for (let word = 0; word < 4; word++) {
      const difference = words[at + word]! ^ this.#lastWords[word]!
      if (difference !== 0) return 32 * word + Math.clz32(difference)
    }
    return 128
  }

  /** The record at the end of a path; 0 when the tree ends earlier. */
  recordAt(network: NetworkBits): TreeRecord {
    let record = 0
    let node = 0
    for (let depth = 0; depth < network.length; depth++) {
      if (node < 0) return 0
      record = this.#records[2 * node + bitOf(network, depth)]!
      node = record < 0 ? -record : -1
    }
    return record
  }

  /** The reachable nodes. Two halves with the same data become one record. */
  finish(): TreeNodes {
    const records = this.#records
    // Children are numbered before their parents. The numbers are reversed at the end, so that the root comes first.
    const numbers = new Float64Array(this.#nodes).fill(Number.NaN)
    const pairs = new Float64Array(2 * this.#nodes)
    let count = 0
    const push = (left: TreeRecord, right: TreeRecord): number => {
      pairs[2 * count] = left
      pairs[2 * count + 1] = right
      return ++count
    }
    const resolve = (record: TreeRecord): TreeRecord => {
      if (record >= 0) return record
      const known = numbers[-record]!
      if (!Number.isNaN(known)) return known
      const left = resolve(records[-2 * record]!)
      const right = resolve(records[-2 * record + 1]!)
      const resolved = left === right && left >= 0 ? left : -push(left, right)
      numbers[-record] = resolved
      return resolved
    }
    const left = resolve(records[0]!)
    push(left, resolve(records[1]!))
    const reversed = (record: TreeRecord) => (record < 0 ? -(count + record) : record)
    const nodes = new Float64Array(2 * count)
    for (let i = 0; i < count; i++) {
      nodes[2 * i] = reversed(pairs[2 * (count - 1 - i)]!)
      nodes[2 * i + 1] = reversed(pairs[2 * (count - 1 - i) + 1]!)
    }
    return nodes
  }

  /** The child node. A new one inherits the data that the record had for all its addresses. */
  #descend(node: number, bit: number): number {
    const record = this.#records[2 * node + bit]!
    if (record < 0) return -record
    if (this.#nodes === this.#nodesMax)
      throw new InputError(`its networks make a tree of more than ${this.#nodesMax} nodes`)
    const child = this.#nodes++
    if (2 * this.#nodes > this.#records.length) {
      const grown = new Float64Array(this.#records.length * 2)
      grown.set(this.#records)
      this.#records = grown
    }
    this.#records[2 * child] = record
    this.#records[2 * child + 1] = record
    this.#records[2 * node + bit] = -child
    return child
  }
}

function bitOf({ words, at }: NetworkBits, depth: number): number {
  return (words[at + (depth >>> 5)]! >>> (31 - (depth & 31))) & 1
}
