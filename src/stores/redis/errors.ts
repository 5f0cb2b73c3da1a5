import { UnavailableError } from '../../run/errors.ts'

/** The code of an error reply of Redis: its first word. Undefined for other errors. */
export function replyCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || error.name !== 'ReplyError') return undefined
  return /^-?([A-Z]+)\b/.exec(error.message)?.[1]
}

/** Turns any failure of Redis calls into an `UnavailableError`. @param failure its message */
export async function orUnavailable<T>(reply: Promise<T> | (() => Promise<T>), failure: string): Promise<T> {
  try {
    return await (typeof reply === 'function' ? reply() : reply)
  } catch (error) {
    throw new UnavailableError(failure, { cause: error })
  }
}

/** `orUnavailable` with one message for all calls of a store. */
export function answeredOr(failure: string): <T>(reply: Promise<T> | (() => Promise<T>)) => Promise<T> {
  return (reply) => orUnavailable(reply, failure)
}
