import { describeJsonError } from '../../../run/json-error.ts'
import { lineError, pacedLines } from './text-file.ts'

/** An object of a file and its line number. */
interface NumberedObject {
  readonly line: number
  readonly object: Readonly<Record<string, unknown>>
}

/**
 * The objects of a file with one JSON object per line. Skips blank lines. Yields to other work.
 */
export async function* jsonObjects(text: Buffer): AsyncGenerator<NumberedObject> {
  for await (const { line, text: json } of pacedLines(text)) {
    if (json.trim() === '') continue
    const object = parseObject(json)
    if (typeof object === 'string') throw lineError(line, object)
    yield { line, object }
  }
}

/** Whether a line is a JSON object with all of these keys. */
export function hasKeys(line: string | undefined, keys: readonly string[]): boolean {
  const object = line === undefined ? undefined : objectIn(line)
  return object !== undefined && keys.every((key) => Object.hasOwn(object, key))
}

/** The object in a line; undefined when it is none. */
export function objectIn(line: string): NumberedObject['object'] | undefined {
  const object = parseObject(line)
  return typeof object === 'string' ? undefined : object
}

/** Returns the problem as text when it is none. */
function parseObject(json: string): NumberedObject['object'] | string {
  let value: unknown
  try {
    value = JSON.parse(json)
  } catch {
    return describeJsonError(json)
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'not a JSON object'
  return value as NumberedObject['object']
}
