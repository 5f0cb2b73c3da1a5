import { JSON_DEPTH_MAX } from '../../../schemas/api/event.ts'
import { isTooDeep, tooDeep } from '../../pipeline/event/json-depth.ts'
import { describeJsonError } from '../../run/json-error.ts'
import { HttpError } from '../engine/http-error.ts'
import { schemaError } from './schema.ts'

/**
 * @param explain says more about a text that is not JSON; undefined: nothing
 * @param levelsMax of objects and arrays
 * @throws HttpError 400 with the position when the text is not JSON, 422 when it is nested too deep
 */
export function parseJson(
  text: string,
  explain?: (text: string) => string | undefined,
  levelsMax: number = JSON_DEPTH_MAX,
): unknown {
  if (isTooDeep(text, levelsMax)) throw schemaError([{ path: '', message: tooDeep(levelsMax) }])
  try {
    return JSON.parse(text)
  } catch {
    if (text.trim() === '') throw new HttpError(400, 'the body is empty')
    throw notJson(text, explain)
  }
}

/** Characters of a body that are searched for its error, so that a wrong body takes no more time than a right one. */
const SEARCHED_MAX_CHARS = 65_536

/** The error of a text that `JSON.parse` refused. @param explain as for `parseJson` */
export function notJson(text: string, explain?: (text: string) => string | undefined): HttpError {
  const explained = text.length > SEARCHED_MAX_CHARS ? undefined : explain?.(text)
  return new HttpError(400, explained ?? `the body is ${describeJsonError(text, SEARCHED_MAX_CHARS)}`)
}
