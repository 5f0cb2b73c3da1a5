import { BATCH_LIMITS } from '../../../../../schemas/api/batch.ts'
import { InputError } from '../../../../run/errors.ts'
import { EVENT_KEYS, type KeyMap, missingAddress, type ReadOptions, shownNames, shownText } from './conversion.ts'

const { columnsMax, columnNameMaxChars, headerMaxChars } = BATCH_LIMITS

/**
 * Each row of CSV becomes JSON with the names of its columns, so a long header makes a small file large. The limits hold before
 * the first row is read.
 * @throws InputError when the header passes one
 */
export function assertHeaderSize(names: readonly string[]): void {
  if (names.length > columnsMax) {
    throw new InputError(`the CSV header has ${names.length} columns, and may have ${columnsMax}: leave out some`)
  }
  const long = names.findIndex((name) => name.length > columnNameMaxChars)
  if (long >= 0) {
    const name = names[long]!
    throw new InputError(
      `column ${long + 1} of the CSV header, "${shownText(name)}", has a name of ${name.length} characters, and may have ` +
        `${columnNameMaxChars}: shorten it`,
    )
  }
  const chars = names.reduce((sum, name) => sum + name.length + 1, 0)
  if (chars > headerMaxChars) {
    throw new InputError(`the CSV header has ${chars} characters, and may have ${headerMaxChars}: shorten the names`)
  }
}

/** The keys that columns stand for; `''` for those that are left out. */
export function keysOfColumns(names: readonly string[], map: KeyMap): string[] {
  const keys = new Map<string, string>()
  for (const [from, to] of [...map, ...EVENT_KEYS.map((key) => [key, key] as const)]) {
    const name = plainName(from)
    if (!keys.has(name)) keys.set(name, to)
  }
  return names.map((name) => keys.get(plainName(name.trim())) ?? name.trim())
}

/** @throws InputError when they are not those of events */
export function headerOf(names: readonly string[], { map, advice }: ReadOptions): readonly string[] {
  assertHeaderSize(names)
  const header = keysOfColumns(names, map)
  const columns = names.map((name) => name.trim()).filter((name) => name !== '')
  const known = new Set(columns.map(plainName))
  const unknown = [...map.keys()].find((from) => !known.has(plainName(from)))
  if (unknown !== undefined) {
    throw new InputError(
      `${advice.map} names a column ${JSON.stringify(shownText(unknown))}; the CSV header has ${shownNames(columns).join(', ')}`,
    )
  }
  const seen = new Set<string>()
  const repeated = header.find((name) => {
    const isRepeated = name !== '' && seen.has(name)
    seen.add(name)
    return isRepeated
  })
  if (repeated !== undefined) throw new InputError(`the CSV header names ${JSON.stringify(shownText(repeated))} twice`)
  if (!seen.has('ip')) throw new InputError(`the CSV header has no column "ip"${missingAddress(columns, advice)}`)
  return header
}

/** Keys of events are found whatever the case of the header, and whatever stands for `_` in it. */
function plainName(name: string): string {
  return name.toLowerCase().replace(/[\s-]+/g, '_')
}
