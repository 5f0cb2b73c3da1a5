import { HOME, type HomeCompany } from '../../schemas/dashboard/home.ts'
import { countText, numbered } from '../run/counted.ts'
import { daysFrom } from '../run/time-zone.ts'
import { bestFirst } from './fit.ts'
import type { HomeWeek } from './home.ts'

/** A company to look at, and one reason, as the end of a sentence about it. */
export interface CompanyToLookAt {
  readonly company: HomeCompany
  readonly why: string
}

/**
 * The companies of a week that deserve a look first: good fits before others, and among equal fits those that are heating up, new ones and
 * those that came back, in turn, so that one kind does not crowd out the others. Poor fits only where there is nothing else. At most
 * `HOME.toLookAt`.
 */
export function companiesToLookAt(week: Pick<HomeWeek, 'rising' | 'newcomers' | 'returned'>): CompanyToLookAt[] {
  const kinds = [
    week.rising.map((company) => ({ company, why: whyRising(company) })),
    week.newcomers.map((company) => ({ company, why: whyNew(company) })),
    week.returned.map((company) => ({ company, why: whyBack(company) })),
  ]
  const inTurn = Array.from({ length: HOME.rows }, (_, i) => kinds.flatMap((kind) => kind[i] ?? [])).flat()
  const best = bestFirst(inTurn, ({ company }) => company.fit)
  const better = best.filter(({ company }) => company.fit !== 'poor')
  return (better.length > 0 ? better : best).slice(0, HOME.toLookAt).map(({ company, why }) => ({
    company,
    why: company.fit === 'good' ? `is a good fit and ${why.replace(/^is /, '')}` : why,
  }))
}

function whyRising(company: HomeWeek['rising'][number]): string {
  const { heat, heat_before, intent_page, last_page, week_visits, usual_visits } = company
  const now = heat?.heat ?? 0
  const rise = now - heat_before
  const page = intent_page === '' ? after('last on', last_page) : after('read', intent_page)
  if (rise >= HOME.risingHeat) return `is heating up: heat ${now}, ${rise} more than 7 days before${page}`
  const usual = Number.isInteger(usual_visits) ? countText(usual_visits) : String(usual_visits)
  return `visits more than usual: ${numbered(week_visits, 'visit')} in 7 days, usually ${usual}${page}`
}

function whyNew({ week_visits, first_page }: HomeCompany): string {
  return `is new: ${numbered(week_visits, 'visit')}${after('began on', first_page)}`
}

function whyBack({ first_day, last_day_before, week_visits, last_page }: HomeCompany): string {
  const away = last_day_before === null ? undefined : daysFrom(last_day_before, first_day)
  const since = away === undefined ? `more than ${HOME.usualWeeks} weeks` : numbered(away, 'day')
  return `came back after ${since}: ${numbered(week_visits, 'visit')}${after('last on', last_page)}`
}

/** `, read /pricing` @param page host and path; empty: none */
function after(verb: string, page: string): string {
  return page === '' ? '' : `, ${verb} ${page.slice(page.indexOf('/'))}`
}
