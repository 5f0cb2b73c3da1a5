import { InputError } from '../../run/errors.ts'
import { hasAddress, type Proxies, visitorInField } from '../event/client-address.ts'
import { readTime } from './batch/files/timestamps.ts'
import { isPageView } from './formats/access-line.ts'
import { requestOf } from './formats/clf.ts'
import { MAPPED_FIELDS, type MappedField, type Mapping, type Paths, REQUEST_FIELDS } from './mapped-fields.ts'
import { unmarked } from './tools/exact-json.ts'
import {
  type JsonObject,
  labelOf,
  objectOf,
  pageOf,
  sessionIdOf,
  type ToolEvent,
  unlessEmpty,
  withRest,
} from './tools/tool-event.ts'

const REQUEST: ReadonlySet<string> = new Set(REQUEST_FIELDS)

const PATH_MAX_CHARS = 500
/** Text that is made of several paths is no longer than this: a path may be named many times. */
const TEXT_MAX_CHARS = 8_192

/**
 * Reads options such as `ip=request.client_ip`.
 * @param origin begins the messages of errors
 * @throws InputError that says what is wrong with which of them
 */
export function parseMapping(options: readonly string[], origin = '--map'): Mapping {
  const mapping: Partial<Record<MappedField, string>> = {}
  for (const option of options) {
    const at = option.indexOf('=')
    const [name, path] = at < 0 ? [option, ''] : [option.slice(0, at).trim(), option.slice(at + 1).trim()]
    if (!isField(name)) {
      throw new InputError(
        `${origin}: there is no field ${JSON.stringify(name)}: map one of ${MAPPED_FIELDS.join(', ')}`,
      )
    }
    if (path === '') throw new InputError(`${origin}: give a path for ${name}, as in ${name}=request.${name}`)
    if (path.length > PATH_MAX_CHARS) {
      throw new InputError(`${origin}: the path of ${name} has more than ${PATH_MAX_CHARS} characters`)
    }
    if (mapping[name] !== undefined) throw new InputError(`${origin}: ${name} is mapped twice`)
    assertBraces(name, path, origin)
    mapping[name] = path
  }
  return mapping
}

function isField(name: string): name is MappedField {
  return (MAPPED_FIELDS as readonly string[]).includes(name)
}

const PAIRED_BRACES = /^[^{}]*(?:\{[^{}]+\}[^{}]*)*$/

function assertBraces(name: string, path: string, origin: string): void {
  if (PAIRED_BRACES.test(path)) return
  throw new InputError(`${origin}: ${name} has a brace without its other half, or with nothing between: ${path}`)
}

/** Reads objects of a source. */
export type ReadMapped = (object: JsonObject) => ToolEvent

interface AddressOptions {
  /** See `ReadLineOptions`. */
  readonly trusted?: Proxies | undefined
  /** A last path of `ip`, to a value that counts only if it is an address: other senders have a name there. */
  readonly perhapsIp?: string | undefined
}

/**
 * Makes the reader of a source's objects. A field without a path, or whose path leads nowhere, is taken from its own name. Keys that
 * became no field stay in `properties`, and so does a value that does not fit its field. Values of `ip`, `event_id` and
 * `timestamp` that do not fit are kept in their field, so that the schema says what is wrong with them.
 */
export function mappedReader(paths: Paths, { trusted, perhapsIp }: AddressOptions = {}): ReadMapped {
  const addressOf = (value: unknown) => addressIn(value, trusted)
  const places = placesOf(paths)
  const findPerhapsIp = perhapsIp === undefined ? undefined : placeOf(perhapsIp)
  return (object) => {
    const used: Step[] = []
    const taken = <T>(field: MappedField, read: (value: unknown) => T | undefined) =>
      takenFrom(places.get(field)!, read)
    const takenFrom = <T>(fieldPlaces: readonly Place[], read: (value: unknown) => T | undefined): T | undefined => {
      for (const find of fieldPlaces) {
        const found = find(object)
        if (found === undefined) continue
        const value = found.value === NOTHING ? undefined : read(found.value)
        if (value !== undefined || found.value === NOTHING) used.push(...found.steps)
        if (value !== undefined) return value
      }
      return undefined
    }
    const text = (field: MappedField) => taken(field, labelOf)
    const [event_id, timestamp] = [taken('event_id', idOf), taken('timestamp', timeOf)]
    let ip = taken('ip', addressOf)
    if (ip === undefined && findPerhapsIp !== undefined) {
      ip = takenFrom([findPerhapsIp], (value) => (hasAddress(labelOf(value) ?? '') ? addressOf(value) : undefined))
    }
    const fields = {
      event_type: text('event_type'),
      account_id: text('account_id'),
      session_id: taken('session_id', sessionIdOf),
      platform: text('platform'),
    }
    const userProperties = taken('user_properties', objectOrNot)
    const userAgent = text('user_agent')
    const utm = Object.fromEntries(UTM.map((name) => [name, text(name)]))
    const page = pageOf(text('url') ?? lineIn(object, places).path, text('referrer'), utm)
    return {
      ip,
      event_id,
      timestamp,
      ...fields,
      properties: propertiesOf(without(object, used), userAgent),
      user_properties: userProperties,
      page,
    }
  }
}

/** Logs write it for nothing. */
const NOTHING = '-'

type Places = ReadonlyMap<MappedField, readonly Place[]>

function placesOf(paths: Paths): Places {
  return new Map(
    MAPPED_FIELDS.map((field) => {
      const own = REQUEST.has(field) ? [] : [field]
      return [field, [...listOfPaths(paths[field]), ...own].map(placeOf)]
    }),
  )
}

/** The first value of a field that is a label. */
function labelIn(object: JsonObject, places: readonly Place[]): string | undefined {
  for (const find of places) {
    const value = find(object)?.value
    // Headers may be lists.
    const label = labelOf(Array.isArray(value) ? value[0] : value)
    if (label !== undefined && label !== NOTHING) return label
  }
  return undefined
}

/** The request line of an object. */
function lineIn(object: JsonObject, places: Places): { readonly method?: string; readonly path?: string | undefined } {
  const line = labelIn(object, places.get('request')!)
  return line !== undefined && REQUEST_LINE.test(line) ? requestOf(line) : {}
}

/** Other senders write sentences into the same field. */
const REQUEST_LINE = /^[A-Z]+ .+ HTTP\/[\d.]+$/s
/** Programs have a status and a method of their own, such as 1 and `card`. -1 and 0: the request was not answered. */
const STATUS = /^(?:-1|0{1,3}|[1-9]\d\d)(?!\d)/
const METHOD = /^(?:[A-Z]+|get|head|post|put|patch|delete|options)$/

/** Whether a log has a user agent for the request, and the visitor sent none: every browser sends one. */
function isAnonymous(object: JsonObject, places: readonly Place[]): boolean {
  const values = places.flatMap((find) => find(object) ?? []).flatMap(({ value }) => value)
  return values.length > 0 && values.every((value) => value === NOTHING || value === '')
}

/** Whether a mapping says where the fields of a request are. */
export function mapsRequest(paths: Paths): boolean {
  return REQUEST_FIELDS.some((field) => paths[field] !== undefined && listOfPaths(paths[field]).length > 0)
}

/**
 * Makes a filter of a source's objects: whether one may be a page view. An object that has neither status, method nor type of content
 * may be one: it is an event, and not a request of a log.
 */
export function pageFilter(paths: Paths): (object: JsonObject, url: string | undefined) => boolean {
  const places = placesOf(paths)
  if (!mapsRequest(paths)) return () => true
  return (object, url) => {
    const label = (field: MappedField) => labelIn(object, places.get(field)!)
    const [status] = STATUS.exec(label('status') ?? '') ?? []
    const [method] = METHOD.exec(label('method') ?? '') ?? []
    const facts = {
      status: status === undefined ? undefined : Number(status),
      method: (method ?? lineIn(object, places).method)?.toUpperCase(),
      contentType: label('content_type'),
    }
    if (Object.values(facts).every((fact) => fact === undefined)) return true
    return isPageView({ ...facts, url }) && !isAnonymous(object, places.get('user_agent')!)
  }
}

const UTM = MAPPED_FIELDS.filter((field) => field.startsWith('utm_'))

function listOfPaths(paths: string | readonly string[] | undefined): readonly string[] {
  return paths === undefined ? [] : typeof paths === 'string' ? [paths] : paths
}

/** Keys that lead to a value, from the outermost. */
type Step = readonly string[]

interface Found {
  readonly value: unknown
  /** One for each value that is in `value`. */
  readonly steps: readonly Step[]
}

type Place = (object: JsonObject) => Found | undefined

function placeOf(text: string): Place {
  const path = text.replace(/\[(\d+)\]/g, '.$1')
  if (!path.includes('{')) return (object) => valueAt(object, path)
  // Every second part was between braces.
  const parts = path.split(/[{}]/)
  return (object) => {
    const steps: Step[] = []
    let value = ''
    for (const [i, part] of parts.entries()) {
      const found = i % 2 === 1 ? valueAt(object, part) : undefined
      const text = i % 2 === 1 ? labelOf(found?.value) : part
      if (i % 2 === 1 && text === NOTHING) return { value: NOTHING, steps: found!.steps }
      if (text === undefined || value.length + text.length > TEXT_MAX_CHARS) return undefined
      value += text
      if (found !== undefined) steps.push(...found.steps)
    }
    return { value, steps }
  }
}

const INDEX = /^\d+$/

/** The value of a path. A key may have dots itself: `{"http.host": …}` has `http.host`. */
function valueAt(object: JsonObject, path: string): Found | undefined {
  if (Object.hasOwn(object, path)) return { value: object[path], steps: [[path]] }
  const step: string[] = []
  let at: unknown = object
  for (let rest = path; ; ) {
    if (typeof at !== 'object' || at === null) return undefined
    const dot = Object.hasOwn(at, rest) ? -1 : rest.indexOf('.')
    const key = dot < 0 ? rest : rest.slice(0, dot)
    if (!Object.hasOwn(at, key) || (Array.isArray(at) && !INDEX.test(key))) return undefined
    step.push(key)
    at = (at as JsonObject)[key]
    if (dot < 0) return { value: at, steps: [step] }
    rest = rest.slice(dot + 1)
  }
}

/** A copy without the values at the given steps, and without objects that have nothing else. Places of arrays become null. */
function without(object: JsonObject, steps: readonly Step[]): JsonObject {
  const top = new Set(steps.filter(({ length }) => length === 1).map(([key]) => key!))
  let rest: unknown = Object.fromEntries(Object.entries(object).filter(([key]) => !top.has(key)))
  for (const step of steps) if (step.length > 1) rest = withoutStep(rest, step, 0)
  return objectOf(rest)
}

function withoutStep(value: unknown, step: Step, depth: number): unknown {
  // Another field had the same path.
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step[depth]!)) return value
  const isLast = depth === step.length - 1
  if (Array.isArray(value)) {
    return value.map((entry, i) =>
      String(i) !== step[depth] ? entry : isLast ? null : withoutStep(entry, step, depth + 1),
    )
  }
  const entries = Object.entries(value).flatMap(([key, inner]): [string, unknown][] => {
    if (key !== step[depth]) return [[key, inner]]
    if (isLast) return []
    const rest = withoutStep(inner, step, depth + 1)
    return Object.keys(objectOf(rest)).length === 0 && !Array.isArray(rest) ? [] : [[key, rest]]
  })
  return Object.fromEntries(entries)
}

/** The rest of an object, and its own `properties` when they are an object, which then win. */
function propertiesOf(rest: JsonObject, userAgent: string | undefined): JsonObject | undefined {
  const all = userAgent === undefined ? rest : { ...rest, user_agent: userAgent }
  const own = objectOrNot(rest.properties)
  if (own === undefined) return unlessEmpty(all)
  const others = Object.entries(all).filter(([key]) => key !== 'properties')
  const replaced = others.filter(([key]) => Object.hasOwn(own, key))
  return withRest({ ...Object.fromEntries(others), ...own }, 'http', Object.fromEntries(replaced))
}

function objectOrNot(value: unknown): JsonObject | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined
}

/**
 * The visitor's address in a value: see `visitorInField`. The values of an array are those of a header that was sent several times.
 * @returns undefined when there is none; a value that is not an address, unchanged
 */
function addressIn(value: unknown, trusted: Proxies | undefined): unknown {
  const one = Array.isArray(value) ? value.filter((entry) => typeof entry === 'string').join(',') : value
  if (one === null) return undefined
  return typeof one === 'string' ? visitorInField(one, trusted) : one
}

function idOf(value: unknown): unknown {
  if (value === null || value === '') return undefined
  return labelOf(value) ?? value
}

/** RFC 3339, from any usual form of a time. A value that is not a time is returned unchanged. */
function timeOf(value: unknown): unknown {
  if (value === null || value === undefined || value === '') return undefined
  const text = typeof value === 'number' ? String(value) : unmarked(value)
  if (typeof text !== 'string') return value
  const time = readTime(text.trim(), undefined)
  return 'time' in time ? time.time : value
}
