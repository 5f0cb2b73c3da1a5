/* Small raster images. */

/** A blue square of one pixel. */
export const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==',
  'base64',
)
export const GIF = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64')
export const WEBP = Buffer.from('UklGRiQAAABXRUJQVlA4IBgAAAAwAQCdASoBAAEAAwA0JaQAA3AA/vuUAAA=', 'base64')
/** Its header. */
export const JPEG = Buffer.from('ffd8ffe000104a46494600010100000100010000ffc0000b080001000101011100ffd9', 'hex')
/** A directory of one image, which is `PNG`. */
export const ICO = icoOf(PNG)

function icoOf(png: Buffer): Buffer {
  const head = Buffer.from('0000010001000101000001002000', 'hex')
  const place = Buffer.alloc(8)
  place.writeUInt32LE(png.length, 0)
  place.writeUInt32LE(head.length + place.length, 4)
  return Buffer.concat([head, place, png])
}
