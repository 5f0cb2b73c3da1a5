import { InputError } from '../../../run/errors.ts'
import type { AddressRange } from '../../addresses/network.ts'
import { DataEncoder, encodeValue, type MmdbValue, typed } from './encode.ts'
import { NetworkList } from './network-list.ts'
import { type NetworkBits, TreeBuilder, type TreeNodes } from './tree-builder.ts'

/** What the metadata of a file says. */
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

/** A record in the file of the writer that stored it. */
export interface StoredRecord {
  /** Above 0: where it is. Below 0: the number of one that is known later. */
  readonly at: number
}

/** A record that is known before the file is written, and not earlier. */
export type LaterRecord = () => MmdbValue

const SEPARATOR_BYTES = 16
/** IPv4 in a file for both families, and IPv4-mapped addresses. */
const V4_PREFIX: NetworkBits = { words: [0, 0, 0, 0], at: 0, length: 96 }
const MAPPED_PREFIX: NetworkBits = { words: [0, 0, 0xffff, 0], at: 0, length: 96 }
const METADATA_MARKER = Buffer.from('\xab\xcd\xefMaxMind.com', 'latin1')

/**
 * Writes files in MaxMind DB format 2.0 that any reader of the format opens. IPv4 networks of a file for both families
 * stand at `::/96`, and IPv4-mapped addresses (`::ffff:0:0/96`) lead to them. Equal records are written once.
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
   * Adds a record. Where ranges overlap the most specific counts; of two of one size, the later.
   * @param layer records of a higher layer count wherever they are, however specific those below are
   */
  insert(range: AddressRange, record: MmdbValue, layer = 0): void {
    this.insertStored(range, this.store(record), layer)
  }

  /** Stores a record that many networks may have. */
  store(record: MmdbValue): StoredRecord {
    return { at: this.#data.add(record) + 1 }
  }

  /** As `store`, for a record that depends on what is inserted after it. */
  storeLater(record: LaterRecord): StoredRecord {
    return { at: -this.#later.push(record) }
  }

  /** As `insert`, for a record that was stored before. */
  insertStored(range: AddressRange, { at }: StoredRecord, layer = 0): void {
    if (range.version === 6 && this.#options.ipVersion === 4)
      throw new InputError('a file for IPv4 takes no IPv6 network')
    this.#networks.add(range, at, layer)
  }

  /** The whole file; nothing is inserted behind it. @throws InputError when it does not fit the record size */
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
