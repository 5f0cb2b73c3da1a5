import { UnavailableError } from '../../run/errors.ts'

/** The code of an error reply of Redis: its first word. Undefined for other errors. */
export function replyCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || error.name !== 'ReplyError') return undefined
  return /^-?([A-Z]+)\b/.exec(error.message)?.[1]
}

/** Turns any failure of a Redis call into an `UnavailableError`. @param failure its message */
export async function orUnavailable<T>(reply: Promise<T>, failure: string): Promise<T> {
  try {
    return await reply
  } catch (error) {
    throw new UnavailableError(failure, { cause: error })
  }
}
