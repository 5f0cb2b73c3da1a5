import { isTooDeep } from '../../event/json-depth.ts'

/** This many characters are enough to tell the shape of a text. */
const START_CHARS = 1_024
const ARRAY = /^\s*\[\s*\{/
const REQUEST = /^\s*\{\s*"events"\s*:\s*\[/

/**
 * Recognises JSON that is meant for another endpoint, and says how to convert it. Undefined: NDJSON, perhaps with bad lines.
 * @param start of the text
 * @param isEnough true: decide now. False: may return `undecided` until the first line is complete.
 */
export function otherShapeOf(start: string, isEnough: boolean): string | 'undecided' | undefined {
  const text = start.startsWith('\ufeff') ? start.slice(1) : start
  const head = text.slice(0, START_CHARS)
  if (!isEnough && text.length < START_CHARS) return 'undecided'
  if (ARRAY.test(head)) return `one JSON array: it must have one event per line, as jq -c '.[]' prints them`
  if (!REQUEST.test(head)) return undefined
  // An event may have a key "events" too; it then also has an address.
  const first = text.trimStart()
  const end = first.indexOf('\n')
  if (end < 0 && !isEnough) return 'undecided'
  if (hasAddress(end < 0 ? first : first.slice(0, end))) return undefined
  return `a request for /v1/ingest: it must have one event per line, as jq -c '.events[]' prints them`
}

function hasAddress(line: string): boolean {
  if (isTooDeep(line)) return false
  try {
    return Object.hasOwn(Object(JSON.parse(line)), 'ip')
  } catch {
    return false
  }
}
