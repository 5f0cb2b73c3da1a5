import { isTooDeep, TOO_DEEP } from '../../event/json-depth.ts'
import { parseExactly } from './exact-json.ts'

/** A text of an event holds JSON with too many levels, so that the event must be rejected. */
export class TooDeepError extends Error {
  override name = 'TooDeepError'

  constructor() {
    super(TOO_DEEP)
  }
}

/**
 * Parses JSON that a text of an event holds. Its numbers keep all of their digits.
 * @returns undefined when it is not JSON
 * @throws TooDeepError
 */
export function parseNested(text: string): unknown {
  if (isTooDeep(text)) throw new TooDeepError()
  try {
    return parseExactly(text)
  } catch {
    return undefined
  }
}
