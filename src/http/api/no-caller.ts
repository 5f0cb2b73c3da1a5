import type { ArrivedRequest } from '../engine/engine.ts'
import { HttpError } from '../engine/http-error.ts'

/** The 401 of a request without a valid key. Says where a key was sent by mistake, and never repeats the key. */
export function noCallerError({ head, query }: ArrivedRequest): HttpError {
  const { apiKey, authorization } = head
  if (apiKey === '') {
    const missing = 'the x-api-key header is missing'
    const withPlace = (place: string) => new HttpError('missing_key', `${missing}: the key belongs there${place}`)
    if (authorization !== '') return withPlace(' by itself, and not into authorization')
    return query.includes('ipid_') ? withPlace(', and not into the address') : new HttpError('missing_key', missing)
  }
  const notValid = 'the API key is not valid'
  if (/^[a-z]+\s/i.test(apiKey))
    return new HttpError('unknown_key', `${notValid}: x-api-key is the key alone, without a word before it`)
  if (!/^[\x20-\x7e]*$/.test(apiKey))
    return new HttpError('unknown_key', `${notValid}: a display prefix cannot be used in its place`)
  return new HttpError('unknown_key', notValid)
}
