import type { HomeAnswer } from '../../../../schemas/dashboard/home.ts'
import { counted, number } from './format.ts'
import { wholePercent } from './named-sentence.ts'

/** A number of this week against the week before: "12% more" and "than in the previous 7 days". */
export function comparison(now: number, before: number): { readonly change: string; readonly than: string } {
  if (now === before) return { change: 'as many', than: 'as in the previous 7 days' }
  if (before === 0) return { change: 'after none', than: 'in the previous 7 days' }
  const share = wholePercent(Math.abs(now - before) / before)
  return { change: `${share} ${now > before ? 'more' : 'fewer'}`, than: 'than in the previous 7 days' }
}

/** Compares the last 7 days with the 7 before. Says that today is not over, because a week is compared by whole days. */
export function weekSentence({ now, before }: Pick<HomeAnswer, 'now' | 'before'>): string {
  if (now.visits === 0 && before.visits === 0) return 'No company visited in the last 7 days, nor in the 7 before.'
  if (now.visits === 0)
    return `No company visited in the last 7 days, after ${counted(before.visits, 'visit')} in the previous 7 days.`
  const compared = (name: 'visits' | 'companies') => {
    const { change, than } = comparison(now[name], before[name])
    return `${change} ${than}`
  }
  const visits = `${counted(now.visits, 'visit')}, ${compared('visits')}`
  const companies = `${counted(now.companies, 'company', 'companies')}, ${compared('companies')}`
  const news = now.new_companies === 0 ? 'none of them new' : `${number(now.new_companies)} of them new`
  return `${visits}. ${companies}, ${news}. Today counts so far.`
}
