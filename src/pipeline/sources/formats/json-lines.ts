import { isTooDeep, TOO_DEEP } from '../../event/json-depth.ts'
import { parseExactly } from '../tools/exact-json.ts'
import { type JsonObject, objectOf } from '../tools/tool-event.ts'
import type { LineReader, LineResult } from './line-format.ts'

/** Makes a reader of lines that are JSON objects. */
export function jsonReader(read: (record: JsonObject) => LineResult): LineReader {
  return {
    header: undefined,
    read(line) {
      if (isTooDeep(line)) return { rejected: TOO_DEEP }
      const record = jsonObject(line)
      return record === undefined ? { rejected: 'is not a JSON object' } : read(record)
    },
  }
}

/** Several formats look at a line before one reads it. */
let lastLine = { text: '', record: undefined as JsonObject | undefined }

/** The object must not be changed. Undefined when the line is not a JSON object. */
export function jsonObject(line: string): JsonObject | undefined {
  if (!line.trimStart().startsWith('{')) return undefined
  if (lastLine.text !== line) lastLine = { text: line, record: parsedObject(line) }
  return lastLine.record
}

function parsedObject(line: string): JsonObject | undefined {
  try {
    return objectOf(parseExactly(line))
  } catch {
    return undefined
  }
}

/** Whether at least half of the lines are JSON objects that match. */
export function mostObjects(lines: readonly string[], matches: (record: JsonObject) => boolean): boolean {
  const found = lines.filter((line) => {
    const record = isTooDeep(line) ? undefined : jsonObject(line)
    return record !== undefined && matches(record)
  })
  return lines.length > 0 && found.length * 2 >= lines.length
}
