import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** Bytes in live buffers of this process, after a collection. */
export function bufferBytes(): number {
  collect()
  return process.memoryUsage().arrayBuffers
}

/** Bytes of live objects on the heap of this process, after a collection. */
export function heapBytes(): number {
  collect()
  return process.memoryUsage().heapUsed
}

function collect(): void {
  setFlagsFromString('--expose-gc')
  const collectGarbage = runInNewContext('gc') as () => void
  collectGarbage()
  collectGarbage()
}
