import { InputError } from '../../../run/errors.ts'
import { TimeSlice } from '../../time-slice.ts'
import type { TreeLayout } from './tree.ts'

interface VerifiedFile {
  /** Number of networks with data. */
  readonly networks: number
  /** Records of the tree for up to `SAMPLES_MAX` distinct data records, spread over the whole file. */
  readonly samples: readonly number[]
}

const SAMPLES_MAX = 2_000
/** Nodes, and values of data, between two checks of the time slice. */
const NODES_AT_A_TIME = 2_000
const VALUES_AT_A_TIME = 500
/** Values in one record, which is read without a pause. Known databases stay far below. */
const RECORD_VALUES_MAX = 20_000
/** Nesting of values. Known databases stay far below. */
const DEPTH_MAX = 64
const SEPARATOR_BYTES = 16

/**
 * Verifies a MaxMind DB file from end to end, so that damage is found before the file is used:
 * - Every record of the tree points to a node, to no data, or into the data section.
 * - The tree has no cycle.
 * - Every reachable value is complete, inside the data section, and of a valid size for its type.
 *
 * Yields to other work.
 * @param dataEnd end of the data section, where the metadata's marker starts
 * @throws InputError with the reason
 */
export async function verifyMmdb(bytes: Buffer, layout: TreeLayout, dataEnd: number): Promise<VerifiedFile> {
  const treeBytes = (layout.nodeCount * layout.recordSize) / 4
  const dataStart = treeBytes + SEPARATOR_BYTES
  if (dataStart > dataEnd) {
    throw new InputError(`the search tree of ${layout.nodeCount} nodes is truncated`)
  }
  if (bytes.subarray(treeBytes, dataStart).some((byte) => byte !== 0)) {
    throw new InputError('the search tree has another size than the metadata state')
  }
  await assertTree(bytes, layout)
  const data = new DataSection(bytes, dataStart, dataEnd)
  const slice = new TimeSlice()
  const samples = new Samples()
  let networks = 0
  let values = 0
  for (let node = 0; node < layout.nodeCount; node++) {
    if (node % NODES_AT_A_TIME === 0 && slice.isOver) await slice.next()
    for (let bit = 0; bit < 2; bit++) {
      const record = recordOf(bytes, layout.recordSize, node, bit)
      if (record <= layout.nodeCount) continue
      networks++
      const offset = record - layout.nodeCount - SEPARATOR_BYTES
      if (offset < 0 || dataStart + offset >= dataEnd) {
        throw new InputError(`node ${node} of the search tree points outside the data`)
      }
      if (data.isChecked(dataStart + offset)) continue
      data.check(dataStart + offset)
      samples.add(record)
      if (data.values - values > VALUES_AT_A_TIME) {
        values = data.values
        if (slice.isOver) await slice.next()
      }
    }
  }
  if (networks === 0)
    throw new InputError('the file holds no networks, so it adds nothing: fetch it again, or remove it')
  return { networks, samples: samples.records }
}

/** Keeps every nth distinct record. Doubles n when there are too many. */
class Samples {
  #step = 1
  #seen = 0
  #records: number[] = []

  get records(): readonly number[] {
    return this.#records
  }

  add(record: number): void {
    if (this.#seen++ % this.#step !== 0) return
    if (this.#records.length === SAMPLES_MAX) {
      this.#records = this.#records.filter((_, i) => i % 2 === 0)
      this.#step *= 2
      if ((this.#seen - 1) % this.#step !== 0) return
    }
    this.#records.push(record)
  }
}

const TYPE_POINTER = 1
const TYPE_STRING = 2
const TYPE_MAP = 7
const TYPE_ARRAY = 11
const TYPE_BOOLEAN = 14

/** Minimum and maximum size in bytes of values of each type. */
const SIZES: Readonly<Record<number, readonly [number, number]>> = {
  [TYPE_STRING]: [0, Number.MAX_SAFE_INTEGER],
  3: [8, 8],
  4: [0, Number.MAX_SAFE_INTEGER],
  5: [0, 2],
  6: [0, 4],
  8: [0, 4],
  9: [0, 8],
  10: [0, 16],
  15: [4, 4],
}

/** Walks the values of the data section. Values that several records share are walked once. */
class DataSection {
  readonly #bytes: Buffer
  readonly #start: number
  readonly #end: number
  /** One bit per byte of the section, set if the value that starts there was checked. */
  readonly #checked: Uint8Array
  /** Values checked so far. */
  values = 0
  #recordStart = 0

  constructor(bytes: Buffer, start: number, end: number) {
    this.#bytes = bytes
    this.#start = start
    this.#end = end
    this.#checked = new Uint8Array(((end - start) >>> 3) + 1)
  }

  isChecked(at: number): boolean {
    const offset = at - this.#start
    return (this.#checked[offset >>> 3]! & (1 << (offset & 7))) !== 0
  }

  /** Checks the value at a position. */
  check(at: number): void {
    this.#recordStart = this.values
    if (!this.isChecked(at)) this.#value(at, 0)
  }

  /** Returns the position after the value. */
  #value(at: number, depth: number): number {
    if (depth > DEPTH_MAX) throw this.#damage(at, 'is nested too deeply')
    // Each value has at least one byte and is visited once, unless values overlap.
    if (this.values++ > this.#end - this.#start) throw this.#damage(at, 'overlaps another one')
    if (this.values - this.#recordStart > RECORD_VALUES_MAX) throw this.#damage(at, 'is too large for a record')
    const offset = at - this.#start
    this.#checked[offset >>> 3]! |= 1 << (offset & 7)
    const control = this.#byte(at)
    let type = control >>> 5
    let next = at + 1
    if (type === TYPE_POINTER) return this.#pointer(at, depth)
    if (type === 0) type = this.#byte(next++) + 7
    let size = control & 31
    if (size >= 29) {
      const bytes = size - 28
      this.#byte(next + bytes - 1)
      size = [29, 285, 65_821][bytes - 1]! + this.#bytes.readUIntBE(next, bytes)
      next += bytes
    }
    if (type === TYPE_MAP) return this.#members(next, size, depth)
    if (type === TYPE_ARRAY) {
      for (let i = 0; i < size; i++) next = this.#value(next, depth + 1)
      return next
    }
    if (type === TYPE_BOOLEAN) {
      if (size > 1) throw this.#damage(at, `is a boolean of size ${size}`)
      return next
    }
    const allowed = SIZES[type]
    if (allowed === undefined) throw this.#damage(at, `has the unknown type ${type}`)
    if (size < allowed[0] || size > allowed[1]) throw this.#damage(at, `has type ${type} and the wrong size ${size}`)
    if (next + size > this.#end) throw this.#damage(at, 'is truncated')
    return next + size
  }

  #members(at: number, size: number, depth: number): number {
    let next = at
    for (let i = 0; i < size; i++) {
      if (this.#typeAt(next) !== TYPE_STRING) throw this.#damage(next, 'is a key and not a string')
      next = this.#value(next, depth + 1)
      next = this.#value(next, depth + 1)
    }
    return next
  }

  /** The type of a key. Follows a pointer. */
  #typeAt(at: number): number {
    const control = this.#byte(at)
    if (control >>> 5 !== TYPE_POINTER) return control >>> 5
    return this.#byte(this.#target(at)) >>> 5
  }

  #pointer(at: number, depth: number): number {
    const target = this.#target(at)
    if (this.#byte(target) >>> 5 === TYPE_POINTER) throw this.#damage(at, 'is a pointer to a pointer')
    if (!this.isChecked(target)) this.#value(target, depth + 1)
    return at + 2 + ((this.#byte(at) >>> 3) & 3)
  }

  /** The target of the pointer at a position. */
  #target(at: number): number {
    const control = this.#byte(at)
    const bytes = ((control >>> 3) & 3) + 1
    this.#byte(at + bytes)
    const low = this.#bytes.readUIntBE(at + 1, bytes)
    const high = bytes === 4 ? 0 : (control & 7) * 2 ** (8 * bytes)
    const target = this.#start + [0, 2048, 526_336, 0][bytes - 1]! + high + low
    if (target >= this.#end) throw this.#damage(at, 'points outside the data')
    return target
  }

  #byte(at: number): number {
    if (at >= this.#end) throw this.#damage(at, 'is truncated')
    return this.#bytes[at]!
  }

  #damage(at: number, what: string): InputError {
    return new InputError(`the value at byte ${at} ${what}`)
  }
}

/** Steps between two checks of the time slice. */
const STEPS_AT_A_TIME = 5_000
/** States of a node: on the current path from the root, or done with all nodes below it. */
const ON_PATH = 1
const WALKED = 2

/** The left (`bit` 0) or right record of a node. */
function recordOf(bytes: Buffer, recordSize: number, node: number, bit: number): number {
  if (recordSize === 24) return bytes.readUIntBE(node * 6 + bit * 3, 3)
  if (recordSize === 32) return bytes.readUInt32BE(node * 8 + bit * 4)
  const at = node * 7
  const middle = bytes[at + 3]!
  return bit === 0
    ? (middle >>> 4) * 2 ** 24 + bytes.readUIntBE(at, 3)
    : (middle & 15) * 2 ** 24 + bytes.readUIntBE(at + 4, 3)
}

/**
 * Asserts that the tree has no cycle, and no path longer than an address. Several paths may lead to one node, because IPv4
 * is at several places of IPv6. Visits each node once.
 * @throws InputError with the reason
 */
async function assertTree(bytes: Buffer, { nodeCount, recordSize, ipVersion }: TreeLayout): Promise<void> {
  if (nodeCount === 0) return
  const bits = ipVersion === 4 ? 32 : 128
  const slice = new TimeSlice()
  const states = new Uint8Array(nodeCount)
  const path = new Uint32Array(bits)
  const nextBits = new Uint8Array(bits)
  states[0] = ON_PATH
  for (let depth = 0, steps = 1; depth >= 0; steps++) {
    if (steps % STEPS_AT_A_TIME === 0 && slice.isOver) await slice.next()
    const node = path[depth]!
    const bit = nextBits[depth]!++
    if (bit === 2) {
      states[node] = WALKED
      depth--
      continue
    }
    const child = recordOf(bytes, recordSize, node, bit)
    if (child >= nodeCount || states[child] === WALKED) continue
    if (states[child] === ON_PATH) {
      throw new InputError(`the search tree has a cycle: node ${node} leads back to node ${child}`)
    }
    depth++
    if (depth === bits) throw new InputError(`the search tree has more levels than an address has bits: ${bits}`)
    states[child] = ON_PATH
    path[depth] = child
    nextBits[depth] = 0
  }
}
