import { open } from 'node:fs/promises'

/** Longest metadata, at the end of a file (MaxMind DB format 2.0). */
const METADATA_BYTES_MAX = 131_072
const METADATA_MARKER = Buffer.from('\xab\xcd\xefMaxMind.com', 'latin1')
const KEY = Buffer.from('\x4bbuild_epoch', 'latin1')
const TYPE_UINT16 = 5
const TYPE_UINT32 = 6
const TYPE_UINT64 = 9

/** The build date of an MMDB, read from its end without verifying the file; undefined when it is missing. */
export async function buildDateOf(path: string): Promise<Date | undefined> {
  const end = await endOf(path)
  const marker = end.lastIndexOf(METADATA_MARKER)
  const key = marker < 0 ? -1 : end.indexOf(KEY, marker)
  const control = end[key + KEY.length]
  if (key < 0 || control === undefined) return undefined
  const isExtended = control >>> 5 === 0
  const type = isExtended ? end[key + KEY.length + 1]! + 7 : control >>> 5
  const size = control & 31
  const at = key + KEY.length + (isExtended ? 2 : 1)
  const isNumber = [TYPE_UINT16, TYPE_UINT32, TYPE_UINT64].includes(type)
  if (!isNumber || size === 0 || size > 6 || at + size > end.length) return undefined
  return new Date(end.readUIntBE(at, size) * 1_000)
}

async function endOf(path: string): Promise<Buffer> {
  const file = await open(path)
  try {
    const { size } = await file.stat()
    const length = Math.min(size, METADATA_BYTES_MAX)
    const { bytesRead, buffer } = await file.read(Buffer.alloc(length), 0, length, size - length)
    return buffer.subarray(0, bytesRead)
  } finally {
    await file.close()
  }
}
