import { parseTimestamp } from '../pipeline/event/timestamp.ts'
import { readTime } from '../pipeline/sources/batch/files/timestamps.ts'
import { InputError } from '../run/errors.ts'

/** Reads the time that a flag gives, in milliseconds since the epoch; UTC unless it names a zone. @throws InputError */
export function momentOf(flag: string, text: string): number {
  const read = readTime(text, undefined)
  if ('time' in read) return parseTimestamp(read.time)
  throw new InputError(`${flag} "${text}": give a time like 2026-11-22 or 2026-11-22T08:00:00Z`)
}
