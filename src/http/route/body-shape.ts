import type { FieldError } from '../../pipeline/event/validator.ts'
import { HttpError } from '../engine/http-error.ts'

const NO_OBJECT: readonly FieldError[] = [{ path: '', message: 'must be an object' }]

/**
 * Refuses JSON other than an object, with its type in the detail.
 * @param example the smallest valid request, for the detail
 * @param hint how to turn the sent type into one, by type
 * @throws HttpError 422
 */
export function assertObject(
  body: unknown,
  example: string,
  hint: Readonly<Record<string, string>> = {},
): asserts body is object {
  const type = typeOf(body)
  if (type === 'object') return
  const remedy = hint[type] ?? (type === 'string' ? '; it seems to be encoded twice' : '')
  const article = type === 'array' ? 'a JSON array' : type === 'null' ? 'null' : `a JSON ${type}`
  throw new HttpError('invalid_request', `the body is ${article}: it must be ${example}${remedy}`, {
    errors: NO_OBJECT,
  })
}

/** The type of a JSON value. */
export function typeOf(value: unknown): string {
  return value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value
}
