import { longestSidePx } from './image-size.ts'

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
