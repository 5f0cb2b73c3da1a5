import { KEY_START, TEST_KEY_START } from '../../../schemas/key-text.ts'
import type { ArrivedRequest } from '../engine/engine.ts'
import { HttpError } from '../engine/http-error.ts'

/** The 401 of a request without a valid key. Says where a key was sent by mistake, and never repeats the key. */
export function noCallerError({ head, query }: ArrivedRequest): HttpError {
  const { apiKey, authorization } = head
  if (apiKey === '') {
    const missing = 'the x-api-key header is missing'
    const withPlace = (place: string) => new HttpError('missing_key', `${missing}: the key belongs there${place}`)
    if (authorization !== '') return withPlace(' by itself, and not into authorization')
    return query.includes(KEY_START) ? withPlace(', and not into the address') : new HttpError('missing_key', missing)
  }
  const notValid = 'the API key is not valid'
  if (/^[a-z]+\s/i.test(apiKey))
    return new HttpError('unknown_key', `${notValid}: x-api-key is the key alone, without a word before it`)
  if (!/^[\x20-\x7e]*$/.test(apiKey))
    return new HttpError('unknown_key', `${notValid}: a display prefix cannot be used in its place`)
  return new HttpError('unknown_key', notValid)
}

/** The 401 of a request with a test key to a path that stores something, or reads what is stored. @param instead what to do */
export function testKeyError(instead = `use a key that does not begin with ${TEST_KEY_START} here`): HttpError {
  return new HttpError(
    'wrong_key_kind',
    `a test key stores nothing and reads nothing that is stored; it takes /v1/ingest, /v1/lookup and /v1/bulk: ${instead}`,
  )
}
