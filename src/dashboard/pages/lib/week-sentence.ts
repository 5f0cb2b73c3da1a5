import type { HomeAnswer } from '../../../../schemas/dashboard/home.ts'
import { counted, number } from './format.ts'

/** Compares the last 7 days with the 7 before in one sentence. */
export function weekSentence({ now, before }: Pick<HomeAnswer, 'now' | 'before'>): string {
  if (now.companies === 0 && before.companies === 0)
    return 'No company visited in the last 7 days, nor in the 7 before.'
  const change = now.companies - before.companies
  const than =
    before.companies === 0
      ? 'after none in the 7 days before'
      : change === 0
        ? 'as many as in the 7 days before'
        : `${number(Math.abs(change))} ${change > 0 ? 'more' : 'fewer'} than in the 7 days before`
  const news =
    now.new_companies === 0
      ? 'none of them is new'
      : `${number(now.new_companies)} of them ${now.new_companies === 1 ? 'is' : 'are'} new`
  if (now.companies === 0) return `No company visited in the last 7 days, ${than}.`
  return `${counted(now.companies, 'company', 'companies')} visited in the last 7 days, today so far included: ${than}; ${news}.`
}
