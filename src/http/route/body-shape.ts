import type { FieldError } from '../../pipeline/event/validator.ts'
import { HttpError } from '../engine/http-error.ts'
import { findJsonError } from './json-error.ts'

/** Characters of a caller's key that a detail repeats. */
const KEY_CHARS_MAX = 40
const NO_OBJECT: readonly FieldError[] = [{ path: '', message: 'must be an object' }]
const NO_EVENTS: readonly FieldError[] = [{ path: 'events', message: 'is required' }]

/**
 * Refuses JSON of another type than an object, and says which it is.
 * @param wants the smallest request, for the detail
 * @param hint how to make one of what came, by its type
 * @throws HttpError 422
 */
export function assertObject(
  body: unknown,
  wants: string,
  hint: Readonly<Record<string, string>> = {},
): asserts body is object {
  const type = typeOf(body)
  if (type === 'object') return
  const remedy = hint[type] ?? (type === 'string' ? '; it seems to be encoded twice' : '')
  const article = type === 'array' ? 'a JSON array' : type === 'null' ? 'null' : `a JSON ${type}`
  throw new HttpError(422, `the body is ${article}: it must be ${wants}${remedy}`, { errors: NO_OBJECT })
}

/**
 * Refuses JSON that is no request of `/v1/ingest` as a whole; a single event may still be wrong.
 * @throws HttpError 422
 */
export function assertIngestShape(body: unknown): void {
  assertObject(body, '{"events": […]}', {
    array: `, as jq '{events: .}' makes it; /v1/ingest/batch takes one event per line, as jq -c '.[]' prints them`,
  })
  if (Object.hasOwn(body, 'events')) return
  if (Object.hasOwn(body, 'ip')) {
    const detail = `the body is one event: it must be {"events": [event]}, as jq '{events: [.]}' makes it`
    throw new HttpError(422, detail, { errors: NO_EVENTS })
  }
  const [other] = Object.entries(body).find(([, value]) => Array.isArray(value) && typeOf(value[0]) === 'object') ?? []
  if (other === undefined) return
  const name = JSON.stringify(other.slice(0, KEY_CHARS_MAX))
  throw new HttpError(422, `events is required: the body has its array under ${name}`, { errors: NO_EVENTS })
}

/** What a body is that is several JSON values and so no JSON; undefined when it is something else. */
export function severalValues(text: string): string | undefined {
  const at = findJsonError(text)
  if (text[at] !== '{' || typeOf(parsed(text.slice(0, at))) !== 'object') return undefined
  return (
    `the body is not JSON, but several JSON values, from position ${at}: it must be {"events": […]}, ` +
    `as jq -s '{events: .}' makes it; /v1/ingest/batch takes one event per line`
  )
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function typeOf(value: unknown): string {
  return value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value
}
