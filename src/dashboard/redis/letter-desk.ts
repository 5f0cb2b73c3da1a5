import type {
  ChangeLettersBody,
  DeadLetterAnswer,
  DeadLetterChanged,
  DeadLettersAnswer,
  LettersChanged,
} from '../../../schemas/dashboard/dead-letters.ts'
import { type DeadLetters, eventOf, positionOf } from '../../operations/dead-letters/dead-letters.ts'
import { letterPage, summaryOf } from '../../operations/dead-letters/letter-views.ts'
import { answeredOr } from '../../stores/redis/errors.ts'

const answered = answeredOr('Redis does not answer')

const PAGE_LETTERS = 50
/** Maximum number of changes of one call, and of concurrent ones. */
const CHANGES_MAX = 500
const AT_ONCE = 32
/** Letters that a call reads: there may be any number, and a page searches again at each key press. */
const LOOKS_MAX = 5_000

type LetterVerb = 'retry' | 'discard'

export type LetterDesk = ReturnType<typeof redisLetterDesk>

/** Dead letters of all tenants, for the dashboard. Calls reject with `UnavailableError`. */
export function redisLetterDesk(letters: DeadLetters, looksMax = LOOKS_MAX) {
  return {
    /**
     * Undefined when `after` is not an id.
     * @param after returns letters after this id, which need not exist any more
     * @param reason part of the reason; a call reads a limited number of letters, so an empty page may have a next one
     */
    async list(after: string | undefined, reason?: string): Promise<DeadLettersAnswer | undefined> {
      const start = after === undefined ? undefined : positionOf(after)
      if (after !== undefined && start === undefined) return undefined
      const page = await answered(letterPage(letters, { reason }, PAGE_LETTERS, start, looksMax))
      return { letters: page.letters.map(summaryOf), next: page.next }
    },
    /** Undefined: the letter does not exist. */
    async find(id: string): Promise<DeadLetterAnswer | undefined> {
      const letter = await answered(letters.find(id))
      if (letter === undefined) return undefined
      return {
        letter: summaryOf(letter),
        event: eventOf(letter) as Record<string, string>,
        why_not: letters.whyNot(letter) ?? null,
      }
    },
    /** Undefined: the letter does not exist; `refused`: it cannot be retried. */
    async change(
      id: string,
      verb: LetterVerb,
    ): Promise<DeadLetterChanged | { readonly result: 'refused'; readonly reason: string } | undefined> {
      const letter = await answered(letters.find(id))
      if (letter === undefined) return undefined
      const reason = verb === 'retry' ? letters.whyNot(letter) : undefined
      if (reason !== undefined) return { result: 'refused', reason }
      return { result: await answered(letters[verb](letter)) }
    },
    /** Changes up to 500 letters, newest first. Undefined: `newest` or `after` is not an id. */
    changeMany: (which: ChangeLettersBody, verb: LetterVerb) => answered(changeMany(letters, which, verb, looksMax)),
  }
}

/** A retried letter that fails again is newer than `newest`, so it does not come twice. */
async function changeMany(
  letters: DeadLetters,
  { reason, newest, after }: ChangeLettersBody,
  verb: LetterVerb,
  looksMax: number,
): Promise<LettersChanged | undefined> {
  const [last, start] = [positionOf(newest), after === undefined ? undefined : positionOf(after)]
  if (last === undefined || (after !== undefined && start === undefined)) return undefined
  const page = await letterPage(letters, { reason, toMs: last.atMs }, CHANGES_MAX, start, looksMax)
  const possible = page.letters.filter((letter) => verb === 'discard' || letters.whyNot(letter) === undefined)
  const sums = { done: 0, gone: 0, refused: page.letters.length - possible.length }
  for (let at = 0; at < possible.length; at += AT_ONCE) {
    const results = await Promise.all(possible.slice(at, at + AT_ONCE).map((letter) => letters[verb](letter)))
    for (const result of results) sums[result]++
  }
  return { ...sums, next: page.next }
}
