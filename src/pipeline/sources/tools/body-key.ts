import type { BodyScan } from '../../../http/engine/body-search.ts'
import type { KeyedRoute } from '../../../http/route/route.ts'
import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
} from '../../../run/json-codes.ts'
import { isRawKey } from '../../../tenants/key.ts'
import { fromBase64, isBase64 } from './payload.ts'

/**
 * Finds the key in the body of a request, or in its query when it has no body, without parsing it. Only the tool's own fields count: text that
 * visitors control, such as the address of a page, may hold a foreign key.
 * @param fields as in `ToolRoute.keyFields`
 */
export function bodyKeyFinder(fields: readonly string[]): NonNullable<KeyedRoute['keyInBody']> {
  return (exchange, onlyStart) => {
    const { head, query } = exchange.request
    return head.hasBody ? exchange.search(() => new KeyScan(fields), onlyStart) : keyInForm(query, fields)
  }
}

/** Characters of a form or of base64 that are searched. Libraries that send it have the key in their first event. */
const FORM_CHARS_MAX = 65_536

/** Scans a body that is JSON, a form, or JSON in base64. */
class KeyScan implements BodyScan {
  readonly #fields: readonly string[]
  /** Undefined: the body is not JSON, or has only blanks so far. */
  #json: JsonKeyScan | undefined
  #start = ''

  constructor(fields: readonly string[]) {
    this.#fields = fields
  }

  get found(): string | undefined {
    return this.#json === undefined ? keyInForm(this.#start, this.#fields) : this.#json.found
  }

  read(text: string): boolean {
    if (this.#json !== undefined) return this.#json.read(text)
    this.#start = (this.#start + text).replace(BLANK_START, '').slice(0, FORM_CHARS_MAX)
    if (this.#start === '') return false
    if (!isJson(this.#start)) return this.#start.length === FORM_CHARS_MAX
    this.#json = new JsonKeyScan(this.#fields)
    return this.#json.read(text)
  }
}

/** Blanks, and a byte order mark of UTF-8 as Latin-1 or as it is. */
const BLANK_START = /^[\s\ufeff\xef\xbb\xbf]+/

function isJson(text: string): boolean {
  return text.startsWith('{') || text.startsWith('[')
}

/** The key in a form, in a query, or in base64. */
function keyInForm(form: string, fields: readonly string[]): string | undefined {
  if (isBase64(form)) return keyInJson(form, fields)
  const parameters = new URLSearchParams(form.slice(0, FORM_CHARS_MAX))
  const values = fields.map((field) => parameters.get(field) ?? '')
  return keyInJson(parameters.get('data') ?? '', fields) ?? values.find(isRawKey)
}

/** @param text JSON, or JSON in base64; its end may be missing */
function keyInJson(text: string, fields: readonly string[]): string | undefined {
  const scan = new JsonKeyScan(fields)
  scan.read(isBase64(text) ? fromBase64(text).toString('latin1') : text)
  return scan.found
}

/** Longest text of a field or a value that is looked at. */
const TEXT_CHARS_MAX = 100

/** Scans JSON that arrives in pieces. It need not be valid. Only its first object is read: the payload, or the first event of an array. */
class JsonKeyScan implements BodyScan {
  readonly #fields: readonly string[]
  #found: string | undefined
  /** Position of the field that `#found` is the value of. */
  #rank: number
  #depth = 0
  /** Depth inside of the first object. Undefined: it has not begun. */
  #base: number | undefined
  /** Members of `#base` and of the one below it that the place is in. Undefined: no member has begun, or its value is not looked at. */
  #outer: string | undefined
  #inner: string | undefined
  /** The last string, which is a name when a colon follows. */
  #string = ''
  #isInString = false
  #isEscaped = false

  constructor(fields: readonly string[]) {
    this.#fields = fields
    this.#rank = fields.length
  }

  get found(): string | undefined {
    return this.#found
  }

  read(text: string): boolean {
    for (let at = 0; at < text.length && this.#rank > 0; at++) {
      if (this.#isInString) at = this.#readString(text, at)
      else if (this.#readStructure(text.charCodeAt(at))) return true
    }
    return this.#rank === 0
  }

  /** @returns whether the first object has ended */
  #readStructure(code: number): boolean {
    if (code === QUOTE) {
      this.#string = ''
      this.#isInString = true
    } else if (code === COLON) {
      this.#setMember(this.#string)
    } else if (code === COMMA) {
      this.#setMember(undefined)
    } else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      this.#depth++
      if (code === OPEN_BRACE) this.#base ??= this.#depth
      this.#inner = undefined
    } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) {
      this.#depth--
      return this.#depth < (this.#base ?? 1)
    }
    return false
  }

  /** The name of a member, or that there is none. */
  #setMember(name: string | undefined): void {
    if (this.#depth === this.#base) this.#outer = name
    else if (this.#depth - 1 === this.#base) this.#inner = name
  }

  /** Reads on in a string. Returns the position of its last quote, or the end of the text. */
  #readString(text: string, from: number): number {
    for (let at = from; at < text.length; at++) {
      const code = text.charCodeAt(at)
      if (this.#isEscaped) this.#isEscaped = false
      else if (code === BACKSLASH) this.#isEscaped = true
      else if (code === QUOTE) {
        this.#add(text.slice(from, at))
        this.#isInString = false
        this.#endString()
        return at
      }
    }
    this.#add(text.slice(from))
    return text.length
  }

  #add(text: string): void {
    if (this.#string.length < TEXT_CHARS_MAX) this.#string += text.slice(0, TEXT_CHARS_MAX)
  }

  #endString(): void {
    const field = this.#field()
    const rank = field === undefined ? -1 : this.#fields.indexOf(field)
    if (rank < 0 || rank >= this.#rank || !isRawKey(this.#string)) return
    this.#rank = rank
    this.#found = this.#string
  }

  /** The field whose value is read now. */
  #field(): string | undefined {
    if (this.#depth === this.#base) return this.#outer
    const isInner = this.#base !== undefined && this.#depth - 1 === this.#base
    return isInner && this.#inner !== undefined ? `${this.#outer}.${this.#inner}` : undefined
  }
}
