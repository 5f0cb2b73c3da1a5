/** Room for nodes at first; it doubles when it is full. */
const NODES_AT_FIRST = 1_024

/** A record of a tree: 0 leads nowhere, n > 0 to the data at offset n - 1, n < 0 to the node -n. */
export type TreeRecord = number

/** The nodes of a finished tree, the root first: left and right record in turn, n < 0 the node -n. */
export type TreeNodes = readonly TreeRecord[]

/**
 * A binary tree of networks under construction. A network that is inserted later replaces what it covers, so that
 * general networks are inserted before specific ones.
 */
export class TreeBuilder {
  #records = new Float64Array(2 * NODES_AT_FIRST)
  #nodes = 1

  /** @param bits the network's bits, first to last; at least one */
  insert(bits: readonly number[], record: TreeRecord): void {
    let node = 0
    for (let depth = 0; depth < bits.length - 1; depth++) node = this.#descend(node, bits[depth]!)
    this.#records[2 * node + bits[bits.length - 1]!] = record
  }

  /** Where the bits lead; 0 when the tree ends before. */
  recordAt(bits: readonly number[]): TreeRecord {
    let record = 0
    let node = 0
    for (const bit of bits) {
      if (node < 0) return 0
      record = this.#records[2 * node + bit]!
      node = record < 0 ? -record : -1
    }
    return record
  }

  /** The nodes that the root leads to. Two halves with the same data become one record. */
  finish(): TreeNodes {
    // A node's number is known when all below it are numbered; the root, numbered last, is turned to the front.
    const numbers = new Map<number, TreeRecord>()
    const pairs: [TreeRecord, TreeRecord][] = []
    const resolve = (record: TreeRecord): TreeRecord => {
      if (record >= 0) return record
      const known = numbers.get(-record)
      if (known !== undefined) return known
      const left = resolve(this.#records[-2 * record]!)
      const right = resolve(this.#records[-2 * record + 1]!)
      const resolved = left === right && left >= 0 ? left : -pairs.push([left, right])
      numbers.set(-record, resolved)
      return resolved
    }
    pairs.push([resolve(this.#records[0]!), resolve(this.#records[1]!)])
    const turned = (record: TreeRecord) => (record < 0 ? -(pairs.length + record) : record)
    return pairs.reverse().flatMap(([left, right]) => [turned(left), turned(right)])
  }

  /** The child node, made when there is none: it inherits what the record held for all its addresses. */
  #descend(node: number, bit: number): number {
    const record = this.#records[2 * node + bit]!
    if (record < 0) return -record
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
