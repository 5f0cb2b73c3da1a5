import { BATCH_LIMITS } from '../../../../../schemas/api/batch.ts'
import { HttpError } from '../../../../http/engine/http-error.ts'
import { rejectedLine } from '../read-chunk.ts'
import { type FileChoice, openEventFile } from './event-file.ts'
import { smallPieces } from './small-pieces.ts'

export interface FileLimits {
  /** Size of a file, decompressed. */
  readonly bytesMax: number
  /** Size of its events as NDJSON. */
  readonly eventBytesMax: number
}

/** A file may be as large as a body of the API. As NDJSON it may be twice as large, because each row repeats the names of columns. */
export const FILE_LIMITS: FileLimits = {
  bytesMax: BATCH_LIMITS.bodyMaxBytes,
  eventBytesMax: 2 * BATCH_LIMITS.bodyMaxBytes,
}

/**
 * Converts an uploaded file into NDJSON. A row that cannot be read becomes a line that the job counts as rejected, with its number.
 * @param onBytes gets the bytes of the file, decompressed
 * @throws HttpError 413 above the limits; InputError when the file cannot be read, or its columns do not fit
 */
export async function* convertedFile(
  name: string,
  file: AsyncIterable<Buffer>,
  choice: FileChoice,
  { bytesMax, eventBytesMax }: FileLimits,
  onBytes: (part: Buffer) => void = () => {},
): AsyncGenerator<Buffer> {
  let bytes = 0
  async function* noted(source: AsyncIterable<Buffer>) {
    for await (const part of smallPieces(source)) {
      bytes += part.length
      if (bytes > bytesMax)
        throw new HttpError('body_too_large', `the file must have at most ${bytesMax} bytes, decompressed`)
      onBytes(part)
      yield part
    }
  }
  const opened = await openEventFile(name, file, choice, noted)
  let eventBytes = 0
  // A small file may become large.
  for await (const events of smallPieces(opened.events(({ reason }) => rejectedLine(reason)))) {
    eventBytes += events.length
    if (eventBytes > eventBytesMax) {
      const far = `the first ${bytes} bytes of the file (without gzip) take more than ${eventBytesMax} bytes as NDJSON`
      throw new HttpError('body_too_large', `${far}, where each row has the names of its columns`)
    }
    yield events
  }
}
