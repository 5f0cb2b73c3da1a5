import type { Static, TSchema } from 'typebox'
import { ERRORS_MAX, type FieldError, type Validator } from '../../pipeline/event/validator.ts'
import { HttpError } from '../engine/http-error.ts'

/** Validates a value. @throws HttpError 422 that lists the errors */
export function assertSchema<S extends TSchema>(validate: Validator<S>, value: unknown): asserts value is Static<S> {
  const errors = validate(value)
  if (errors.length > 0) throw schemaError(errors)
}

/** A 422 with one or more errors; the detail names the first, and at most 20 are listed. */
export function schemaError(errors: readonly FieldError[]): HttpError {
  const first = errors[0]!
  const detail = `${first.path === '' ? 'the body' : first.path} ${first.message}`
  return new HttpError('invalid_request', detail, { errors: errors.slice(0, ERRORS_MAX) })
}
