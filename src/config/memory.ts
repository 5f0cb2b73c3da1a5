import { totalmem } from 'node:os'

/** Memory that this machine, or the container around it, has: bytes. */
export function availableMemory(): number {
  const constrained = process.constrainedMemory()
  // Without a limit the kernel reports none (0) or one beyond anything real.
  return constrained > 0 && constrained < totalmem() ? constrained : totalmem()
}
