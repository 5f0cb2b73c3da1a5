import type { HomeAnswer } from '../../../../schemas/dashboard/home.ts'
import { TEXTS } from '../texts/texts.ts'
import { wholePercent } from './format.ts'

const texts = TEXTS.lib.week

/** A number of this week against the week before: "12% more" and "than in the previous 7 days". */
export function comparison(now: number, before: number): { readonly change: string; readonly than: string } {
  if (now === before) return texts.same
  if (before === 0) return texts.afterNone
  return (now > before ? texts.more : texts.fewer)(wholePercent(Math.abs(now - before) / before))
}

/** Compares the last 7 days with the 7 before. Says that today is not over, because a week is compared by whole days. */
export function weekSentence({ now, before }: Pick<HomeAnswer, 'now' | 'before'>): string {
  if (now.visits === 0 && before.visits === 0) return texts.noVisit
  if (now.visits === 0) return texts.noVisitNow(before.visits)
  return texts.week(now, {
    visits: comparison(now.visits, before.visits),
    companies: comparison(now.companies, before.companies),
  })
}
