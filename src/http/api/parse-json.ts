import { HttpError } from '../engine/http-error.ts'
import { describeJsonError } from './json-error.ts'

/** @throws HttpError 400 that says where the text is not JSON */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    if (text.trim() === '') throw new HttpError(400, 'the body is empty')
    throw new HttpError(400, describeJsonError(text))
  }
}
