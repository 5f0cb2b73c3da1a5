const NAME_CHARS = 200
/** Controls, marks that turn text around or are not seen, and halves of characters. */
const MISLEADING = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu

/** The name of a file as it may be kept and shown; undefined: nothing is left of it. */
export function shownFileName(name: string): string | undefined {
  const chars = [...name.replace(MISLEADING, '').trim()]
  if (chars.length === 0) return undefined
  return chars.length > NAME_CHARS ? `${chars.slice(0, NAME_CHARS - 1).join('')}…` : chars.join('')
}
