const NAME_CHARS = 200
/** Control characters, invisible marks, line separators and lone surrogates. */
const MISLEADING = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu

/** A file name that is safe to store and show. Undefined when nothing is left of it. */
export function shownFileName(name: string): string | undefined {
  const chars = [...name.replace(MISLEADING, '').trim()]
  if (chars.length === 0) return undefined
  return chars.length > NAME_CHARS ? `${chars.slice(0, NAME_CHARS - 1).join('')}…` : chars.join('')
}
