import type { ArrivedRequest } from '../engine/engine.ts'
import { HttpError } from '../engine/http-error.ts'

/** The only parameter of a path, decoded. @throws HttpError 400 when its percent-encoding is broken or not UTF-8 */
export function pathParameter({ parameters }: ArrivedRequest, name: string): string {
  try {
    return decodeURIComponent(parameters[0]!)
  } catch {
    throw new HttpError('malformed_url', `${name} is not percent-encoded UTF-8`)
  }
}
