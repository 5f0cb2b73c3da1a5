import type { HomeCompany, RisingCompany } from '../../schemas/dashboard/home.ts'
import type { HomeWeek } from '../../src/companies/home.ts'

/** A company of a week. */
export function homeCompany(name: string, facts: Partial<HomeCompany> = {}): HomeCompany {
  const id = `${name.toLowerCase().replace(/\W+/g, '-')}.example`
  return {
    ...{ company_id: id, name, domain: id, industry: '', industry_category: '', country_code: '', classification: '' },
    ...{ events: 9, first_seen: '2026-11-01T00:00:00.000Z', last_seen: '2026-11-22T00:00:00.000Z', quality: 80 },
    ...{
      tags: [],
      owner: '',
      status: '',
      own: {},
      fit: '',
      fit_reasons: [],
      hidden: false,
      week_visits: 4,
      week_events: 9,
      usual_visits: 1,
      daily_visits: [],
    },
    ...{ first_day: '2026-11-20', last_day_before: null, first_page: '', last_page: '' },
    ...facts,
  }
}

export function risingCompany(
  name: string,
  now: number,
  before: number,
  facts: Partial<RisingCompany> = {},
): RisingCompany {
  const heat = { heat: now, recency: 0, frequency: 0, depth: 0, intent: 0 }
  return {
    ...homeCompany(name),
    heat: { ...heat, days_ago: 0, active_days: 3, events_per_day: 2, intent_days: 1 },
    ...{ heat_before: before, week_days: 3, intent_page: '', ...facts },
  }
}

/** A week with one company to look at, of each kind. */
export const WEEK: HomeWeek = {
  ...{ zone: 'UTC', from: '2026-11-16', to: '2026-11-22' },
  now: { companies: 12, new_companies: 3, visits: 40, events: 1_234 },
  before: { companies: 8, new_companies: 3, visits: 41, events: 900 },
  daily_visits: [],
  rising: [risingCompany('Acme', 62, 40, { intent_page: 'shop.example/pricing' })],
  newcomers: [homeCompany('Beta', { first_page: 'shop.example/blog', week_visits: 1 })],
  returned: [homeCompany('Gamma', { last_day_before: '2026-11-01', last_page: '/docs' })],
}
