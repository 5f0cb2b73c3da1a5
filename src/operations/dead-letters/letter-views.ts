import type { DeadLetterSummary } from '../../../schemas/dashboard/dead-letters.ts'
import { type DeadLetters, eventOf, type LetterFilter, type LetterPosition, type StoredLetter } from './dead-letters.ts'

/** A page of letters, newest first. */
interface LetterPage {
  readonly letters: readonly StoredLetter[]
  /** `after` of the next page; null: this is the last page. */
  readonly next: string | null
}

/**
 * @param after starts after this position
 * @param looksMax maximum number of letters to read: with a rare reason, a page may have fewer than `limit` letters
 */
export async function letterPage(
  letters: DeadLetters,
  filter: LetterFilter,
  limit: number,
  after?: LetterPosition,
  looksMax = Number.POSITIVE_INFINITY,
): Promise<LetterPage> {
  const { reason = '', ...rest } = filter
  const found: StoredLetter[] = []
  let looks = 0
  let last: StoredLetter | undefined
  for await (const letter of letters.letters(rest, 'newest first', after)) {
    const isWanted = letter.reason.includes(reason)
    if (looks === looksMax) return { letters: found, next: last!.id }
    if (isWanted && found.length === limit) return { letters: found, next: found.at(-1)!.id }
    if (isWanted) found.push(letter)
    looks++
    last = letter
  }
  return { letters: found, next: null }
}

export function summaryOf(letter: StoredLetter): DeadLetterSummary {
  const { id, group, stream, lane, reason, block } = letter
  const { tenant_id = null, event_id = null, ip = null, received_at = null } = eventOf(letter)
  const origin = { group, stream, lane, reason, job_id: block?.job ?? null }
  return { id, given_up_at: givenUpAt(letter), ...origin, tenant_id, event_id, ip, received_at }
}

/** ISO 8601, UTC. */
export function givenUpAt({ atMs }: StoredLetter): string {
  return new Date(atMs).toISOString()
}
