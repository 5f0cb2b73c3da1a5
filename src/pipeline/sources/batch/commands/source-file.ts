import { createReadStream, statSync } from 'node:fs'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { InputError } from '../../../../run/errors.ts'
import type { CliContext } from '../../../../terminal/context.ts'
import type { Advice } from '../files/conversion.ts'
import { type FileChoice, openEventFile } from '../files/event-file.ts'
import type { BadRows } from './bad-rows.ts'

export type SourceChoice = Omit<FileChoice, 'advice'>

/** A file, ready to upload. */
export interface Source {
  /** Bytes to read; undefined when unknown. */
  readonly bytes: number | undefined
  /** Whether `body` is gzip. It is when the file is. */
  readonly gzip: boolean
  /** NDJSON. Fails with `InputError` when the file cannot be read to its end, or has no event. */
  readonly body: Readable
}

const READ_BYTES = 262_144

const FLAGS: Advice = {
  map: '--map',
  address: (column) => `as in --map '${column}=ip'`,
  dateOrder: 'set --date-order to dmy or mdy',
  encoding: 'if the file has another encoding, name it with --encoding',
}

/**
 * Opens a file of events: NDJSON or CSV, plain or gzip, detected from the content.
 * @param onRead called with the number of bytes of the file read so far
 * @param bad collects the rows that are not sent
 * @throws InputError when the file is unreadable, has another format, or has no address
 */
export async function openSource(
  file: string,
  choice: SourceChoice,
  context: CliContext,
  onRead: (bytes: number) => void,
  bad: BadRows,
): Promise<Source> {
  const bytes = file === '-' ? undefined : sizeOf(file)
  const raw = file === '-' ? context.stdin : createReadStream(file, { highWaterMark: READ_BYTES })
  const opened = await openEventFile(file, counted(raw, onRead), { ...choice, advice: FLAGS })
  const withoutBad = opened.events(({ line, reason, detail }) => {
    bad.add(line, reason, detail)
    return ''
  })
  const events = Readable.from(withoutBad, { objectMode: false })
  const { gzip } = opened
  if (!gzip) return { bytes, gzip, body: events }
  const body = createGzip({ level: 1 })
  pipeline(events, body).catch((error: Error) => body.destroy(error))
  return { bytes, gzip, body }
}

function sizeOf(file: string): number {
  const stats = statSync(file, { throwIfNoEntry: false })
  if (!stats?.isFile()) throw new InputError(`${file} is not a readable file`)
  return stats.size
}

async function* counted(raw: AsyncIterable<Buffer>, onRead: (bytes: number) => void): AsyncGenerator<Buffer> {
  let bytes = 0
  try {
    for await (const chunk of raw) {
      bytes += chunk.length
      onRead(bytes)
      yield chunk
    }
  } catch (error) {
    throw new InputError(`cannot read the file: ${(error as Error).message}`)
  }
}
