import { BATCH_LIMITS } from '../../../schemas/api/batch.ts'
import { UploadChoice } from '../../../schemas/dashboard/uploads.ts'
import { HttpError } from '../../http/engine/http-error.ts'
import { parseJson } from '../../http/route/parse-json.ts'
import { assertSchema, schemaError } from '../../http/route/schema.ts'
import { compileValidator } from '../../pipeline/event/validator.ts'
import type { Advice } from '../../pipeline/sources/batch/files/conversion.ts'
import { isEncoding } from '../../pipeline/sources/batch/files/encoding.ts'
import type { FileChoice } from '../../pipeline/sources/batch/files/event-file.ts'

/** Maximum size of the first line of an upload. It is not a header, because many column names would not fit. */
export const CHOICE_MAX_BYTES = 262_144

const LINE_FEED = 10
/** Includes blank lines, which are not events but take time. */
const LINES_MAX = 4 * BATCH_LIMITS.linesMax
const validate = compileValidator(UploadChoice)

/** Advice that names the fields of the page. */
const FIELDS: Advice = {
  map: 'the mapping',
  address: (column) => `such as the column "${column}"`,
  dateOrder: 'choose the order of dates',
  encoding: 'if the file has another encoding, choose it',
}

/**
 * Reads the first line of a body, which says how to read the file after it.
 * @throws HttpError 400 or 422 when the line is missing or invalid
 */
export async function readChoice(
  body: AsyncGenerator<Buffer>,
): Promise<{ readonly choice: UploadChoice; readonly file: AsyncIterable<Buffer> }> {
  const parts: Buffer[] = []
  let bytes = 0
  for (;;) {
    const next = await body.next()
    if (next.done) throw new HttpError(400, 'the body has no line that says how to read the file')
    const end = next.value.indexOf(LINE_FEED)
    bytes += end < 0 ? next.value.length : end
    if (bytes > CHOICE_MAX_BYTES) throw new HttpError(400, 'the line that says how to read the file is too long')
    if (end < 0) {
      parts.push(next.value)
      continue
    }
    parts.push(next.value.subarray(0, end))
    const choice = parseJson(Buffer.concat(parts).toString('utf8'))
    assertSchema(validate, choice)
    return { choice, file: restOf(next.value.subarray(end + 1), body) }
  }
}

async function* restOf(first: Buffer, body: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  if (first.length > 0) yield first
  yield* body
}

/** @throws HttpError 422 when the encoding is unknown */
export function fileChoice({ format, encoding, date_order: dateOrder, map = {} }: UploadChoice): FileChoice {
  if (encoding !== undefined && !isEncoding(encoding)) {
    throw schemaError([{ path: 'encoding', message: 'must be a name such as windows-1252 or utf-16le' }])
  }
  return { format, encoding, dateOrder, map: new Map(Object.entries(map)), linesMax: LINES_MAX, advice: FIELDS }
}
