import { InputError } from '../../../run/errors.ts'
import { TimeSlice } from '../../time-slice.ts'
import type { TreeLayout } from './tree.ts'

/** Steps between two looks at the clock. */
const STEPS_AT_A_TIME = 5_000
/** What is known of a node: it lies on the way from the root, or everything below it was walked. */
const ON_THE_WAY = 1
const WALKED = 2

/** One of the two records of a node. */
export function recordOf(bytes: Buffer, recordSize: number, node: number, bit: number): number {
  if (recordSize === 24) return bytes.readUIntBE(node * 6 + bit * 3, 3)
  if (recordSize === 32) return bytes.readUInt32BE(node * 8 + bit * 4)
  const at = node * 7
  const middle = bytes[at + 3]!
  return bit === 0
    ? (middle >>> 4) * 2 ** 24 + bytes.readUIntBE(at, 3)
    : (middle & 15) * 2 ** 24 + bytes.readUIntBE(at + 4, 3)
}

/**
 * Walks every node that can be reached once. Several ways may lead to one, since IPv4 lies at several places of IPv6; but
 * none leads back to where it came from, and none is longer than an address.
 * @throws InputError with the reason
 */
export async function assertTree(bytes: Buffer, { nodeCount, recordSize, ipVersion }: TreeLayout): Promise<void> {
  if (nodeCount === 0) return
  const bits = ipVersion === 4 ? 32 : 128
  const slice = new TimeSlice()
  const states = new Uint8Array(nodeCount)
  const way = new Uint32Array(bits)
  const nextBits = new Uint8Array(bits)
  states[0] = ON_THE_WAY
  for (let depth = 0, steps = 1; depth >= 0; steps++) {
    if (steps % STEPS_AT_A_TIME === 0 && slice.isOver) await slice.next()
    const node = way[depth]!
    const bit = nextBits[depth]!++
    if (bit === 2) {
      states[node] = WALKED
      depth--
      continue
    }
    const child = recordOf(bytes, recordSize, node, bit)
    if (child >= nodeCount || states[child] === WALKED) continue
    if (states[child] === ON_THE_WAY) {
      throw new InputError(`node ${node} of the search tree leads back to node ${child}, which leads to it`)
    }
    depth++
    if (depth === bits) throw new InputError(`the search tree has more levels than an address has bits: ${bits}`)
    states[child] = ON_THE_WAY
    way[depth] = child
    nextBits[depth] = 0
  }
}
