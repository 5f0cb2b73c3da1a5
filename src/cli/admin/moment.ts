import { readTime } from '../../batch/files/timestamps.ts'
import { parseTimestamp } from '../../core/event/timestamp.ts'
import { InputError } from '../../core/run/errors.ts'

/** A time that a flag gives, milliseconds since the epoch; without a zone it is UTC. @throws InputError */
export function momentOf(flag: string, text: string): number {
  const read = readTime(text, undefined)
  if ('time' in read) return parseTimestamp(read.time)
  throw new InputError(`${flag} "${text}": wants a time such as 2026-11-22 or 2026-11-22T08:00:00Z`)
}
