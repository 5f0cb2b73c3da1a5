import type { CompanyFilter } from '../../schemas/companies.ts'
import type { Condition } from '../../src/companies/condition.ts'

/* A model of filters, written as plainly as possible: it looks at all events of one company. */

const DAY_MS = 86_400_000
/** Days that conditions on events look back without days of their own. */
const EVENT_DAYS = 30

export interface ModelEvent {
  readonly at: number
  readonly ip: string
  /** Host and path. */
  readonly page: string
  readonly source: string
  readonly campaign: string
}

export interface ModelCompany {
  readonly id: string
  readonly country: string
  readonly industry: string
  readonly tags: readonly string[]
  readonly owner: string
  readonly status: string
  readonly heat: number
  readonly fit: string
  readonly events: readonly ModelEvent[]
}

const dayOf = (ms: number) => Math.floor(ms / DAY_MS)

/** Whether a filter keeps a company at the end of a day, a number, by the events until then. */
export function keeps(
  company: ModelCompany,
  filter: CompanyFilter,
  condition: Condition | undefined,
  day: number,
): boolean {
  const until = company.events.filter(({ at }) => dayOf(at) <= day)
  const last = (days: number) => until.filter(({ at }) => dayOf(at) > day - days)
  const counted = filter.days === undefined ? until : last(filter.days)
  if (counted.length === 0) return false
  const recent = last(filter.days ?? EVENT_DAYS)
  const known = (values: readonly string[]) => values.map((value) => (value === '-' ? '' : value))
  const one = (value: string, wanted: readonly string[]) => known(wanted).includes(value)
  const tags = company.tags.length === 0 ? [''] : company.tags
  const visits = (events: readonly ModelEvent[]) => new Set(events.map(({ at, ip }) => `${ip} ${dayOf(at)}`)).size
  // Every event has a page, and of events at the same time those of a campaign come first.
  const first = [...company.events].sort(
    (a, b) =>
      a.at - b.at || Number(a.campaign === '') - Number(b.campaign === '') || (a.campaign < b.campaign ? -1 : 1),
  )[0]!
  const firstDay = Math.min(...company.events.map(({ at }) => dayOf(at)))
  const onPages = recent.filter(({ page }) => (filter.page_contains ?? []).some((part) => page.includes(part)))
  const tests: { readonly [F in keyof CompanyFilter]?: (value: never) => boolean } = {
    country: (wanted: string[]) => one(company.country, wanted),
    country_not: (wanted: string[]) => !one(company.country, wanted),
    industry: (wanted: string[]) => one(company.industry, wanted),
    industry_not: (wanted: string[]) => !one(company.industry, wanted),
    owner: (wanted: string[]) => one(company.owner, wanted),
    owner_not: (wanted: string[]) => !one(company.owner, wanted),
    status: (wanted: string[]) => one(company.status, wanted),
    status_not: (wanted: string[]) => !one(company.status, wanted),
    fit: (wanted: string[]) => one(company.fit, wanted),
    fit_not: (wanted: string[]) => !one(company.fit, wanted),
    tag: (wanted: string[]) => tags.some((tag) => one(tag, wanted)),
    tag_not: (wanted: string[]) => !tags.some((tag) => one(tag, wanted)),
    source: (wanted: string[]) => recent.some(({ source }) => one(source, wanted)),
    source_not: (wanted: string[]) => !recent.some(({ source }) => one(source, wanted)),
    campaign: (wanted: string[]) => recent.some(({ campaign }) => one(campaign, wanted)),
    campaign_not: (wanted: string[]) => !recent.some(({ campaign }) => one(campaign, wanted)),
    first_channel: (wanted: string[]) => one(first.campaign === '' ? 'direct' : 'other campaign', wanted),
    first_channel_not: (wanted: string[]) => !one(first.campaign === '' ? 'direct' : 'other campaign', wanted),
    first_campaign: (wanted: string[]) => one(first.campaign, wanted),
    page: (wanted: string[]) => recent.some(({ page }) => wanted.includes(page)),
    page_contains: (wanted: string[]) => recent.some(({ page }) => wanted.some((part) => page.includes(part))),
    page_visits_min: (least: number) => visits(onPages) >= least,
    search: (text: string) => company.id.includes(text),
    visits_min: (least: number) => visits(counted) >= least,
    visits_max: (most: number) => visits(counted) <= most,
    events_min: (least: number) => counted.length >= least,
    events_max: (most: number) => counted.length <= most,
    heat_min: (least: number) => company.heat >= least,
    heat_max: (most: number) => company.heat <= most,
    new_days: (days: number) => day - firstDay < days,
    new_since: (moment: string) => Math.min(...company.events.map(({ at }) => at)) >= Date.parse(moment),
    days: () => true,
  }
  const holds = (fields: CompanyFilter) =>
    Object.entries(fields).every(([name, value]) => tests[name as keyof CompanyFilter]!(value as never))
  const all = (part: Condition): boolean => {
    if ('is' in part) return holds(part.is)
    if ('not' in part) return !all(part.not)
    return 'all' in part ? part.all.every(all) : part.any.some(all)
  }
  return holds(filter) && (condition === undefined || all(condition))
}

/** Days from `since` to `today` on which a visit brought a company into a filter. */
export function entries(
  company: ModelCompany,
  filter: CompanyFilter,
  condition: Condition | undefined,
  since: number,
  today: number,
): number[] {
  const days = [...new Set(company.events.map(({ at }) => dayOf(at)))]
    .filter((day) => day <= today)
    .sort((a, b) => a - b)
  const kept = (day: number | undefined) => day !== undefined && keeps(company, filter, condition, day)
  return days.filter((day, i) => day >= since && kept(day) && !(kept(day - 1) && kept(days[i - 1])))
}
