import { closest, distance } from 'fastest-levenshtein'

/** A misspelt name differs from the right one in at most a third of its characters. */
const SHARE_MAX = 1 / 3

/** The known name that somebody probably meant, by Levenshtein distance; undefined: none is near. */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  if (known.length === 0) return undefined
  const found = closest(name, known)
  return distance(name, found) <= Math.max(1, found.length * SHARE_MAX) ? found : undefined
}

/** Says that a name is unknown, which one is near, and which there are. */
export function unknownName(name: string, known: readonly string[]): string {
  if (known.length === 0) return 'is unknown: no field is allowed here'
  const near = nearestName(name, known)
  return near === undefined
    ? `is unknown: allowed are ${known.join(', ')}`
    : `is unknown: did you mean ${near}? Allowed are ${known.join(', ')}`
}
