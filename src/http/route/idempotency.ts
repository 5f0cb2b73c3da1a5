import { hash } from 'node:crypto'
import { Type } from 'typebox'
import { IDEMPOTENCY } from '../../../schemas/api/batch.ts'
import type { RequestHead } from '../engine/head.ts'
import { HttpError, retryAfter } from '../engine/http-error.ts'
import type { Parameter } from './operation.ts'
import { schemaError } from './schema.ts'

/*
 * Requests that may be sent again: `Idempotency-Key` of draft-ietf-httpapi-idempotency-key-header-07. A key belongs to a tenant and a path.
 * The answer to a repeat names the job of the first request, so a lost answer costs nothing.
 */

const NAME = 'idempotency-key'
/** A String of RFC 9651, as the draft has it. Most clients send the text without quotes. */
const QUOTED = /^"((?:[\x20-\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"$/
const PLAIN = /^[\x20-\x7e]+$/
/** When to ask again while the first request is still being received. */
const RETRY_AFTER_SECONDS = 5

/**
 * The SHA-256 of the key of a request, in hex; undefined when it has none.
 * @throws HttpError 422
 */
export function idempotencyKeyOf({ idempotencyKey: given }: RequestHead): string | undefined {
  if (given === '') return undefined
  const key = QUOTED.exec(given)?.[1]?.replace(/\\(["\\])/g, '$1') ?? given
  const { keyMaxChars } = IDEMPOTENCY
  if (key.length < 1 || key.length > keyMaxChars || !PLAIN.test(key))
    throw schemaError([{ path: NAME, message: `must have 1 to ${keyMaxChars} printable ASCII characters` }])
  return hash('sha256', key)
}

/** The first request with the key has no answer yet. */
export function keyInUse(): HttpError {
  const detail = 'the first request with this idempotency-key is still being received, or broke off a moment ago'
  return new HttpError('idempotency_key_in_use', detail, { headers: retryAfter(RETRY_AFTER_SECONDS) })
}

/** @throws HttpError 409 when the first request with the key was another one */
export function assertRepeat(fingerprint: string, first: string): void {
  if (fingerprint === first) return
  const detail = 'the first request with this idempotency-key had another body or other options: use a new key'
  throw new HttpError('idempotency_key_reused', detail)
}

/** Headers of the answer to a repeat. */
export const REPLAYED = { 'idempotent-replayed': 'true' } as const

/** For the OpenAPI document. */
export const IDEMPOTENCY_PARAMETER: Parameter = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    `Makes the request safe to send again, for ${IDEMPOTENCY.hours} hours: the same key with the same body and options is answered with the job ` +
    'of the first request. 409 `idempotency_key_reused`: the first had another body. 409 `idempotency_key_in_use`: it is still being ' +
    'received. A request that was refused or broke off leaves its key free',
  schema: Type.String({ maxLength: IDEMPOTENCY.keyMaxChars }),
}
export const REPLAYED_HEADER: Readonly<Record<string, string>> = {
  'Idempotent-Replayed': 'true: a repeat of a request with the same Idempotency-Key; absent otherwise',
}
