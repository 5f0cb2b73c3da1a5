import { open } from 'node:fs/promises'
import { headOfRangeFile, RANGE_HEAD_BYTES_MAX, type RangeFileHead } from '../../providers/ranges/range-file.ts'

/** What a range file says of itself, without reading it whole; undefined when it is missing, cut off or something else. */
export async function readRangeHead(path: string): Promise<RangeFileHead | undefined> {
  const file = await open(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  if (file === undefined) return undefined
  try {
    const { size } = await file.stat()
    const { buffer, bytesRead } = await file.read(Buffer.alloc(RANGE_HEAD_BYTES_MAX), 0, RANGE_HEAD_BYTES_MAX, 0)
    return headOfRangeFile(buffer.subarray(0, bytesRead), size)
  } finally {
    await file.close()
  }
}
