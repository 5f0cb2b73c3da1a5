import { type Static, Type } from 'typebox'
import { CompanyHeat, CompanyRow } from '../companies.ts'
import { NamedSpans } from '../named.ts'
import { OutcomeCount, PlanUsage, TrafficWarning } from './overview.ts'

/** Numbers of seven days, by the day of the event. */
export const WeekSums = Type.Object({
  /** Companies with an event. */
  companies: Type.Integer(),
  /** Companies whose first event is on these days. */
  new_companies: Type.Integer(),
  /** Distinct pairs of address and day of known companies. */
  visits: Type.Integer(),
  /** Events of known companies. */
  events: Type.Integer(),
})
export type WeekSums = Static<typeof WeekSums>

/** A company on the first page, with the numbers that put it there. */
export const HomeCompany = Type.Object({
  ...CompanyRow.properties,
  /** Numbers of this week. */
  week_visits: Type.Integer(),
  week_events: Type.Integer(),
  /** Visits of an average week of the four weeks before; of fewer weeks when it is younger. 0 when it had none. */
  usual_visits: Type.Number(),
  /** First day of this week with an event. */
  first_day: Type.String(),
  /** Its last day with an event before `first_day`; null when there is none within the days that are read. */
  last_day_before: Type.Union([Type.String(), Type.Null()]),
  /** First and last page of this week, without their queries; empty when no event has a page. */
  first_page: Type.String(),
  last_page: Type.String(),
  /** Visits of each day of the four weeks before and this week. */
  daily_visits: Type.Array(Type.Integer()),
})
export type HomeCompany = Static<typeof HomeCompany>

/** A company that is heating up. */
export const RisingCompany = Type.Object({
  ...HomeCompany.properties,
  /** Heat of today, and of seven days ago; null without an event in the 30 days before. */
  heat: Type.Union([CompanyHeat, Type.Null()]),
  heat_before: Type.Integer(),
  /** Days of this week with events. */
  week_days: Type.Integer(),
  /** The last intent page of this week, without its query; empty when there is none. */
  intent_page: Type.String(),
})
export type RisingCompany = Static<typeof RisingCompany>

/** `GET /api/tenants/:tenant/home` */
export const HomeAnswer = Type.Object({
  /** First and last day of this week: today and the six days before. */
  from: Type.String(),
  to: Type.String(),
  now: WeekSums,
  /** The seven days before. */
  before: WeekSums,
  /** Visits of each day of the week before and this week, the oldest first. */
  daily_visits: Type.Array(Type.Integer()),
  /** Up to five companies of the lists below, and why: the end of a sentence about the company. */
  to_look_at: Type.Array(Type.Object({ company_id: Type.String(), why: Type.String() })),
  /** First seen this week. Of every list the best fits come first; of these those with the most visits. */
  newcomers: Type.Array(HomeCompany),
  /** Known companies whose heat rose clearly, the strongest rise first; then those with clearly more visits than usual. */
  rising: Type.Array(RisingCompany),
  /** Companies that came back after `HOME.awayDays` or more days, those with the most visits first. */
  returned: Type.Array(HomeCompany),
  /** Outcomes of this week, by the day of receipt. */
  outcomes: Type.Array(OutcomeCount),
  /** Events of this week and of the one before, by the day of receipt. */
  named: NamedSpans,
  /** Whether any event is stored. */
  has_events: Type.Boolean(),
  warning: TrafficWarning,
  usage: PlanUsage,
})
export type HomeAnswer = Static<typeof HomeAnswer>

/** Limits of the first page. */
export const HOME = {
  weekDays: 7,
  /** Weeks before this one whose average is a usual week of a company. */
  usualWeeks: 4,
  /** A rise of heat in seven days has at least this many points, */
  risingHeat: 10,
  /** and events on at least this many days. */
  risingDays: 2,
  /** A rise of visits has at least this many this week, and at least this multiple of a usual week. */
  risingVisits: 3,
  risingFactor: 1.5,
  /** Companies whose heat is compared: those whose visits rose most. */
  risingCandidates: 60,
  awayDays: 14,
  /** New companies, and those that came back, whose fit is compared: those with the most visits. */
  fitCandidates: 60,
  /** Companies in each list. */
  rows: 6,
  /** Companies to look at. */
  toLookAt: 5,
} as const
