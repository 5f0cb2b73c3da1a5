import { InputError } from '../../../run/errors.ts'
import { TimeSlice } from '../../time-slice.ts'
import type { TreeLayout } from './tree.ts'

/** Steps between two checks of the time slice. */
const STEPS_AT_A_TIME = 5_000
/** States of a node: on the current path from the root, or done with all nodes below it. */
const ON_PATH = 1
const WALKED = 2

/** The left (`bit` 0) or right record of a node. */
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
 * Asserts that the tree has no cycle, and no path longer than an address. Several paths may lead to one node, because IPv4
 * is at several places of IPv6. Visits each node once.
 * @throws InputError with the reason
 */
export async function assertTree(bytes: Buffer, { nodeCount, recordSize, ipVersion }: TreeLayout): Promise<void> {
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
