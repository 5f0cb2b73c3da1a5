import { setImmediate as turn } from 'node:timers/promises'

/** What is converted in one go: some 12 ms of rows. */
const SLICE_BYTES = 65_536

/** Passes bytes on in pieces of which each lets everything else of the process have its turn. */
export async function* inSlices(source: AsyncIterable<Buffer>, sliceBytes = SLICE_BYTES): AsyncGenerator<Buffer> {
  for await (const bytes of source) {
    for (let at = 0; at < bytes.length; at += sliceBytes) {
      await turn()
      yield bytes.subarray(at, at + sliceBytes)
    }
  }
}
