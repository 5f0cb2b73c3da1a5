import { HttpError } from '../../../http/engine/http-error.ts'

const TAKES = 'send NDJSON, one event a line, or text/csv'
const CONVERT = `${TAKES}: DuckDB, for example, converts it with COPY … TO 'events.ndjson' (FORMAT json)`

/** Types of bodies that have no lines. Any other name is taken, because most clients send one of their own. */
const TYPES: readonly (readonly [type: RegExp, remedy: string])[] = [
  [/^multipart\//i, `${TAKES}, as the body itself: curl --data-binary @FILE, and not curl -F`],
  [/parquet|avro|orc|arrow/i, CONVERT],
  [/excel|spreadsheet|officedocument/i, `${TAKES}: save the sheet as CSV`],
  [/^application\/(?:zip|x-zip-compressed|zstd|x-bzip2|x-7z-compressed|x-tar|pdf)$/i, TAKES],
  [/^(?:image|video|audio|font)\//i, TAKES],
]

/** How much of a file shows that it is no text. */
const BEGINNING_BYTES = 64

/** First bytes of files that have no lines, as Latin-1. */
const BEGINNINGS: readonly (readonly [bytes: string, name: string, remedy: string])[] = [
  ['PAR1', 'Parquet', CONVERT],
  ['ORC', 'ORC', TAKES],
  ['Obj\x01', 'Avro', TAKES],
  ['PK\x03\x04', 'a ZIP file or a workbook', `${TAKES}: unpack it, or save the sheet as CSV`],
  ['\x1f\x8b', 'gzip', 'announce it by content-encoding: gzip'],
  ['(\xb5/\xfd', 'Zstandard', `${TAKES}, plain or with content-encoding: gzip`],
]

/** @throws HttpError 415 for a content type whose bodies have no lines, with what to send */
export function assertTextType(contentType: string): void {
  const type = contentType.split(';', 1)[0]!.trim()
  const found = TYPES.find(([known]) => known.test(type))
  if (found !== undefined) throw new HttpError('unsupported_content_type', `the content-type is ${type}: ${found[1]}`)
}

/** @throws HttpError 415 when a body begins as a file without lines does, whatever its type is called */
export function assertText(start: Buffer): void {
  const bytes = start.toString('latin1', 0, BEGINNING_BYTES)
  const found = BEGINNINGS.find(([beginning]) => bytes.startsWith(beginning))
  // A line of text may begin with the same letters.
  if (found !== undefined && /[^\t\n\r -~\x80-\xff]/.test(bytes))
    throw new HttpError('unsupported_content_type', `the body is ${found[1]}: ${found[2]}`)
}
