import { OUTCOME_STATUS } from '../../../schemas/outcome.ts'
import { countOutcome } from '../../pipeline/event/outcomes.ts'
import { type ArchivedUnit, type CountedOutcome, KEPT, UNFILTERED } from './ports.ts'

/**
 * What is counted of a unit: by status, events that were counted as they came, of all of its commit; sums of others; and how
 * many that were filtered as they came were put back since.
 */
export function outcomesOf(unit: ArchivedUnit, outcomes: readonly CountedOutcome[]) {
  const asTheyCame = new Map<string, Map<string, number>>()
  const later = new Map<string, number>()
  let keptBack = 0
  for (const { leftWith, day, job, status, key, events } of outcomes) {
    if (day !== unit.day || job !== unit.job || status === OUTCOME_STATUS.rejected) continue
    if (leftWith === '' || leftWith.startsWith(`${KEPT}:`)) {
      const sums = asTheyCame.get(status)
      if (sums === undefined) asTheyCame.set(status, new Map([[key, events]]))
      else countOutcome(sums, key, events)
      if (leftWith !== '' && partitionOf(leftWith) === unit.partition) keptBack -= events
    } else if (!leftWith.startsWith(`${UNFILTERED}:`) && partitionOf(leftWith) === unit.partition) {
      countOutcome(later, key, events)
    }
  }
  return { asTheyCame, later, keptBack }
}

/** @param leftWith `group:partition:…`, or `of:partition:/group:…` of an event that another partition carried */
function partitionOf(leftWith: string): number {
  return Number(leftWith.split(':')[1])
}
