import type { ArrivedRequest } from '../engine/engine.ts'
import { HttpError } from '../engine/http-error.ts'

/** Why a request has no valid key. Says where a key was sent by mistake, and never repeats the key. */
export function whyNoCaller({ head, query }: ArrivedRequest): HttpError {
  const { apiKey, authorization } = head
  if (apiKey === '') {
    const missing = 'the x-api-key header is missing'
    const place =
      authorization !== ''
        ? ': the key belongs there by itself, and not into authorization'
        : query.includes('ipid_')
          ? ': the key belongs there, and not into the address'
          : ''
    return new HttpError('missing_key', `${missing}${place}`)
  }
  if (/^[a-z]+\s/i.test(apiKey)) return unknown(': x-api-key is the key alone, without a word before it')
  if (!/^[\x20-\x7e]*$/.test(apiKey)) return unknown(': a display prefix cannot be used in its place')
  return unknown('')
}

const unknown = (why: string) => new HttpError('unknown_key', `the API key is not valid${why}`)
