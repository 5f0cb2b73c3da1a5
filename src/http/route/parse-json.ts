import { JSON_DEPTH_MAX } from '../../../schemas/api/event.ts'
import { hasTooManyValues, isTooDeep, tooDeep } from '../../pipeline/event/json-depth.ts'
import { describeJsonError } from '../../run/json-error.ts'
import { HttpError } from '../engine/http-error.ts'
import { schemaError } from './schema.ts'

/** Values of a body of 1 MiB, which is parsed at once. Events have 10 to 100, and a request has up to 100 of them. */
const BODY_VALUES_MAX = 100_000

/**
 * @param explain adds a hint about a text that is not JSON; undefined: none
 * @param levelsMax of objects and arrays
 * @throws HttpError 400 with the position when the text is not JSON, 413 when it has too many values, 422 when it is nested too deep
 */
export function parseJson(
  text: string,
  explain?: (text: string) => string | undefined,
  levelsMax: number = JSON_DEPTH_MAX,
): unknown {
  if (isTooDeep(text, levelsMax)) throw schemaError([{ path: '', message: tooDeep(levelsMax) }])
  if (hasTooManyValues(text, BODY_VALUES_MAX))
    throw new HttpError('too_many_values', `the body has more than ${BODY_VALUES_MAX} values`)
  try {
    return JSON.parse(text)
  } catch {
    if (text.trim() === '') throw new HttpError('empty_body', 'the body is empty')
    throw notJson(text, explain)
  }
}

/** Characters of a body that are searched for its error, so that a wrong body takes no more time than a right one. */
const SEARCHED_MAX_CHARS = 65_536

/** The error of a text that `JSON.parse` refused. @param explain as for `parseJson` */
export function notJson(text: string, explain?: (text: string) => string | undefined): HttpError {
  const explained = text.length > SEARCHED_MAX_CHARS ? undefined : explain?.(text)
  return new HttpError('malformed_json', explained ?? `the body is ${describeJsonError(text, SEARCHED_MAX_CHARS)}`)
}
