import type { ChangeLettersBody, LettersChanged } from '../../../schemas/dashboard/dead-letters.ts'
import { type DeadLetters, eventOf, positionOf } from '../../operations/dead-letters/dead-letters.ts'
import { letterPage, summaryOf } from '../../operations/dead-letters/letter-views.ts'
import { orUnavailable } from '../../stores/redis/or-unavailable.ts'
import type { LetterDesk, LetterVerb } from '../server/letter-desk.ts'

const PAGE_LETTERS = 50
/** Letters of one call, and those that are changed at once. */
const CHANGES_MAX = 500
const AT_ONCE = 32
/** Letters that a call looks at: there may be any number, and a page asks again at each key that is pressed. */
const LOOKS_MAX = 5_000

/** The dead letters of the pipeline, for the dashboard. */
export function redisLetterDesk(letters: DeadLetters, looksMax = LOOKS_MAX): LetterDesk {
  return {
    async list(after, reason) {
      const start = after === undefined ? undefined : positionOf(after)
      if (after !== undefined && start === undefined) return undefined
      const page = await answered(letterPage(letters, { reason }, PAGE_LETTERS, start, looksMax))
      return { letters: page.letters.map(summaryOf), next: page.next }
    },
    async find(id) {
      const letter = await answered(letters.find(id))
      if (letter === undefined) return undefined
      return {
        letter: summaryOf(letter),
        event: eventOf(letter) as Record<string, string>,
        why_not: letters.whyNot(letter) ?? null,
      }
    },
    async change(id, verb) {
      const letter = await answered(letters.find(id))
      if (letter === undefined) return undefined
      const reason = verb === 'retry' ? letters.whyNot(letter) : undefined
      if (reason !== undefined) return { result: 'refused', reason }
      return { result: await answered(letters[verb](letter)) }
    },
    changeMany: (which, verb) => answered(changeMany(letters, which, verb, looksMax)),
  }
}

/** Letters that are retried and given up again are behind the newest: they do not come twice. */
async function changeMany(
  letters: DeadLetters,
  { reason, newest, after }: ChangeLettersBody,
  verb: LetterVerb,
  looksMax: number,
): Promise<LettersChanged | undefined> {
  const [last, behind] = [positionOf(newest), after === undefined ? undefined : positionOf(after)]
  if (last === undefined || (after !== undefined && behind === undefined)) return undefined
  const page = await letterPage(letters, { reason, toMs: last.atMs }, CHANGES_MAX, behind, looksMax)
  const possible = page.letters.filter((letter) => verb === 'discard' || letters.whyNot(letter) === undefined)
  const sums = { done: 0, gone: 0, refused: page.letters.length - possible.length }
  for (let at = 0; at < possible.length; at += AT_ONCE) {
    const results = await Promise.all(possible.slice(at, at + AT_ONCE).map((letter) => letters[verb](letter)))
    for (const result of results) sums[result]++
  }
  return { ...sums, next: page.next }
}

function answered<T>(reply: Promise<T>): Promise<T> {
  return orUnavailable(reply, 'Redis does not answer')
}
