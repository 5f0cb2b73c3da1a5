import { BATCH_LIMITS } from '../../../../../schemas/api/batch.ts'
import { InputError } from '../../../../run/errors.ts'
import { EVENT_KEYS, type KeyMap, missingAddress, type ReadOptions, shownNames, shownText } from './conversion.ts'

const { columnsMax, columnNameMaxChars, headerMaxChars } = BATCH_LIMITS

/**
 * Limits the header, because its names are repeated in the JSON of each row: a long header turns a small file into a large one.
 * @throws InputError
 */
export function assertHeaderSize(names: readonly string[]): void {
  if (names.length > columnsMax) {
    throw new InputError(`the CSV header has ${names.length} columns, more than ${columnsMax}: leave out some`)
  }
  const long = names.findIndex((name) => name.length > columnNameMaxChars)
  if (long >= 0) {
    const name = names[long]!
    throw new InputError(
      `column ${long + 1} of the CSV header, "${shownText(name)}", has a name of ${name.length} characters, more than ` +
        `${columnNameMaxChars}: shorten it`,
    )
  }
  const chars = names.reduce((sum, name) => sum + name.length + 1, 0)
  if (chars > headerMaxChars) {
    throw new InputError(`the CSV header has ${chars} characters, more than ${headerMaxChars}: shorten the names`)
  }
}

/** The keys of the columns; `''` for a column that is left out. */
export function keysOfColumns(names: readonly string[], map: KeyMap): string[] {
  const keys = new Map<string, string>()
  for (const [from, to] of [...map, ...EVENT_KEYS.map((key) => [key, key] as const)]) {
    const name = plainName(from)
    if (!keys.has(name)) keys.set(name, to)
  }
  return names.map((name) => keys.get(plainName(name.trim())) ?? name.trim())
}

/** How comments start in files that people and programs write before the header. */
const COMMENT = /^\s*(?:#|\/\/|--|%)/

/** Whether a header is a comment, by the name of its first column. */
export function isComment(name = ''): boolean {
  return COMMENT.test(name)
}

/** @param line of the header, from 1 @throws InputError when the columns do not fit events */
export function headerOf(names: readonly string[], line: number, { map, advice }: ReadOptions): readonly string[] {
  assertHeaderSize(names)
  const header = keysOfColumns(names, map)
  const columns = names.map((name) => name.trim()).filter((name) => name !== '')
  if (isComment(names[0]) && !header.includes('ip')) {
    const comment = `line ${line}, ${JSON.stringify(shownText(names.join()))}, is a comment`
    throw new InputError(`the CSV header has no column "ip": ${comment}. Delete the lines before the header`)
  }
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

/** Header names match keys in any case, and with spaces or hyphens in place of `_`. */
function plainName(name: string): string {
  return name.toLowerCase().replace(/[\s-]+/g, '_')
}
