/** A range of media types in an `accept` header (RFC 9110 section 12.5.1). */
interface Range {
  /** In lower case. */
  readonly type: string
  /** 0 to 1; 0: not wanted. */
  readonly quality: number
}

/** The quality that a client gives to a media type, 0 to 1: that of the most specific range. A client without ranges takes any. */
export function qualityOf(type: string, accept: string): number {
  const ranges = rangesOf(accept)
  if (ranges.length === 0) return 1
  const wider = [type, `${type.split('/', 1)[0]}/*`, '*/*']
  const found = wider.map((name) => ranges.find((range) => range.type === name)).find((range) => range !== undefined)
  return found?.quality ?? 0
}

/** Whether a client names a media type itself, and does not exclude it with `q=0`. */
export function isNamed(type: string, accept: string): boolean {
  return rangesOf(accept).some((range) => range.type === type && range.quality > 0)
}

function rangesOf(accept: string): Range[] {
  return accept.split(',').flatMap((text) => {
    const [type = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase())
    const quality = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2)
    const value = quality === undefined ? 1 : Number(quality)
    return type === '' ? [] : [{ type, quality: value >= 0 && value <= 1 ? value : 1 }]
  })
}
