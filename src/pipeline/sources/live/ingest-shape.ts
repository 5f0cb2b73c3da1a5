import { HttpError } from '../../../http/engine/http-error.ts'
import { assertObject, typeOf } from '../../../http/route/body-shape.ts'
import { findJsonError } from '../../../run/json-error.ts'
import type { FieldError } from '../../event/validator.ts'

/** Characters of a caller's key that a detail repeats. */
const KEY_CHARS_MAX = 40
const NO_EVENTS: readonly FieldError[] = [{ path: 'events', message: 'is required' }]

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
