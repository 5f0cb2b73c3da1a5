import { EVENT_VALUES_MAX } from '../../../../schemas/api/event.ts'
import { HttpError } from '../../../http/engine/http-error.ts'
import { notJson, parseJson } from '../../../http/route/parse-json.ts'
import { schemaError } from '../../../http/route/schema.ts'
import { cutText } from '../../../run/cut-text.ts'
import { CLOSE_BRACE, CLOSE_BRACKET, COLON, COMMA, OPEN_BRACE, OPEN_BRACKET, QUOTE } from '../../../run/json-codes.ts'
import { findJsonError } from '../../../run/json-error.ts'
import type { SlicedWork } from '../../../run/slices.ts'
import { endOfString, newScan, scanOn, skipSpace, tooDeep, type ValueScan } from '../../event/json-depth.ts'
import { RefusedEvent } from '../live/translated.ts'
import { parseExactly } from './exact-json.ts'

/** Levels of a payload. An event may have fewer, and is rejected by itself then, so that the others are stored. */
export const PAYLOAD_LEVELS_MAX = 256
/**
 * Values of a payload: scalars, objects and arrays. Those of the libraries have fewer than 100,000 in 4 MB.
 * More are answered 413.
 */
const PAYLOAD_VALUES_MAX = 400_000
/** Characters of an event, and of a field beside the events. An event with more of them, or of values, is rejected by itself. */
const PIECE_CHARS_MAX = 1_048_576
/** A payload up to this length is parsed at once: it is too short to have too many values. */
const WHOLE_MAX_CHARS = 16_384
/** Characters that are scanned or parsed between two yields. */
const YIELD_CHARS = 16_384

const TOO_MANY = `has more than ${EVENT_VALUES_MAX} values or ${PIECE_CHARS_MAX} characters`
const TOO_LARGE_EVENT = new RefusedEvent([{ path: '', message: TOO_MANY }])

/** As programs write numbers for which JSON has no form. */
const NO_NUMBER = /^-?(NaN|Infinity)/

/** The number that an event has and JSON lacks; undefined: it is broken otherwise. */
function noNumberIn(json: string): string | undefined {
  const at = findJsonError(json)
  // The sign may be taken for a number that begins.
  return NO_NUMBER.exec(json.slice(at, at + 9))?.[1]
}

/** Payloads that follow each other in one body, as lines or with nothing between them. */
export class SeveralPayloads {
  readonly all: readonly unknown[]

  constructor(all: readonly unknown[]) {
    this.all = all
  }
}

/**
 * Parses a payload in slices: a few events at a time. `JSON.parse` of a whole payload would hold the event loop for as long as 4 MB of
 * the worst JSON take, which is a second.
 * @param lists names of the members that hold events; a payload that is an array holds nothing else
 * @returns the payload, or `SeveralPayloads`; an event that is over the limits, or has `NaN` or `Infinity`, is a `RefusedEvent`
 * @throws HttpError 400 when it is no JSON, 413 and 422 when it is over the limits of a payload
 */
export function* parsePayload(text: string, lists: readonly string[]): SlicedWork<unknown> {
  const first = text[skipSpace(text, 0)]
  const isShort = text.length <= WHOLE_MAX_CHARS
  if (first !== '{' && first !== '[') {
    if (isShort) return parseWhole(text)
    throw notJson(text)
  }
  try {
    return isShort ? parseWhole(text) : yield* new PayloadReader(text, lists).read()
  } catch (error) {
    if (!isNotJson(error)) throw error
  }
  return yield* new PayloadReader(text, lists).readBroken()
}

function parseWhole(text: string): unknown {
  return parseExactly(text, (json) => parseJson(json, undefined, PAYLOAD_LEVELS_MAX))
}

function isNotJson(error: unknown): boolean {
  return error instanceof HttpError && error.status === 400
}

class PayloadReader {
  readonly #text: string
  readonly #lists: readonly string[]
  #at = 0
  #values = 0
  /** Whether events that are no JSON are refused by themselves. */
  #refuses = false

  constructor(text: string, lists: readonly string[]) {
    this.#text = text
    this.#lists = lists
  }

  *read(): SlicedWork<unknown> {
    this.#skipSpace()
    const isList = this.#code() === OPEN_BRACKET
    const value = isList ? yield* this.#events(1) : yield* this.#members()
    this.#skipSpace()
    if (this.#at < this.#text.length) throw this.#notJson()
    return value
  }

  /** Reads a payload that is no JSON as a whole: one with broken events, or several that follow each other. */
  *readBroken(): SlicedWork<unknown> {
    this.#skipSpace()
    const end = yield* this.#endOfFirst()
    const next = this.#text.charCodeAt(end)
    const isOne = next !== OPEN_BRACE && next !== OPEN_BRACKET
    this.#refuses = true
    return isOne ? yield* this.read() : new SeveralPayloads(yield* this.#payloads())
  }

  /** The position of what follows the first payload. */
  *#endOfFirst(): SlicedWork<number> {
    const scan = newScan(this.#at)
    while (!scanOn(this.#text, scan, scan.at + YIELD_CHARS)) {
      if (scan.at >= this.#text.length) return scan.at
      yield
    }
    return skipSpace(this.#text, scan.at)
  }

  *#payloads(): SlicedWork<unknown[]> {
    const payloads: unknown[] = []
    let parsedUntil = this.#at
    while (this.#at < this.#text.length) {
      const scan = newScan(this.#at)
      while (!this.#scanOn(scan)) yield
      const isTooLarge = this.#isTooLarge(scan, 0)
      payloads.push(isTooLarge ? TOO_LARGE_EVENT : this.#parseEvent(scan.start, scan.at))
      this.#skipSpace()
      if (this.#at - parsedUntil < YIELD_CHARS) continue
      parsedUntil = this.#at
      yield
    }
    return payloads
  }

  #code(): number {
    return this.#text.charCodeAt(this.#at)
  }

  *#members(): SlicedWork<object> {
    const members: Record<string, unknown> = {}
    if (this.#opens(CLOSE_BRACE)) return members
    do {
      this.#skipSpace()
      const key = this.#key()
      this.#skipSpace()
      if (this.#code() !== COLON) throw this.#notJson()
      this.#at++
      this.#skipSpace()
      const isList = this.#code() === OPEN_BRACKET && this.#lists.includes(key)
      const value = isList ? yield* this.#events(2) : yield* this.#field(key)
      if (key === '__proto__')
        Object.defineProperty(members, key, { value, enumerable: true, configurable: true, writable: true })
      else members[key] = value
    } while (this.#continues(CLOSE_BRACE))
    return members
  }

  *#field(name: string): SlicedWork<unknown> {
    const scan = newScan(this.#at)
    while (!this.#scanOn(scan)) yield
    if (this.#isTooLarge(scan, 1)) {
      throw new HttpError('too_many_values', `the field ${JSON.stringify(cutText(name, 40))} ${TOO_MANY}`)
    }
    return this.#parse(this.#text.slice(scan.start, scan.at))
  }

  /** Parses events that follow each other together, because a call for each takes longer. @param level of its entries */
  *#events(level: number): SlicedWork<unknown[]> {
    const events: unknown[] = []
    if (this.#opens(CLOSE_BRACKET)) return events
    let from = this.#at
    let end = from
    let continues = true
    do {
      this.#skipSpace()
      const scan = newScan(this.#at)
      while (!this.#scanOn(scan)) yield
      const isTooLarge = this.#isTooLarge(scan, level)
      if (!isTooLarge) end = this.#at
      continues = this.#continues(CLOSE_BRACKET)
      const isAlone = isTooLarge || this.#refuses
      if (!isAlone && continues && end - from < YIELD_CHARS) continue
      if (this.#refuses && !isTooLarge) events.push(this.#parseEvent(scan.start, scan.at))
      else if (end > from) events.push(...(this.#parse(`[${this.#text.slice(from, end)}]`) as unknown[]))
      if (isTooLarge) events.push(TOO_LARGE_EVENT)
      from = this.#at
      end = from
      yield
    } while (continues)
    return events
  }

  /** The event between two positions. One with `NaN` or `Infinity` is refused by itself; another one that is no JSON breaks the payload. */
  #parseEvent(start: number, end: number): unknown {
    const json = this.#text.slice(start, end)
    try {
      return parseExactly(json)
    } catch {
      const word = this.#text.charCodeAt(start) === OPEN_BRACE ? noNumberIn(json) : undefined
      if (word === undefined) throw this.#notJson()
      return new RefusedEvent([{ path: '', message: `is not JSON, which has no ${word}` }])
    }
  }

  /** Passes the bracket that opens a container. Returns whether the container is empty, and is passed then. */
  #opens(closing: number): boolean {
    this.#at++
    this.#skipSpace()
    if (this.#code() !== closing) return false
    this.#at++
    return true
  }

  /** Passes the comma or the closing bracket after an entry. Returns whether another entry follows. */
  #continues(closing: number): boolean {
    this.#skipSpace()
    const code = this.#code()
    if (code !== COMMA && code !== closing) throw this.#notJson()
    this.#at++
    return code === COMMA
  }

  #key(): string {
    const end = this.#code() === QUOTE ? endOfString(this.#text, this.#at) : -1
    if (end < 0) throw this.#notJson()
    const key = this.#parse(this.#text.slice(this.#at, end))
    this.#at = end
    return key as string
  }

  /** Continues the scan of a value. Returns whether it is complete. */
  #scanOn(scan: ValueScan): boolean {
    if (scanOn(this.#text, scan, scan.at + YIELD_CHARS)) return true
    if (scan.at >= this.#text.length) throw this.#notJson()
    this.#count(scan.values)
    return false
  }

  /** Passes a value that is scanned. @param level of the containers that it is in */
  #isTooLarge({ start, at, deepest, values }: ValueScan, level: number): boolean {
    this.#at = at
    this.#values += values
    this.#count(0)
    if (level + deepest > PAYLOAD_LEVELS_MAX) throw schemaError([{ path: '', message: tooDeep(PAYLOAD_LEVELS_MAX) }])
    if (at === start) throw this.#notJson()
    return at - start > PIECE_CHARS_MAX || values > EVENT_VALUES_MAX
  }

  #parse(json: string): unknown {
    try {
      return parseExactly(json)
    } catch {
      throw this.#notJson()
    }
  }

  /** @param more values of a piece that is not complete */
  #count(more: number): void {
    if (this.#values + more <= PAYLOAD_VALUES_MAX) return
    throw new HttpError('too_many_values', `the body has more than ${PAYLOAD_VALUES_MAX} values`)
  }

  #skipSpace(): void {
    this.#at = skipSpace(this.#text, this.#at)
  }

  #notJson(): HttpError {
    return notJson(this.#text)
  }
}
