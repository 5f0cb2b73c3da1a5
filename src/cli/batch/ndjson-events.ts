import { InputError } from '../../core/run/errors.ts'
import { eachMember } from '../../ingest/json-slices.ts'
import type { BadRows } from './bad-rows.ts'
import { type KeyMap, type LineConverter, missingAddress, type ReadOptions } from './conversion.ts'
import type { BadLine } from './lines.ts'
import { type DateOrder, readTime } from './timestamps.ts'

const TIMESTAMP_KEY = '"timestamp"'
const FINE_TIMESTAMP = /"timestamp"\s*:\s*"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)"/

/**
 * Gives the keys of NDJSON events their names, and their timestamps the form that the API takes. All else stays as it is, to
 * the letter; a line that is no JSON object is left for the API to name.
 */
export class NdjsonConverter implements LineConverter {
  readonly #map: KeyMap
  readonly #dateOrder: DateOrder | undefined
  readonly #bad: BadRows
  #line = 0

  constructor({ map, dateOrder }: ReadOptions, bad: BadRows) {
    this.#map = map
    this.#dateOrder = dateOrder
    this.#bad = bad
  }

  push(line: string | BadLine, emit: (line: string) => void): void {
    this.#line++
    const event = typeof line === 'string' ? this.#convert(line) : line
    if (typeof event !== 'string') this.#bad.add(this.#line, event.problem)
    emit(typeof event === 'string' ? event : '')
  }

  end(): void {}

  #convert(line: string): string | BadLine {
    if (this.#map.size === 0 && hasFineTimestamp(line)) return line
    if (!isObject(line)) return line
    const parts: string[] = []
    const keys = new Set<string>()
    let problem: string | undefined
    eachMember(line, 0, (name, start, valueStart, valueEnd) => {
      const key = this.#map.get(name) ?? name
      if (keys.has(key) && this.#map.size > 0) problem = `has ${JSON.stringify(key)} twice, with what --map names`
      keys.add(key)
      let value = line.slice(valueStart, valueEnd)
      if (key === 'timestamp' && /^["\d-]/.test(value)) {
        const read = readTime(value.startsWith('"') ? (JSON.parse(value) as string) : value, this.#dateOrder)
        if ('problem' in read) problem = read.problem
        else value = JSON.stringify(read.time)
      }
      parts.push(key === name ? line.slice(start, valueStart) + value : `${JSON.stringify(key)}:${value}`)
    })
    return problem === undefined ? `{${parts.join(',')}}` : { problem }
  }
}

/** Without a look at the whole line; there may be a key of this name further inside. */
function hasFineTimestamp(line: string): boolean {
  const at = line.indexOf(TIMESTAMP_KEY)
  if (at < 0) return !line.includes('\\u')
  return FINE_TIMESTAMP.test(line) && line.indexOf(TIMESTAMP_KEY, at + 1) < 0
}

function isObject(line: string): boolean {
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
  } catch {
    return false
  }
}

/**
 * Looks whether the first lines have an address at all.
 * @param lines whole lines
 * @throws InputError with the keys that they have, when none has `ip`, or none what the map names
 */
export function demandAddress(lines: readonly string[], map: KeyMap): void {
  const names = new Set<string>()
  for (const line of lines) if (isObject(line)) eachMember(line, 0, (name) => names.add(name))
  if (names.size === 0) return
  const unknown = [...map.keys()].find((from) => !names.has(from))
  const has = `the first lines have ${[...names].join(', ')}`
  if (unknown !== undefined) throw new InputError(`--map names a key ${JSON.stringify(unknown)}; ${has}`)
  const keys = [...names].map((name) => map.get(name) ?? name)
  if (!keys.includes('ip')) throw new InputError(`no event has the key "ip"${missingAddress([...names])}`)
}
