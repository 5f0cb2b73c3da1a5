import { isTooDeep, TOO_DEEP } from '../../ingest/json-depth.ts'
import { HttpError } from '../engine/http-error.ts'
import { describeJsonError } from './json-error.ts'
import { schemaError } from './schema.ts'

/** @throws HttpError 400 that says where the text is not JSON, 422 when it is nested too deep */
export function parseJson(text: string): unknown {
  if (isTooDeep(text)) throw schemaError([{ path: '', message: TOO_DEEP }])
  try {
    return JSON.parse(text)
  } catch {
    if (text.trim() === '') throw new HttpError(400, 'the body is empty')
    throw new HttpError(400, describeJsonError(text))
  }
}
