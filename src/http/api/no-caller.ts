import type { ArrivedRequest } from '../engine/engine.ts'

/** Why a request has no valid key, in words. Says where a key was sent by mistake, and never repeats the key. */
export function whyNoCaller({ head, query }: ArrivedRequest): string {
  const { apiKey, authorization } = head
  if (apiKey === '') {
    const missing = 'the x-api-key header is missing'
    if (authorization !== '') return `${missing}: the key belongs there by itself, and not into authorization`
    return query.includes('ipid_') ? `${missing}: the key belongs there, and not into the address` : missing
  }
  if (/^[a-z]+\s/i.test(apiKey)) return 'the API key is not valid: x-api-key is the key alone, without a word before it'
  if (!/^[\x20-\x7e]*$/.test(apiKey)) return 'the API key is not valid: a display prefix cannot be used in its place'
  return 'the API key is not valid'
}
