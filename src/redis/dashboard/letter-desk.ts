import type { LetterDesk } from '../../dashboard/server/letter-desk.ts'
import { orUnavailable } from '../or-unavailable.ts'
import { type DeadLetters, eventOf, placeOf } from '../streams/dead-letters.ts'
import { letterPage, summaryOf } from '../streams/letter-views.ts'

const PAGE_LETTERS = 50

/** The dead letters of the pipeline, for the dashboard. */
export function redisLetterDesk(letters: DeadLetters): LetterDesk {
  return {
    async list(after) {
      const place = after === undefined ? undefined : placeOf(after)
      if (after !== undefined && place === undefined) return undefined
      const page = await answered(letterPage(letters, {}, PAGE_LETTERS, place))
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
  }
}

function answered<T>(reply: Promise<T>): Promise<T> {
  return orUnavailable(reply, 'Redis does not answer')
}
