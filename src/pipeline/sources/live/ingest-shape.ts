import { HttpError } from '../../../http/engine/http-error.ts'
import { assertObject, typeOf } from '../../../http/route/body-shape.ts'
import { findJsonError } from '../../../run/json-error.ts'
import type { FieldError } from '../../event/validator.ts'

/** Longest part of a caller's key that an error quotes. */
const KEY_CHARS_MAX = 40
const NO_EVENTS: readonly FieldError[] = [{ path: 'events', message: 'is required' }]

/**
 * Checks the outer shape of a request of `/v1/ingest`. Does not check the events.
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

/** An error for a body of several JSON values; undefined for any other invalid JSON. */
export function severalValues(text: string): string | undefined {
  const at = findJsonError(text)
  if (text[at] !== '{' || typeOf(parsed(text.slice(0, at))) !== 'object') return undefined
  return (
    `the body is several JSON values, not one; the second is at position ${at}: it must be {"events": […]}, ` +
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
