import { InputError } from '../../../run/errors.ts'
import type { AddressRange } from '../../addresses/network.ts'
import { DataEncoder, encodeValue, type MmdbValue, typed } from './encode.ts'
import { NetworkList } from './network-list.ts'
import { type NetworkBits, TreeBuilder, type TreeNodes } from './tree-builder.ts'

/** The metadata of a file. */
export interface MmdbWriterOptions {
  readonly databaseType: string
  /** By language code. */
  readonly description?: Readonly<Record<string, string>>
  readonly languages?: readonly string[]
  /** Seconds since the Unix epoch. */
  readonly buildEpoch: number
  /** 6 holds IPv4 as well. Default: 6. */
  readonly ipVersion?: 4 | 6
  /** Bits of a record of the tree. Default: the fewest that suffice. */
  readonly recordSize?: 24 | 28 | 32
}

/** A record of the writer that stored it. */
export interface StoredRecord {
  /** Positive: offset + 1 in the data. Negative: number of a `LaterRecord`. */
  readonly at: number
}

/** Returns a record when the file is written. */
type LaterRecord = () => MmdbValue

const SEPARATOR_BYTES = 16
/** IPv4 networks and IPv4-mapped addresses in a file for both families. */
const V4_PREFIX: NetworkBits = { words: [0, 0, 0, 0], at: 0, length: 96 }
const MAPPED_PREFIX: NetworkBits = { words: [0, 0, 0xffff, 0], at: 0, length: 96 }
const METADATA_MARKER = Buffer.from('\xab\xcd\xefMaxMind.com', 'latin1')

/**
 * Writes files in MaxMind DB format 2.0 that any reader of the format opens. A file for both families has IPv4 networks at
 * `::/96`, with `::ffff:0:0/96` (IPv4-mapped) as an alias. Equal records are written once.
 */
export class MmdbWriter {
  readonly #options: MmdbWriterOptions
  readonly #networks: NetworkList
  readonly #data = new DataEncoder()
  readonly #later: LaterRecord[] = []

  constructor(options: MmdbWriterOptions) {
    this.#options = options
    this.#networks = new NetworkList(options.ipVersion ?? 6)
  }

  /**
   * Adds a record. If ranges overlap, the most specific wins; of two equal ones, the later.
   * @param layer a higher layer wins over all lower ones, regardless of size
   */
  insert(range: AddressRange, record: MmdbValue, layer = 0): void {
    this.insertStored(range, this.store(record), layer)
  }

  /** Stores a record for any number of networks. */
  store(record: MmdbValue): StoredRecord {
    return { at: this.#data.add(record) + 1 }
  }

  /** As `store`, for a record that depends on later inserts. */
  storeLater(record: LaterRecord): StoredRecord {
    return { at: -this.#later.push(record) }
  }

  /** As `insert`, for a record that was stored before. */
  insertStored(range: AddressRange, { at }: StoredRecord, layer = 0): void {
    if (range.version === 6 && this.#options.ipVersion === 4)
      throw new InputError('an IPv4 file cannot hold an IPv6 network')
    this.#networks.add(range, at, layer)
  }

  /** The whole file. Do not insert afterwards. @throws InputError when the data do not fit the record size */
  toBuffer(): Buffer {
    const later = this.#later.map((record) => this.#data.add(record()) + 1)
    const data = this.#data.finish()
    const nodes = this.#buildTree(later)
    const nodeCount = nodes.length / 2
    const largest = nodeCount + SEPARATOR_BYTES + this.#data.length
    const recordSize = this.#options.recordSize ?? fittingSize(largest)
    if (largest >= 2 ** recordSize) throw new InputError(`records of ${recordSize} bits are too small for this data`)
    return Buffer.concat([
      encodeTree(nodes, recordSize),
      Buffer.alloc(SEPARATOR_BYTES),
      ...data,
      METADATA_MARKER,
      this.#metadata(nodeCount, recordSize),
    ])
  }

  #buildTree(later: readonly number[]): TreeNodes {
    const tree = new TreeBuilder()
    for (const network of this.#networks.inOrder()) {
      const { record } = network
      tree.insert(network, record < 0 ? later[-record - 1]! : record)
    }
    if (this.#options.ipVersion !== 4) {
      const v4Root = tree.recordAt(V4_PREFIX)
      if (v4Root !== 0) tree.insert(MAPPED_PREFIX, v4Root)
    }
    return tree.finish()
  }

  #metadata(nodeCount: number, recordSize: number): Uint8Array {
    const { databaseType, description = {}, languages = ['en'], buildEpoch, ipVersion = 6 } = this.#options
    return encodeValue({
      binary_format_major_version: typed('uint16', 2),
      binary_format_minor_version: typed('uint16', 0),
      build_epoch: typed('uint64', buildEpoch),
      database_type: databaseType,
      description,
      ip_version: typed('uint16', ipVersion),
      languages,
      node_count: typed('uint32', nodeCount),
      record_size: typed('uint16', recordSize),
    })
  }
}

function fittingSize(largest: number): 24 | 28 | 32 {
  if (largest < 2 ** 24) return 24
  return largest < 2 ** 28 ? 28 : 32
}

function encodeTree(nodes: TreeNodes, recordSize: 24 | 28 | 32): Buffer {
  const nodeCount = nodes.length / 2
  const nodeBytes = recordSize / 4
  const bytes = Buffer.alloc(nodeCount * nodeBytes)
  const pointerOf = (record: number) => {
    if (record === 0) return nodeCount
    return record < 0 ? -record : nodeCount + SEPARATOR_BYTES + record - 1
  }
  for (let node = 0; node < nodeCount; node++) {
    const left = pointerOf(nodes[2 * node]!)
    const right = pointerOf(nodes[2 * node + 1]!)
    const at = node * nodeBytes
    if (recordSize === 28) {
      bytes.writeUIntBE(left % 2 ** 24, at, 3)
      bytes[at + 3] = (Math.floor(left / 2 ** 24) << 4) | Math.floor(right / 2 ** 24)
      bytes.writeUIntBE(right % 2 ** 24, at + 4, 3)
    } else {
      bytes.writeUIntBE(left, at, recordSize / 8)
      bytes.writeUIntBE(right, at + recordSize / 8, recordSize / 8)
    }
  }
  return bytes
}
