import { UnavailableError } from '../../run/errors.ts'

/** A reply of Redis; whatever fails rejects with `UnavailableError`. @param failure what is away, in words for a caller */
export async function orUnavailable<T>(reply: Promise<T>, failure: string): Promise<T> {
  try {
    return await reply
  } catch (error) {
    throw new UnavailableError(failure, { cause: error })
  }
}
