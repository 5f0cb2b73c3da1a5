import type {
  ChangeLettersBody,
  DeadLetterAnswer,
  DeadLetterChanged,
  DeadLettersAnswer,
  LettersChanged,
} from '../../../schemas/dashboard/dead-letters.ts'

/** Events that could not be processed, of all tenants. Rejects with `UnavailableError`. */
export interface LetterDesk {
  /**
   * @param after an id of such a page: goes on behind it, whether or not that letter is still there; undefined when it is none
   * @param reason part of their reasons; so many letters are looked at for it in a call, and others may be behind an empty page
   */
  list(after: string | undefined, reason?: string): Promise<DeadLettersAnswer | undefined>
  /** Undefined: there is none of this id. */
  find(id: string): Promise<DeadLetterAnswer | undefined>
  /**
   * Retry puts the event back where it was: from there it goes the normal way, and counts once. Discard gives it up for good.
   * Undefined: there is none of this id; `refused`: it cannot be put back.
   */
  change(id: string, verb: LetterVerb): Promise<DeadLetterChanged | RefusedChange | undefined>
  /** As `change`, of at most 500 among those that a call looks at, from the newest to the oldest. Undefined: `newest` or `after` is no id. */
  changeMany(which: ChangeLettersBody, verb: LetterVerb): Promise<LettersChanged | undefined>
}

export type LetterVerb = 'retry' | 'discard'

interface RefusedChange {
  readonly result: 'refused'
  readonly reason: string
}
