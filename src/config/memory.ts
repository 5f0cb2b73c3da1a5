import { totalmem } from 'node:os'

/** Memory of this machine, or of the container around it, in bytes. */
export function availableMemory(): number {
  const constrained = process.constrainedMemory()
  // Without a limit the kernel reports 0, or a number above the physical memory.
  return constrained > 0 && constrained < totalmem() ? constrained : totalmem()
}
