import { BATCH_LIMITS } from '../../../../schemas/api/batch.ts'
import { HttpError } from '../../../http/engine/http-error.ts'
import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  LINE_FEED,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  RETURN,
  SPACE,
  TAB,
} from '../../../run/json-codes.ts'

/** Replaces a value that is longer than a line of an upload may be. */
export const TOO_LONG_VALUE = Symbol('too long')
/** Bytes of a value, which need not be JSON: a line, or an element of an array. */
export type BodyValue = Buffer | typeof TOO_LONG_VALUE

/** A value that arrives byte by byte must not take many times its size. */
const PARTS_MAX = 4_096
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf])

/**
 * Cuts a body into one value per event: the lines of NDJSON, the elements of a JSON array, or objects one after the other, which may have
 * line breaks and nothing between them. Holds one value, so a body of any size needs little memory. A broken line or element is passed on
 * like any other; only the separators between elements must be right.
 */
export class JsonValues {
  readonly #wrappedIn: string | undefined
  #mode: 'start' | 'lines' | 'object' | 'after object' | 'array' | 'wrapper' = 'start'
  readonly #held: HeldBytes
  /** Whole lines whose values are not passed on yet. */
  readonly #lines: BodyValue[] = []
  readonly #scan = new Nesting()
  #isBodyStart = true
  #isAfterArray = false
  /** Whether every object so far had an end. After one without, objects end with their line: looking for its end again would read lines twice. */
  #hasWholeObjects = true
  /** Whether an element of the array has begun. */
  #inElement = false
  /** Whether a comma must come before the next element. */
  #needsComma = false
  #isWrapped = false
  readonly #wrapper = new WrapperScan()

  /**
   * @param wrappedIn the body is one object, and its values are the array of this key
   * @param valueMaxBytes longer values are passed on as `TOO_LONG_VALUE`
   */
  constructor(wrappedIn?: string, valueMaxBytes: number = BATCH_LIMITS.lineMaxBytes) {
    this.#wrappedIn = wrappedIn
    this.#held = new HeldBytes(valueMaxBytes)
  }

  /**
   * The values that end in these bytes, one after the other: a line may have 500,000. Read all of them before the next bytes. The bytes must
   * not change while they are used.
   * @throws HttpError 400 when the array is broken
   */
  *push(bytes: Buffer): Generator<BodyValue> {
    const values: BodyValue[] = []
    for (let at = 0; at < bytes.length; ) {
      at = this.#read(bytes, at, values)
      yield* values
      values.length = 0
      yield* this.#valuesOfLines()
    }
  }

  *#valuesOfLines(): Generator<BodyValue> {
    for (const line of this.#lines) yield* valuesOf(line)
    this.#lines.length = 0
  }

  /** The last value, if the body ends with one. @throws HttpError 400 when an array has no end */
  *end(): Generator<BodyValue> {
    if (this.#mode === 'array' || this.#mode === 'wrapper') {
      throw new HttpError('malformed_json', 'the JSON of the body has no end: it was cut off')
    }
    if (this.#mode === 'object') this.#readHeld()
    this.#endLine()
    yield* this.#valuesOfLines()
  }

  #endLine(): void {
    const line = this.#held.take()
    if (line !== undefined && !isBlank(line)) this.#lines.push(line)
  }

  #read(bytes: Buffer, at: number, values: BodyValue[]): number {
    switch (this.#mode) {
      case 'start':
        return this.#start(bytes, at)
      case 'lines':
        return this.#line(bytes, at)
      case 'object':
        return this.#object(bytes, at)
      case 'after object':
        return this.#afterObject(bytes, at, values)
      case 'array':
        return this.#array(bytes, at, values)
      case 'wrapper':
        return this.#wrapping(bytes, at)
    }
  }

  #start(bytes: Buffer, from: number): number {
    let at = from
    while (at < bytes.length && (isSpace(bytes[at]!) || (this.#isBodyStart && BYTE_ORDER_MARK.includes(bytes[at]!))))
      at++
    if (at === bytes.length) return at
    this.#mode = this.#modeOf(bytes[at]!)
    this.#isBodyStart = false
    this.#isAfterArray = false
    this.#needsComma = false
    return this.#mode === 'array' ? at + 1 : at
  }

  /** Later lines that begin like an array are broken lines: an array among them could swallow the rest of the body. */
  #modeOf(first: number): 'wrapper' | 'object' | 'array' | 'lines' {
    if (first === OPEN_BRACE && this.#wrappedIn !== undefined) return 'wrapper'
    if (first === OPEN_BRACE && this.#hasWholeObjects) return 'object'
    return (this.#isBodyStart || this.#isAfterArray) && first === OPEN_BRACKET ? 'array' : 'lines'
  }

  #line(bytes: Buffer, from: number): number {
    const feed = bytes.indexOf(LINE_FEED, from)
    this.#held.add(bytes.subarray(from, feed < 0 ? bytes.length : feed))
    if (feed < 0) return bytes.length
    this.#endLine()
    this.#mode = 'start'
    return feed + 1
  }

  /** An object may have line breaks. One that does not end is a broken line, and other lines follow it. */
  #object(bytes: Buffer, from: number): number {
    const end = this.#scan.endOfValue(bytes, from)
    const until = end < 0 ? bytes.length : end
    if (end === BROKEN || !this.#held.hasRoom(until - from)) {
      this.#readHeld()
      return from
    }
    this.#held.add(bytes.subarray(from, until))
    if (end >= 0) this.#mode = 'after object'
    return until
  }

  /** After an object, its line has another object or ends. Anything else makes it a broken line. */
  #afterObject(bytes: Buffer, from: number, values: BodyValue[]): number {
    const at = skipBlanks(bytes, from)
    if (at === bytes.length) return at
    const isNext = bytes[at] === LINE_FEED || bytes[at] === OPEN_BRACE
    if (isNext) values.push(this.#held.take()!)
    this.#mode = isNext ? 'start' : 'lines'
    return at
  }

  /** Reads the held bytes as lines. The last one is not complete, and stays held. */
  #readHeld(): void {
    const held = this.#held.take()
    this.#mode = 'lines'
    this.#hasWholeObjects = false
    if (!(held instanceof Buffer)) return
    for (let at = 0; at < held.length; ) {
      this.#mode = 'lines'
      at = this.#line(held, at)
    }
  }

  #array(bytes: Buffer, from: number, values: BodyValue[]): number {
    if (this.#inElement) return this.#element(bytes, from, values)
    let at = from
    while (at < bytes.length && isSpace(bytes[at]!)) at++
    if (at === bytes.length) return at
    const code = bytes[at]!
    if (code === CLOSE_BRACKET) {
      this.#mode = this.#isWrapped ? 'wrapper' : 'start'
      this.#isAfterArray = true
      return at + 1
    }
    if (code === COMMA && !this.#needsComma) {
      throw new HttpError('malformed_json', 'the body is a broken JSON array: it has a comma without an element')
    }
    if (code === COMMA) {
      this.#needsComma = false
      return at + 1
    }
    this.#inElement = true
    return at
  }

  #element(bytes: Buffer, from: number, values: BodyValue[]): number {
    const end = this.#scan.endOfElement(bytes, from)
    this.#held.add(bytes.subarray(from, end < 0 ? bytes.length : end))
    if (end < 0) return bytes.length
    values.push(this.#held.take()!)
    this.#inElement = false
    this.#needsComma = true
    return end
  }

  /** Skips the wrapping object, except for the array of its key. */
  #wrapping(bytes: Buffer, from: number): number {
    const { at, found } = this.#wrapper.read(bytes, from, this.#wrappedIn!)
    if (found === 'array') {
      this.#mode = 'array'
      this.#isWrapped = true
      this.#needsComma = false
    } else if (found === 'end') {
      if (!this.#isWrapped) throw new HttpError('malformed_json', `the body has no array "${this.#wrappedIn}"`)
      this.#isWrapped = false
      this.#mode = 'start'
    }
    return at
  }
}

/** Bytes of a value that is not complete. */
class HeldBytes {
  readonly #maxBytes: number
  #parts: Buffer[] = []
  #bytes = 0
  #isTooLong = false

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  hasRoom(bytes: number): boolean {
    return this.#bytes + bytes <= this.#maxBytes
  }

  add(bytes: Buffer): void {
    this.#bytes += bytes.length
    if (this.#bytes > this.#maxBytes) {
      this.#isTooLong = true
      this.#parts = []
    }
    if (this.#isTooLong) return
    this.#parts.push(bytes)
    if (this.#parts.length > PARTS_MAX) this.#parts = [Buffer.concat(this.#parts)]
  }

  take(): BodyValue | undefined {
    const value = this.#isTooLong ? TOO_LONG_VALUE : this.#bytes === 0 ? undefined : Buffer.concat(this.#parts)
    this.#parts = []
    this.#bytes = 0
    this.#isTooLong = false
    return value
  }
}

/**
 * The values of a whole line: one, or objects one after the other. From a broken object on, each `}` before a `{` ends one, so that the
 * objects after it are read; in JSON these two are next to each other only in a text.
 */
function* valuesOf(line: BodyValue): Generator<BodyValue> {
  if (line === TOO_LONG_VALUE || line[skipBlanks(line, 0)] !== OPEN_BRACE) {
    yield line
    return
  }
  let at = 0
  while (at < line.length) {
    const end = new Nesting().endOfValue(line, at)
    const next = end < 0 ? end : skipBlanks(line, end)
    if (next < 0 || (next < line.length && line[next] !== OPEN_BRACE)) break
    yield line.subarray(at, end)
    at = next
  }
  for (let from = at; at < line.length; ) {
    const close: number = line.indexOf(CLOSE_BRACE, from)
    const next = close < 0 ? line.length : skipBlanks(line, close + 1)
    from = close + 1
    if (next < line.length && line[next] !== OPEN_BRACE) continue
    yield line.subarray(at, next)
    at = next
  }
}

function skipBlanks(bytes: Buffer, from: number): number {
  let at = from
  while (at < bytes.length && isBlankInLine(bytes[at]!)) at++
  return at
}

/** The value cannot have an end: JSON has no line break in a string. */
const BROKEN = -2

/** Follows the braces, brackets and strings of JSON over pieces of bytes. */
class Nesting {
  #depth = 0
  #isInString = false
  #isEscaped = false

  /** The position after the object or array that `from` is in; -1 when it does not end here; `BROKEN`. */
  endOfValue(bytes: Buffer, from: number): number {
    let at = from
    while (at < bytes.length) {
      if (this.#isInString) {
        at = this.#endOfString(bytes, at)
        if (at < 0) return BROKEN
        continue
      }
      const code = bytes[at++]!
      if (code === QUOTE) this.#isInString = true
      else if (code >= OPEN_BRACKET) {
        this.#step(code)
        if (this.#depth === 0) return at
      }
    }
    return -1
  }

  /** The position after the string that `from` is in, or the end of the bytes; -1 at a line break. */
  #endOfString(bytes: Buffer, from: number): number {
    let isEscaped = this.#isEscaped
    for (let at = from; at < bytes.length; at++) {
      const code = bytes[at]!
      if (code === LINE_FEED) return -1
      if (isEscaped) isEscaped = false
      else if (code === BACKSLASH) isEscaped = true
      else if (code === QUOTE) {
        this.#isEscaped = false
        this.#isInString = false
        return at + 1
      }
    }
    this.#isEscaped = isEscaped
    return bytes.length
  }

  /** The position of the comma or bracket after the element that `from` is in; -1 when it does not end here. */
  endOfElement(bytes: Buffer, from: number): number {
    for (let at = from; at < bytes.length; at++) {
      const code = bytes[at]!
      if (this.#passString(code)) continue
      if (this.#depth === 0 && (code === COMMA || code === CLOSE_BRACKET)) return at
      this.#step(code)
    }
    return -1
  }

  /** Whether the byte belongs to a string. */
  #passString(code: number): boolean {
    if (!this.#isInString) {
      this.#isInString = code === QUOTE
      return this.#isInString
    }
    if (this.#isEscaped) this.#isEscaped = false
    else if (code === BACKSLASH) this.#isEscaped = true
    else if (code === QUOTE) this.#isInString = false
    return true
  }

  #step(code: number): void {
    if (code === OPEN_BRACE || code === OPEN_BRACKET) this.#depth++
    else if ((code === CLOSE_BRACE || code === CLOSE_BRACKET) && this.#depth > 0) this.#depth--
  }
}

/** Longest key of the wrapping object that is looked at. */
const KEY_BYTES_MAX = 64

/** Finds the array of a key in an object, and the end of the object. */
class WrapperScan {
  #depth = 0
  #isInString = false
  #isEscaped = false
  /** The last string of the object's own level, without escapes. */
  #string = ''
  /** The key before the current value. */
  #key: string | undefined

  read(bytes: Buffer, from: number, key: string): { readonly at: number; readonly found?: 'array' | 'end' } {
    for (let at = from; at < bytes.length; at++) {
      const code = bytes[at]!
      if (this.#isInString) this.#inString(code)
      else if (code === QUOTE) {
        this.#isInString = true
        this.#string = ''
      } else if (code === COLON && this.#depth === 1) this.#key = this.#string
      else if (code === COMMA && this.#depth === 1) this.#key = undefined
      else if (code === OPEN_BRACKET && this.#depth === 1 && this.#key === key) {
        this.#key = undefined
        return { at: at + 1, found: 'array' }
      } else if (code === OPEN_BRACE || code === OPEN_BRACKET) this.#depth++
      else if ((code === CLOSE_BRACE || code === CLOSE_BRACKET) && --this.#depth === 0)
        return { at: at + 1, found: 'end' }
    }
    return { at: bytes.length }
  }

  #inString(code: number): void {
    if (this.#isEscaped) this.#isEscaped = false
    else if (code === BACKSLASH) this.#isEscaped = true
    else if (code === QUOTE) this.#isInString = false
    else if (this.#string.length < KEY_BYTES_MAX) this.#string += String.fromCharCode(code)
  }
}

function isSpace(code: number): boolean {
  return code === SPACE || code === LINE_FEED || code === RETURN || code === TAB
}

function isBlankInLine(code: number): boolean {
  return isSpace(code) && code !== LINE_FEED
}

function isBlank(value: BodyValue): boolean {
  return value instanceof Buffer && value.every(isSpace)
}
