import { BATCH_LIMITS } from '../../../../../schemas/api/batch.ts'
import { InputError } from '../../../../run/errors.ts'
import { isTooDeep } from '../../../event/json-depth.ts'
import { eachMember } from '../../live/json-slices.ts'
import {
  type BadRow,
  badTime,
  type Emit,
  integerIn,
  type LineConverter,
  missingAddress,
  type ReadOptions,
  shownNames,
  shownText,
  tooLongRow,
} from './conversion.ts'
import type { BadLine } from './lines.ts'
import { readTime } from './timestamps.ts'

const TIMESTAMP_KEY = '"timestamp"'
/** A session as ClickHouse writes it: NULL, or an integer of 64 bits as text. */
const OTHER_SESSION = /"session_id"\s*:\s*(?:"|null)/
const VALID_TIMESTAMP = /"timestamp"\s*:\s*"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)"/

/**
 * Renames the keys of NDJSON events, and gives timestamps and sessions the form that the API takes. Leaves everything else exactly as it is.
 * A line that is not a JSON object also stays, so that the API reports it.
 */
export class NdjsonConverter implements LineConverter {
  readonly #options: ReadOptions
  #line = 0

  constructor(options: ReadOptions) {
    this.#options = options
  }

  push(line: string | BadLine, emit: Emit): void {
    this.#line++
    if (typeof line === 'string') emit(this.#convert(line))
    else emit({ line: this.#line, reason: line.problem, detail: line.problem })
  }

  end(): void {}

  #convert(line: string): string | BadRow {
    const { map, dateOrder, advice } = this.#options
    if (map.size === 0 && hasValidTimestamp(line) && !OTHER_SESSION.test(line)) return line
    if (!isObject(line)) return line
    const parts: string[] = []
    const keys = new Set<string>()
    let bad: BadRow | undefined
    let chars = 0
    eachMember(line, 0, (name, start, valueStart, valueEnd) => {
      const key = map.get(name) ?? name
      if ((key === '' && name !== '') || bad !== undefined) return
      if (keys.has(key) && map.size > 0) {
        const reason = `has ${JSON.stringify(shownText(key))} twice after renaming by ${advice.map}`
        bad = { line: this.#line, reason, detail: reason }
      }
      keys.add(key)
      let value = line.slice(valueStart, valueEnd)
      if (key === 'timestamp' && /^["\d-]/.test(value)) {
        const text = value.startsWith('"') ? (JSON.parse(value) as string) : value
        const read = readTime(text, dateOrder)
        if ('problem' in read) bad = badTime(this.#line, text, read.problem, advice)
        else value = JSON.stringify(read.time)
      }
      if (key === 'session_id' && value === 'null') return
      if (key === 'session_id' && value.startsWith('"')) value = integerIn(JSON.parse(value) as string) ?? value
      const part = key === name ? line.slice(start, valueStart) + value : `${JSON.stringify(key)}:${value}`
      chars += part.length + 1
      if (chars > BATCH_LIMITS.lineMaxBytes) bad ??= tooLongRow(this.#line)
      parts.push(part)
    })
    return bad ?? `{${parts.join()}}`
  }
}

/** A cheap check without parsing. May be false for a valid line, for example when a nested object has the key too. */
function hasValidTimestamp(line: string): boolean {
  const at = line.indexOf(TIMESTAMP_KEY)
  if (at < 0) return !line.includes('\\u')
  return VALID_TIMESTAMP.test(line) && line.indexOf(TIMESTAMP_KEY, at + 1) < 0
}

/** False for an object that is nested too deep: the API rejects it with a reason. */
function isObject(line: string): boolean {
  if (isTooDeep(line)) return false
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
  } catch {
    return false
  }
}

/** Visits the members of a line with their values as text. @returns false when the line is not a JSON object */
export function eachMemberOf(line: string, visit: (name: string, value: string) => void): boolean {
  if (!isObject(line)) return false
  eachMember(line, 0, (name, _start, valueStart, valueEnd) => visit(name, line.slice(valueStart, valueEnd)))
  return true
}

/**
 * Checks that the first lines have an address.
 * @param lines whole lines
 * @throws InputError with the existing keys, when no line has `ip` or a key of the map
 */
export function assertAddress(lines: readonly string[], { map, advice }: ReadOptions): void {
  const known = new Set<string>()
  for (const line of lines) eachMemberOf(line, (name) => known.add(name))
  if (known.size === 0) return
  const names = [...known]
  const unknown = [...map.keys()].find((from) => !known.has(from))
  const has = `the first lines have ${shownNames(names).join(', ')}`
  if (unknown !== undefined)
    throw new InputError(`${advice.map} names a key ${JSON.stringify(shownText(unknown))}; ${has}`)
  const keys = names.map((name) => map.get(name) ?? name)
  if (!keys.includes('ip')) throw new InputError(`no event has the key "ip"${missingAddress(names, advice)}`)
}
