import { OUTCOME_COLUMNS } from '../../../schemas/outcome.ts'
import { countOutcome } from '../../pipeline/event/outcomes.ts'
import type { ArchivedEvent } from './ports.ts'

/** The judgement of an event by today's data. */
export interface TodaysVerdict {
  readonly isKept: boolean
  /** `outcomes.reason` if it is not kept. */
  readonly reason: string
  /** Also set for an event that a rule keeps. */
  readonly classification: string
}

const at = (column: (typeof OUTCOME_COLUMNS)[number]) => OUTCOME_COLUMNS.indexOf(column) - 1
const [REASON, CLASSIFICATION] = [at('reason'), at('classification')]
/** `outcomeKey` leaves the number of events out. */
const SOURCE_ID = at('source_id') - 1

/**
 * Takes back counts of filtered events. A sum does not name its events, and several sums may have counted one: an access provider
 * and a bot, or two bots. So it prefers the sum of the event's source, then one that no other event needs, then one of its class.
 */
export class TakenCounts {
  readonly #sums: Map<string, number>
  readonly #counted: () => Iterable<ArchivedEvent>
  readonly #verdictOf: ((event: ArchivedEvent) => TodaysVerdict | undefined) | undefined
  /** How many events that stay filtered each sum counts, by today's data. */
  #needed: Map<string, number> | undefined

  /**
   * @param sums by outcome key; changed by `take`
   * @param counted the events that the sums count
   * @param verdictOf undefined when today's data are not asked
   */
  constructor(
    sums: Map<string, number>,
    counted: () => Iterable<ArchivedEvent>,
    verdictOf: ((event: ArchivedEvent) => TodaysVerdict | undefined) | undefined,
  ) {
    this.#sums = sums
    this.#counted = counted
    this.#verdictOf = verdictOf
  }

  /** Adds -1 to the outcomes. @returns false when nothing is left to take */
  take(event: ArchivedEvent, outcomes: Map<string, number>): boolean {
    const left = [...this.#sums].filter(([, events]) => events > 0)
    if (left.length === 0) return false
    const [key, events] = left.length === 1 ? left[0]! : this.#best(event, left)
    this.#sums.set(key, events - 1)
    countOutcome(outcomes, key, -1)
    return true
  }

  #best(event: ArchivedEvent, left: readonly [string, number][]): [string, number] {
    const classification = this.#verdictOf?.(event)?.classification
    this.#needed ??= this.#need()
    let best = left[0]!
    let most = -1
    for (const [key, events] of left) {
      const columns = key.split('\t')
      const isOfSource = (columns[SOURCE_ID] ?? '') === (event.sourceId ?? '')
      const isFree = events > (this.#needed.get(neededKey(columns)) ?? 0)
      const isOfClass = columns[CLASSIFICATION] === classification
      const score = (isOfSource ? 4 : 0) + (isFree ? 2 : 0) + (isOfClass ? 1 : 0)
      if (score <= most) continue
      best = [key, events]
      most = score
    }
    return best
  }

  #need(): Map<string, number> {
    const needed = new Map<string, number>()
    for (const event of this.#counted()) {
      const verdict = this.#verdictOf?.(event)
      if (verdict === undefined || verdict.isKept) continue
      countOutcome(needed, neededBy(verdict, event.sourceId))
    }
    return needed
  }
}

function neededBy({ reason, classification }: TodaysVerdict, sourceId = ''): string {
  return `${reason}\t${classification}\t${sourceId}`
}

function neededKey(columns: readonly string[]): string {
  const [reason, classification] = [columns[REASON]!, columns[CLASSIFICATION]!]
  return neededBy({ isKept: false, reason, classification }, columns[SOURCE_ID])
}
