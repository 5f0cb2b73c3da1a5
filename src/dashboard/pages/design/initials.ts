/** Many names begin with these words or contain them, so their letters tell nothing apart. */
const SMALL_WORDS: ReadonlySet<string> = new Set(['of', 'the', 'and', 'for', 'de', 'des', 'di', 'der', 'von'])

/** First letters of the first and the last word: "University of North Texas" → UT; "apple" → AP; "" → ? */
export function initialsOf(name: string): string {
  const all = name.match(/[\p{L}\p{N}]+/gu) ?? []
  const telling = all.filter((word) => !SMALL_WORDS.has(word.toLowerCase()))
  const words = telling.length === 0 ? all : telling
  const [first, last] = [words[0], words.at(-1)!]
  if (first === undefined) return '?'
  const letters = words.length === 1 ? [...first].slice(0, 2) : [[...first][0]!, [...last][0]!]
  return letters.join('').toUpperCase()
}

const HUES = 12

/** The hue of an id, in degrees. The same id has the same hue on every page and in every session. */
export function hueOf(id: string): number {
  let hash = 2_166_136_261
  for (const character of id) hash = Math.imul(hash ^ character.codePointAt(0)!, 16_777_619)
  return ((hash >>> 0) % HUES) * (360 / HUES)
}
