import { UnavailableError } from '../../run/errors.ts'

/** Turns any failure of a Redis call into an `UnavailableError`. @param failure its message */
export async function orUnavailable<T>(reply: Promise<T>, failure: string): Promise<T> {
  try {
    return await reply
  } catch (error) {
    throw new UnavailableError(failure, { cause: error })
  }
}
