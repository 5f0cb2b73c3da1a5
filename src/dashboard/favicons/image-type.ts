const RIFF_TYPE_AT = 8
/** An ICO has a directory of at least one image after its header. */
const ICO_BYTES_MIN = 22

/** Larger than any icon. An image of this size takes 16 MB of a browser's memory. */
const SIDE_PX_MAX = 2_048

/**
 * The media type of a raster image of a sane size; undefined for everything else. SVG is not among them: it can have scripts and
 * links.
 */
export function imageTypeOf(bytes: Buffer): string | undefined {
  const type = typeByBeginning(bytes)
  if (type === undefined) return undefined
  const sidePx = longestSidePx(bytes, type)
  return sidePx !== undefined && sidePx <= SIDE_PX_MAX ? type : undefined
}

function typeByBeginning(bytes: Buffer): string | undefined {
  const beginsWith = (text: string, at = 0) => bytes.toString('latin1', at, at + text.length) === text
  if (beginsWith('\x89PNG\r\n\x1a\n')) return 'image/png'
  if (beginsWith('\0\0\x01\0') && bytes.length >= ICO_BYTES_MIN && bytes.readUInt16LE(4) > 0) return 'image/x-icon'
  if (beginsWith('\xff\xd8\xff')) return 'image/jpeg'
  if (beginsWith('GIF87a') || beginsWith('GIF89a')) return 'image/gif'
  if (beginsWith('RIFF') && beginsWith('WEBP', RIFF_TYPE_AT)) return 'image/webp'
  return undefined
}

const GIF_EXTENSION = 0x21
const GIF_IMAGE = 0x2c
const ICO_ENTRY_BYTES = 16
const PNG_BEGIN = Buffer.from('89504e470d0a1a0a', 'hex')

/**
 * The longest side, in pixels, that a raster image claims to have; undefined when it ends before it says so. A browser takes memory for
 * all pixels that an image claims: one of 100 bytes can claim gigabytes.
 * @param type of `imageTypeOf`
 */
function longestSidePx(bytes: Buffer, type: string): number | undefined {
  try {
    return Math.max(...SIDES[type]!(bytes))
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}

/** By media type. Throws RangeError at the end of the bytes. */
const SIDES: Readonly<Record<string, (bytes: Buffer) => number[]>> = {
  'image/png': (bytes) => [bytes.readUInt32BE(16), bytes.readUInt32BE(20)],
  'image/gif': gifSides,
  'image/jpeg': jpegSides,
  'image/webp': webpSides,
  'image/x-icon': icoSides,
}

/** The screen, and the first picture, which may be larger. */
function gifSides(bytes: Buffer): number[] {
  const flags = bytes.readUInt8(10)
  let at = 13 + (flags & 0x80 ? 3 * 2 ** ((flags & 7) + 1) : 0)
  while (bytes.readUInt8(at) === GIF_EXTENSION) {
    at += 2
    while (bytes.readUInt8(at) > 0) at += 1 + bytes.readUInt8(at)
    at++
  }
  const screen = [bytes.readUInt16LE(6), bytes.readUInt16LE(8)]
  if (bytes.readUInt8(at) !== GIF_IMAGE) return screen
  const side = (offset: number) => bytes.readUInt16LE(at + 1 + offset) + bytes.readUInt16LE(at + 5 + offset)
  return [...screen, side(0), side(2)]
}

/** Those of all frame headers that a decoder may find, also those of small pictures in metadata. */
function jpegSides(bytes: Buffer): number[] {
  const sides: number[] = []
  for (let at = bytes.indexOf(0xff); at >= 0; at = bytes.indexOf(0xff, at + 1)) {
    const marker = bytes[at + 1] ?? 0
    // SOF0 to SOF15, without DHT, JPG and DAC.
    const isFrame = marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc
    if (isFrame && at + 9 <= bytes.length) sides.push(bytes.readUInt16BE(at + 5), bytes.readUInt16BE(at + 7))
  }
  if (sides.length === 0) throw new RangeError('no frame header')
  return sides
}

function webpSides(bytes: Buffer): number[] {
  const form = bytes.toString('latin1', 12, 16)
  if (form === 'VP8X') return [bytes.readUIntLE(24, 3) + 1, bytes.readUIntLE(27, 3) + 1]
  if (form === 'VP8L') {
    const bits = bytes.readUInt32LE(21)
    return [(bits & 0x3fff) + 1, ((bits >>> 14) & 0x3fff) + 1]
  }
  return [bytes.readUInt16LE(26) & 0x3fff, bytes.readUInt16LE(28) & 0x3fff]
}

/** Those of all pictures of the directory: each is a PNG, or a BMP without its file header. */
function icoSides(bytes: Buffer): number[] {
  const sides = Array.from({ length: bytes.readUInt16LE(4) }, (_, i) => {
    const at = bytes.readUInt32LE(6 + ICO_ENTRY_BYTES * i + 12)
    const isPng = bytes.subarray(at, at + PNG_BEGIN.length).equals(PNG_BEGIN)
    if (isPng) return [bytes.readUInt32BE(at + 16), bytes.readUInt32BE(at + 20)]
    // A BMP's height may be negative.
    return [Math.abs(bytes.readInt32LE(at + 4)), Math.abs(bytes.readInt32LE(at + 8)) / 2]
  })
  return sides.flat()
}
