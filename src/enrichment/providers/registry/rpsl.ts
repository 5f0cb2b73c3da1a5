import { isUtf8 } from 'node:buffer'
import { ASCII } from '../../rules/normalise.ts'
import { LINE_BYTES_MAX, lineError } from '../text/text-file.ts'

/** An object of a registry, with the attributes that tell who uses addresses. The reader reuses it. */
export interface RpslObject {
  /** Name of its first attribute. */
  type: 'inetnum' | 'inet6num' | 'organisation'
  /** Value of its first attribute. */
  key: string
  /** Line of its first attribute. */
  line: number
  netname: string
  /** Each line of its descriptions. */
  readonly descr: string[]
  status: string
  /** Key of its organisation. */
  org: string
  readonly maintainers: string[]
  orgName: string
  orgType: string
  /** Day of the last change: `2026-11-26`. */
  lastModified: string
}

/** Attributes that are read. The others are skipped. */
const WANTED = new Map<string, keyof RpslObject>([
  ['netname', 'netname'],
  ['descr', 'descr'],
  ['status', 'status'],
  ['org', 'org'],
  ['mnt-by', 'maintainers'],
  ['org-name', 'orgName'],
  ['org-type', 'orgType'],
  ['last-modified', 'lastModified'],
])
const TYPES: ReadonlySet<string> = new Set(['inetnum', 'inet6num', 'organisation'])
/** More lines of a description or more maintainers are ignored. */
const VALUES_MAX = 20
/** Longer values are cut, in characters. */
const VALUE_MAX = 512

const [RETURN, SPACE, TAB, PLUS, HASH, PERCENT] = [13, 32, 9, 43, 35, 37] as const

interface RpslListener {
  /** Called for each object of a wanted type. The object is valid until the call returns; copy strings to keep them. */
  object(object: RpslObject): void
  /** Called for a line that is no attribute. */
  malformed(line: number, text: string): void
}

/**
 * Reads objects in the Routing Policy Specification Language (RFC 2622) from a stream: attributes, one a line; an empty line
 * ends an object; a line that starts with a space, a tab or `+` continues the attribute before it; `%` and `#` start
 * comments. Text is UTF-8 or, as in files of the RIPE NCC, Latin-1. Holds no more than one chunk and one object.
 */
export class RpslReader {
  readonly #listener: RpslListener
  readonly #object: RpslObject = {
    ...{ type: 'inetnum', key: '', line: 0, netname: '', descr: [], status: '', org: '', maintainers: [] },
    ...{ orgName: '', orgType: '', lastModified: '' },
  }
  /** The start of a line whose end has not arrived yet. */
  #rest = ''
  #line = 0
  /** Whether the current object has begun, and whether its type is wanted. */
  #state: 'between' | 'wanted' | 'other' = 'between'
  #attribute: keyof RpslObject | undefined

  constructor(listener: RpslListener) {
    this.#listener = listener
  }

  /** @throws InputError with the number of a line that is too long */
  push(chunk: Buffer): void {
    const text = this.#rest + chunk.toString('latin1')
    let at = 0
    for (;;) {
      const end = text.indexOf('\n', at)
      if (end < 0) break
      this.#readLine(text, at, end)
      at = end + 1
    }
    this.#rest = text.slice(at)
    if (this.#rest.length > LINE_BYTES_MAX) throw lineError(this.#line + 1, `longer than ${LINE_BYTES_MAX} bytes`)
  }

  /** Call it at the end of the file. */
  end(): void {
    if (this.#rest !== '') this.#readLine(this.#rest, 0, this.#rest.length)
    this.#rest = ''
    this.#endObject()
  }

  #readLine(text: string, at: number, end: number): void {
    this.#line++
    const stop = end > at && text.charCodeAt(end - 1) === RETURN ? end - 1 : end
    if (stop === at) {
      this.#endObject()
      return
    }
    const first = text.charCodeAt(at)
    if (first === PERCENT || first === HASH) return
    if (first === SPACE || first === TAB || first === PLUS) {
      if (this.#attribute !== undefined) this.#add(this.#attribute, valueIn(text, at + 1, stop))
      return
    }
    if (this.#state === 'other') return
    const colon = text.indexOf(':', at)
    const name = colon < 0 || colon >= stop ? '' : text.slice(at, colon).toLowerCase()
    if (!/^[a-z][a-z0-9-]*$/.test(name)) {
      this.#listener.malformed(this.#line, decoded(text.slice(at, Math.min(stop, at + VALUE_MAX))))
      this.#attribute = undefined
      return
    }
    if (this.#state === 'between') {
      this.#begin(name, text, colon + 1, stop)
      return
    }
    this.#attribute = WANTED.get(name)
    if (this.#attribute !== undefined) this.#add(this.#attribute, valueIn(text, colon + 1, stop))
  }

  #begin(name: string, text: string, at: number, stop: number): void {
    this.#attribute = undefined
    this.#state = TYPES.has(name) ? 'wanted' : 'other'
    if (this.#state === 'other') return
    const object = this.#object
    object.type = name as RpslObject['type']
    object.key = withoutComment(valueIn(text, at, stop))
    object.line = this.#line
    object.netname = object.status = object.org = object.orgName = object.orgType = object.lastModified = ''
    object.descr.length = object.maintainers.length = 0
  }

  #add(attribute: keyof RpslObject, value: string): void {
    if (value === '') return
    const object = this.#object
    if (attribute === 'descr' || attribute === 'maintainers') {
      if (object[attribute].length < VALUES_MAX) object[attribute].push(value)
    } else if (attribute === 'orgName') object.orgName = object.orgName === '' ? value : `${object.orgName} ${value}`
    else if (attribute === 'netname' || attribute === 'org' || attribute === 'orgType') {
      object[attribute] ||= withoutComment(value)
    } else if (attribute === 'status') object.status ||= withoutComment(value).toUpperCase()
    else if (attribute === 'lastModified') object.lastModified = value.slice(0, 10)
  }

  #endObject(): void {
    if (this.#state === 'wanted') this.#listener.object(this.#object)
    this.#state = 'between'
    this.#attribute = undefined
  }
}

function valueIn(text: string, at: number, stop: number): string {
  return decoded(text.slice(at, Math.min(stop, at + VALUE_MAX)).trim())
}

function withoutComment(value: string): string {
  const hash = value.indexOf('#')
  return hash < 0 ? value : value.slice(0, hash).trimEnd()
}

/** Text that was read as Latin-1. */
function decoded(text: string): string {
  if (ASCII.test(text)) return text
  const bytes = Buffer.from(text, 'latin1')
  return isUtf8(bytes) ? bytes.toString('utf8') : text
}
