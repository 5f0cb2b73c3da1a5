/** "Deutsche Bank AG" → DB; "apple" → AP; "" → ? */
export function initialsOf(name: string): string {
  const words = name.match(/[\p{L}\p{N}]+/gu) ?? []
  const [first, second] = words
  if (first === undefined) return '?'
  const letters = second === undefined ? [...first].slice(0, 2) : [[...first][0]!, [...second][0]!]
  return letters.join('').toUpperCase()
}

const HUES = 12

/** The hue of an id, in degrees. The same id has the same hue on every page and in every session. */
export function hueOf(id: string): number {
  let hash = 2_166_136_261
  for (const character of id) hash = Math.imul(hash ^ character.codePointAt(0)!, 16_777_619)
  return ((hash >>> 0) % HUES) * (360 / HUES)
}
