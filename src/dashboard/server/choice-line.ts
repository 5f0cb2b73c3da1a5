import type { Static, TSchema } from 'typebox'
import { HttpError } from '../../http/engine/http-error.ts'
import { parseJson } from '../../http/route/parse-json.ts'
import { assertSchema } from '../../http/route/schema.ts'
import type { Validator } from '../../pipeline/event/validator.ts'

/** Maximum size of the first line of an upload. It is not a header, because many column names would not fit. */
export const CHOICE_MAX_BYTES = 262_144

const LINE_FEED = 10

/**
 * Reads the first line of a body, which says how to read the file after it.
 * @throws HttpError 400 or 422 when the line is missing or invalid
 */
export async function readChoice<S extends TSchema>(
  body: AsyncGenerator<Buffer>,
  validate: Validator<S>,
): Promise<{ readonly choice: Static<S>; readonly file: AsyncIterable<Buffer> }> {
  const parts: Buffer[] = []
  let bytes = 0
  for (;;) {
    const next = await body.next()
    if (next.done) throw new HttpError('malformed_request', 'the body has no line that says how to read the file')
    const end = next.value.indexOf(LINE_FEED)
    bytes += end < 0 ? next.value.length : end
    if (bytes > CHOICE_MAX_BYTES)
      throw new HttpError('malformed_request', 'the line that says how to read the file is too long')
    if (end < 0) {
      parts.push(next.value)
      continue
    }
    parts.push(next.value.subarray(0, end))
    const choice: unknown = parseJson(Buffer.concat(parts).toString('utf8'))
    assertSchema(validate, choice)
    return { choice, file: restOf(next.value.subarray(end + 1), body) }
  }
}

async function* restOf(first: Buffer, body: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  if (first.length > 0) yield first
  yield* body
}
