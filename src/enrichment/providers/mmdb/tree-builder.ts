import { InputError } from '../../../run/errors.ts'

/** Room for nodes at first; it doubles when it is full. */
const NODES_AT_FIRST = 1_024
/** Some 1.9 GB while the tree is finished. Two million networks of IPv4 are 4 million nodes. */
const NODES_MAX = 2 ** 25

/** A record of a tree: 0 leads nowhere, n > 0 to the data at offset n - 1, n < 0 to the node -n. */
export type TreeRecord = number

/** The nodes of a finished tree, the root first: left and right record in turn, n < 0 the node -n. */
export type TreeNodes = Float64Array

/** A network's bits: four words of 32 bits, of which the first `length` bits count, from the first word's highest on. */
export interface NetworkBits {
  readonly words: ArrayLike<number>
  /** Where the four words start. */
  readonly at: number
  readonly length: number
}

/**
 * A binary tree of networks under construction. A network that is inserted later replaces what it covers, so that
 * general networks are inserted before specific ones. Nodes are numbers in one array: trees have millions of them.
 */
export class TreeBuilder {
  #records = new Float64Array(2 * NODES_AT_FIRST)
  readonly #nodesMax: number
  #nodes = 1
  /** The last network that was inserted, and the nodes on the way to it: neighbours share most of it. */
  readonly #lastWords = new Uint32Array(4)
  readonly #lastWay = new Uint32Array(128)
  #lastLength = 0

  constructor(nodesMax = NODES_MAX) {
    this.#nodesMax = nodesMax
  }

  /** @param network of at least one bit */
  insert(network: NetworkBits, record: TreeRecord): void {
    const last = network.length - 1
    const shared = Math.min(last, this.#lastLength - 1, this.#bitsShared(network))
    let node = shared > 0 ? this.#lastWay[shared]! : 0
    for (let depth = Math.max(shared, 0); depth < last; depth++) {
      node = this.#descend(node, bitOf(network, depth))
      this.#lastWay[depth + 1] = node
    }
    this.#records[2 * node + bitOf(network, last)] = record
    for (let word = 0; word < 4; word++) this.#lastWords[word] = network.words[network.at + word]!
    this.#lastLength = network.length
  }

  /** Bits that a network has in common with the last one. */
  #bitsShared({ words, at }: NetworkBits): number {
    for (let word = 0; word < 4; word++) {
      const difference = words[at + word]! ^ this.#lastWords[word]!
      if (difference !== 0) return 32 * word + Math.clz32(difference)
    }
    return 128
  }

  /** Where the bits lead; 0 when the tree ends before. */
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

  /** The nodes that the root leads to. Two halves with the same data become one record. */
  finish(): TreeNodes {
    const records = this.#records
    // A node's number is known when all below it are numbered; the root, numbered last, is turned to the front.
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
    const turned = (record: TreeRecord) => (record < 0 ? -(count + record) : record)
    const nodes = new Float64Array(2 * count)
    for (let i = 0; i < count; i++) {
      nodes[2 * i] = turned(pairs[2 * (count - 1 - i)]!)
      nodes[2 * i + 1] = turned(pairs[2 * (count - 1 - i) + 1]!)
    }
    return nodes
  }

  /** The child node, made when there is none: it inherits what the record held for all its addresses. */
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
