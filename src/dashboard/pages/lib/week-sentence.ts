import type { HomeAnswer } from '../../../../schemas/dashboard/home.ts'
import type { Part, Wrap } from '../texts/parts.ts'
import { TEXTS } from '../texts/texts.ts'
import { wholePercent } from './format.ts'

const texts = TEXTS.lib.week

/** Puts a link around each count. */
interface WeekLinks {
  readonly visits: Wrap
  readonly companies: Wrap
  readonly newCompanies: Wrap
}

/**
 * The counts of the last 7 days, and how the visits changed. Says that today is not over, because a week is compared by whole days.
 */
export function weekSentence({ now, before }: Pick<HomeAnswer, 'now' | 'before'>, links: WeekLinks): Part {
  if (now.visits === 0) return before.visits === 0 ? texts.noVisit : texts.noVisitNow(before.visits)
  return texts.week(now, changeOf(now.visits, before.visits), links.visits, links.companies, links.newCompanies)
}

/** "12% more visits than in the 7 days before" */
function changeOf(now: number, before: number): string {
  if (now === before) return texts.same
  if (before === 0) return texts.afterNone
  return (now > before ? texts.more : texts.fewer)(wholePercent(Math.abs(now - before) / before))
}
