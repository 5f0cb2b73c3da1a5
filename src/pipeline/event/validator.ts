import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import type { TSchema } from 'typebox'
import type { ErrorBody } from '../../../schemas/api/error.ts'
import { cutText } from '../../run/cut-text.ts'
import { unknownName } from '../../run/nearest-name.ts'
import { parseAddress } from './address.ts'
import { parseTimestamp } from './timestamp.ts'

/** Most errors to list for one value. */
export const ERRORS_MAX = 20

/** Most characters of an unknown field's name in a path: the sender chose it. */
const UNKNOWN_NAME_MAX_CHARS = 100

const NONE: readonly FieldError[] = []

export const NO_ADDRESS = 'must be an IPv4 or IPv6 address'

/** An error in a value. The path is like `events[3].ip`, or `''` for the value itself. */
export type FieldError = NonNullable<ErrorBody['errors']>[number]

/** Returns at most 20 errors of a value; none when it is a `Static<S>`. */
export interface Validator<S extends TSchema> {
  (value: unknown): readonly FieldError[]
  readonly schema: S
}

/**
 * Compiles a schema on first use. A fast check stops at the first error; only for an invalid value, a second check lists all
 * errors.
 */
export function compileValidator<S extends TSchema>(schema: S): Validator<S> {
  // Compiling takes about 10 ms, and a process has dozens of schemas.
  let holds: ValidateFunction | undefined
  let list: ValidateFunction | undefined
  const validate = (value: unknown) => {
    holds ??= newAjv(false).compile(schema)
    if (holds(value)) return NONE
    list ??= newAjv(true).compile(schema)
    list(value)
    return (list.errors ?? []).slice(0, ERRORS_MAX).map(fieldError)
  }
  return Object.assign(validate, { schema })
}

function newAjv(allErrors: boolean): Ajv {
  // Verbose errors have the schema, which knows the allowed fields.
  const ajv = new Ajv({ strict: true, allErrors, verbose: allErrors })
  ajv.addFormat('rfc3339', { type: 'string', validate: (text: string) => !Number.isNaN(parseTimestamp(text)) })
  ajv.addFormat('ip', { type: 'string', validate: (text: string) => parseAddress(text) !== undefined })
  return ajv
}

function fieldError(error: ErrorObject): FieldError {
  const path = pathOf(error.instancePath)
  const field = (name: string) => (path === '' ? name : `${path}.${name}`)
  switch (error.keyword) {
    case 'required':
      return { path: field(String(error.params.missingProperty)), message: 'is required' }
    case 'additionalProperties':
      return unknownField(error, field)
    default:
      return { path, message: messageOf(error) }
  }
}

function unknownField({ params, parentSchema }: ErrorObject, field: (name: string) => string): FieldError {
  const name = shortened(String(params.additionalProperty))
  return { path: field(name), message: unknownName(name, Object.keys((parentSchema?.properties ?? {}) as object)) }
}

function shortened(name: string): string {
  if (name.length <= UNKNOWN_NAME_MAX_CHARS) return name
  return `${cutText(name, UNKNOWN_NAME_MAX_CHARS)}…`
}

/** `/events/3/ip` → `events[3].ip` */
function pathOf(pointer: string): string {
  let path = ''
  for (const step of pointer.split('/').slice(1)) {
    if (/^\d+$/.test(step)) path += `[${step}]`
    else path += `${path === '' ? '' : '.'}${step.replaceAll('~1', '/').replaceAll('~0', '~')}`
  }
  return path
}

function messageOf({ keyword, params, message }: ErrorObject): string {
  switch (keyword) {
    case 'type':
      return `must be ${/^[aeiou]/.test(String(params.type)) ? 'an' : 'a'} ${params.type}`
    case 'minLength':
      return params.limit === 1 ? 'must not be empty' : `must have at least ${params.limit} characters`
    case 'maxLength':
      return `must have at most ${params.limit} characters`
    case 'minimum':
      return `must be at least ${params.limit}`
    case 'maximum':
      return `must be at most ${params.limit}`
    case 'enum':
      return `must be one of ${(params.allowedValues as unknown[]).join(', ')}`
    case 'format':
      return params.format === 'ip'
        ? NO_ADDRESS
        : 'must be an RFC 3339 date-time between 1900 and 2299, such as 2026-11-21T10:20:30Z'
    default:
      return message ?? 'is not valid'
  }
}
